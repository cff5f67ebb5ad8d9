"""`phasewalk sql`: the log in SQL, read-only."""

import csv
import io
import json

import pytest
from builders import LogBuilder

from phasewalk.storage.guide import described, metadata


def test_a_query_prints_a_table(builder: LogBuilder, look):
    builder.turns(2)
    builder.turn(outcome="stopped", reason="http_5xx")
    answer = look("sql", "SELECT outcome, count(*) AS turns, NULL AS none FROM turn GROUP BY 1")
    assert (answer.status, answer.lines) == (0, ["outcome   turns  none", "answered  2", "stopped   1"])


@pytest.mark.spec("OPS-14")
def test_a_query_prints_one_object_or_one_a_line(look):
    query = "SELECT 1 AS a, 'x' AS a, x'00ff' AS blob, 9e999 AS much, NULL AS none"
    row = {"a": 1, "a_2": "x", "blob": "x'00ff'", "much": "inf", "none": None}
    assert look("sql", query, "--json").items == [row]
    assert look("sql", query, "--jsonl").document == row


def test_csv_is_read_back_as_it_was(look):
    answer = look("sql", "SELECT 'a,\"b\"' AS one, 'two\nlines' AS two UNION ALL SELECT NULL, 3", "--csv")
    assert list(csv.reader(io.StringIO(answer.out))) == [["one", "two"], ['a,"b"', "two\nlines"], ["", "3"]]


def test_a_query_without_rows_prints_its_head(look):
    assert look("sql", "SELECT turn_id FROM turn").lines == ["turn_id"]


def test_a_dash_reads_the_query_from_standard_input(look):
    assert look("sql", "-", stdin="SELECT 42 AS n\n").lines == ["n", "42"]


@pytest.mark.spec("LOG-06")
def test_without_a_query_every_table_and_view_is_told_and_where_the_file_is(builder: LogBuilder, look):
    answer = look("sql")
    there = builder.log.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%migrations%' AND name NOT LIKE 'message_index\\__%' ESCAPE '\\'"
    ).fetchall()
    told = {tuple(line.split()[:2]) for line in answer.lines[2:-1]}
    assert told == set(there)
    assert answer.lines[0] == f"the log is {builder.path}"


@pytest.mark.spec("LOG-06")
def test_the_columns_of_each_are_in_the_object(look):
    items = {item["name"]: item for item in look("sql", "--json").items}
    assert items.keys() == described().keys()
    assert items["turn"]["about"]["started"] == "started_us as text, UTC"
    assert {"turn_id", "started_us", "started"} <= set(items["turn"]["columns"])
    assert look("sql", "--csv").lines[0] == "name,type,holds"


@pytest.mark.spec("LOG-06")
def test_every_column_of_every_table_and_view_has_its_line(builder: LogBuilder):
    for name, told in described().items():
        there = {c for (c,) in builder.log.execute("SELECT name FROM pragma_table_xinfo(?)", (name,))}
        assert told["columns"].keys() == there, name
        assert all(told["columns"].values())
        assert all(told[line] for line in ("title", "description"))
        assert told.get("sort_desc") in {None, *there}


QUERIES = metadata()["databases"]["phasewalk"]["queries"]


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize("name", QUERIES)
def test_every_documented_query_runs_on_a_log_of_some_turns(builder: LogBuilder, name):
    turn = builder.turn(outcome="stopped", reason="http_5xx")
    builder.enter(turn, "classify", 0)
    builder.attempt(turn, 1, status="failed", reason="http_5xx")
    builder.step(turn, 1, "exhausted candidates_exhausted", "FB-12", {})
    builder.effect(turn, "answer", "general", None)
    builder.enter(builder.turn(outcome=None, phase="classify", age=900), "classify", 0)
    message = {"channel_id": "1", "author_id": "1", "author": "ann", "at_us": 1, "message_id": "7", "turn_id": turn}
    builder.insert("message", role="user", text="the brass key", **message)
    builder.insert("ignored_message", process_id=1, channel_id="1", reason="paused", hour_us=0, count=1, last_us=1)
    builder.insert("operator_action", at_us=1, who="ann", what="w", target="t")
    values = {"turn_id": turn, "message_id": "7", "words": "brass"}
    asked = {key: value for key, value in values.items() if f":{key}" in QUERIES[name]["sql"]}
    assert builder.log.execute(QUERIES[name]["sql"], asked).fetchall() != []
    assert QUERIES[name]["title"]


@pytest.mark.spec("LOG-06")
def test_the_metadata_names_the_file_as_datasette_does(builder: LogBuilder, look):
    answer = look("sql", "--metadata")
    assert list(json.loads(answer.out)["databases"]) == [builder.path.stem]
    assert look("sql", "SELECT 1", "--metadata").status == 2


WRONG = {
    "syntax": ("SELEC 1", 'near "SELEC": syntax error'),
    "table": ("SELECT * FROM turns", "no such table: turns"),
    "two statements": ("SELECT 1; SELECT 2", "one statement at a time"),
    "empty": ("", "no statement that returns rows"),
    "comment": ("/* nothing */", "no statement that returns rows"),
    "parameter": ("SELECT ?", "not understood"),
    "while reading": ("SELECT json_extract('{', '$.a')", "malformed JSON"),
    "surrogate": ("SELECT '\udcff'", "not understood"),
}


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(("query", "sentence"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]], ids=str)
def test_a_wrong_query_is_one_sentence_and_status_2(look, query, sentence, form):
    answer = look("sql", query, *form)
    assert answer.status == 2
    (line,) = answer.err.splitlines()
    assert line.startswith("phasewalk: the query ")
    assert sentence in line


WRITES = [
    "DELETE FROM turn", "INSERT INTO reason VALUES ('x', 'info', 'x')", "DROP TABLE turn", "PRAGMA user_version = 9",
    "PRAGMA writable_schema = 1", "CREATE TEMP TABLE t (x)", "ATTACH 'other.db' AS other", "VACUUM", "VACUUM INTO 'copy.db'",
    "UPDATE sqlite_master SET sql = ''", "COMMIT", "BEGIN IMMEDIATE", "REINDEX", "WITH x AS (SELECT 1) DELETE FROM turn",
]  # fmt: skip


@pytest.mark.spec("OPS-13", "OPS-15")
@pytest.mark.parametrize("query", WRITES)
def test_what_would_write_is_refused_and_makes_no_file(builder: LogBuilder, look, monkeypatch, query):
    builder.turn()
    monkeypatch.chdir(builder.path.parent)
    before = sorted(path.name for path in builder.path.parent.iterdir())
    answer = look("sql", query)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "phasewalk: this command only reads; SELECT, VALUES, WITH, EXPLAIN and a PRAGMA that reads are accepted\n"
    )
    assert sorted(path.name for path in builder.path.parent.iterdir()) == before
    assert builder.log.execute("SELECT count(*) FROM turn").fetchone() == (1,)


@pytest.mark.parametrize(
    "query",
    ["EXPLAIN QUERY PLAN SELECT 1", "PRAGMA table_info(turn)", "SELECT count(*) FROM pragma_table_xinfo('turn')",
     "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
     "SELECT value FROM json_each('[1]')", "SELECT * FROM log_coverage", "SELECT * FROM stuck_turns", "PRAGMA integrity_check"],
)  # fmt: skip
def test_whatever_reads_is_answered(look, query):
    assert look("sql", query).status == 0


@pytest.mark.spec("OPS-13")
def test_two_forms_are_a_usage_error(look):
    assert look("sql", "SELECT 1", "--csv", "--json").status == 2
