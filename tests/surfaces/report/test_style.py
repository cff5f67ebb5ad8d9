"""Colours that can be read, and a policy that lets in this style and no other."""

import base64
import hashlib
import re
from itertools import product

import pytest

from phasewalk.machine.diagram import svg_style
from phasewalk.surfaces.report.style import DARK, GROUNDS, LIGHT, PICTURES, POLICY, PRINT, SHEET, TEXTS

PALETTES = {"light": LIGHT, "dark": DARK, "print": PRINT}


def luminance(colour: str) -> float:
    """Of the Web Content Accessibility Guidelines; the colour as #rgb or #rrggbb."""
    digits = colour.removeprefix("#")
    digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_of_contrast_is_right():
    """Black on white is 21, and the grey that is known to pass just passes."""
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#fff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize(("text", "ground"), list(product(TEXTS, GROUNDS)))
def test_text_stands_out_from_every_ground(palette, text, ground):
    """4.5:1 or more, in light, in dark and on paper."""
    assert contrast(PALETTES[palette][text], PALETTES[palette][ground]) >= 4.5


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("palette", ["light", "dark"])
@pytest.mark.parametrize("look", ["bar", "bad", "warn"])
def test_bars_stand_out_from_their_track(palette, look):
    """What is drawn needs 3:1 against what it is drawn on."""
    assert contrast(PALETTES[palette][look], PALETTES[palette]["shade"]) >= 3


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize(
    ("ink", "palette"), [(svg_style._INK, LIGHT), (svg_style._DARK_INK, DARK), (svg_style._INK, PRINT)], ids=str
)
def test_diagrams_are_readable_on_the_ground_of_the_page(ink, palette):
    """A diagram takes the card that it lies on as its ground."""
    assert contrast(ink, palette["card"]) >= 4.5


@pytest.mark.spec("OPS-20")
def test_every_colour_of_the_sheet_is_one_of_the_palettes():
    """A colour that no test of contrast sees stands nowhere but in the rules for paper."""
    screen, _, paper = SHEET.partition("@page")
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", screen)) <= {c for p in PALETTES.values() for c in p.values()}
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", paper)) <= {"#000", "#fff", "#777"}


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("sheet", [SHEET, PICTURES])
def test_the_policy_names_the_digest_of_each_sheet(sheet):
    """A browser compares exactly this."""
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in POLICY


@pytest.mark.spec("OPS-20")
def test_the_policy_lets_in_nothing_but_the_sheets():
    """No source but digests, and no place to send anything to."""
    assert re.sub(r"'sha256-[^']+'", "DIGEST", POLICY) == (
        "default-src 'none'; style-src DIGEST DIGEST; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("sheet", [SHEET, PICTURES])
def test_no_sheet_asks_for_anything_from_outside(sheet):
    """No address, no import, no font of its own, and no end of the element that holds it."""
    for word in ("url(", "@import", "@font-face", "http", "</"):
        assert word not in sheet
