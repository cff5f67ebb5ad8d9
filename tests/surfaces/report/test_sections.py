"""What each section tells, on logs that somebody could have."""

import json

import pytest
from builders import GONE, LogBuilder
from report_logs import SVG, XHTML, failed, failing, healthy, parsed, section, stuck, walked, words

from phasewalk.machine.documents import json_of
from phasewalk.machine.turn_table import TURN_TABLE


def rows(part) -> list[list[str]]:
    """The cells of every row in a part of the page."""
    return [[words(cell).strip() for cell in row] for row in part.iter(f"{XHTML}tr")]


def article(text: str, turn: str):
    """One turn on the page."""
    return next(a for a in parsed(text).iter(f"{XHTML}article") if a.get("id") == f"turn-{turn}")


def table(part, caption: str) -> list[list[str]]:
    """The rows of the table whose caption begins so."""
    return next(rows(t) for t in part.iter(f"{XHTML}table") if words(t[0]).startswith(caption))


@pytest.mark.spec("OPS-20", "OPS-11")
def test_the_verdict_is_that_of_the_first_screen(builder: LogBuilder, render):
    """The word, since when, the last start before it, and what to type."""
    failing(builder)
    told = words(section(render(), "verdict"))
    assert "NOT WELL" in told
    assert "12 of 42 turns of this period ended badly, mostly attempts_exhausted" in told
    assert "The last start before that: process " in told
    assert "Next: phasewalk list --outcome stopped" in told


@pytest.mark.spec("OPS-20")
def test_the_word_is_told_by_more_than_its_colour(builder: LogBuilder, render):
    """The look of the section follows the word."""
    failing(builder)
    assert section(render(), "verdict").get("class") == "verdict bad"


@pytest.mark.spec("OPS-20")
def test_outcomes_are_counted_with_their_share(builder: LogBuilder, render):
    """Those that ended badly first; shares of all turns of the period."""
    failing(builder)
    assert [row[:3] for row in table(section(render(), "verdict"), "How the turns")[1:]] == [
        ["stopped", "12", "28.6%"], ["answered", "30", "71.4%"],
    ]  # fmt: skip


@pytest.mark.spec("OPS-20")
def test_a_stuck_turn_is_told_by_instants_and_leads_to_its_article(builder: LogBuilder, render):
    """The rule with the last sign of life, and a link to the turn that stands first among those to look at."""
    stuck(builder)
    text = render()
    (_, row) = rows(section(text, "stuck"))
    assert row[1] == "model_attempt"
    assert "process_gone: its process 4194304 on " in row[3]
    assert "is gone; last sign of life at 20" in row[3]
    (link,) = section(text, "stuck").iter(f"{XHTML}a")
    assert link.get("href") == f"#turn-{row[0]}"
    assert "it waits for the answer of one/m-one, since 20" in words(article(text, row[0]))


@pytest.mark.spec("OPS-20")
def test_a_turn_that_does_not_stand_on_the_page_is_no_link(builder: LogBuilder, render):
    """Its id is text."""
    stuck(builder)
    assert list(section(render(turns=0), "stuck").iter(f"{XHTML}a")) == []


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("stuck", "Nothing is stuck."),
        ("fallback", "In this period fallback never stopped and passed nobody over."),
        ("heat", "No turn began in this period, so there is no traffic to draw."),
        ("failures", "No turn of this period failed."),
        ("turns", "There is no turn to show."),
        ("percentiles", "There is nothing to measure in this period."),
    ],
)
def test_a_section_without_rows_says_what_there_was_none_of(render, name, said):
    """A sentence instead of an empty table."""
    assert said in words(section(render(), name))


@pytest.mark.spec("OPS-20")
def test_fallback_is_grouped_by_rule_with_the_values_last_compared(builder: LogBuilder, render):
    """Reason with its meaning, turns, decision, rule and values."""
    failing(builder)
    (_, row) = rows(section(render(), "fallback"))
    assert row[0] == "attempts_exhausted: the only candidate failed as often as it may"
    assert row[1:4] == [
        "12", "exhausted: nobody else was left to ask", "T15.candidate_left (at: 1, of: 1)",
    ]  # fmt: skip


@pytest.mark.spec("OPS-20", "OPS-21")
def test_heat_is_drawn_and_told_in_words(builder: LogBuilder, render):
    """The picture shows the count of a step, the table the count of its row."""
    failing(builder)
    part = section(render(), "heat")
    (picture,) = part.iter(f"{SVG}svg")
    assert "T01 (42x)" in words(picture)
    assert table(part, "Rows of the machine turn")[1][:3] == ["T01", "42", "admitted"]


@pytest.mark.spec("OPS-20", "OPS-21")
def test_heat_begins_and_ends_with_the_period(builder: LogBuilder, render):
    """One turn before it, one in it, one after it: one is drawn."""
    for age in (9000, 5400, 60):
        walked(builder, builder.turn(age=age))
    part = section(render(since=builder.at(7200), until=builder.at(3600), later=-3600), "heat")
    assert "T01 (1x)" in words(next(part.iter(f"{SVG}svg")))
    assert "as 1 turn of this period walked it" in words(part)


@pytest.mark.spec("OPS-20")
def test_a_step_that_the_machine_does_not_know_costs_no_picture(builder: LogBuilder, render):
    """What fits is drawn, and what does not is counted."""
    failing(builder)
    turn = builder.turn()
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 0.1, "X99 invented", "nowhere")
    part = section(render(), "heat")
    assert "T01 (42x)" in words(next(part.iter(f"{SVG}svg")))
    assert "1 step that this machine does not know was taken, and not drawn." in words(part)


@pytest.mark.spec("OPS-20")
def test_failure_groups_count_turns_and_people(builder: LogBuilder, render):
    """Reason, phase, first failure, outcome, turns, people."""
    failing(builder)
    assert [row[:6] for row in rows(section(render(), "failures"))[1:]] == [
        ["attempts_exhausted", "model_attempt", "http_5xx", "stopped", "12", "1"],
    ]


@pytest.mark.spec("OPS-20")
def test_percentiles_are_told_of_phases_and_models(builder: LogBuilder, render):
    """Times that were measured."""
    healthy(builder)
    part = section(render(), "percentiles")
    assert ["received", "30", "100 ms", "100 ms", "100 ms", "100 ms"] in [
        r[:6] for r in table(part, "Time that a visit")
    ]
    assert table(part, "Time that a call")[1][:3] == ["one/m-one", "30", "0"]


@pytest.mark.spec("OPS-20", "OPS-12")
def test_a_turn_tells_why_before_what(builder: LogBuilder, render):
    """The sentences of `why`: verdict, cause, rule, what would have changed it."""
    turn = failed(builder)
    told = words(article(render(), turn))
    assert "ended stopped in model_attempt: the only candidate failed as often as it may (attempts_exhausted)." in told
    assert told.index("the first failure: the provider answered with a 5xx status (http_5xx), http 503") < told.index(
        "Decided by T15.candidate_left (at: 1, of: 1)."
    )
    assert "Otherwise: one more candidate behind one/m-one" in told


@pytest.mark.spec("OPS-20")
def test_each_visit_has_a_bar_and_the_text_of_its_time(builder: LogBuilder, render):
    """Where it began, how long it took, what ended it, which guard refused."""
    turn = failed(builder)
    part = article(render(), turn)
    visits = table(part, "Visits on a line of 2.0 s")
    assert [row[0] for row in visits[1:]] == [
        "received",
        "classify",
        "freeze_contract",
        "build_prompt",
        "model_attempt",
    ]
    assert visits[5][1] == "+0.400 s"
    assert visits[5][3] == "1.6 s"
    assert visits[5][4] == "T16 attempt_failed to deliver; reason http_4xxT14 attempts_left: no (attempts: 2, limit: 2)"
    bars = [svg for svg in part.iter(f"{SVG}svg") if svg.get("class") == "bars"]
    shapes = [(svg[2].get("class"), svg[2].get("x"), svg[2].get("width")) for svg in bars]
    assert shapes[0] == ("ok", "0.00%", "5.00%")
    assert shapes[4] == ("ill", "20.00%", "80.00%")


@pytest.mark.spec("OPS-20")
def test_a_visit_that_has_not_ended_is_an_open_bar(builder: LogBuilder, render):
    """Said in words, and drawn as an outline to the end of the line, which is the turn's deadline."""
    stuck(builder)
    part = next(parsed(render()).iter(f"{XHTML}article"))
    assert table(part, "Visits")[5][4] == "has not ended"
    bar = [svg for svg in part.iter(f"{SVG}svg") if svg.get("class") == "bars"][4][2]
    assert (bar.get("class"), bar.get("x"), bar.get("width")) == ("open", "0.11%", "99.89%")
    assert any(words(c) == "Visits on a line of 6 min to its deadline" for c in part.iter(f"{XHTML}caption"))


@pytest.mark.spec("OPS-20")
def test_model_calls_are_a_tree_with_the_first_failure_marked(builder: LogBuilder, render):
    """A branch for each candidate in turn, its calls with cause, status, reason, HTTP status and message."""
    turn = failed(builder)
    builder.attempt(turn, 3, cause="fallback", provider="two", model="m-two")
    calls = table(article(render(), turn), "Model calls")
    assert calls[1:] == [
        ["one/m-one"],
        ["1", "first", "failed first failure", "http_5xx", "503", "1.0 s", "overloaded"],
        ["2", "retry", "failed", "http_4xx", "401", "1.0 s", "key revoked"],
        ["two/m-two"],
        ["3", "fallback", "ok", "-", "-", "1.0 s", "-"],
    ]


@pytest.mark.spec("OPS-20", "OPS-21")
def test_the_path_is_drawn_on_the_machine_that_the_turn_walked(builder: LogBuilder, render):
    """A table that is not the present one any more: its own phase stands in the picture."""
    document = json.loads(json_of(TURN_TABLE.as_document()).replace("freeze_contract", "old_freeze"))
    builder.insert("machine", hash="old", name="turn", body=json.dumps(document), first_seen_us=1)
    turn = builder.turn(outcome="stopped", reason="http_5xx", machine_hash="old")
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 0.1, "T01 admitted", "classify")
    builder.enter(turn, "classify", 0.1)
    builder.leave(turn, "classify", 0.2, "T04 classified", "old_freeze")
    picture = words(next(s for s in article(render(), turn).iter(f"{SVG}svg") if s.get("class") == "phasewalk"))
    assert "old_freeze" in picture
    assert "T04 (2)" in picture


@pytest.mark.spec("OPS-20")
def test_a_path_that_fits_no_machine_is_said_instead_of_drawn(builder: LogBuilder, render):
    """The page stands, with the reason."""
    turn = builder.turn(outcome="stopped", reason="http_5xx")
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 0.1, "X99 invented", "nowhere")
    assert "There is no picture: step X99 from received to nowhere is not part of" in words(article(render(), turn))


@pytest.mark.spec("OPS-20", "OPS-13")
def test_a_turn_of_which_something_was_pruned_or_lost_says_so(builder: LogBuilder, render):
    """The question is marked, and what is missing is counted."""
    turn = failed(builder, text="gone by now", log_gap=2)
    builder.prune(builder.payload("gone by now"))
    told = words(article(render(), turn))
    assert "(pruned)" in told
    assert "1 text of this turn was pruned; 2 rows of it were lost" in told


@pytest.mark.spec("OPS-20")
def test_the_rule_by_which_turns_are_chosen_stands_on_the_page(builder: LogBuilder, render):
    """Who reads the page knows why these."""
    failed(builder)
    told = words(section(render(), "turns"))
    assert "Chosen by this rule: turns that do not move;" in told
    assert "Shown because it failed." in told


@pytest.mark.spec("OPS-20")
def test_what_was_asked_and_said_is_told_with_who_said_it(builder: LogBuilder, render):
    """The question, what went out, and that it was only a notice."""
    turn = failed(builder, text="why not")
    part = article(render(), turn)
    said = next(part.iter(f"{XHTML}dl"))
    assert [words(e).strip() for e in said] == [
        "Asked",
        "why not",
        "Notice",
        "Sorry.",
        "Said by",
        "nobody but a notice",
    ]


@pytest.mark.spec("OPS-20")
def test_what_was_said_keeps_its_direction_to_itself(builder: LogBuilder, render):
    """A text from right to left turns nothing beside it."""
    turn = failed(builder, text="שלום")
    boxes = list(article(render(), turn).iter(f"{XHTML}blockquote"))
    assert [(box.get("dir"), words(box)) for box in boxes] == [("auto", "שלום"), ("auto", "Sorry.")]


@pytest.mark.spec("OPS-20", "OPS-11")
def test_a_dead_process_is_a_cause_with_its_instant(builder: LogBuilder, render):
    """Since its last sign of life."""
    builder.process(pid=GONE, silent=600)
    walked(builder, builder.turn())
    told = words(section(render(), "verdict"))
    assert "process 4194304 (bot) died without a word" in told
