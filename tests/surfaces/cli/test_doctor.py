"""`phasewalk doctor` without a network: configuration, keys, files, log, clock."""

import json
import os
import shutil
import sqlite3
import sys

import pytest
from builders import LogBuilder

from phasewalk.storage.database import SCHEMA_VERSION
from phasewalk.surfaces.cli import doctor as command
from phasewalk.surfaces.doctor import log as logs


@pytest.fixture
def examined(builder: LogBuilder, tmp_path, look, monkeypatch):
    """Run `phasewalk doctor --json` beside this configuration; status, and the findings of an area as (level, said)."""
    for name in ("DISCORD_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(configuration: str = "", *, area: str = "") -> tuple[int, list[tuple[str, str]]]:
        (tmp_path / "phasewalk.toml").write_text(configuration, "utf-8")
        answer = look("doctor", "--json")
        assert answer.err == ""
        items = answer.document["items"]
        return answer.status, [
            (one["level"], f"{one['what']}; {one['fix']}") for one in items if area in ("", one["area"])
        ]

    return run


def worse(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [one for one in found if one[0] != "ok"]


ONE = '[[providers]]\nname = "one"\nbase-url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi-key-env = "KEY_ONE"\n'


@pytest.mark.spec("OPS-13")
def test_without_a_token_that_is_a_warning_with_the_portals_address(examined):
    code, found = examined(area="discord")
    assert code == 0
    assert found == [
        (
            "warn",
            (
                "DISCORD_TOKEN is not set, so Discord was not asked; the bot's token stands at"
                " https://discord.com/developers/applications under 'Bot'; export DISCORD_TOKEN=…"
            ),
        )
    ]


@pytest.mark.spec("OPS-13", "OPS-14")
def test_each_finding_is_a_line_and_the_last_line_counts(examined, look):
    examined()
    lines = look("doctor", "--offline").lines
    findings = lines[lines.index("") + 1 : -1]
    assert {line.split()[0] for line in findings} == {"ok", "warn"}
    assert lines[-1] == f"0 bad, 2 to look at, {len(findings) - 2} ok"
    assert 'bot.name = "helper"' in lines
    assert "DISCORD_TOKEN: not set" in lines


@pytest.mark.spec("BAR-26")
def test_effective_values_hold_no_secret_not_even_in_a_wrong_place(examined, look, monkeypatch):
    monkeypatch.setenv("KEY_ONE", "hunter2-hunter2")
    monkeypatch.setenv("OWN", "my-own-secret")
    provider = ONE.replace("http://", "http://ann:pa55word@").replace('"m"', '"hunter2-hunter2"')
    examined(f'[policy]\nsecrets-env = ["OWN"]\n[bot]\npersona = "say my-own-secret"\n{provider}')
    for answer in (look("doctor"), look("doctor", "--json")):
        assert not [secret for secret in ("hunter2", "my-own-secret", "pa55word") if secret in answer.out]
    document = look("doctor", "--json").document
    assert document["secrets"] == {"DISCORD_TOKEN": "not set", "KEY_ONE": "set", "OWN": "set"}
    assert document["values"]["providers[0].name"] == "one"
    assert document["values"]["limits.turn"] == 360.0


@pytest.mark.spec("OPS-13")
def test_a_wrong_configuration_is_told_with_its_line_and_status_2(examined):
    code, found = examined('[bot]\nnaem = "x"\n')
    assert code == 2
    assert found == [
        (
            "bad",
            "phasewalk.toml, line 2: unknown key 'bot.naem'; did you mean 'name'?; mend the file; nothing else was examined",
        )
    ]


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ('[bot]\npersona = "who.md"\n', "persona: 'bot.persona': who.md cannot be read as text"),
        ('[bot]\nnews-file = "folder"\n', "news: folder cannot be read as text"),
        ('[bot]\nvocabulary = "words.toml"\n', "vocabulary: vocabulary words.toml cannot be read"),
        ('[tools]\nmodules = ["absent_tools"]\n', "tools: tool module 'absent_tools' was not found"),
        ('[tools]\nmodules = ["broken_tools"]\n', "tools: "),
        ('[policy]\ndisabled-tools = ["flying"]\n', "tools: [policy] disabled-tools: there is no tool 'flying'"),
        ('[moderation]\npolicy = "rules.md"\n', "moderation policy: rules.md cannot be read as text"),
        ('[[providers]]\nname = "r"\napi = "rules"\nfaq = "no.md"\n', "rules of provider 'r': FAQ file no.md cannot be read"),
    ],
    ids=["persona", "news", "vocabulary", "tools", "broken tools", "policy", "moderation", "faq"],
)  # fmt: skip
def test_a_file_that_cannot_be_loaded_is_bad(examined, tmp_path, configuration, said):
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken_tools.py").write_text("raise RuntimeError('no')\n")
    code, found = examined(configuration, area="configuration")
    sys.modules.pop("phasewalk_tools_from_broken_tools", None)
    assert code == 1
    assert [(level, told.startswith(said)) for level, told in worse(found)] == [("bad", True)]


@pytest.mark.spec("OPS-13")
def test_files_that_can_be_loaded_are_named(examined, tmp_path):
    (tmp_path / "who.md").write_text("Kind.")
    (tmp_path / "news.txt").write_text("None.")
    code, found = examined('[bot]\npersona = "who.md"\nnews-file = "news.txt"\n', area="configuration")
    assert (code, worse(found)) == (0, [])
    assert found[0] == ("ok", f"{tmp_path / 'phasewalk.toml'} is valid; ")
    assert {("ok", "persona: who.md; "), ("ok", "news: news.txt; ")} <= set(found)


@pytest.mark.spec("OPS-13")
def test_news_that_are_not_there_are_a_warning(examined):
    code, found = examined('[bot]\nnews-file = "news.txt"\n', area="configuration")
    assert code == 0
    assert worse(found) == [
        ("warn", "news: news.txt does not exist, so there is no news; make it, or leave out news-file")
    ]


@pytest.mark.spec("OPS-13", "OPS-02")
def test_a_provider_without_a_key_is_bad_only_where_no_other_can_be_asked(examined, monkeypatch):
    missing = (
        "provider 'one' has no key: KEY_ONE is not set; set it, or api-key-env = \"\" for a server that needs none"
    )
    code, found = examined(ONE, area="providers")
    assert (code, found) == (1, [("bad", missing)])
    free = ONE.replace('"one"', '"two"').replace("KEY_ONE", "")
    code, found = examined(ONE + free, area="providers")
    assert (code, found) == (0, [("warn", missing), ("ok", "provider 'two' (chat, m) needs no key; ")])
    monkeypatch.setenv("KEY_ONE", "sk-test-0123456789abcdef")
    assert examined(ONE, area="providers") == (0, [("ok", "provider 'one' (chat, m) has a key in KEY_ONE; ")])


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("change", "said"),
    [(('"m"', '""'), "names no model"), (("api-key-env", 'api = "cat"\napi-key-env'), "has the unknown api 'cat' and is skipped")],
)  # fmt: skip
def test_a_provider_that_cannot_be_asked_is_told(examined, monkeypatch, change, said):
    monkeypatch.setenv("KEY_ONE", "sk-test-0123456789abcdef")
    _, ((level, told),) = examined(ONE.replace(*change), area="providers")
    assert (level, told.startswith(f"provider 'one' {said}; ")) == ("bad", True)


@pytest.mark.spec("OPS-13", "LOG-04")
def test_a_log_that_is_well(builder: LogBuilder, examined):
    builder.turn()
    code, found = examined(area="log")
    assert (code, worse(found)) == (0, [])
    assert found[0] == ("ok", f"{builder.path} is readable, schema version {SCHEMA_VERSION}; ")
    assert found[1] == ("ok", "it is whole (quick check), with 1 turn; ")


@pytest.mark.spec("OPS-13")
def test_a_log_that_is_not_there_yet_is_no_fault_and_is_not_made(process, tmp_path):
    missing = tmp_path / "missing.db"
    answer = process("doctor", "--json", path=missing)
    assert answer.status == 0
    assert f"{missing} does not exist yet; the first run makes it" in answer.out
    assert not missing.exists()


@pytest.mark.spec("OPS-13")
def test_a_log_that_cannot_be_read_is_status_4(builder: LogBuilder, examined):
    builder.log.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    code, found = examined(area="log")
    assert code == 4
    ((level, told),) = found
    assert (level, told.startswith(f"it cannot be read: {builder.path}: written with schema version ")) == ("bad", True)


@pytest.mark.spec("OPS-13", "LOG-13")
def test_a_damaged_log_is_bad(builder: LogBuilder, process):
    builder.turns(400)
    builder.damage()
    answer = process("doctor", "--json")
    items = [one for one in json.loads(answer.out)["items"] if one["area"] == "log" and one["level"] == "bad"]
    assert answer.status in (1, 4)
    assert items
    assert "restore" in items[0]["fix"]


@pytest.mark.spec("OPS-13")
def test_little_room_is_told(examined, monkeypatch):
    usage = type(shutil.disk_usage("/"))
    for free, level in ((10 * 2**20, "bad"), (100 * 2**20, "warn"), (2**40, "ok")):
        monkeypatch.setattr(logs.shutil, "disk_usage", lambda _folder, free=free: usage(2**41, 0, free))
        _, found = examined(area="log")
        assert [one for one, told in found if " free, the log has " in told] == [level]


@pytest.mark.spec("OPS-13")
def test_what_cannot_be_written_is_told(builder: LogBuilder, examined, monkeypatch):
    may = os.access
    monkeypatch.setattr(
        logs.os, "access", lambda path, mode: (str(path), mode) != (str(builder.path), os.W_OK) and may(path, mode)
    )
    _, found = examined(area="log")
    assert ("bad", f"{builder.path} cannot be written; run as its owner, or chown it to the bot") in found


@pytest.mark.spec("OPS-13")
def test_a_wal_that_has_grown_is_told(builder: LogBuilder, examined, monkeypatch):
    builder.turn()
    monkeypatch.setattr(logs, "TRUNCATE_BYTES", 10)
    _, found = examined(area="log")
    assert any(level == "warn" and told.startswith("the WAL has grown to ") for level, told in found)


@pytest.mark.spec("OPS-13")
def test_a_clock_behind_the_log_is_bad(builder: LogBuilder, examined):
    builder.turn(age=-3600)
    code, ((level, told),) = examined(area="clock")
    assert (code, level) == (1, "bad")
    assert " after now; the clock is behind, or was ahead: set it by NTP" in told


@pytest.mark.spec("OPS-13")
def test_a_clock_that_was_never_set_is_bad(examined, monkeypatch):
    monkeypatch.setattr(command, "now_us", lambda: 1_000_000)
    code, ((level, told),) = examined(area="clock")
    assert (code, level, "which is long ago" in told) == (1, "bad", True)


@pytest.mark.spec("OPS-15")
def test_looking_writes_nothing(builder: LogBuilder, process):
    builder.turn()
    builder.close()
    with sqlite3.connect(builder.path) as log:
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    before = builder.path.read_bytes()
    assert process("doctor").status == 0
    assert builder.path.read_bytes() == before


@pytest.mark.spec("OPS-13")
def test_a_token_that_cannot_be_one_is_status_2(process):
    answer = process("doctor", environment={"DISCORD_TOKEN": "two words"})
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "phasewalk: DISCORD_TOKEN holds blanks, controls or non-ASCII letters; a token has none\n"


@pytest.mark.spec("OPS-16")
def test_help_ends_with_examples_and_exit_codes(look):
    assert look("doctor", "--help").out.rstrip().endswith("4 the log cannot be read.")
