"""Where the log lies, as looking commands find it."""

from pathlib import Path

import pytest

from phasewalk.surfaces.cli.exits import CommandError
from phasewalk.surfaces.cli.where import database_path


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(db: str | None = None, config: str | None = None) -> str:
    return str(database_path({"db": db, "config": config}))


def test_without_anything_it_is_phasewalk_db_here(here):
    assert found() == "phasewalk.db"


def test_the_option_outweighs_the_configuration(here):
    (here / "phasewalk.toml").write_text('[storage]\npath = "a.db"\n')
    assert found(db="b.db") == "b.db"


def test_the_configuration_of_this_folder_names_it(here):
    (here / "phasewalk.toml").write_text('[storage]\npath = "logs/a.db"\n')
    assert found() == "logs/a.db"


def test_a_path_of_a_configuration_is_meant_beside_it(here):
    (here / "etc").mkdir()
    (here / "etc/bot.toml").write_text('[storage]\npath = "a.db"\n')
    assert found(config="etc/bot.toml") == "etc/a.db"
    (here / "etc/bot.toml").write_text("[bot]\n")
    assert found(config="etc/bot.toml") == "etc/phasewalk.db"
    (here / "etc/bot.toml").write_text('[storage]\npath = "/var/a.db"\n')
    assert found(config="etc/bot.toml") == "/var/a.db"


def test_a_wrong_key_elsewhere_keeps_nobody_from_looking(here):
    (here / "phasewalk.toml").write_text('[limitz]\nx = 1\n[storage]\npath = "a.db"\n')
    assert found() == "a.db"


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "bot.toml: cannot be read (No such file or directory)"),
        (b"[storage\n", "bot.toml: not TOML: "),
        (b"\xff\xfe", "bot.toml: not TOML: "),
        (b"storage = 3\n", "bot.toml: 'storage.path' is no text; expected the path of the log"),
        (b"[storage]\npath = 3\n", "bot.toml: 'storage.path' is no text; expected the path of the log"),
    ],
    ids=str,
)
def test_a_configuration_that_cannot_be_read_is_a_usage_error(here, content, sentence):
    if content is not None:
        (here / "bot.toml").write_bytes(content)
    with pytest.raises(CommandError) as error:
        found(config="bot.toml")
    assert error.value.message.startswith(sentence)
    assert error.value.exit_code == 2
