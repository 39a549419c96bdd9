"""The audit of a server: whether what it emits while drafting follows the rows it has without.

Answers of a few tokens are sampled for many prompts, at settings chosen so that a short top list
tells the whole law. Each token but an answer's first is judged by the target's row at the prefix
that really came before it, and that row comes from a local reference, from a twin server that
does not draft, or from the server itself: beside the token where it is given, and else by asking
for the very next token after that prefix, which is never a drafted one.

"refuted" needs evidence against every law below a ceiling over all rows measured without
speculation (`draftproof.audit.numerics`), and a control that is not refuted in the same way. What
is evidence only against the row itself is "inconclusive: numerics".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from draftproof.audit.asking import (
    FAR,
    PER_ANSWER,
    SPECULATION_OFF,
    Abilities,
    Asker,
    Journal,
    Prompt,
    abilities_of,
    digest,
    turns_off,
)
from draftproof.audit.auditing import Bound, Finding, Report
from draftproof.audit.client import TIME_IS_UP, Client, Completion, Purse, Spent
from draftproof.audit.diagnosis import Diagnosis
from draftproof.audit.drafting import STREAMS, Drafting, Meter
from draftproof.audit.numerics import (
    bug_laws,
    law,
)
from draftproof.audit.places import Emission, Reference, Rows, emissions
from draftproof.audit.power import SampleSize, sample_sizes, smallest_detectable
from draftproof.audit.records import PLACES
from draftproof.audit.sequential import CLEAR_LEAD, NAMING
from draftproof.audit.server_options import ServerOptions, read_prompts
from draftproof.audit.weighing import SUSPECTS, Evidence, diagnosis
from draftproof.dist import Row
from draftproof.errors import InvalidInput, ServerError

CONTROL_SHARE = 4
"""One answer in so many is asked of the control as well."""

PATIENCE = 8
"""Requests in a row that may be lost before the server is given up."""

BOUND_EVERY = 1.2
"""The bound on total variation is worked out again after so many times the tokens."""

ROWS_FOR_POWER = 4

FIRST_ANSWERS, FIRST_TOKENS = 8, 8
"""Answers asked for, and tokens of them looked at closely, before the cost is told."""

SPARE = 1.5
"""So many times the requests needed may be sent, because some have to be tried again."""

LAST_SHARE, LAST_SECONDS = 0.1, 10.0
"""Part of the time, and most seconds, kept for the last look at whether drafts were verified."""

__all__ = ["ServerOptions", "audit_server"]


def audit_server(
    url: str,
    options: ServerOptions | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Report:
    """Audit a server with the OpenAI completions API.

    Parameters
    ----------
    url
        Its address, with or without ``/v1``.
    options
        What may be used.
    progress
        Told first what the audit will cost, then how it goes.

    Returns
    -------
    A report whose `facts` are ``drafts_verified``, ``control`` and ``cost_estimate``.

    Raises
    ------
    InvalidInput
        If an address, a file or a model cannot be used.
    ServerError
        If the server answers nothing at all; what was sampled is in the file by then.
    """
    chosen = options or ServerOptions()
    texts = read_prompts(chosen.prompts)
    purse = Purse(_before_the_last_look(chosen.budget.seconds))
    client = _client(url, chosen, purse)
    try:
        run = _opened(client, chosen, texts)
    except Spent as error:
        raise ServerError(
            f"{client.root} did not answer within the time limit of {chosen.budget.seconds:g} s, "
            f"and nothing was sampled ({error}); see whether it runs, or give more with "
            f"--time-limit."
        ) from None
    return run.report(progress)


def _before_the_last_look(seconds: float) -> float:
    return seconds - min(LAST_SHARE * seconds, LAST_SECONDS)


def _opened(client: Client, chosen: ServerOptions, texts: Sequence[str]) -> _Run:
    """Find out what the server can do, and get ready."""
    abilities, fields = abilities_of(client, texts[0])
    reference = None if chosen.reference is None else Reference.open(chosen.reference)
    prompts = _as_given(client, texts, abilities, reference)
    clients = {"server": client} | _control(client, chosen, prompts, fields)
    header: dict[str, Any] = {"url": client.root, "model": chosen.model, "prompts": digest(texts)}
    header |= {"lists": abilities.length, "extended": abilities.extended, "tokens": PER_ANSWER}
    meter = Meter(client, chosen.metrics_url)
    journal = Journal(chosen.resume, header | {"seed": chosen.budget.seed})
    asker = Asker(
        clients,
        prompts,
        abilities,
        fields,
        journal,
        concurrency=chosen.concurrency,
        seed=chosen.budget.seed,
    )
    return _Run(client.root, chosen, asker, reference, meter)


def _client(url: str, options: ServerOptions, purse: Purse) -> Client:
    return Client(
        url,
        model=options.model,
        api_key=options.api_key,
        patience=options.patience,
        purse=purse,
    )


def _control(
    client: Client, options: ServerOptions, prompts: Sequence[Prompt], fields: Mapping[str, Any]
) -> dict[str, Client]:
    """Give the twin server, or the same server with speculation off where it can do that."""
    if options.control is not None:
        return {"control": _client(options.control, options, client.purse)}
    if turns_off(client, prompts[:2], fields):
        return {"control": client.with_extra(SPECULATION_OFF)}
    return {}


def _as_given(
    client: Client, texts: Sequence[str], abilities: Abilities, reference: Reference | None
) -> list[Prompt]:
    """Give the prompts by id, if answers tell ids too; else as text."""
    if not abilities.ids:
        if reference is not None:
            raise InvalidInput(
                f"reference: {client.root} does not tell tokens by id, so a reference cannot "
                f"follow its texts; leave it out, or give a control."
            )
        return list(texts)
    prompts = [client.token_ids(text) for text in texts]
    known = [ids for ids in prompts if ids is not None]
    if reference is not None and reference.ids(texts[0]) != known[0]:
        raise InvalidInput(
            f"reference: its tokenizer and that of {client.root} split a prompt differently; give "
            f"the model that the server runs."
        )
    return [*known]


def _nothing_to_judge(answers: Iterable[Completion]) -> str:
    """Say why no answer holds a token that can be judged."""
    if any(done.tokens for done in answers):
        return "no token to judge: every answer ended with its first token, which is never drafted"
    return (
        "no target law: the answers of the server name no tokens, because their logprobs are "
        "null or their texts are empty"
    )


# ---------------------------------------------------------------- the audit


class _Run:
    """One audit of one server."""

    def __init__(
        self,
        url: str,
        options: ServerOptions,
        asker: Asker,
        reference: Reference | None,
        meter: Meter,
    ) -> None:
        self._url, self._options, self._asker, self._drafting = url, options, asker, meter
        self._purse = asker.clients["server"].purse
        self._budget = options.budget
        twin = options.control is not None
        self._rows = Rows(asker, reference, has_control=twin)
        self._law = (
            f"the local model {options.reference}"
            if reference is not None
            else f"the control {options.control}"
            if twin
            else "the server's own rows"
        )
        self._main, self._control = Evidence.at(self._budget.level), Evidence.at(self._budget.level)
        self._rng = np.random.default_rng(self._budget.seed)
        self._trail = [(0, 0.0)]
        self._skipped, self._next_bound = 0, 1
        self._remarks: list[str] = []
        self._probe: list[tuple[Row, dict[str, Row]]] = []
        self._announced: tuple[SampleSize, ...] = ()
        self._cost: dict[str, float] = {}

    def report(self, progress: Callable[[str], None]) -> Report:
        """Run it."""
        try:
            ended = self._prepared(progress) or self._sample(progress)
            return self._reported(ended, self._last_look())
        finally:
            self._asker.close()

    def _prepared(self, progress: Callable[[str], None]) -> str:
        """Get ready; say what ended the audit before it began, if anything did."""
        try:
            return self._prepare(progress)
        except Spent as spent:
            return str(spent)
        except ServerError as error:
            return f"the server stopped answering ({error})"

    def _last_look(self) -> Drafting:
        """See whether drafts were verified, on the time and the requests kept for that."""
        most = self._cost.get("requests", self._purse.sent + STREAMS)
        self._purse.allow(requests=most, seconds=self._budget.seconds)
        try:
            return self._drafting.finished(self._asker.prompts)
        except ServerError as error:
            return Drafting(seen=False, how=str(error))

    def _reported(self, ended: str, drafting: Drafting) -> Report:
        verdict, reason = self._verdict(ended, drafting)
        refuted = verdict == "refuted"
        main = self._main
        judged_any = main.strict.samples > 0
        return Report(
            target=self._url,
            signature="server",
            verdict=verdict,
            reason=reason,
            method="sequential",
            samples=main.strict.samples,
            log10_e=(main.tolerant if refuted else main.strict).log10_e,
            gap=None,
            tv_bound=Bound(main.strict.bound(), PLACES) if judged_any and not refuted else None,
            smallest_detectable=self._detectable(),
            diagnosis=diagnosis(main.tolerant) if refuted else Diagnosis(),
            findings=(self._finding(refuted=refuted),),
            remarks=tuple(self._all_remarks(drafting)),
            announced=self._announced,
            trail=tuple(self._trail),
            budget=self._budget,
            seconds=self._purse.spent,
            facts=self._facts(drafting),
        )

    def _detectable(self) -> dict[str, float | None]:
        samples = self._main.strict.samples
        if not (self._probe and samples):
            return {}
        rows, laws = [row for row, _ in self._probe], [laws for _, laws in self._probe]
        return smallest_detectable(rows, laws, samples, self._budget.level)

    def _prepare(self, progress: Callable[[str], None]) -> str:
        """Measure, announce what each bug costs, and what the audit will."""
        begun, before = self._purse.spent, self._purse.sent
        asks = range(min(len(self._asker.prompts), FIRST_ANSWERS))
        answers = dict(zip(asks, self._asker.answers("server", asks), strict=True))
        given = {ask: done for ask, done in answers.items() if done is not None}
        found = [one for ask, done in given.items() for one in self._emitted(ask, done)]
        if given and not found:
            return _nothing_to_judge(given.values())
        remark = self._rows.measure(found)
        self._remarks += [remark] if remark else []
        rows = self._rows.per_token(found[:FIRST_TOKENS])
        sent = max(self._purse.sent - before, 1)
        self._announce(found)
        self._estimate(found, len(given), rows, (self._purse.spent - begun) / sent)
        progress(self._cost_words())
        return ""

    def _emitted(self, ask: int, done: Completion) -> list[Emission]:
        return emissions(ask, self._asker.prompt(ask), done)

    def _announce(self, found: Sequence[Emission]) -> None:
        settings = self._asker.abilities.settings
        rows = [row for one in found if (row := self._rows.own(one)) is not None]
        for at, listed in enumerate(rows[: ROWS_FOR_POWER * len(settings)]):
            setting = settings[at % len(settings)]
            if setting.known_from(listed):
                keys = [*listed]
                laws: dict[str, Row] = dict(
                    zip(SUSPECTS, bug_laws(listed, setting, keys), strict=True)
                )
                self._probe.append((law(listed, setting, keys), laws))
        if self._probe:
            rows_, laws_ = [row for row, _ in self._probe], [bets for _, bets in self._probe]
            self._announced = tuple(sample_sizes(rows_, laws_, self._budget.level))

    @property
    def _batch(self) -> int:
        """Answers asked for before it is looked at again whether to go on."""
        return max(4, 2 * self._options.concurrency)

    def _estimate(
        self, found: Sequence[Emission], answers: int, rows: float, seconds: float
    ) -> None:
        """Work out the cost in requests and minutes, from what the first requests took.

        No more than these requests are sent, whatever happens.
        """
        absent = sum(self._rows.own(one) is None for one in found) / max(len(found), 1)
        rows = max(rows, absent + (self._options.control is not None))
        tokens = len(found) / answers if found else PER_ANSWER - 1
        per_answer = (1 + tokens * rows) * self._with_control()
        batches = math.ceil(self._budget.max_samples / tokens / self._batch)
        needed = math.ceil(per_answer * batches * self._batch)
        self._cost = {
            "requests": self._purse.sent + math.ceil(SPARE * needed) + STREAMS,
            "requests_needed": self._purse.sent + needed,
            "minutes": round(needed * seconds / 60, 2),
            "samples": self._budget.max_samples,
            "seconds_per_request": round(seconds, 4),
        }
        self._purse.allow(requests=self._cost["requests"] - STREAMS)

    def _with_control(self) -> float:
        return 1 + ("control" in self._asker.clients) / CONTROL_SHARE

    def _cost_words(self) -> str:
        cost, limit = self._cost, self._budget.seconds
        said = (
            f"at most {cost['requests']:,} requests ({cost['requests_needed']:,} if none has to be "
            f"tried again), about {cost['minutes']:.3g} minutes at {self._options.concurrency} at "
            f"a time; ends after {limit:g} s in any case"
        )
        if self._asker.resumed:
            said += f"; {self._asker.resumed:,} answers are already in the file"
        return said

    def _sample(self, progress: Callable[[str], None]) -> str:
        """Ask and judge until something ends it; say what did."""
        size, first = self._batch, 0
        while True:
            asks = range(first, first + size)
            self._judge("server", asks, self._main)
            if "control" in self._asker.clients:
                self._judge("control", [a for a in asks if not a % CONTROL_SHARE], self._control)
            self._trail.append((self._main.strict.samples, self._main.tolerant.log10_now))
            ended = self._ended()
            if ended:
                return ended
            progress(f"{self._main.strict.samples:,} tokens judged")
            first += size

    def _judge(self, who: str, asks: Sequence[int], evidence: Evidence) -> None:
        found = []
        for ask, done in zip(asks, self._asker.answers(who, asks), strict=True):
            if done is None:
                continue
            if who == "server":
                self._drafting.note(done)
            found += self._emitted(ask, done)
        for step in self._rows.steps(found):
            if step is None:
                self._skipped += 1
            else:
                evidence.take(step, float(self._rng.random()))

    def _ended(self) -> str:
        process, budget = self._main.tolerant, self._budget
        if self._asker.lost.in_a_row >= PATIENCE:
            return f"the server stopped answering ({self._asker.lost.last})"
        if self._asker.spent and not process.samples:
            return self._asker.spent
        if self._skipped and not process.samples:
            return "no target law: neither the server nor anything else tells the rows"
        if process.crossed_at is not None:
            clear = next(iter(process.by_suspect(SUSPECTS).values())) >= CLEAR_LEAD
            if clear or process.samples >= NAMING * process.crossed_at:
                return "the evidence reached 1 / level"
        elif process.samples >= self._next_bound:
            self._next_bound = math.ceil(BOUND_EVERY * process.samples)
            if self._main.strict.bound() <= budget.detect:
                return f"a total variation of {budget.detect:g} was excluded"
        if process.samples >= budget.max_samples:
            return "the samples ran out"
        return self._asker.spent or ("" if self._purse.left > 0 else TIME_IS_UP)

    def _verdict(self, ended: str, drafting: Drafting) -> tuple[str, str]:
        main, level = self._main, self._budget.level
        odds = f"{1 / level:,.0f} to 1"
        if main.strict.samples == 0:
            return "inconclusive", ended
        if main.tolerant.refuted and self._control.tolerant.refuted:
            return "inconclusive", (
                f"numerics: without speculation the control is refuted by {self._law} as well, so "
                f"what differs is not speculation"
            )
        if main.tolerant.refuted:
            at = main.tolerant.crossed_at
            return "refuted", f"the evidence reached {odds} after {at:,} tokens, beyond numerics"
        if main.strict.refuted:
            gap = max(self._rows.gap, self._rows.allowance)
            return "inconclusive", (
                f"numerics: what came out differs from {self._law}, but by no more than rows of "
                f"one position differ without speculation (up to {gap:.2g} in logprob"
                f"{', so that the weights may differ too' if gap > FAR else ''})"
            )
        if not drafting.seen:
            return "inconclusive", f"no draft was seen: {drafting.how}"
        bound = main.strict.bound()
        if bound <= self._budget.detect:
            return "consistent", (
                f"a total variation of {self._budget.detect:g} was excluded over {PLACES}"
            )
        return "inconclusive", (
            f"{ended}, before a bug of size {self._budget.detect:g} was excluded"
        )

    def _finding(self, *, refuted: bool) -> Finding:
        process = self._main.strict
        bins, total = process.BINS, max(int(process.places.sum()), 1)
        names = [f"{at}/{bins} to {at + 1}/{bins}" for at in range(bins)]
        outside = int(process.places[-1])
        return Finding(
            name="what it emitted",
            rows=f"{process.samples:,} tokens; {PLACES}",
            labels=(*names, "outside the row"),
            wanted=tuple(process.uniform),
            seen=tuple(process.places / total),
            method=f"{process.samples} tokens, by {self._law}",
            verdict="refuted" if refuted else "sampled",
            counterexample=f"{outside} of {total} tokens are ones that the row cannot emit"
            if refuted and outside
            else None,
        )

    def _all_remarks(self, drafting: Drafting) -> list[str]:
        asker, abilities = self._asker, self._asker.abilities
        said = [*self._remarks, f"the target's rows are those of {self._law}"]
        said.append("settings: " + "; ".join(map(str, abilities.settings)))
        said.append(f"drafts: {drafting.how}")
        if not abilities.extended:
            said.append("top-k and min-p are not taken by the server, and were not looked at")
        if self._skipped:
            said.append(f"{self._skipped} tokens could not be judged, for want of a row")
        if asker.lost.total:
            said.append(f"{asker.lost.total} requests were given up; the last: {asker.lost.last}")
        return said

    def _facts(self, drafting: Drafting) -> dict[str, Any]:
        twin = self._options.control is not None
        kind = "twin server" if twin else "same server, speculation off"
        has = "control" in self._asker.clients
        return {
            "drafts_verified": {
                "seen": drafting.seen,
                "how": drafting.how,
                "drafted": drafting.drafted,
                "accepted": drafting.accepted,
            },
            "control": {"kind": kind, **self._control.summary()} if has else None,
            "cost_estimate": self._cost,
            "requests": self._purse.sent,
            "numerics": {"allowance": self._rows.allowance, "row_gap": self._rows.gap},
        }
