"""Everyone can use it: keyboard alone, screen readers, narrow screens, any colour scheme."""

import pytest

from browser.access import narrow_enough, resized, spotless
from browser.lab import editor, settled, wait_until, words
from draftproof.lesson.shelf import find

CODE = find(3).step("code")
N = len(CODE.tests)
WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 320, "height": 700}

FOCUS = """() => {
    const here = document.activeElement;
    if (!here || here === document.body) return null;
    const box = here.getBoundingClientRect(), style = getComputedStyle(here);
    const ring = (one) => one && (
        (getComputedStyle(one).outlineStyle !== 'none'
            && parseFloat(getComputedStyle(one).outlineWidth) > 0)
        || getComputedStyle(one).boxShadow !== 'none');
    const middle = [box.left + Math.min(box.width, 40) / 2, box.top + Math.min(box.height, 24) / 2];
    const top = document.elementFromPoint(...middle);
    const label = here.closest('label') ?? here.labels?.[0];
    return {
        name: here.getAttribute('aria-label') ?? here.innerText ?? here.value ?? '',
        tag: here.tagName, type: here.type ?? '', id: here.id, value: here.value ?? '',
        step: here.closest('section.step')?.id ?? '',
        ring: ring(here) || ring(label) || ring(here.closest('.cm-editor')),
        covered: !!top && !here.contains(top) && !top.contains(here)
            && !!top.closest('header.top'),
        inside: box.bottom > 0 && box.top < innerHeight,
    };
}"""


class Keyboard:
    """Tab, Enter, Space and letters; every stop must be visible and not covered."""

    def __init__(self, page):
        self.page = page

    def tab_to(self, wanted, limit=150):
        for _ in range(limit):
            self.page.keyboard.press("Tab")
            stop = self.page.evaluate(FOCUS)
            if stop is None:
                continue
            for _ in range(40):  # scrolling there is smooth
                if stop["inside"] and not stop["covered"]:
                    break
                self.page.wait_for_timeout(50)
                stop = self.page.evaluate(FOCUS)
            assert stop["ring"], f"no visible focus on {stop}"
            assert stop["inside"], f"focus out of sight on {stop}"
            assert not stop["covered"], f"focus under the header on {stop}"
            if wanted(stop):
                return stop
        raise AssertionError("Tab never got there")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text):
        self.page.keyboard.insert_text(text)


def named(text, step=None):
    return lambda stop: text in words(stop["name"]) and step in (None, stop["step"])


def test_the_whole_lesson_with_the_keyboard_alone(visit, lab):
    page = settled(visit(lab.address, python=True))
    keys = Keyboard(page)
    keys.tab_to(named("Skip to the lesson"), 3)
    keys.press("Enter")
    keys.tab_to(lambda stop: stop["step"] == "predict" and stop["type"] == "radio")
    keys.press("Space")
    keys.tab_to(named("Keep my prediction"))
    keys.press("Enter")
    keys.tab_to(lambda stop: stop["step"] == "table" and stop["type"] == "range")
    keys.press("ArrowRight", "ArrowLeft")
    for typed in ("1 0 0", "1/2", "3/8"):
        keys.tab_to(lambda stop: stop["step"] == "numbers" and stop["type"] == "text")
        keys.type(typed)
        keys.press("Enter")
    assert page.locator("#numbers .verdict.right").count() == 3
    keys.tab_to(lambda stop: stop["step"] == "code")
    page.locator("#code .cm-content").wait_for(state="attached")
    keys.tab_to(named("Your program", "code"))
    keys.press("Control+a")
    keys.type(CODE.reference)
    keys.press("Control+Enter")
    page.locator("#code h3", has_text=f"{N} of {N} tests passed").wait_for(timeout=60_000)
    keys.press("Escape")
    keys.tab_to(named("Draw", "measure"))
    keys.press("Enter")
    page.locator("#measure .verdicts").wait_for()
    keys.tab_to(lambda stop: stop["step"] == "check" and stop["type"] == "radio")
    keys.press("Space")
    keys.tab_to(named("Check my answer"))
    keys.press("Enter")
    page.locator("#check .verdict.right").wait_for()
    keys.tab_to(named("Run this program"))
    keys.press("Enter")
    page.get_by_text("Every assertion holds.").first.wait_for(timeout=60_000)


HERE = "document.activeElement.innerText"


def test_the_keyboard_is_never_thrown_back_to_the_top(visit, lab):
    """What takes the place of the button just pressed has the focus; a left menu is closed."""
    page = settled(visit(lab.address))
    page.locator("#predict").get_by_label("Yes", exact=True).check()
    page.get_by_role("button", name="Keep my prediction").press("Enter")
    wait_until(lambda: page.evaluate(f"{HERE}.includes('Your prediction is kept')"))
    item = page.locator("#numbers ol.answers > li").first
    for hint in item.get_by_role("button", name="Hint").all() * 2:
        hint.press("Enter")
    wait_until(lambda: page.evaluate("document.activeElement.matches('.hints li:last-child')"))
    item.get_by_role("button", name="Show the solution").press("Enter")
    item.get_by_role("button", name="Yes, show it").press("Enter")
    wait_until(lambda: page.evaluate("document.activeElement.matches('.verdict.info')"))
    menu = page.locator("details.menu")
    menu.locator("summary").press("Enter")
    menu.get_by_role("button").first.focus()
    page.keyboard.press("Escape")
    wait_until(lambda: page.evaluate("document.activeElement.matches('.menu:not([open]) summary')"))
    page.keyboard.press("Enter")
    page.locator("nav.steps a").first.focus()
    wait_until(lambda: page.evaluate("document.querySelector('.menu:not([open])')"))


@pytest.fixture(scope="module")
def _busy(_shared):
    """The shared lesson with something in every widget."""
    box = _shared.locator("#numbers input[type=text]").first
    box.fill("1/4 0 0")
    box.press("Enter")
    _shared.get_by_role("button", name="Draw", exact=True).click()
    _shared.locator("#measure .verdicts").wait_for()
    editor(_shared)
    return _shared


@pytest.fixture
def busy(_busy, quiet):
    with quiet.judged():
        _busy.emulate_media(color_scheme="light", forced_colors="none", reduced_motion="null")
        yield resized(_busy, WIDE)


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_nothing(busy, size):
    resized(busy, size)
    assert spotless(busy) == []


def test_axe_finds_nothing_in_forced_colours(busy):
    busy.emulate_media(forced_colors="active")
    assert spotless(busy) == []


def test_there_is_contrast_in_the_dark(busy):
    busy.emulate_media(color_scheme="dark")
    assert spotless(busy, "color-contrast") == []


@pytest.mark.parametrize("width", [320, 360, 768])
def test_no_page_wide_sideways_scrolling(busy, width):
    resized(busy, {"width": width, "height": 700})
    assert narrow_enough(busy, width)


def test_targets_are_large_enough(busy):
    small = busy.evaluate(
        """() => [...document.querySelectorAll('button, summary, select, input[type=text]')]
            .filter((one) => one.offsetParent)
            .map((one) => [one.innerText || one.ariaLabel, one.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24)
            .map(([name]) => name)"""
    )
    assert small == []
    squeezed = "(one) => getComputedStyle(one).flexShrink"
    assert {one.evaluate(squeezed) for one in busy.locator(".choices input").all()} == {"0"}


def test_the_words_below_the_editor_stand_on_one_line(busy):
    line = busy.locator("#code .fine.boxed")
    tops = [line.locator(part).bounding_box() for part in ("> label", "> span")]
    middles = [box["y"] + box["height"] / 2 for box in tops]
    assert abs(middles[0] - middles[1]) <= 1


def test_dark_and_light_follow_the_system_and_the_button_overrides(visit, lab):
    paper = "() => getComputedStyle(document.body).backgroundColor"
    dark = settled(visit(lab.address, color_scheme="dark"))
    light = settled(visit(lab.address, color_scheme="light"))
    assert dark.evaluate(paper) != light.evaluate(paper)
    light.get_by_role("button", name="Colours").click()
    assert light.evaluate(paper) == dark.evaluate(paper)
    light.reload()
    assert settled(light).evaluate(paper) == dark.evaluate(paper)


def test_nothing_moves_for_those_who_ask_for_less_motion(busy):
    busy.emulate_media(reduced_motion="reduce")
    moving = busy.evaluate(
        """() => [...document.querySelectorAll('*')].filter((one) => {
            const style = getComputedStyle(one);
            const long = (text) => text.split(',').some((one) => parseFloat(one) > 0.01);
            return (style.animationName !== 'none' && long(style.animationDuration))
                || (long(style.transitionDuration) && style.transitionProperty !== 'none');
        }).map((one) => one.className)"""
    )
    assert moving == []
