"""PyTorch's random numbers under our control, without changing the code that draws them.

While `intercepted` is active, every PyTorch function passes through a `TorchFunctionMode`. Those
that draw are answered from the generator under audit: choices (`multinomial`, `bernoulli`,
`randint`) branch, and uniforms and exponential noise come as `Noise`, a tensor of numbers that
are not drawn yet (`symbols`). A noise tensor can be compared, indexed, reshaped, scaled, put
under a logarithm, divided into weights and searched for its largest item; anything else raises
`NeedsNumbers`, and the next attempt plays plain floats.

Random numbers drawn in C++ by functions that are not in `DRAWS` are not met; the exploration
notices them because the same luck then gives two results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from draftproof.audit.generators import Controlled
from draftproof.audit.symbols import SINGLE, NeedsNumbers, Symbol
from draftproof.errors import MissingExtra

try:
    import torch
    from torch.overrides import TorchFunctionMode
except ImportError:
    raise MissingExtra(
        "luck='torch' needs PyTorch, which is not installed: pip install torch."
    ) from None

SHAPING = frozenset(
    (
        "__getitem__",
        "view",
        "reshape",
        "squeeze",
        "unsqueeze",
        "expand",
        "expand_as",
        "repeat",
        "permute",
        "transpose",
        "t",
        "flatten",
        "select",
        "narrow",
        "unbind",
        "split",
        "chunk",
        "movedim",
        "swapaxes",
        "gather",
        "index_select",
        "T",
        "mT",
    )
)
"""Functions that only rearrange items."""

KEEPING = frozenset(
    (
        "to",
        "float",
        "double",
        "type_as",
        "clone",
        "contiguous",
        "cpu",
        "detach",
        "data",
        "requires_grad_",
        "cuda",
        "__deepcopy__",
    )
)
"""Functions that keep every item, perhaps in another type or place."""

ASKING = frozenset(
    (
        "shape",
        "dtype",
        "device",
        "ndim",
        "is_cuda",
        "is_sparse",
        "layout",
        "requires_grad",
        "size",
        "dim",
        "numel",
        "__len__",
        "stride",
        "is_floating_point",
        "element_size",
        "is_contiguous",
        "get_device",
        "itemsize",
        "is_complex",
        "nelement",
    )
)
"""Functions that ask only about the form of a tensor."""

ARITHMETIC: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("lt", "__lt__", "less"), np.less),
    **dict.fromkeys(("le", "__le__", "less_equal"), np.less_equal),
    **dict.fromkeys(("gt", "__gt__", "greater"), np.greater),
    **dict.fromkeys(("ge", "__ge__", "greater_equal"), np.greater_equal),
    **dict.fromkeys(("mul", "__mul__", "__rmul__", "multiply"), np.multiply),
    **dict.fromkeys(("add", "__add__", "__radd__"), np.add),
    **dict.fromkeys(("sub", "__sub__", "subtract"), np.subtract),
    **dict.fromkeys(("div", "__truediv__", "divide", "true_divide"), np.divide),
    **dict.fromkeys(("neg", "__neg__", "negative"), np.negative),
    "__rsub__": lambda x, y: np.subtract(y, x),
    "rsub": lambda x, y: np.subtract(y, x),
    "__rtruediv__": lambda x, y: np.divide(y, x),
    "__rdiv__": lambda x, y: np.divide(y, x),
    "log": np.log,
}

IN_PLACE: dict[str, Callable[..., Any]] = {
    "mul_": np.multiply,
    "add_": np.add,
    "sub_": np.subtract,
    "div_": np.divide,
}
"""Calculations that overwrite their first operand."""

BITS = {torch.float64: 53, torch.float32: 24, torch.bfloat16: 8, torch.float16: 11}
"""Bits of PyTorch's uniforms, by type: they are multiples of 2**-bits."""


def tensor(row: Any) -> Any:
    """Give rows as a float64 tensor, and token ids as an int64 one."""
    array = np.asarray(row)
    return torch.tensor(array if array.dtype == np.int64 else array.astype(np.float64))


def last_argument(uniforms: int | None) -> Any:
    """Give what the function takes as its luck: a generator, or uniforms in a tensor."""
    return torch.Generator() if uniforms is None else torch.rand(uniforms, dtype=torch.float64)


def seeded(rng: np.random.Generator, uniforms: int | None) -> Any:
    """Seed PyTorch's global generator, and give the last argument with luck that is drawn."""
    torch.manual_seed(int(rng.integers(2**62)))
    if uniforms is not None:
        return torch.rand(uniforms, dtype=torch.float64)
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def rounding_of(dtype: Any) -> Fraction:
    """Rounding allowed for each edge with numbers of this type: four times their epsilon."""
    if not dtype.is_floating_point:
        return Fraction(0)
    return min(4 * Fraction(torch.finfo(dtype).eps), SINGLE)


class Noise(torch.Tensor):
    """A tensor of random numbers that are not drawn yet.

    Its items are symbols in an object array beside an empty tensor that has the shape and type.
    """

    _items: Any
    _luck: Any

    @classmethod
    def of(cls, items: Any, dtype: Any, luck: Controlled) -> Noise:
        """Dress an object array as a tensor."""
        form = torch.full(items.shape, float("nan"), dtype=dtype)
        noise: Noise = form.as_subclass(cls)
        noise._items, noise._luck = items, luck
        return noise

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer a PyTorch function on noise, or refuse."""
        with torch._C.DisableTorchFunctionSubclass():
            return _on_noise(_name(func), func, args, kwargs or {})


def _name(func: Any) -> str:
    name = getattr(func, "__name__", str(func))
    return str(getattr(func.__self__, "__name__", name)) if name == "__get__" else str(name)


def _on_noise(name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    noise = next((x for x in (*args, *kwargs.values()) if isinstance(x, Noise)), None)
    if noise is None:
        raise NeedsNumbers(f"random numbers went into a list for torch.{name}")
    if name in ASKING:
        return func(*args, **kwargs)
    if args and args[0] is noise:
        if name in SHAPING:
            return _shaped(noise, func, args[1:], kwargs)
        if name in KEEPING:
            return _kept(noise, func(*args, **kwargs))
        if name in ("item", "tolist"):
            return noise._items.tolist() if name == "tolist" else noise._items.reshape(-1)[0]
        if name == "argmax":
            return _argmax(noise, *args[1:], **kwargs)
    if name in ARITHMETIC and not kwargs:
        return _calculated(noise, ARITHMETIC[name], args)
    raise NeedsNumbers(f"torch.{name} was called on random numbers")


def _shaped(noise: Noise, func: Any, rest: Any, kwargs: dict[str, Any]) -> Any:
    """Rearrange the places of the items with the very function that was called."""
    places = torch.arange(noise._items.size).reshape(noise._items.shape)

    def picked(where: Any) -> Any:
        items = np.empty(tuple(where.shape), dtype=object)
        items[...] = noise._items.reshape(-1)[where.numpy()]
        return Noise.of(items, noise.dtype, noise._luck)

    moved = func(places, *rest, **kwargs)
    return tuple(map(picked, moved)) if isinstance(moved, tuple | list) else picked(moved)


def _kept(noise: Noise, form: Any) -> Any:
    if form.dtype not in (torch.float64, torch.float32):
        raise NeedsNumbers(f"random numbers were turned into {form.dtype}")
    noise._luck._ledger.note(rounding_of(form.dtype))
    return Noise.of(noise._items, form.dtype, noise._luck)


def _calculated(noise: Noise, operation: Callable[..., Any], args: Any) -> Any:
    """Calculate or compare item by item, broadcasting as NumPy does."""
    result = operation(*(_operand(arg, noise) for arg in args))
    if np.asarray(result).dtype == bool:
        return torch.tensor(np.asarray(result))
    items = np.asarray(result, dtype=object)
    if items.size and not all(isinstance(item, Symbol) for item in items.flat):
        raise NeedsNumbers("a random number was multiplied by zero")
    return Noise.of(items, noise.dtype, noise._luck)


def _operand(arg: Any, noise: Noise) -> Any:
    if isinstance(arg, Noise):
        return arg._items
    if not isinstance(arg, torch.Tensor):
        return arg
    noise._luck._ledger.note(rounding_of(arg.dtype))
    return arg.detach().cpu().double().numpy()


def _argmax(noise: Noise, dim: Any = None, keepdim: Any = False) -> Any:  # noqa: FBT002
    items = noise._items
    if items.size == 0:
        raise NeedsNumbers("argmax of nothing")
    if dim is None:
        return torch.tensor(int(np.argmax(items.reshape(-1))))
    found = torch.tensor(np.asarray(np.argmax(items, axis=dim), dtype=np.int64))
    return found.unsqueeze(dim) if keepdim else found


class _Interception(TorchFunctionMode):
    """Answers what draws, and remembers which tensors were filled with noise in place."""

    def __init__(self, luck: Controlled) -> None:
        super().__init__()
        self.luck = luck
        self._filled: dict[int, tuple[Any, Noise]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Meet one PyTorch function."""
        name, named = _name(func), dict(kwargs or {})
        draw = DRAWS.get(name)
        if draw is not None:
            return draw(self, func, args, named)
        if name.rstrip("_") in UNFOLLOWED:
            raise NeedsNumbers(f"the code called torch.{name}")
        filled, args = args, tuple(map(self._noise_for, args))
        if name in IN_PLACE and len(args) == 2 and any(isinstance(arg, Noise) for arg in args):
            return self._calculated_in_place(filled[0], IN_PLACE[name], args)
        if any(isinstance(arg, Symbol) for arg in args):
            args = tuple(self._dressed(arg) for arg in args)
        return func(*args, **{key: self._noise_for(value) for key, value in named.items()})

    def _calculated_in_place(self, target: Any, operation: Callable[..., Any], args: Any) -> Any:
        """Put the result of a calculation with noise where its first operand was."""
        noise = next(arg for arg in args if isinstance(arg, Noise))
        result = _calculated(noise, operation, args)
        if isinstance(target, Noise):
            target._items = result._items
            return target
        return self.fill(target, result)

    def _noise_for(self, arg: Any) -> Any:
        """Give the noise a tensor was filled with, for the tensor."""
        if isinstance(arg, tuple | list):
            return type(arg)(map(self._noise_for, arg)) if type(arg) in (tuple, list) else arg
        return self._filled[id(arg)][1] if id(arg) in self._filled else arg

    def _dressed(self, arg: Any) -> Any:
        if not isinstance(arg, Symbol):
            return arg
        items = np.empty((), dtype=object)
        items[()] = arg
        return Noise.of(items, torch.float64, self.luck)

    def fresh(self, form: Any, draw: Callable[[], Any]) -> Any:
        """Fill a tensor of this form with draws: symbols, or numbers from the tape."""
        self.luck._ledger.note(rounding_of(form.dtype))
        items = [draw() for _ in range(form.numel())]
        if not self.luck.symbolic:
            return torch.tensor(items, dtype=torch.float64).to(form.dtype).reshape(form.shape)
        if form.dtype not in (torch.float64, torch.float32):
            raise NeedsNumbers(f"random numbers of type {form.dtype} lie on a coarse grid")
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return Noise.of(array.reshape(tuple(form.shape)), form.dtype, self.luck)

    def uniform(self, form: Any) -> Any:
        """Give uniforms in the form of a tensor."""
        bits = BITS.get(form.dtype, 53)
        return self.fresh(form, lambda: self.luck._uniform(bits))

    def fill(self, target: Any, noise: Any) -> Any:
        """Put noise into a tensor in place."""
        if not isinstance(noise, Noise):
            return target.copy_(noise)
        if target._base is not None:
            raise NeedsNumbers("random numbers were drawn into a view of a tensor")
        target.fill_(float("nan"))
        self._filled[id(target)] = (target, noise)
        return target


Draw = Callable[[_Interception, Any, Any, dict[str, Any]], Any]


def _form_of(func: Any, args: Any, named: dict[str, Any]) -> Any:
    """Give a tensor of the form `rand` or `rand_like` would have."""
    named.pop("generator", None)
    if named.pop("out", None) is not None:
        raise NeedsNumbers("random numbers were drawn into out=")
    return func(*args, **named)


def _rand(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    return mode.uniform(_form_of(func, args, named))


def _uniform_(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    bounds = {"from": 0.0, "to": 1.0, **dict(zip(("from", "to"), args[1:], strict=False)), **named}
    low, high = bounds["from"], bounds["to"]
    noise = mode.uniform(args[0])
    return mode.fill(args[0], noise if (low, high) == (0, 1) else noise * (high - low) + low)


def _exponential_(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    rate = args[1] if len(args) > 1 else named.get("lambd", 1.0)
    if rate != 1:
        raise NeedsNumbers(f"exponential noise of rate {rate} was drawn")
    return mode.fill(args[0], mode.fresh(args[0], mode.luck._exponential))


def _multinomial(
    mode: _Interception,
    func: Any,
    args: Any,
    named: dict[str, Any],
) -> Any:
    named.pop("generator", None)
    weights, count, replacement = _bound(args, named)
    func(weights, count, replacement=replacement, generator=torch.Generator())  # its own refusals
    if count > 1 and not replacement:
        raise NeedsNumbers("multinomial without replacement was asked for")
    mode.luck._ledger.note(rounding_of(weights.dtype))
    rows = weights.detach().cpu().double().reshape(-1, weights.shape[-1]).tolist()
    picks = [[mode.luck._pick(_shares(row)) for _ in range(count)] for row in rows]
    return torch.tensor(picks, device=weights.device).reshape(*weights.shape[:-1], count)


def _bound(args: Any, named: dict[str, Any]) -> tuple[Any, int, bool]:
    names = ("input", "num_samples", "replacement")
    given = {**dict(zip(names, args, strict=False)), **named}
    return given["input"], int(given["num_samples"]), bool(given.get("replacement", False))


def _shares(row: list[float]) -> list[Fraction]:
    weights = [Fraction(weight) for weight in row]
    total = sum(weights, Fraction(0))
    return [weight / total for weight in weights]


def _bernoulli(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    named.pop("generator", None)
    func(*args, **named, generator=torch.Generator())  # its own refusals
    chance = args[1] if len(args) > 1 else named.get("p", args[0])
    return _coins(mode, torch.as_tensor(chance).expand(args[0].shape)).to(args[0].dtype)


def _bernoulli_(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    chance = torch.as_tensor(args[1] if len(args) > 1 else named.get("p", 0.5))
    return args[0].copy_(_coins(mode, chance.expand(args[0].shape)))


def _coins(mode: _Interception, chances: Any) -> Any:
    mode.luck._ledger.note(rounding_of(chances.dtype))
    shares = [Fraction(yes) for yes in chances.double().reshape(-1).tolist()]
    hits = [mode.luck._pick([1 - yes, yes]) for yes in shares]
    return torch.tensor(hits).reshape(chances.shape)


def _randint(mode: _Interception, func: Any, args: Any, named: dict[str, Any]) -> Any:
    named.pop("generator", None)
    form = func(*args, **named)
    low, high = (0, args[0]) if not isinstance(args[1], int) else args[:2]
    picks = [low + mode.luck._below(high - low) for _ in range(form.numel())]
    return torch.tensor(picks, dtype=form.dtype).reshape(form.shape)


DRAWS: dict[str, Draw] = {
    "rand": _rand,
    "rand_like": _rand,
    "uniform_": _uniform_,
    "exponential_": _exponential_,
    "multinomial": _multinomial,
    "bernoulli": _bernoulli,
    "bernoulli_": _bernoulli_,
    "randint": _randint,
}

UNFOLLOWED = frozenset(
    (
        "randn",
        "randn_like",
        "normal",
        "log_normal",
        "cauchy",
        "geometric",
        "poisson",
        "binomial",
        "random",
        "randperm",
        "randint_like",
    )
)


@contextlib.contextmanager
def intercepted(luck: Controlled) -> Iterator[None]:
    """Answer PyTorch's draws from `luck` while the block runs.

    Examples
    --------
    >>> from draftproof.audit.explore import explore_symbols
    >>> def coin(luck):
    ...     with intercepted(luck):
    ...         return bool(torch.rand(1) < 0.25)
    >>> explore_symbols(coin).law
    {True: Fraction(1, 4), False: Fraction(3, 4)}
    """
    with _Interception(luck):
        yield
