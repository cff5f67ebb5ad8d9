"""`phasewalk export`: turns for other programs, and back again."""

import csv
import io
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from builders import LogBuilder

from phasewalk.storage.database import SCHEMA_VERSION

FORMULAS = ("=1+1", "+1", "-1", "@x", "\tx", "\rx")
SECOND = 1_000_000


def whole(builder: LogBuilder, **columns: object) -> str:
    """A turn that has some of everything."""
    builder.log.execute("INSERT OR IGNORE INTO contract (hash, body, first_seen_us) VALUES ('c1', ?, 1)", (CONTRACT,))
    turn = builder.turn(text="where is the brass key?", contract_hash="c1", **columns)
    builder.enter(turn, "model_attempt", 0, detail={"prompt": {"payload": builder.payload("a long prompt " * 50)}})
    builder.leave(
        turn, "model_attempt", 1, "T10 tools_called", "tool_rounds",
        guards=[{"transition": "T09", "name": "deadline_passed", "held": False, "values": {"time_left": 3}}],
    )  # fmt: skip
    builder.enter(turn, "tool_rounds", 1)
    builder.leave(turn, "tool_rounds", 1.5, "T21 tools_done", "model_attempt", reason="tool_failed")
    started = builder.log.execute("SELECT started_us FROM turn WHERE turn_id = ?", (turn,)).fetchone()[0]
    builder.attempt(
        turn, 1, started_us=started + SECOND // 10, ended_us=started + SECOND, input_tokens=12, output_tokens=3,
        finish_reason="tool_calls", response_digest=builder.payload('{"choices": []}'),
    )  # fmt: skip
    builder.attempt(
        turn, 2, cause="tool_results", status="failed", reason="http_5xx", http_status=503, message="busy",
        started_us=started + 2 * SECOND, ended_us=started + 3 * SECOND,
    )  # fmt: skip
    builder.insert(
        "tool_call", turn_id=turn, round=1, call_id="c1", provider_call_id="p1", name="notes.add", effect="mutating",
        status="failed", reason="tool_failed", started_us=started + SECOND, ended_us=started + 2 * SECOND,
        arguments_digest=builder.payload('{"text":"key"}'), result_digest=builder.payload("no room"),
    )  # fmt: skip
    builder.step(turn, 1, "refused side_effects", "FB-02", {"side_effects": True})
    builder.effect(turn, "answer", "general", "receipt", {"text": "In the attic."})
    builder.insert(
        "message", turn_id=turn, channel_id="200", role="user", author_id="77", author="mira", text="where?", at_us=1
    )
    return turn


CONTRACT = json.dumps(
    {"families": ["notes"], "offered": ["notes.add"], "required": [], "selection": "families",
     "candidates": [{"provider": "one", "model": "m-one"}]}
)  # fmt: skip


def attributes(span: dict) -> dict:
    return {part["key"]: next(iter(part["value"].values())) for part in span["attributes"]}


def undated(lines: list[str]) -> list[str]:
    """Without how long ago something was, which passes while a test runs."""
    return [re.sub(r"\([^()]* ago\)", "(ago)", line) for line in lines]


@pytest.mark.spec("OPS-14", "LOG-06")
@pytest.mark.parametrize("command", [["show", "--detail", "--json"], ["show", "--detail"], ["why", "--json"], ["why"]])
def test_an_export_says_of_each_turn_what_the_log_says(builder: LogBuilder, look, tmp_path, command):
    turns = [whole(builder), whole(builder, outcome="stopped", reason="side_effects", phase="tool_rounds")]
    turns.append(builder.turn(outcome=None, phase="classify"))
    assert look("export", "--output", str(tmp_path / "all.jsonl")).status == 0
    for turn in turns:
        mine, theirs = look(*command, turn), look(*command, turn, "--from", str(tmp_path / "all.jsonl"))
        assert theirs.status == mine.status
        if "--json" in command:
            assert undated([json.dumps(theirs.items)]) == undated([json.dumps(mine.items)])
        else:
            assert undated(theirs.lines) == undated(mine.lines)


@pytest.mark.spec("OPS-10")
def test_an_export_knows_turns_by_all_their_names(builder: LogBuilder, look, tmp_path):
    first = whole(builder, age=90, trigger_message_id="1100000000000000099")
    last = whole(builder, age=30)
    file = str(tmp_path / "all.jsonl")
    look("export", "-o", file)
    for name, turn in (
        ("last", last),
        ("last~1", first),
        ("https://discord.com/channels/1/2/1100000000000000099", first),
    ):
        assert look("show", name, "--from", file, "--json").items[0]["turn_id"] == turn
    assert look("diff", "last~1", "last", "--from", file).status in (0, 1)


@pytest.mark.spec("LOG-12")
def test_a_text_of_several_turns_stands_there_once(builder: LogBuilder, look):
    for _ in range(3):
        whole(builder)
    rows = [json.loads(line) for line in look("export").lines]
    texts = [line["row"]["text"] for line in rows if line.get("table") == "payload"]
    assert texts.count("a long prompt " * 50) == 1
    assert len(texts) == len(set(texts))
    assert rows[0] == {"form": "phasewalk export", "version": 1, "schema": rows[0]["schema"], "turns": 3}
    assert rows[-1] == {"rows": len(rows) - 2}


@pytest.mark.spec("OPS-13")
def test_the_turns_of_a_period_or_named_ones_are_chosen(builder: LogBuilder, look):
    old, young = builder.turn(age=9000), builder.turn(age=60)

    def chosen(*arguments: str, stdin: str | None = None) -> list[str]:
        out = look("export", "--format", "csv", *arguments, stdin=stdin).out
        return [row["turn_id"] for row in csv.DictReader(io.StringIO(out, newline=""))]

    assert chosen() == [old, young]
    assert chosen("--since", "1h") == [young]
    assert chosen("--until", "1h") == [old]
    assert chosen("last", young, old) == [young, old]
    listed = look("list", "--jsonl").out
    assert chosen("-", stdin=listed) == [young, old]
    assert look("export", "last", "--since", "1h").status == 2


@pytest.mark.spec("OPS-13")
def test_what_is_missing_gives_the_status_of_what_is_incomplete(builder: LogBuilder, look):
    turn = whole(builder)
    builder.prune(builder.payload("where is the brass key?"))
    answer = look("export", turn)
    assert (answer.status, answer.err) == (5, "phasewalk: the export is incomplete: 1 texts were pruned\n")
    assert look("export", turn, "--format", "csv").status == 0  # it holds no text
    builder.log.execute("UPDATE turn SET log_gap = 2")
    builder.insert("prune_log", at_us=1, what="turns", before_us=builder.at(9000), rows=4)
    answer = look("export", "--format", "csv")
    assert (answer.status, answer.err.partition(": ")[2]) == (
        5, "the export is incomplete: older turns were pruned; 2 rows were lost when the log could not be written\n",
    )  # fmt: skip
    builder.log.execute("UPDATE turn SET log_gap = 0")
    assert look("export", "--format", "csv", "--since", "1h").status == 0  # nothing of this hour was pruned


@pytest.mark.spec("OPS-13")
def test_none_is_no_error_and_says_what_is_covered(builder: LogBuilder, look):
    answer = look("export", "--format", "otlp-json")
    assert (answer.status, answer.out, answer.err) == (0, "", "phasewalk: no turn fits; the log holds no turns\n")


@pytest.mark.spec("OPS-14")
def test_a_trace_has_a_span_for_the_turn_each_visit_call_and_tool(builder: LogBuilder, look):
    turn = whole(builder, outcome="stopped", reason="side_effects", phase="tool_rounds")
    (line,) = look("export", "--format", "otlp-json").lines
    (resource,) = json.loads(line)["resourceSpans"]
    assert attributes(resource["resource"])["service.name"] == "phasewalk"
    spans = resource["scopeSpans"][0]["spans"]
    named = {span["spanId"]: span for span in spans}
    assert [(s["name"], named[s["parentSpanId"]]["name"] if "parentSpanId" in s else None) for s in spans] == [
        ("turn", None), ("model_attempt", "turn"), ("tool_rounds", "turn"), ("chat m-one", "model_attempt"),
        ("chat m-one", "model_attempt"), ("execute_tool notes.add", "tool_rounds"),
    ]  # fmt: skip
    assert {span["traceId"] for span in spans} == {spans[0]["traceId"]}
    assert (len(spans[0]["traceId"]), len(spans[0]["spanId"]), len(named)) == (32, 16, 6)
    assert attributes(spans[0])["phasewalk.turn_id"] == turn
    assert (attributes(spans[0])["phasewalk.outcome"], spans[0]["status"]["code"]) == ("stopped", 2)
    assert attributes(spans[3])["gen_ai.usage.input_tokens"] == "12"
    assert (attributes(spans[4])["error.type"], attributes(spans[4])["http.response.status_code"]) == (
        "http_5xx",
        "503",
    )
    assert all(int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) for span in spans)
    assert look("export", "--format", "otlp-json").lines == [line]


@pytest.mark.spec("OPS-14")
def test_what_was_said_is_in_traces_and_csv_only_when_asked_for(builder: LogBuilder, look):
    whole(builder)
    for form in ("otlp-json", "csv"):
        without, within = (look("export", "--format", form, *more).out for more in ((), ("--content",)))
        for text in ("brass key", "attic"):
            assert (text in without, text in within) == (False, True)
    assert "no room" in look("export", "--format", "otlp-json", "--content").out


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_runs_nothing_that_somebody_wrote(builder: LogBuilder, look, text):
    builder.turn(text=text, user_name=text)
    (row,) = csv.DictReader(io.StringIO(look("export", "--format", "csv", "--content").out, newline=""))
    assert (row["question"], row["user_name"]) == (f"'{text}", f"'{text}")


@pytest.mark.spec("OPS-14")
def test_a_line_break_in_a_text_stays_in_its_cell(builder: LogBuilder, look):
    builder.turn(text='two\nlines, and "a quote"')
    (row,) = csv.DictReader(io.StringIO(look("export", "--format", "csv", "--content").out, newline=""))
    assert row["question"] == 'two\nlines, and "a quote"'


@pytest.mark.spec("OPS-13")
def test_what_is_no_file_is_filled_and_never_replaced(builder: LogBuilder, look, tmp_path):
    whole(builder)
    real, link, pipe = tmp_path / "real.jsonl", tmp_path / "link.jsonl", tmp_path / "pipe"
    real.write_text("as it was")
    link.symlink_to(real)
    assert look("export", "-o", str(link)).status == 0
    assert link.is_symlink()
    assert json.loads(real.read_text().splitlines()[0])["form"] == "phasewalk export"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        read = pool.submit(pipe.read_text)
        assert look("export", "-o", str(pipe)).status == 0
        assert read.result(timeout=20) == real.read_text()
    assert pipe.is_fifo()


BROKEN = {
    "nothing": (lambda _: "", "not an export; expected the output of 'phasewalk export --format jsonl'"),
    "something else": (lambda _: "turn_id,kind\n", "not an export; expected the output of"),
    "other JSON": (lambda _: '{"a": 1}\n', "not an export; expected the output of"),
    "a newer form": (lambda text: text.replace('"version": 1', '"version": 2', 1), "use the newer phasewalk"),
    "a newer schema": (
        lambda text: text.replace(f'"schema": {SCHEMA_VERSION}', f'"schema": {SCHEMA_VERSION + 1}', 1),
        "use the newer phasewalk",
    ),
    "a cut line": (lambda text: text[:-40], "not a line of an export"),
    "a lost line": (lambda text: "".join(text.splitlines(keepends=True)[:-2]), "the export is cut off behind line"),
    "another table": (
        lambda text: text.replace('"table": "attempt"', '"table": "sqlite_master"'),
        "no table is called",
    ),
    "another column": (lambda text: text.replace('"cause":', '"why":'), "attempt has no column 'why'"),
    "a wrong value": (lambda text: text.replace('"cause": "first"', '"cause": "whim"'), "CHECK constraint failed"),
    "a list": (lambda text: text.replace('"rows": ', '"rows": [], "x": '), "not a line of an export"),
}


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_whole_export_is_one_sentence_and_status_4(builder: LogBuilder, look, tmp_path, case):
    whole(builder)
    breaks, piece = BROKEN[case]
    file = tmp_path / "broken.jsonl"
    file.write_text(breaks(look("export").out))
    answer = look("show", "last", "--from", str(file))
    assert (answer.status, answer.out) == (4, "")
    (sentence,) = answer.err.splitlines()
    assert sentence.startswith(f"phasewalk: {file}: ")
    assert piece in sentence


@pytest.mark.spec("OPS-13")
def test_a_file_that_is_not_there_and_one_that_is_no_text(builder: LogBuilder, look, tmp_path):
    assert look("show", "last", "--from", str(tmp_path / "none")).status == 3
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    assert look("show", "last", "--from", str(tmp_path / "bytes")).status == 4


@pytest.mark.spec("OPS-13")
def test_a_file_that_cannot_be_written_stays_as_it_was(builder: LogBuilder, look, tmp_path):
    whole(builder)
    answer = look("export", "-o", str(tmp_path / "no" / "folder.jsonl"))
    assert answer.status == 2
    assert "cannot be written" in answer.err
    file = tmp_path / "old.jsonl"
    file.write_text("as it was")
    builder.log.execute("UPDATE payload SET encoding = 'zlib-1' WHERE body IS NOT NULL")  # no packed bytes
    answer = look("export", "-o", str(file))
    assert (answer.status, "a stored text is damaged" in answer.err) == (4, True)
    assert look("show", "last").status == 4
    assert file.read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
