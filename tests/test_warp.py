"""Warps against a slow twin, against the law of the loop, and against wrong versions of both."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof import warp as warp_module
from draftproof.contracts import Draft
from draftproof.decode import Limits
from draftproof.errors import BackendError, InvalidInput, NotADistribution
from draftproof.laws import largest_difference, loop_law, plain_law
from draftproof.proposers import DraftModel
from draftproof.rules.chain import TOKEN_WISE
from draftproof.warp import Warp, Warped


class Toy:
    """A back end over a few tokens whose logits are a function of the text; counts its work."""

    name = "toy"
    context_limit = 64

    def __init__(self, after, vocab_size):
        self.after, self.vocab_size = after, vocab_size

    def logits(self, text, draft):
        return [self.after(text + draft.prefix(node)) for node in range(-1, len(draft))]


def chain(*tokens, vocab_size=3):
    return Draft.chain(tokens, [np.full(vocab_size, 1 / vocab_size)] * len(tokens))


# -- the slow twin: one token at a time, a full sort, no shortcut --------------------------------


def slow_adjusted(warp, logits, text, prompt):
    scores = [float(logit) for logit in logits]
    for token, add in dict(warp.logit_bias).items():
        scores[token] += add
    for token in set(text):
        r = warp.repetition_penalty
        scores[token] = scores[token] / r if scores[token] > 0 else scores[token] * r
    for token, count in Counter(text[prompt:]).items():
        scores[token] -= warp.presence_penalty + warp.frequency_penalty * count
    if len(text) - prompt < warp.min_tokens:
        for token in warp.eos:
            scores[token] = -math.inf
    return scores


def slow_row(warp, logits, text=(), prompt=0):
    scores = slow_adjusted(warp, logits, text, prompt)
    ranked = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    row = np.zeros(len(scores))
    if warp.temperature == 0:
        row[ranked[0]] = 1
        return row
    weights = np.exp((np.array(scores) - max(scores)) * (1 / warp.temperature))
    kept = sorted(ranked[: warp.top_k])
    if warp.top_p < 1:
        goal, reached, nucleus = warp.top_p * weights[kept].sum(), 0.0, []
        for token in sorted(kept, key=lambda token: (-weights[token], token)):
            if reached < goal:
                nucleus.append(token)
            reached += weights[token]
        kept = sorted(nucleus)
    kept = [token for token in kept if weights[token] >= warp.min_p * weights[kept].max()]
    row[kept] = weights[kept] * (1 / weights[kept].sum())
    return row


VOCAB = 12
tied = st.sampled_from([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0])
smooth = st.floats(-30, 30, width=32)
logit_rows = st.lists(st.one_of(tied, smooth), min_size=VOCAB, max_size=VOCAB).filter(
    lambda row: max(row) > -np.inf
)
warps = st.builds(
    Warp,
    temperature=st.sampled_from([0, 1e-6, 0.25, 0.8, 1.0, 1.7, 1e6]),
    top_k=st.one_of(st.none(), st.integers(1, VOCAB + 3)),
    top_p=st.one_of(st.just(1.0), st.sampled_from([0.25, 0.5, 0.75]), st.floats(0.01, 1.0)),
    min_p=st.one_of(st.just(0.0), st.floats(0, 1)),
    repetition_penalty=st.sampled_from([1.0, 0.5, 1.3, 2.0]),
    presence_penalty=st.sampled_from([0.0, 0.5, -0.25]),
    frequency_penalty=st.sampled_from([0.0, 0.125, -0.5]),
    logit_bias=st.dictionaries(
        st.integers(0, VOCAB - 2), st.sampled_from([-np.inf, -1.0, 0.5]), max_size=3
    ),
    min_tokens=st.integers(0, 4),
    eos=st.just((VOCAB - 1,)),
)
texts = st.lists(st.integers(0, VOCAB - 1), max_size=8).map(tuple)
dtypes = st.sampled_from([np.float32, np.float64])


def same(fast, slow):
    """Same support; values to 2 units in the last place, the spread of vectorised exponentials."""
    if not np.array_equal(fast > 0, slow > 0):
        return False
    return bool((np.abs(fast - slow) <= 2 * np.spacing(np.maximum(fast, slow))).all())


@settings(max_examples=600, deadline=None)
@given(warps, logit_rows, texts, st.integers(0, 8), dtypes)
def test_equals_the_slow_twin(warp, logits, text, prompt, dtype):
    logits = np.array(logits, dtype=dtype)
    if max(slow_adjusted(warp, logits, text, prompt)) == -math.inf:
        with pytest.raises(NotADistribution, match="no token possible"):
            warp.row(logits, text, prompt=prompt)
        return
    before = logits.copy()
    row = warp.row(logits, text, prompt=prompt)
    assert same(row, slow_row(warp, logits, text, prompt))
    assert row.dtype == np.float64
    assert abs(row.sum() - 1) <= 1e-12
    assert np.array_equal(logits, before)


@settings(max_examples=300, deadline=None)
@given(warps, logit_rows, texts, st.integers(0, 8), st.sets(st.integers(0, VOCAB - 1), min_size=1))
def test_the_law_on_a_few_ids_is_the_dense_law_with_the_others_impossible(
    warp, logits, text, prompt, support
):
    ids = np.array(sorted(support))
    logits = np.array(logits)
    dense = np.full(VOCAB, -np.inf)
    dense[ids] = logits[ids]
    try:
        wanted = warp.row(dense, text, prompt=prompt)
    except NotADistribution:
        with pytest.raises(NotADistribution):
            warp.row_on(ids, logits[ids], text, prompt=prompt)
        return
    kept, law = warp.row_on(ids, logits[ids], text, prompt=prompt)
    row = np.zeros(VOCAB)
    row[kept] = law
    assert same(row, wanted)
    assert (np.diff(kept) > 0).all()


@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0, 4.0])
@pytest.mark.parametrize(
    "warp",
    [
        Warp(top_p=0.95),
        Warp(top_p=0.3, temperature=5.0),
        Warp(top_k=50),
        Warp(top_k=40, top_p=0.9, min_p=0.02),
    ],
)
def test_equals_the_slow_twin_on_wide_rows(warp, spread):
    logits = np.random.default_rng(3).standard_normal(3000).astype(np.float32) * spread
    assert same(warp.row(logits), slow_row(warp, logits))


# -- what each step means, by hand ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("warp", "weights", "law"),
    [
        (Warp(), [1, 2, 1], ["1/4", "1/2", "1/4"]),
        (Warp(temperature=0.5), [1, 2, 1], ["1/6", "2/3", "1/6"]),
        (Warp(temperature=0), [1, 2, 2], ["0", "1", "0"]),
        (Warp(top_k=1), [2, 2, 1], ["1", "0", "0"]),
        (Warp(top_k=2), [1, 2, 1], ["1/3", "2/3", "0"]),
        (Warp(top_p=0.5), [1, 1, 1, 1], ["1/2", "1/2", "0", "0"]),
        (Warp(top_p=0.51), [1, 1, 1, 1], ["1/3", "1/3", "1/3", "0"]),
        (Warp(min_p=0.5), [1, 4, 2], ["0", "2/3", "1/3"]),
        (Warp(min_p=0.2), [6, 3, 1], ["2/3", "1/3", "0"]),
        (Warp(logit_bias={1: -math.inf}), [1, 9, 1], ["1/2", "0", "1/2"]),
        # top-p looks at what top-k left, min-p at what top-p left
        (Warp(top_k=2, top_p=0.6), [3, 2, 5], ["0", "0", "1"]),
        (Warp(top_k=2, top_p=0.63), [3, 2, 5], ["3/8", "0", "5/8"]),
        (Warp(top_p=0.9, min_p=0.25), [9, 3, 1, 1], ["3/4", "1/4", "0", "0"]),
    ],
)
def test_by_hand(warp, weights, law):
    row = warp.row(np.log(weights))
    assert [Fraction(x).limit_denominator(1000) for x in row] == [Fraction(x) for x in law]


def test_penalties_count_what_they_say_they_count():
    text, prompt = (0, 1, 1, 2, 2), 2
    logits = np.array([1.0, 1.0, -1.0, 1.0])

    def adjusted(warp):
        return warp._adjusted(logits, None, text, prompt, "logits").tolist()

    assert adjusted(Warp(repetition_penalty=2.0)) == [0.5, 0.5, -2.0, 1.0]
    assert adjusted(Warp(presence_penalty=0.5)) == [1.0, 0.5, -1.5, 1.0]
    assert adjusted(Warp(frequency_penalty=0.5)) == [1.0, 0.5, -2.0, 1.0]


def test_min_tokens_masks_the_end_until_enough_was_generated():
    warp = Warp(min_tokens=2, eos=(0,))
    rows = [warp.row([0.0, 0.0], (1,) * n, prompt=3) for n in (3, 4, 5)]
    assert [row[0] for row in rows] == [0.0, 0.0, 0.5]


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1.0),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("temperature", 1e-7),
        ("temperature", "hot"),
        ("top_k", 0),
        ("top_k", 2.5),
        ("top_k", True),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("min_p", -0.1),
        ("min_p", 1.5),
        ("repetition_penalty", 0.0),
        ("presence_penalty", math.inf),
        ("frequency_penalty", math.nan),
        ("logit_bias", {1: math.inf}),
        ("logit_bias", {1: math.nan}),
        ("logit_bias", {-1: 1.0}),
        ("logit_bias", 7),
        ("min_tokens", -1),
        ("min_tokens", 3),
        ("eos", (-2,)),
    ],
)
def test_bad_values_are_refused_in_one_sentence(field, value):
    with pytest.raises(InvalidInput, match=f"^{field} is ") as refusal:
        Warp(**{field: value})
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError):
        Warp(temprature=0.7)


def test_a_warp_is_a_value():
    one, other = Warp(logit_bias={4: 1.0, 2: -1}), Warp(logit_bias=((2, -1.0), (4, 1.0)))
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([0.0, math.nan, 1.0], "holds NaN"),
        ([0.0, math.inf, 1.0], r"holds \+inf"),
        ([-math.inf] * 3, "leaves no token possible"),
    ],
)
@pytest.mark.parametrize(
    "warp", [Warp(), Warp(temperature=0), Warp(top_k=1, top_p=0.5), Warp(logit_bias={1: -math.inf})]
)
def test_a_bad_row_is_named_when_it_is_looked_at(warp, row, reason):
    def after(text):
        return np.array(row if len(text) == 2 else [0.0, 0.0, 1.0], dtype=np.float32)

    rows = Warped(Toy(after, 3), warp).rows((0,), chain(1, 2))
    assert rows[0].sum() == rows[2].sum() == 1
    with pytest.raises(NotADistribution, match=f"toy after draft node 0 {reason}"):
        rows[1]


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(InvalidInput, match="logit_bias holds token 9"):
        Warped(Toy(None, 3), Warp(logit_bias={9: 1.0}))
    with pytest.raises(InvalidInput, match="eos holds token 3"):
        Warped(Toy(None, 3), Warp(eos=(3,)))
    with pytest.raises(InvalidInput, match="text holds token 5"):
        Warp(repetition_penalty=2.0).row([0.0, 0.0], (0, 5))


def test_a_back_end_that_breaks_the_contract_is_named():
    short = Toy(None, 3)
    short.logits = lambda text, draft: [np.zeros(3, np.float32)]
    with pytest.raises(BackendError, match="toy gave 1 rows for a draft of 2"):
        Warped(short, Warp()).rows((0,), chain(1, 2))
    with pytest.raises(BackendError, match=r"after the text has shape \(4,\)"):
        Warped(Toy(lambda _: np.zeros(4, np.float32), 3), Warp()).rows((0,), Draft.empty())[0]


def test_a_row_nobody_looks_at_costs_nothing(monkeypatch):
    computed = []
    row = Warp.row
    monkeypatch.setattr(
        Warp, "row", lambda self, logits, *a, **k: computed.append(1) or row(self, logits, *a, **k)
    )
    rows = Warped(Toy(lambda _: np.zeros(3, np.float32), 3), Warp()).rows((0,), chain(0, 1, 2))
    assert (len(rows), len(computed)) == (4, 0)
    assert rows[1] is rows[1]
    assert len(computed) == 1


def test_each_branch_of_a_tree_is_penalised_for_its_own_path():
    warp = Warp(presence_penalty=1.0, frequency_penalty=0.5, repetition_penalty=1.5)
    target = Warped(Toy(lambda text: np.array([1.0, 2.0, 0.5], np.float32), 3), warp, prompt=1)
    tree = Draft((0, 1, 1, 2), (-1, -1, 0, 1), (np.full(3, 1 / 3),) * 4)
    rows = target.rows((2, 1), tree)
    for node in range(-1, 4):
        alone = target.rows((2, 1, *tree.prefix(node)), Draft.empty())[0]
        assert np.array_equal(rows[node + 1], alone)


# -- penalties inside a block: the law of the loop, in fractions ---------------------------------


class Rational:
    """A predictor of floats that are rational by construction, read back as fractions."""

    def __init__(self, predictor):
        self.predictor = predictor

    def rows(self, text, draft):
        return [self.read(row) for row in self.predictor.rows(text, draft)]

    @staticmethod
    def read(row):
        exact = np.array([Fraction(x).limit_denominator(10_000) for x in row], dtype=object)
        assert exact.sum() == 1
        return exact


class Stale(Warped):
    """Mutant: every row of a block is penalised for the text alone."""

    def _row(self, logits, past, draft, node):
        return self.warp.row(logits, past(), prompt=self.prompt)


class Behind(Warped):
    """Mutant: the row after a node is penalised for its parents, not for the node itself."""

    def _row(self, logits, past, draft, node):
        text = (*past(), *draft.prefix(node)[:-1])
        return self.warp.row(logits, text, prompt=self.prompt)


class Remembering(Warped):
    """Mutant: what was drafted and rejected stays penalised."""

    drafted: tuple[int, ...] = ()

    def rows(self, text, draft):
        if len(text) == self.prompt:
            self.drafted = ()
        rejected = tuple(set(self.drafted) - set(text))
        self.drafted = (*self.drafted, *draft.tokens)
        logits = self.backend.logits(text, draft)
        return [
            self.warp.row(row, (*text, *rejected, *draft.prefix(node)), prompt=self.prompt)
            for node, row in enumerate(logits, start=-1)
        ]


LN3 = math.log(3)
PENALISED = [
    Warp(presence_penalty=LN3),
    Warp(frequency_penalty=LN3),
    Warp(repetition_penalty=2.0, temperature=0.5),
    Warp(min_tokens=2, eos=(1,)),
]


def rational_logits(text):
    return np.log([1.0, 2.0]).astype(np.float64) if len(text) % 2 else np.log([4.0, 2.0])


def law_of_the_loop(target, warp):
    draft = Warped(Toy(lambda text: np.log([1.0, 1.0]), 2), warp, prompt=1)
    limits = Limits(max_tokens=3, stop=frozenset(warp.eos))
    proposer = DraftModel(Rational(draft), eos=warp.eos)
    return loop_law(TOKEN_WISE, Rational(target), proposer, (0,), k=2, limits=limits)[0], limits


def gap(make, warp):
    """Largest difference between the loop over `make` and plain decoding of the right target."""
    backend = Toy(rational_logits, 2)
    seen, limits = law_of_the_loop(make(backend, warp, prompt=1), warp)
    wanted = plain_law(Rational(Warped(backend, warp, prompt=1)), (0,), limits)
    return largest_difference(seen, wanted).gap


@pytest.mark.parametrize("warp", PENALISED)
def test_penalties_advance_with_the_draft_and_roll_back_with_a_rejection(warp):
    assert gap(Warped, warp) == 0


@pytest.mark.parametrize("warp", PENALISED)
@pytest.mark.parametrize("mutant", [Stale, Behind])
def test_a_stale_penalty_is_caught(mutant, warp):
    assert gap(mutant, warp) > 0


@pytest.mark.parametrize("warp", PENALISED[:2])
def test_a_penalty_that_survives_its_rejection_is_caught(warp):
    assert gap(Remembering, warp) > 0


# -- wrong cuts are caught -----------------------------------------------------------------------


def agrees_with_the_twin():
    rows = ([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.5])
    every = [
        Warp(top_k=2),
        Warp(top_p=0.5),
        Warp(top_p=0.7),
        Warp(min_p=float(np.exp(-1.0))),
        Warp(top_k=3),
    ]
    return all(same(warp.row(row), slow_row(warp, row)) for warp in every for row in rows)


def _last(values, edge, count):
    kept = values > edge
    missing = count - np.count_nonzero(kept)
    kept[np.flatnonzero(values == edge)[-missing:]] = True
    return np.flatnonzero(kept)


def _all_ties(values, edge, count):
    return np.flatnonzero(values >= edge)


def _one_too_many(values, edge, count):
    return _FIRST(values, np.sort(values)[::-1][min(count, len(values) - 1)], count + 1)


def _above(weights, share):
    return np.flatnonzero(weights > share) if share > 0 else None


_FIRST = warp_module._first
WRONG_CUTS = [
    ("_first", _last),
    ("_first", _all_ties),
    ("_first", _one_too_many),
    ("_likely", _above),
    ("_nucleus", lambda weights, share: None),
]


@pytest.mark.parametrize(("part", "wrong"), WRONG_CUTS)
def test_a_wrong_cut_is_caught(monkeypatch, part, wrong):
    assert agrees_with_the_twin()
    monkeypatch.setattr(warp_module, part, wrong)
    assert not agrees_with_the_twin()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"logit_bias": {1.7: 1.0}}, r"logit_bias is \{1.7: 1.0\}; give a mapping"),
        ({"logit_bias": {"1": 1.0}}, "give a mapping from token ids to numbers"),
        ({"eos": 3}, r"eos is 3; give token ids, like \(3,\)"),
    ],
)
def test_fields_of_the_wrong_kind_are_refused(fields, words):
    with pytest.raises(InvalidInput, match=words):
        Warp(**fields)


@pytest.mark.parametrize("prompt", [-1, 1.5, True])
def test_a_prompt_that_is_no_count_is_refused_by_the_row_too(prompt):
    with pytest.raises(InvalidInput, match="it is a number of tokens, 0 or more"):
        Warp(presence_penalty=1.0).row([0.0, 0.0, 0.0], (0, 1, 2), prompt=prompt)


@pytest.mark.parametrize(
    ("logits", "words"),
    [
        ([], "logits is empty; it must be one-dimensional"),
        ([[0.0]], r"logits has shape \(1, 1\)"),
        ("abc", "logits is 'abc'; give one number per token"),
        ([0.0, None, "x"], "give one number per token"),
    ],
)
def test_what_is_no_row_of_logits_is_refused(logits, words):
    with pytest.raises(NotADistribution, match=words):
        Warp().row(logits)


@pytest.mark.parametrize(
    "warp", [Warp(logit_bias={0: -math.inf, 1: -math.inf}), Warp(min_tokens=1, eos=(0, 1))]
)
def test_who_forbids_every_token_is_told_so(warp):
    with pytest.raises(NotADistribution, match="logit_bias and min_tokens have forbidden theirs"):
        warp.row([0.0, 1.0])
    with pytest.raises(NotADistribution, match=r"every logit is -inf"):
        warp.row([-math.inf, -math.inf])
