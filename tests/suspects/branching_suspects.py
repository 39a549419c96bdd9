"""One plausible mistake for every exact rule beyond the token-wise one, as runnable code.

Each declares itself exact, as its author would have; each must fail its proof with a
counterexample that a person can read. Rules whose mistake lies in how the draft was drawn come
with the proposer that makes it.
"""

from dataclasses import dataclass, replace

from draftproof.contracts import ROOT, Draft, Source, Trial
from draftproof.dist import excess, normalised
from draftproof.proposers.branching import GumbelDraft, Siblings
from draftproof.rules import find_rule, transport
from draftproof.rules.branching import Choice, walk
from draftproof.rules.chain import _running_ratios, verify_block
from draftproof.rules.judging import bonus, correction, share, verdict
from draftproof.rules.ordering import by_ratio, ranks

MISTAKEN = {}
"""For each suspect, by name, the rule it gets wrong."""


def _suspect(of, name, verify, **changes):
    """Give the rule `of` with another way to judge."""
    MISTAKEN[name] = of
    return replace(find_rule(of), name=name, verify=verify, source="a mistake", **changes)


# ---------------------------------------------------------------- chains


def _argmax(chance, draft, rows):
    """Greedy verification at a temperature that leaves the target a choice."""
    trials = []
    for node, token in enumerate(draft.tokens):
        best = int(rows[node].argmax())
        p, q = rows[node][token], draft.rows[node][token]
        trials.append(Trial(node, token, p, q, best == token, coin=False))
        if best != token:
            return verdict(draft, range(node), best, Source.TARGET, trials)
    last = int(rows[len(draft)].argmax())
    return verdict(draft, range(len(draft)), last, Source.TARGET, trials)


def _match_then_redraw(chance, draft, rows):
    """On a mismatch, throw the target's own draw away and draw again."""
    trials = []
    for node, token in enumerate(draft.tokens):
        kept = chance.own(node).pick(rows[node]) == token
        trials.append(Trial(node, token, rows[node][token], 1, kept, coin=False))
        if not kept:
            last = chance.at("residual", node).pick(rows[node])
            return verdict(draft, range(node), last, Source.RESIDUAL, trials)
    return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)


def _point_mass_from_p(chance, draft, rows):
    """After a rejection, forget that the rejected token is out of the question."""
    trials = []
    for node, token in enumerate(draft.tokens):
        kept = chance.at("coin", node).accepts(rows[node][token])
        trials.append(Trial(node, token, rows[node][token], 1, kept))
        if not kept:
            last = chance.at("residual", node).pick(rows[node])
            return verdict(draft, range(node), last, Source.RESIDUAL, trials)
    return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)


def _block(chance, draft, rows, *, final=None, first_failure=False, weighted=True):
    """Block verification, slow and obvious, with its parts exchangeable."""
    weights = _running_ratios(draft, rows)
    weights += [0] * (len(draft) + 1 - len(weights))
    trials, length = [], 0
    for node, token in enumerate(draft.tokens):
        size = node + 1
        if size == len(draft):
            part, whole = weights[size] if final is None else final(draft, rows), 1
        else:
            part = excess(weights[size] * rows[size], draft.rows[size]).sum()
            whole = part + 1 - weights[size]
        kept = whole == 0 or chance.at("coin", node).accepts(part, whole)
        trials.append(Trial(node, token, part, whole, kept))
        if kept:
            length = size
        elif first_failure:
            break
    if length == len(draft):
        return bonus(chance, draft, range(length), rows[length], trials)
    weight = weights[length] if weighted else 1
    weights_left = correction(weight * rows[length], draft.rows[length])
    last = chance.at("residual", length).pick(weights_left)
    return verdict(draft, range(length), last, Source.RESIDUAL, trials)


def _uncapped(draft, rows):
    """Give the product of all ratios, clipped only at the end."""
    product = 1
    for node, token in enumerate(draft.tokens):
        product = product * rows[node][token] / draft.rows[node][token]
    return min(product, 1)


def _noise_again(chance, draft, rows):
    """Compare p with q, but draw the residual with the noise the draft raced on."""
    trials = []
    for node, token in enumerate(draft.tokens):
        p, q = rows[node], draft.rows[node]
        kept = chance.at("coin", node).accepts(p[token], q[token])
        trials.append(Trial(node, token, p[token], q[token], kept))
        if not kept:
            last = chance.own(node).race(correction(p, q))
            return verdict(draft, range(node), last, Source.RESIDUAL, trials)
    return bonus(chance, draft, range(len(draft)), rows[len(draft)], trials)


BLOCK_BY_HAND = _suspect("block", "block, put together from the parts used here", _block)
GREEDY_AT_ANY_TEMPERATURE = _suspect("greedy", "argmax-at-any-temperature", _argmax, one_hot=False)
MATCH_THEN_REDRAW = _suspect("exact-match", "match-then-redraw", _match_then_redraw)
POINT_MASS_FROM_P = _suspect("point-mass", "point-mass-from-p", _point_mass_from_p)
BLOCK_UNCAPPED = _suspect(
    "block", "block-uncapped-at-the-end", lambda *how: _block(*how, final=_uncapped)
)
BLOCK_FIRST_FAILURE = _suspect(
    "block", "block-stops-at-first-failure", lambda *how: _block(*how, first_failure=True)
)
BLOCK_PLAIN_RESIDUAL = _suspect(
    "block", "block-plain-residual", lambda *how: _block(*how, weighted=False)
)
NOISE_AGAIN = _suspect("gumbel", "noise-again-for-the-residual", _noise_again)

# ---------------------------------------------------------------- several drafts, trees


def _forgets_rejections(fork):
    """Test every sibling against p, as if none had been rejected before."""
    left, trials = fork.p, []
    for node in fork.nodes:
        token, d = fork.draft.tokens[node], fork.draft.rows[node]
        trials.append(fork.coin(node, fork.p[token], d[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
        left = normalised(correction(left, d))
    return Choice(None, fork.rest(left), tuple(trials))


def _not_normalised(fork):
    """Go on with what a rejection leaves without dividing it by its sum."""
    left, trials = fork.p, []
    for node in fork.nodes:
        token, d = fork.draft.tokens[node], fork.draft.rows[node]
        trials.append(fork.coin(node, left[token], d[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
        left = correction(left, d)
    return Choice(None, fork.rest(left), tuple(trials))


def _from_p_at_the_end(fork):
    """After rejecting all siblings, draw from p instead of from what is left of it."""
    left, trials = fork.p, []
    for node in fork.nodes:
        token, d = fork.draft.tokens[node], fork.draft.rows[node]
        trials.append(fork.coin(node, left[token], d[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
        left = normalised(correction(left, d))
    return Choice(None, fork.rest(fork.p), tuple(trials))


def _k_seq_without_factor(fork):
    """K-SEQ with rho = 1: several plain tests, which together accept too often."""
    q, trials = fork.shared_row("k-seq"), []
    for node in fork.nodes:
        token = fork.draft.tokens[node]
        trials.append(fork.coin(node, fork.p[token], q[token]))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
    return Choice(None, fork.rest(correction(fork.p, q)), tuple(trials))


def _drops_the_chosen(fork):
    """Greedy drafting whose residual leaves out the tokens that were chosen, not drawn."""
    last = fork.nodes[-1]
    token, tail = fork.draft.tokens[last], fork.draft.rows[last]
    trial = fork.coin(last, fork.p[token], tail[token])
    if trial.kept:
        return Choice(last, token, (trial,))
    left = correction(fork.p, tail).copy()
    left[[fork.draft.tokens[node] for node in fork.nodes[:-1]]] = 0
    return Choice(None, fork.rest(left if left.any() else fork.p), (trial,))


def _judged_by_q(fork):
    """Pick the largest ratio, then judge the pick as if it had been drawn from q."""
    q = fork.shared_row("max-ratio")
    rank = ranks(by_ratio(fork.p, q))
    node = max(fork.nodes, key=lambda at: int(rank[fork.draft.tokens[at]]))
    token = fork.draft.tokens[node]
    trial = fork.coin(node, fork.p[token], q[token])
    if trial.kept:
        return Choice(node, token, (trial,))
    return Choice(None, fork.rest(correction(fork.p, q)), (trial,))


def _coin_each(fork):
    """Give every sibling a fresh coin against its own p, without renewing p in between."""
    left, trials = fork.p.copy(), []
    for node in fork.nodes:
        token = fork.draft.tokens[node]
        trials.append(fork.coin(node, fork.p[token], 1))
        if trials[-1].kept:
            return Choice(node, token, tuple(trials))
        left[token] = 0
    return Choice(None, fork.rest(left if left.any() else fork.p), tuple(trials))


def _leftover_from_p(fork):
    """Follow the optimal plan, but draw from p where it says to draw what is left of p."""

    q, tokens = fork.shared_row("optimal-transport"), fork.tokens()
    plan = transport.plan_iid(fork.p, q, len(tokens))
    shares = plan.shares(frozenset(tokens), len(fork.p), fork.p.dtype)
    at = fork.chance.at("plan", fork.nodes[0]).pick(shares)
    if at == len(fork.p):
        return Choice(None, fork.rest(fork.p))
    return Choice(fork.nodes[tokens.index(at)], at)


def _parent_keeps_its_weight(chance, draft, rows):
    """Traversal that renews the target row after a rejected leaf, but not the parent's weight."""
    trials = []

    def explore(node, part, whole):
        weight, p = share(part, whole), rows[node + 1]
        for child in draft.children(node) if weight > 0 else ():
            token, d = draft.tokens[child], draft.rows[child]
            kept = explore(child, weight * p[token], d[token])
            if kept is not None:
                return kept
            p = normalised(correction(weight * p, d))
        if node == ROOT:
            return node, p
        kept = bool(chance.at("coin", node).accepts(part, whole))
        trials.append(Trial(node, draft.tokens[node], part, whole, kept))
        return (node, p) if kept else None

    node, p = explore(ROOT, 1, 1)
    path = draft.path(node)
    last = chance.at("residual", len(path)).pick(p)
    return verdict(draft, path, last, Source.RESIDUAL, trials)


def _picked_path_judged_by_q(chance, draft, rows):
    """Pick the best of several chains, then verify it as a block with the rows of one draw."""
    if not draft.tokens:
        return verify_block(chance, draft, rows)
    alive = [draft.path(node) for node in range(len(draft)) if node not in draft.parents]
    for depth in range(len(alive[0])):
        first = alive[0][depth]
        rank = ranks(by_ratio(rows[draft.parents[first] + 1], draft.rows[first]))
        best = max((draft.tokens[path[depth]] for path in alive), key=lambda token: rank[token])
        alive = [path for path in alive if draft.tokens[path[depth]] == best]
    picked = alive[0]
    chain = Draft.chain([draft.tokens[n] for n in picked], [draft.rows[n] for n in picked])
    judged = verify_block(chance, chain, [rows[0], *(rows[n + 1] for n in picked)])
    return replace(judged, path=picked[: judged.accepted])


FORGETS_REJECTIONS = _suspect("rrs", "forgets-rejections", walk(_forgets_rejections))
NOT_NORMALISED = _suspect(
    "tree-without-replacement", "residual-not-normalised", walk(_not_normalised)
)
FROM_P_AT_THE_END = _suspect("tree", "from-p-at-the-end", walk(_from_p_at_the_end))
K_SEQ_WITHOUT_FACTOR = _suspect("k-seq", "k-seq-without-factor", walk(_k_seq_without_factor))
DROPS_THE_CHOSEN = _suspect("greedy-draft", "drops-the-chosen", walk(_drops_the_chosen))
JUDGED_BY_Q = _suspect("max-ratio", "pick-judged-by-q", walk(_judged_by_q))
LEFTOVER_FROM_P = _suspect("optimal-transport", "leftover-from-p", walk(_leftover_from_p))
COIN_EACH = _suspect("tree-target-only", "a-coin-for-each-sibling", walk(_coin_each))
PARENT_KEEPS_ITS_WEIGHT = _suspect("traversal", "parent-keeps-its-weight", _parent_keeps_its_weight)
PATH_JUDGED_BY_Q = _suspect("multi-path-block", "path-judged-by-q", _picked_path_judged_by_q)

WRONG_RULES = (
    GREEDY_AT_ANY_TEMPERATURE,
    MATCH_THEN_REDRAW,
    POINT_MASS_FROM_P,
    BLOCK_UNCAPPED,
    BLOCK_FIRST_FAILURE,
    BLOCK_PLAIN_RESIDUAL,
    NOISE_AGAIN,
    FORGETS_REJECTIONS,
    NOT_NORMALISED,
    FROM_P_AT_THE_END,
    K_SEQ_WITHOUT_FACTOR,
    DROPS_THE_CHOSEN,
    JUDGED_BY_Q,
    LEFTOVER_FROM_P,
    COIN_EACH,
    PARENT_KEEPS_ITS_WEIGHT,
    PATH_JUDGED_BY_Q,
)


# ---------------------------------------------------------------- drafts that do not say the truth


@dataclass(frozen=True)
class Relabelled:
    """A proposer whose nodes carry other rows than those their tokens were drawn from."""

    proposer: object
    row: object
    name: str = "relabelled"

    def propose(self, chance, text, k):
        draft = self.proposer.propose(chance, text, k)
        rows = tuple(self.row(text, draft, node) for node in range(len(draft)))
        return Draft(draft.tokens, draft.parents, rows)


def claims_replacement(world, drafts=2):
    """Draw siblings without replacement, and claim that each came from q."""

    def q(text, draft, node):
        return world.draft.row((*text, *draft.prefix(node)[:-1]))

    return Relabelled(Siblings(world.draft, drafts, "without-replacement"), q)


def coupled_but_compared(world):
    """Draft with the target's own noise, for a rule that believes the two independent."""
    return GumbelDraft(world.draft)
