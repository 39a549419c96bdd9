"""What is decoded: three kinds of text, at two temperatures, in the model's chat form."""

from __future__ import annotations

from dataclasses import dataclass

EDIT = (
    "Replace every 'fox' by 'cat' and print the whole text again, nothing else.\n\n"
    "The fox lives at the edge of the wood. In the morning the fox goes down to the river, and in "
    "the evening the fox comes back along the old stone wall. Nobody in the village has ever seen "
    "where the fox sleeps, but everybody knows the sound of its steps on the dry leaves."
)


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of text at one temperature."""

    kind: str
    prompt: str
    temperature: float

    @property
    def name(self) -> str:
        """For reports."""
        return f"{self.kind}, T = {self.temperature:g}"

    @property
    def text(self) -> str:
        """The prompt as the model reads it, the same for every contestant."""
        return f"<|im_start|>user\n{self.prompt}<|im_end|>\n<|im_start|>assistant\n"


PROMPTS = {
    "chat": "Why is the sky blue, and why is it red in the evening?",
    "copy": EDIT,
    "code": "Write a Python class for a stack with push, pop, peek and size, with docstrings.",
}

TASKS = tuple(Task(kind, prompt, T) for T in (0.0, 0.8) for kind, prompt in PROMPTS.items())
