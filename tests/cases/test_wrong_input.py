"""Wrong input: one clear sentence on standard error, the right exit status, nothing lost, never a traceback."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

EXPORT = {
    "guild": {"id": "1", "name": "g"},
    "channel": {"id": "2", "name": "general"},
    "messages": [],
    "messageCount": 0,
}


def refused(done, status: int, *words: str) -> None:
    assert done.returncode == status, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    sentences = [line for line in done.stderr.splitlines() if line.startswith("phasewalk: ")]
    assert len(sentences) == 1, done.stderr
    for word in words:
        assert word in sentences[0]


CONFIGURATIONS = {
    "unknown key": ("[limits]\nattemts = 3\n", ["line 2", "limits.attemts", "did you mean 'attempts'"]),
    "unknown section": ("[limitz]\nattempts = 3\n", ["line 1", "limitz", "did you mean 'limits'"]),
    "unknown key of a provider": (
        '[[providers]]\nname = "a"\n\n[[providers]]\nname = "b"\nmodle = "x"\n',
        ["line 6", "did you mean 'model'"],
    ),
    "wrong type": ('[limits]\nattempts = "three"\n', ["line 2", "limits.attempts", "integer"]),
    "too small": ("[limits]\nattempts = 0\n", ["line 2", "greater than or equal to 1"]),
    "not a number": ("[limits]\nturn = nan\n", ["limits.turn"]),
    "longer than a year": ("[limits]\nturn = 1e300\n", ["limits.turn", "less than or equal to 31536000"]),
    "a cooldown for ever": ("[circuit]\ncooldown = 1e300\n", ["circuit.cooldown", "31536000"]),
    "a delay that is no number": ("[limits]\npost-effect-delays = [nan]\n", ["limits.post-effect-delays"]),
    "a delay into the past": ("[limits]\npost-effect-delays = [-1.0]\n", ["limits.post-effect-delays", "0"]),
    "a value for a table": ('bot = "helper"\n', ["'bot'", "a table is due, such as [bot]"]),
    "single brackets": ('[providers]\nname = "a"\n', ["'providers'", "[[providers]]"]),
    "an empty notice": ('[notices]\npartial = " "\n', ["'partial' is empty"]),
    "a tool that there is not": (
        '[policy]\ndisabled-tools = ["notes_ad"]\n',
        ["disabled-tools", "did you mean 'notes_add'"],
    ),
    "a family that there is not": (
        '[policy]\ndisabled-families = ["note"]\n',
        ["disabled-families", "did you mean 'notes'"],
    ),
    "privileges of nothing": (
        '[policy]\nprivileges = { calender = "staff" }\n',
        ["privileges", "did you mean 'calendar'"],
    ),
    "a channel offers nothing": ('[policy]\nchannels = { help = ["mails"] }\n', ["channels", "no family 'mails'"]),
    "bad pattern": ('[bot]\nshort-path = [["[", "x"]]\n', ["bot.short-path", "'['", "regular expression"]),
    "half a rule": ('[bot]\nshort-path = [["x"]]\n', ["bot.short-path", "channel pattern, user pattern"]),
    "not TOML": ("[bot\n", ["not TOML", "line 1"]),
    "bad address": ('[[providers]]\nname = "a"\nbase-url = "localhost:80"\n', ["line 3", "base-url"]),
    "two of one name": ('[[providers]]\nname = "a"\n[[providers]]\nname = "a"\n', ["'a'", "name of its own"]),
    "unknown notice": ('[notices]\nparital = "x"\n', ["parital", "did you mean 'partial'"]),
    "no persona file": ('[bot]\npersona = "none.md"\n', ["bot.persona", "none.md"]),
    "no rules file": ('[[providers]]\nname = "r"\napi = "rules"\nrules = "none.toml"\n', ["none.toml"]),
    "no tool module": ('[tools]\nmodules = ["no_such_tools"]\n', ["no_such_tools"]),
}


@pytest.mark.spec("OPS-13", "ENV-05")
@pytest.mark.parametrize(("text", "words"), CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
def test_a_wrong_configuration_is_refused_with_its_line(workplace, text, words):
    workplace.configure(text)
    elsewhere = any(word in text for word in ("none", "tools", "[policy]"))  # found wrong when it is used
    refused(workplace.run("turn", "hi"), 2, "" if elsewhere else "phasewalk.toml", *words)
    assert not workplace.database.exists()


@pytest.mark.spec("OPS-13")
def test_a_tool_module_that_fails_to_import_is_named_with_its_error(workplace):
    extra = workplace.tools("raise RuntimeError('out of cheese')\n")
    workplace.configure(extra)
    refused(workplace.run("turn", "hi"), 2, "my_tools", "out of cheese")


@pytest.mark.spec("OPS-13")
def test_a_configuration_that_is_not_there_is_refused(workplace):
    refused(workplace.run("--config", "none.toml", "turn", "hi"), 2, "none.toml")


EXPORTS = {
    "missing": (None, 3, ["no such file"]),
    "empty": ("", 4, []),
    "a list": ("[]", 4, ["list"]),
    "not JSON": ("hello", 4, []),
    "no messages": ("{}", 4, ["messages"]),
    "cut off": (json.dumps(EXPORT)[:-20], 5, ["cut off"]),
}


@pytest.mark.spec("MOD-22", "OPS-13")
@pytest.mark.parametrize(("text", "status", "words"), EXPORTS.values(), ids=EXPORTS.keys())
def test_a_wrong_export_is_refused_with_its_status(workplace, text, status, words):
    if text is not None:
        (workplace.folder / "export.json").write_text(text)
    refused(workplace.run("feed", "export.json"), status, "export.json", *words)


@pytest.mark.spec("MOD-22")
def test_what_a_cut_off_export_still_holds_is_fed(workplace):
    message = {"id": "1100000000000000001", "type": "Default", "content": "hi", "author": {"id": "7", "name": "mira"}}
    whole = json.dumps({**EXPORT, "messages": [message, message | {"id": "1100000000000000002"}]})
    (workplace.folder / "export.json").write_text(whole[: whole.index("1100000000000000002")])
    refused(workplace.run("feed", "export.json"), 5, "1 message", "1100000000000000001")
    assert workplace.rows("SELECT count(*) FROM turn") == [(1,)]


@pytest.mark.spec("OPS-13", "MOD-22")
def test_one_wrong_export_does_not_keep_the_others_from_being_fed(workplace):
    message = {"id": "1100000000000000001", "type": "Default", "content": "hi", "author": {"id": "7", "name": "mira"}}
    (workplace.folder / "good.json").write_text(json.dumps({**EXPORT, "messages": [message], "messageCount": 1}))
    refused(workplace.run("feed", "none.json", "good.json"), 3, "none.json")
    assert workplace.rows("SELECT count(*) FROM turn") == [(1,)]


@pytest.mark.spec("LOG-04", "OPS-13", "OPS-15")
@pytest.mark.parametrize(
    "command",
    [["turn", "hi"], ["status"], ["stuck"], ["list"], ["show", "last"], ["sql", "SELECT 1"]],
    ids=lambda c: c[0],
)
def test_a_database_of_a_newer_version_is_refused_by_name_and_version(workplace, command):
    workplace.turn("hi")
    connection = sqlite3.connect(workplace.database)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    refused(workplace.run(*command), 4, "phasewalk.db", "99")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("command", [["turn", "hi"], ["status"]], ids=lambda c: c[0])
def test_a_file_that_is_no_database_is_refused_and_left_alone(workplace, command):
    workplace.database.write_text("hello " * 1000)
    refused(workplace.run(*command), 4, "phasewalk.db")
    assert workplace.database.read_text() == "hello " * 1000


@pytest.mark.spec("OPS-13")
def test_a_database_of_somebody_else_is_refused_and_left_alone(workplace):
    connection = sqlite3.connect(workplace.database)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    refused(workplace.run("turn", "hi"), 4, "not a phasewalk log")
    assert workplace.rows("SELECT name FROM sqlite_master") == [("theirs",)]


@pytest.mark.spec("OPS-13")
def test_a_folder_that_cannot_be_written_is_named(workplace):
    refused(workplace.run("--db", "no/such/folder/x.db", "turn", "hi"), 4, "no/such/folder")


@pytest.mark.spec("OPS-13")
@pytest.mark.skipif(
    os.geteuid() == 0 and not Path("/proc/self/ns").exists(), reason="needs a place that nobody can write"
)
def test_a_place_that_nobody_can_write_is_named(workplace):
    refused(workplace.run("--db", "/proc/phasewalk.db", "turn", "hi"), 4, "/proc/phasewalk.db")


@pytest.mark.spec("OPS-13", "FB-11")
def test_an_unknown_api_is_told_and_skipped(workplace):
    workplace.configure('[[providers]]\nname = "odd"\napi = "telepathy"\nmodel = "m"\n')
    done = workplace.run("turn", "hi", "--json")
    turn = json.loads(done.stdout)
    assert done.returncode == 1
    assert (turn["outcome"], turn["reason"]) == ("stopped", "unknown_provider")
    assert "telepathy" in done.stderr


@pytest.mark.spec("OPS-16")
def test_an_unknown_word_suggests_the_nearest(workplace):
    done = workplace.run("stauts")
    assert done.returncode == 2
    assert "no command 'stauts'; did you mean 'stats' or 'status'?" in done.stderr
    assert "no command 'bakup'; did you mean 'backup'?" in workplace.run("bakup").stderr


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    "options",
    [["--deadline", "-1"], ["--deadline", "x"], ["--kind", "odd"], ["--attach", "none.png"], ["--loud"]],
    ids=" ".join,
)
def test_a_wrong_option_is_a_usage_error(workplace, options):
    done = workplace.run("turn", "hi", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not workplace.database.exists()
