"""The live table: exact at every pair, marked exactly where it is wrong, and steerable."""

import random
from fractions import Fraction

import numpy as np
import pytest

from browser.lab import settled, words
from draftproof import dist
from draftproof.lesson.shelf import find

WIDE = "\N{FULLWIDTH DIGIT ZERO}.\N{FULLWIDTH DIGIT SIX}"
PRESETS = find(3).step("table").presets

READ = """() => [...document.querySelectorAll('table.laws tbody tr')].map((row) => ({
    p: row.querySelector('td.p input[type=text]').value,
    q: row.querySelector('td.q input[type=text]').value,
    laws: [...row.querySelectorAll('td:not(.p):not(.q) .fraction')].map((x) => x.textContent),
    marked: [...row.querySelectorAll('td')].slice(2).map((cell) => cell.matches('.differs')),
}))"""


@pytest.fixture
def pair_table(shared):
    """The table of the shared page, at the worked pair."""
    for name in ("Disjoint supports", "The worked pair"):  # a refused entry goes with the change
        shared.get_by_role("button", name=name, exact=True).click()
    return shared


def table(page):
    return page.evaluate(READ)


def laws(p, q):
    """The rows that the library gives for a pair of fractions."""
    p, q = np.array(p, dtype=object), np.array(q, dtype=object)
    columns = dist.residual(p, q), dist.exact_distribution(p, q), dist.naive_distribution(p, q)
    return [list(map(str, row)) for row in zip(*columns, strict=True)]


def agrees(rows, p, q):
    """Every cell is the library's value, and marked exactly where the law is not p."""
    assert [row["p"] for row in rows] == list(map(str, p))
    assert [row["q"] for row in rows] == list(map(str, q))
    for row, law, target in zip(rows, laws(p, q), p, strict=True):
        assert row["laws"] == law
        assert row["marked"] == [False, law[1] != str(target), law[2] != str(target)]


def test_each_preset_shows_the_exact_laws_and_its_note(pair_table):
    for preset in PRESETS:
        pair_table.get_by_role("button", name=preset.title, exact=True).click()
        rows = table(pair_table)
        agrees(rows, preset.p, preset.q)
        said = words(pair_table.locator("#table").inner_text())
        right = all(not any(row["marked"]) for row in rows)
        assert ("The shortcut is right here." in said) == right, preset.id
        assert ("not needed" in said) == (preset.p == preset.q), preset.id


def test_the_presets_are_the_ones_asked_for(pair_table):
    marked = {}
    for preset in PRESETS:
        pair_table.get_by_role("button", name=preset.title, exact=True).click()
        marked[preset.id] = sum(map(sum, (row["marked"] for row in table(pair_table))))
    assert marked == {"worked": 3, "equal": 0, "disjoint": 0, "greedy": 3, "two-token": 3}
    two = next(preset for preset in PRESETS if preset.id == "two-token")
    assert sum(p > q for p, q in zip(two.p, two.q, strict=True)) == 2


def test_disjoint_supports_are_explained(pair_table):
    pair_table.get_by_role("button", name="Disjoint supports").click()
    said = words(pair_table.locator("#table .why-right").inner_text())
    assert "no token in common" in said
    assert "the residual is p itself" in said


LINKED = f"""async (pairs) => {{
    const read = {READ}, seen = [];
    for (const [p, q] of pairs) {{
        location.hash = `#table?p=${{p.join('.')}}&q=${{q.join('.')}}&n=${{seen.length}}`;
        await new Promise((done) => setTimeout(done, 5));
        seen.push(read());
    }}
    return seen;
}}"""


@pytest.mark.parametrize("seed", [20, 21])
def test_three_hundred_random_pairs_agree_with_the_library(pair_table, seed):
    """In two halves: a browser ignores the 201st change of address within ten seconds."""
    rng = random.Random(seed)
    pairs = [pair(rng) for _ in range(150)]
    for (p, q), rows in zip(pairs, pair_table.evaluate(LINKED, pairs), strict=True):
        agrees(rows, fractions(p), fractions(q))


def pair(rng):
    """Whole weights; some zero, some rows equal, some proportional where p is positive."""
    size = rng.randint(2, 6)
    p = weights(rng, size)
    kind = rng.random()
    if kind < 0.1:
        return p, p
    q = weights(rng, size)
    return (p, [3 * x if x else rng.randint(0, 9) for x in p]) if kind < 0.2 else (p, q)


def weights(rng, size):
    row = [rng.choice([0, 1, 2, 3, 7, 23, 160]) for _ in range(size)]
    return row if any(row) else [1] * size


def fractions(row):
    return [Fraction(x, sum(row)) for x in row]


def test_a_probability_can_be_typed(pair_table):
    box = pair_table.get_by_label("p of token 0, typed")
    for typed in ("3/5", "0.6", ".6", "0,6", "6/10", "60%", "6e-1", WIDE):
        pair_table.get_by_role("button", name="The worked pair").click()
        assert table(pair_table)[0]["p"] == "1/2"
        box.fill(typed)
        box.press("Enter")
        rows = table(pair_table)
        assert rows[0]["p"] == "3/5", typed
        p = [Fraction(row["p"]) for row in rows]
        assert sum(p) == 1
        agrees(rows, p, [Fraction(row["q"]) for row in rows])


def test_a_value_that_cannot_be_is_refused_and_nothing_changes(pair_table):
    before = [row["laws"] for row in table(pair_table)]
    box = pair_table.get_by_label("p of token 0, typed")
    for typed in ("abc", "-1/2", "3/2", "1/0", "1e3", "1/100003"):
        box.fill("1/2")
        box.press("Enter")
        assert box.get_attribute("aria-invalid") == "false"
        box.fill(typed)
        box.press("Enter")
        assert box.get_attribute("aria-invalid") == "true", typed
        assert pair_table.locator("#table .problem").inner_text()
        assert [row["laws"] for row in table(pair_table)] == before


def test_a_bar_moves_by_arrow_keys_and_says_what_followed(pair_table):
    bar = pair_table.get_by_role("slider", name="p of token 0")
    bar.focus()
    bar.press("ArrowRight")
    rows = table(pair_table)
    assert rows[0]["p"] == "11/20"
    p = [Fraction(row["p"]) for row in rows]
    assert sum(p) == 1
    agrees(rows, p, [Fraction(row["q"]) for row in rows])
    pair_table.locator("#announcer", has_text="P of reject is").wait_for(state="attached")


def test_what_was_refused_goes_when_the_bar_moves(pair_table):
    box = pair_table.get_by_label("p of token 0, typed")
    box.fill("abc")
    box.press("Enter")
    assert box.get_attribute("aria-invalid") == "true"
    pair_table.get_by_role("slider", name="p of token 0").press("ArrowRight")
    assert table(pair_table)[0]["p"] == "11/20"
    assert box.get_attribute("aria-invalid") == "false"


def test_a_bar_can_be_dragged(pair_table):
    bar = pair_table.get_by_role("slider", name="q of token 1")
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    y = box["y"] + box["height"] / 2
    pair_table.mouse.move(box["x"] + box["width"] / 2, y)
    pair_table.mouse.down()
    pair_table.mouse.move(box["x"] + box["width"] - 2, y, steps=4)
    pair_table.mouse.up()
    rows = table(pair_table)
    assert Fraction(rows[1]["q"]) > Fraction(9, 10)
    p, q = ([Fraction(row[name]) for row in rows] for name in "pq")
    assert sum(q) == 1
    agrees(rows, p, q)


def test_a_link_restores_its_table_and_back_and_forward_work(opened, visit, lab):
    opened.get_by_role("button", name="Greedy draft").click()
    opened.get_by_role("button", name="Disjoint supports").click()
    link = opened.url
    assert "#table?p=" in link
    shared = table(opened)
    opened.go_back()
    agrees(table(opened), *next((one.p, one.q) for one in PRESETS if one.id == "greedy"))
    opened.get_by_role("button", name="Greedy draft", pressed=True).wait_for()
    opened.go_forward()
    assert table(opened) == shared
    opened.close()
    lab.forget()
    other = settled(visit(lab.address))
    other.goto(link)
    other.locator("table.laws").wait_for()
    assert [row["laws"] for row in table(other)] == [row["laws"] for row in shared]


def test_a_senseless_link_shows_the_worked_pair(opened):
    address = opened.url.split("#")[0]
    links = ["p=1&q=1", "p=0.0&q=1.1", "p=1.2.3&q=1", "p=<b>&q=2", "p=9e9.1&q=1.1"]
    for number, link in enumerate(links):
        opened.goto(f"{address}?again={number}#table?{link}")
        opened.locator("table.laws tbody tr").first.wait_for()
        assert [row["p"] for row in table(opened)] == ["1/2", "3/10", "1/5"], link
