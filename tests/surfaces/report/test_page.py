"""The page as a document: valid, closed, readable without eyes, the same for the same facts."""

import difflib
import json
import re
from itertools import pairwise

import pytest
from builders import LogBuilder
from report_logs import (
    CHANNEL,
    CHARS,
    HOSTILE,
    LOGS,
    SVG,
    VISITS,
    XHTML,
    failed,
    failing,
    hostile,
    long,
    parsed,
    section,
    stuck,
    words,
)  # fmt: skip

from phasewalk.surfaces.report import page as page_module
from phasewalk.surfaces.report.page import LIMIT, SECTIONS
from phasewalk.surfaces.report.style import PICTURES, POLICY, SHEET


def lines(text: str) -> list[dict]:
    """The objects that the page holds for programs."""
    block = words(next(section(text, "data").iter(f"{XHTML}pre")))
    return [json.loads(line) for line in block.split("\n")]


def changed(one: str, other: str) -> list[str]:
    """The lines of the first page that the second one does not have at that place."""
    return [line[2:] for line in difflib.ndiff(one.split("\n"), other.split("\n")) if line.startswith("- ")]


@pytest.mark.spec("OPS-20")
def test_every_page_is_valid_html(any_page):
    """A strict parser finds nothing to mend."""
    assert parsed(any_page).tag == f"{XHTML}html"


@pytest.mark.spec("OPS-20")
def test_the_sections_stand_in_their_order(any_page):
    """Verdict, stuck, fallback, heat, failures, turns, percentiles, data; the navigation names the same."""
    tree = parsed(any_page)
    assert [s.get("id") for s in tree.iter(f"{XHTML}section")] == list(SECTIONS)
    links = next(tree.iter(f"{XHTML}nav")).iter(f"{XHTML}a")
    assert [a.get("href") for a in links] == [f"#{name}" for name in SECTIONS]


@pytest.mark.spec("OPS-20")
def test_a_page_refers_to_nothing_outside_itself(any_page):
    """Every link leads to an id of the page, ids are unique, nothing is loaded, and no attribute is a script or style."""
    elements = list(parsed(any_page).iter())
    ids = [e.get("id") for e in elements if e.get("id") is not None]
    assert len(ids) == len(set(ids))
    assert {e.get("href", "#verdict").removeprefix("#") for e in elements} <= set(ids)
    tags = {str(e.tag).partition("}")[2] for e in elements}
    assert tags.isdisjoint(
        {"script", "link", "img", "iframe", "object", "embed", "form", "base", "image", "use", "video"}
    )
    names = {str(name) for e in elements for name in e.attrib}
    assert not {n for n in names if n.startswith("on") or n in ("style", "src", "srcset", "action", "background")}


@pytest.mark.spec("OPS-20")
def test_a_page_holds_the_policy_before_any_style_and_only_the_two_sheets(any_page):
    """The policy counts for what stands behind it."""
    head = list(next(parsed(any_page).iter(f"{XHTML}head")))
    assert [e.tag.removeprefix(XHTML) for e in head] == [*["meta"] * 5, "title", "style", "style"]
    assert (head[1].get("http-equiv"), head[1].get("content")) == ("Content-Security-Policy", POLICY)
    assert [e.text for e in parsed(any_page).iter() if str(e.tag).endswith("}style")] == [SHEET, PICTURES]


@pytest.mark.spec("OPS-20")
def test_headings_skip_no_level(any_page):
    """One heading of the first level, and below each at most one level deeper."""
    levels = [int(e.tag[-1]) for e in parsed(any_page).iter() if re.fullmatch(r".*\}h[1-6]", str(e.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.spec("OPS-20")
def test_every_table_tells_what_it_holds_and_what_its_cells_are(any_page):
    """A caption, heads of columns, a head for each row, as many cells as columns."""
    for table in parsed(any_page).iter(f"{XHTML}table"):
        caption, head, *bodies = list(table)
        assert words(caption).strip()
        columns = list(head[0])
        assert {(th.tag, th.get("scope")) for th in columns} == {(f"{XHTML}th", "col")}
        for row in (row for body in bodies for row in body):
            assert row[0].tag == f"{XHTML}th"
            assert row[0].get("scope") in ("row", "rowgroup")
            assert sum(int(cell.get("colspan", "1")) for cell in row) == len(columns)


@pytest.mark.spec("OPS-20")
def test_every_picture_has_a_title_and_every_diagram_a_description(any_page):
    """What is drawn can also be heard."""
    for picture in parsed(any_page).iter(f"{SVG}svg"):
        assert picture.get("role") == "img"
        assert picture[0].tag == f"{SVG}title"
        assert words(picture[0]).strip()
        if picture.get("class") == "phasewalk":
            assert picture[1].tag == f"{SVG}desc"


@pytest.mark.spec("OPS-20")
def test_a_page_says_its_language_and_has_its_landmarks(any_page):
    """English, one header, one navigation with a name, one main part; what scrolls has a name and can be reached."""
    tree = parsed(any_page)
    assert tree.get("lang") == "en"
    for name in ("header", "nav", "main", "footer"):
        assert len(list(tree.iter(f"{XHTML}{name}"))) == 1
    for box in (e for e in tree.iter(f"{XHTML}div") if e.get("class") == "scroll"):
        assert (box.get("role"), box.get("tabindex")) == ("region", "0")
        assert box.get("aria-label")


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("name", [n for n in LOGS if n != "long"])
def test_the_same_facts_are_the_same_bytes_but_for_one_line(builder: LogBuilder, render, name):
    """Another clock, the same period: only the line that says when the page was made differs."""
    LOGS[name](builder)
    since, until = builder.now_us - 86_400_000_000, builder.now_us
    one = render(since=since, until=until, made=builder.now_us)
    other = render(since=since, until=until, made=builder.now_us + 3_600_000_000)
    (line,) = changed(one, other)
    assert line.startswith('<p class="made">')


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("name", ["failing", "stuck"])
def test_a_page_made_a_while_later_differs_in_that_line_too(builder: LogBuilder, render, name):
    """Nothing on the page tells how long ago something was."""
    LOGS[name](builder)
    (line,) = changed(render(), render(later=95))
    assert line.startswith('<p class="made">')


@pytest.mark.spec("OPS-20", "OPS-13")
def test_an_empty_log_says_which_period_was_asked_for(render, builder):
    """The page of a log without turns names the period and that there are none."""
    text = render(since=1_790_000_000_000_000 - 86_400_000_000, until=1_790_000_000_000_000)
    header = words(next(parsed(text).iter(f"{XHTML}header")))
    assert "Turns from 2026-09-20 14:13:20 to 2026-09-21 14:13:20 UTC." in header
    assert "The log holds no turns." in header
    assert "NO TURNS" in words(section(text, "verdict"))


@pytest.mark.spec("OPS-20", "OPS-13")
def test_a_log_that_ended_before_the_period_says_so(builder: LogBuilder, render):
    """Nothing in the period is not nothing at all."""
    builder.turn(age=9 * 86_400)
    assert "The newest turn began before this period" in render()


@pytest.mark.spec("OPS-20", "OPS-13")
def test_a_log_that_is_partial_says_so(builder: LogBuilder, render):
    """Pruned before some time within the period, and rows that were lost."""
    failing(builder)
    builder.insert("prune_log", at_us=builder.now_us, what="payloads", before_us=builder.at(3600), rows=5)
    builder.insert("log_loss", at_us=builder.at(60), rows=7, what="phase_event")
    header = words(next(parsed(render()).iter(f"{XHTML}header")))
    assert "The log was pruned" in header
    assert "This period reaches back before that: what is counted here is not all." in header
    assert "7 rows of this period were lost" in header


@pytest.mark.spec("OPS-20")
def test_what_is_shown_stands_there_for_programs_too(builder: LogBuilder, render):
    """Each section's rows, with their kind, in its order."""
    failing(builder)
    text = render(turns=3)
    found = lines(text)
    assert list(dict.fromkeys(line["kind"] for line in found)) == [
        "verdict", "fallback", "failure", "heat", "phase", "model", "turn",
    ]  # fmt: skip
    assert found[0]["verdict"] == "NOT WELL"
    shown = [e.get("id") for e in parsed(text).iter(f"{XHTML}article")]
    assert shown == [f"turn-{line['turn_id']}" for line in found if line["kind"] == "turn"]
    assert len(shown) == 3


@pytest.mark.spec("OPS-20", "OPS-14")
def test_what_stands_there_for_programs_is_harmless_and_true(builder: LogBuilder, render):
    """Each line is printable, and holds what was written."""
    hostile(builder)
    text = render()
    block = words(next(section(text, "data").iter(f"{XHTML}pre")))
    assert all(line.isprintable() for line in block.split("\n"))
    (turn,) = [line for line in lines(text) if line["kind"] == "turn" and line["outcome"] is not None]
    assert (turn["user_name"], turn["channel_name"], turn["question"]) == (
        HOSTILE, CHANNEL, HOSTILE.replace("\0", "\ufffd"),
    )  # fmt: skip


@pytest.mark.spec("OPS-20")
def test_what_somebody_wrote_is_only_ever_text(builder: LogBuilder, render):
    """No element of theirs, no comment, no character that hides or turns what stands beside it."""
    hostile(builder)
    text = render()
    comments = [e for e in parsed(text).iter() if not isinstance(e.tag, str)]
    assert comments == []
    assert "alert(1)" in words(section(text, "turns"))
    assert "<script" not in text
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert '#a/b"<script>\\nalert(2)' in words(section(text, "stuck"))


@pytest.mark.spec("OPS-20")
def test_a_turn_of_2000_visits_and_20_megabytes_is_an_excerpt_that_says_so(builder: LogBuilder, render):
    """Both ends of its visits and calls, the beginning of its text, and how much is not shown."""
    long(builder)
    text = render()
    turn = words(section(text, "turns"))
    visits = 2 * (VISITS // 2 - 2) + 5
    assert f"the first 10 and the last 10, between them {visits - 20:,} visits are left out" in turn
    assert f"({CHARS - 500:,} more characters are not shown)" in turn
    assert "too many to number: the picture shows how often each was taken" in turn
    assert len(text.encode()) < 300_000


@pytest.mark.spec("OPS-20")
def test_a_page_is_never_larger_than_its_limit(builder: LogBuilder, render):
    """A hundred turns of two hundred steps each are more than 3 MB, so some are left out, which the page says."""
    builder.log.execute("BEGIN")
    for _ in range(100):
        turn = failed(builder, text="語" * 5000)
        for number in range(3, 40):
            builder.attempt(turn, number, cause="retry", provider=f"p{number}", message="語" * 5000)
            builder.step(turn, number, "skipped no_model", "語" * 600, {"a": "語" * 900})
    builder.log.execute("COMMIT")
    text = render(turns=100)
    assert LIMIT * 0.7 < len(text.encode()) <= LIMIT == 3_000_000
    shown = len(list(section(text, "turns").iter(f"{XHTML}article")))
    assert f"To keep this page under 3 MB, {100 - shown} turns of this rule were left out." in text
    assert len([line for line in lines(text) if line["kind"] == "turn"]) == shown


@pytest.mark.spec("OPS-20")
def test_without_any_room_for_turns_the_rest_stands(builder: LogBuilder, render, monkeypatch):
    """What the limit costs are turns; the sections above stay."""
    failing(builder)
    monkeypatch.setattr(page_module, "LIMIT", 1000)
    text = render()
    assert list(section(text, "turns").iter(f"{XHTML}article")) == []
    assert "10 turns of this rule were left out" in text
    assert "NOT WELL" in words(section(text, "verdict"))


@pytest.mark.spec("OPS-20")
def test_more_rows_than_a_table_shows_are_counted(builder: LogBuilder, render):
    """Forty failures of a hundred are shown, and the others counted."""
    for number in range(45):
        builder.turn(outcome="stopped", reason="http_5xx", phase=f"phase_{number}")
    text = render(turns=0)
    assert len(list(section(text, "failures").iter(f"{XHTML}tr"))) == 41
    assert "Left out here: 5 groups more." in words(section(text, "failures"))


@pytest.mark.spec("OPS-20")
def test_a_period_that_is_over_is_judged_as_of_its_end(builder: LogBuilder, render):
    """What failed and what died after it is no part of it."""
    for turn in builder.turns(25, age=7200):
        builder.effect(turn, "answer", "general", "receipt", {"text": "hello"})
    builder.turns(25, age=600, outcome="stopped", reason="http_5xx")
    stuck(builder)
    verdict = words(section(render(until=builder.at(3600), later=-3600), "verdict"))
    assert "WELL25 of 25 turns of this period ended as they should" in verdict.replace("\n", "")
    assert "NOT WELL" in words(section(render(), "verdict"))
