"""The pages as HTML: readable without scripts, exact, escaped, and free of any one lesson."""

import dataclasses
import json
import pathlib
import random
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from draftproof.lesson import render
from draftproof.lesson.assets import Assets, shipped
from draftproof.lesson.content import Code, Table
from draftproof.lesson.prose import Prose
from draftproof.lesson.shelf import chapter, find, lessons

NOTHING = Assets(pathlib.Path("/nowhere"))
BUILT = shipped()
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Text, ids and well-formedness of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.styled: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if tag == "a" else []
        self.styled += [tag] if "style" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open[-1:] == [tag], f"</{tag}> closes nothing"
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def lesson_page(assets=NOTHING, lesson=None):
    return render.render_lesson(lesson or find(3), assets, nonce="abc")


def page_data(text):
    return json.loads(re.search(r'id="page-data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("assets", [NOTHING, BUILT], ids=["unbuilt", "shipped"])
@pytest.mark.parametrize("what", ["lesson", "chapter"])
def test_pages_are_well_formed(assets, what):
    text = lesson_page(assets) if what == "lesson" else render.render_chapter(assets, nonce="abc")
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.styled == [], "the content policy refuses style attributes"
    inside = [link[1:] for link in page.links if link.startswith("#")]
    assert set(inside) <= set(page.ids)


def test_every_word_of_the_lesson_is_readable_without_scripts():
    text = Page(lesson_page()).text
    for step in find(3).steps:
        assert step.title in text
    for section in (*chapter().sections, *chapter().mistakes):
        assert section.title in text
    for said in ("3.3616", "210.1", "2.101", "assert expected_tokens(1, 4) == 5"):
        assert said in text


def test_the_chapter_page_says_what_each_lesson_needs():
    text = Page(render.render_chapter(NOTHING, nonce="abc")).text
    for lesson in lessons():
        needed = ", ".join(find(name).title for name in lesson.needs)
        after = f", after {needed}" if needed else ""
        assert f"{lesson.title} About {lesson.minutes} minutes{after}" in text


def test_charts_and_rounds_are_readable_without_scripts():
    runs = Page(lesson_page(lesson=find(4))).text
    for said in ("acceptance a 0.8", "4 3.3616 5", "3 2.395 1.875"):
        assert said in runs
    played = Page(lesson_page(lesson=find(1))).text
    for said in (
        "Round 1: 4 drafted, 3 kept; the text grows by 4.",
        "“the” is rejected; the target writes “a”.",
        "the last row is not used",
        "“cat” is kept, behind the end of the text.",
    ):
        assert said in played, said


def test_the_worked_table_is_on_the_page_with_its_differences():
    text = Page(lesson_page()).text
    table = text[text.index("The table, live") :]
    for row in (
        "0 1/2 0.5 1/4 0.25 1 1/2 0.5 = p 3/8 0.375 ≠ p by −1/8",  # noqa: RUF001
        "1 3/10 0.3 1/2 0.5 0 3/10 0.3 = p 3/8 0.375 ≠ p by +3/40",
        "2 1/5 0.2 1/4 0.25 0 1/5 0.2 = p 1/4 0.25 ≠ p by +1/20",
    ):
        assert row in table


def rows(chance, tokens):
    weights = [chance.randrange(0, 9) for _ in range(tokens)]
    weights[chance.randrange(tokens)] += 1
    return tuple(Fraction(weight, sum(weights)) for weight in weights)


@pytest.mark.parametrize("seed", range(25))
def test_cells_are_marked_exactly_where_they_differ(seed):
    chance = random.Random(seed)
    tokens = chance.randrange(2, 6)
    p, q = rows(chance, tokens), rows(chance, tokens)
    step = dataclasses.replace(find(3).only(Table), p=p, q=q, tokens=("t",) * tokens)
    cells = render.grid(step)
    kept = [min(x, y) for x, y in zip(p, q, strict=True)]
    for x, part, cell in zip(p, kept, cells, strict=True):
        assert cell["corrected"].off == 0
        assert cell["naive"].value == part + (1 - sum(kept)) * x
        assert cell["naive"].off == cell["naive"].value - x


@pytest.mark.parametrize("places", [1, 2, 3, 6])
def test_a_decimal_is_exact_or_says_that_it_is_not(places):
    chance = random.Random(places)
    for _ in range(200):
        value = Fraction(
            chance.randrange(-999, 999), chance.choice([1, 2, 3, 7, 8, 40, 10**places])
        )
        shown = render.decimal(value).replace("\N{MINUS SIGN}", "-")
        if not shown:
            assert value.denominator == 1
        elif shown.startswith("≈ "):
            assert abs(Fraction(shown[2:]) - value) <= Fraction(1, 2 * 10**render.DECIMALS)
        else:
            assert Fraction(shown) == value


def test_page_data_carries_what_the_widgets_need_and_cannot_end_its_script():
    text = lesson_page()
    data = page_data(text)
    assert [step["id"] for step in data["steps"]] == [step.id for step in find(3).steps]
    code = next(step for step in data["steps"] if step["kind"] == "code")
    assert code["exercise"] == find(3).only(Code).exercise()
    assert all(set(test) == {"id", "name"} for test in code["tests"])
    assert {"grader/__init__.py", "numpy/__init__.py"} <= set(data["python"])
    assert "<" not in re.search(r'id="page-data">(.*?)</script>', text, re.DOTALL)[1]


def test_lesson_text_is_never_markup():
    evil = "<script>alert(1)</script>"
    step = dataclasses.replace(find(3).steps[0], title=evil, body=f"{evil} and *this*")
    lesson = dataclasses.replace(find(3), title=evil, summary=evil, steps=(step,))
    text = lesson_page(lesson=lesson)
    assert evil not in text
    assert "<em>this</em>" in text


def test_a_lesson_of_any_steps_renders():
    """Nothing in the templates may lean on one lesson's steps."""
    for step in find(3).steps:
        alone = dataclasses.replace(step, reveal_after="", id="alone")
        alone = dataclasses.replace(alone, quotes="") if hasattr(alone, "quotes") else alone
        other = dataclasses.replace(find(3), id="other", n=4, steps=(alone,))
        assert 'id="alone"' in lesson_page(lesson=other)


def test_unbuilt_pages_hide_nothing_and_say_what_to_do():
    text = lesson_page()
    assert "make web" in text
    assert "later" not in re.findall(r'class="step [^"]*"', text)[2]
    assert "<script type=" in text
    assert "src=" not in text


def strings(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.skipif(not BUILT.built, reason="the pages are not built (make web)")
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.id)
def test_every_formula_was_turned_into_mathml(lesson):
    page = lesson_page(BUILT, lesson)
    shown = [page, *strings(page_data(page)["steps"])]
    assert [text for text in shown if 'class="tex' in text] == []
    assert "<math" in page


def test_inline_and_displayed_formulas():
    prose = Prose({"$a$": "<math>a</math>", "$$b\nc$$": "<math>bc</math>"})
    assert prose.block("x $a$ *y*") == "<p>x <math>a</math> <em>y</em></p>\n"
    assert prose.block("$$b\nc$$") == "<p><math>bc</math></p>\n"
    assert prose.inline("`$a$`") == "<code>$a$</code>"
    assert prose.inline("($a$), *y*") == '(<span class="held"><math>a</math>),</span> <em>y</em>'
    assert prose.block("$$b\nc$$.") == "<p><math>bc</math>.</p>\n"
    assert prose.inline("costs 5$") == "costs 5$"
    assert prose.inline("$x < 1$") == '<code class="tex">x &lt; 1</code>'
