"""Assisted generation of transformers, with stock models small enough to know every row.

The models are ordinary `LlamaForCausalLM`s of one layer whose weights are set by hand. Attention
has no preference, so it averages the tokens of the whole text through the key-value cache; the
hidden state is the last token plus that average, and the head turns it into logits. Every row is
therefore a short formula (`TinyModel.row`), and a cache that was rolled back wrongly changes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from draftproof.errors import MissingExtra

try:
    import torch
    import transformers
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as missing:
    raise MissingExtra(
        "transformers is not installed; type: pip install torch transformers"
    ) from missing

from draftproof.audit.auditing import Audit
from draftproof.audit.evidence import Floats
from draftproof.audit.loop_world import LoopWorld, Settings
from draftproof.audit.loops import Generate, as_fractions, prepare_loops
from draftproof.audit.sequential import Budget
from draftproof.audit.suspects import one_hot_at
from draftproof.backends.table import Table
from draftproof.contracts import Text
from draftproof.dist import Row
from draftproof.warp import Warp

WIDTH = 8
"""Size of the hidden state; a vocabulary may have as many tokens."""


@dataclass(frozen=True, slots=True)
class TinyModel:
    """A language model whose rows are known.

    Parameters
    ----------
    weights
        Of the head, one row for each token of the vocabulary: its logit for each coordinate of
        the hidden state.

    Examples
    --------
    >>> even = TinyModel(((0.0, 0.0), (0.0, 0.0)))
    >>> [float(p) for p in even.row((0, 1))]
    [0.5, 0.5]
    """

    weights: tuple[tuple[float, ...], ...]

    @property
    def size(self) -> int:
        """Number of tokens in the vocabulary."""
        return len(self.weights)

    def logits(self, text: Text) -> Floats:
        """Give the logits after a text: the head on the normalised last token and average."""
        hidden = np.bincount(text, minlength=self.size) / len(text)
        hidden[text[-1]] += 1
        normal = hidden / np.sqrt((hidden**2).sum() / WIDTH)
        return np.array([np.dot(weights, normal) for weights in self.weights], dtype=np.float64)

    def row(self, text: Text) -> Row:
        """Give the probabilities after a text."""
        return as_fractions(Warp().row(self.logits(text)))

    def built(self) -> Any:
        """Build the model."""
        config = LlamaConfig(
            vocab_size=self.size,
            hidden_size=WIDTH,
            intermediate_size=4,
            num_hidden_layers=1,
            num_attention_heads=1,
            num_key_value_heads=1,
            max_position_embeddings=64,
            tie_word_embeddings=False,
            rms_norm_eps=1e-12,
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
        )
        model: Any = LlamaForCausalLM(config)
        model.eval()
        with torch.no_grad():
            self._fill(model)
        return model

    def _fill(self, model: Any) -> None:
        """Set the weights: tokens as unit vectors, values passed on, nothing else added."""
        for weights in model.parameters():
            weights.fill_(1 if weights.ndim == 1 else 0)
        layer, few = model.model.layers[0], slice(self.size)
        model.model.embed_tokens.weight[:, few] = torch.eye(self.size)
        layer.self_attn.v_proj.weight[few, few] = torch.eye(self.size) / WIDTH**0.5
        layer.self_attn.o_proj.weight[few, few] = torch.eye(self.size)
        model.lm_head.weight[:, few] = torch.tensor(self.weights)


TARGET = TinyModel(((0.4, -0.2, 0.1), (-0.3, 0.3, 0.2), (0.1, 0.2, -0.4)))
DRAFT = TinyModel(((-0.1, 0.4, 0.2), (0.3, -0.2, 0.1), (0.1, 0.0, 0.3)))
PROMPT: Text = (2, 0, 1, 0)
"""It repeats a token, so that prompt lookup finds something to draft."""


Processor: TypeAlias = Callable[[Floats, Text], Floats]


@dataclass(frozen=True, slots=True)
class Scene:
    """Options of ``generate``, and the same in words and as a function of logits and text.

    `twice` says that the assistant applies them two times, as it does with a temperature: once
    as the processors it is handed, once as options of its own.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    apply: Processor | None = None
    stop: frozenset[int] = frozenset()
    twice: bool = False
    tokens: int = 3

    def on_target(self, logits: Floats, text: Text) -> Floats:
        """Apply the options as the target does."""
        return self.apply(logits, text) if self.apply else logits

    def on_draft(self, logits: Floats, text: Text) -> Floats:
        """Apply the options as the assistant does."""
        once = self.on_target(logits, text)
        return self.on_target(once, text) if self.twice else once


def tempered(logits: Floats, _text: Text) -> Floats:
    """Divide by a temperature of 3/2, then keep the two likeliest tokens."""
    return top_two(logits / 1.5)


def penalised(logits: Floats, text: Text) -> Floats:
    """Divide positive logits of tokens in the text by 2, multiply negative ones; keep two."""
    seen = np.isin(np.arange(len(logits)), text)
    return top_two(np.where(seen, np.where(logits > 0, logits / 2, logits * 2), logits))


def top_two(logits: Floats) -> Floats:
    """Keep the two likeliest tokens."""
    kept = logits.copy()
    kept[logits < np.sort(logits)[-2]] = -np.inf
    return kept


SCENES = (
    Scene("temperature 1"),
    Scene("temperature 3/2 and top-k 2", {"temperature": 1.5, "top_k": 2}, tempered, twice=True),
    Scene(
        "a repetition penalty of 2 and top-k 2", {"repetition_penalty": 2.0, "top_k": 2}, penalised
    ),
    Scene("id 1 ends a text", {"eos_token_id": 1, "pad_token_id": 1}, stop=frozenset({1})),
)

SURE = 0.4
"""A draft ends after a token less likely than this; the library's own default."""

WAYS = ("assistant model", "prompt lookup")


def world_of(
    scene: Scene, way: str = WAYS[0], target: TinyModel = TARGET, draft: TinyModel = DRAFT
) -> LoopWorld:
    """Give the world of one set of options, which both models are asked with."""
    settings = _settings(scene.on_target, target)
    assisted = way == WAYS[0]
    looked_up = Table(partial(_looked_up, settings.target))
    return LoopWorld(
        name=scene.name,
        target=settings.target,
        draft=_settings(scene.on_draft, draft).target if assisted else looked_up,
        prompt=PROMPT,
        tokens=scene.tokens,
        stop=scene.stop,
        settings=settings if scene.apply else None,
        sure=SURE if assisted else 0.0,
    )


def _settings(apply: Processor, model: TinyModel) -> Settings:
    def after(text: Text, seen: Text) -> Row:
        return as_fractions(Warp().row(apply(model.logits(text), seen)))

    return Settings(Table(model.row), after)


def _looked_up(target: Table, text: Text) -> Row:
    """Give the row of prompt lookup, for the suspects: certain of what followed the last token.

    Where nothing did, nothing is drafted, which is as good as drafting from the target's row.
    """
    row = target.row(text)
    earlier = [at for at, token in enumerate(text[:-1]) if token == text[-1]]
    return one_hot_at(row, text[earlier[0] + 1]) if earlier else row


def loop_of(
    world: LoopWorld,
    scene: Scene,
    way: str = WAYS[0],
    target: TinyModel = TARGET,
    draft: TinyModel = DRAFT,
) -> Generate:
    """Give ``generate`` of transformers as a loop: it draws from PyTorch's global generator."""
    model, options = target.built(), _drafting(way, world.k, draft)

    def generate(prompt: Text, _generator: Any) -> list[int]:
        ids = torch.tensor([prompt])
        with torch.no_grad():
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                max_new_tokens=world.tokens,
                **{"top_k": 0, **scene.options, **options},
            )
        return cast("list[int]", out[0, len(prompt) :].tolist())

    return generate


def _drafting(way: str, k: int, draft: TinyModel) -> dict[str, Any]:
    if way == "prompt lookup":
        return {"prompt_lookup_num_tokens": k}
    assistant = draft.built()
    chosen = assistant.generation_config
    chosen.num_assistant_tokens = k
    chosen.num_assistant_tokens_schedule = "constant"
    chosen.assistant_confidence_threshold = SURE
    return {"assistant_model": assistant}


def prepare_transformers(
    way: str = WAYS[0], *, budget: Budget | None = None, scenes: tuple[Scene, ...] | None = None
) -> Audit:
    """Get the audit of ``generate`` ready: drafts by an assistant model, or by prompt lookup.

    Prompt lookup draws at every position, whether it is used or not, so that a full vocabulary
    has thousands of branches; by default it is tried with two tokens left or with a stop token.
    """
    scenes = scenes or (SCENES if way == WAYS[0] else SCENES[1:])
    cast(Any, transformers.logging).set_verbosity_error()
    worlds = [(scene, world_of(scene, way)) for scene in scenes]
    loops = [(loop_of(world, scene, way), world) for scene, world in worlds]
    name = f"transformers {transformers.__version__}, generate with {way}"
    return prepare_loops(loops, luck="torch", budget=budget, name=name)
