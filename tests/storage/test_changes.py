"""What a start changed, beside the start before it."""

import json

import pytest
from builders import LogBuilder

from phasewalk.storage.changes import Change, start_before


def start(
    builder: LogBuilder, age: float, configuration: dict | None, *, version: str = "1.0", command: str = "bot"
) -> None:
    """A process that began so long ago, by this configuration."""
    number = builder.process(age=age, command=command)
    digest = None if configuration is None else json.dumps(configuration)
    if digest is not None:
        builder.log.execute("INSERT OR IGNORE INTO configuration VALUES (?, ?, 1)", (digest, digest))
    sql = "UPDATE process SET version = ?, configuration_hash = ? WHERE process_id = ?"
    builder.log.execute(sql, (version, digest, number))


def changes(builder: LogBuilder, age: float = 0.0):
    found = start_before(builder.log, builder.at(age))
    assert found is not None
    return found.changes


@pytest.mark.spec("OPS-11")
def test_a_start_is_told_with_each_value_that_it_changed(builder: LogBuilder):
    start(builder, 200, {"bot": {"name": "h"}, "providers": [{"model": "a", "window": 1}], "keys": {"one": True}})
    start(builder, 100, {"bot": {"name": "h"}, "providers": [{"model": "b", "window": 1}], "keys": {}}, version="2.0")
    assert changes(builder) == (
        Change("version", "1.0", "2.0"),
        Change("keys", None, {}),
        Change("keys.one", True, None),
        Change("providers.0.model", "a", "b"),
    )


@pytest.mark.spec("OPS-11")
def test_a_list_of_plain_values_is_one_value(builder: LogBuilder):
    start(builder, 200, {"candidates": ["one/a", "two/b"]})
    start(builder, 100, {"candidates": ["one/a"]})
    assert changes(builder) == (Change("candidates", ["one/a", "two/b"], ["one/a"]),)


@pytest.mark.spec("OPS-11")
def test_the_same_once_more_is_no_change(builder: LogBuilder):
    for age in (200, 100):
        start(builder, age, {"bot": {"name": "h"}})
    assert changes(builder) == ()


@pytest.mark.spec("OPS-11")
def test_only_starts_up_to_the_time_and_of_the_same_command_count(builder: LogBuilder):
    start(builder, 300, {"a": 1})
    start(builder, 200, {"a": 2})
    start(builder, 150, {"a": 3}, command="turn")
    start(builder, 100, {"a": 4})
    assert changes(builder) == (Change("a", 2, 4),)
    assert changes(builder, 180) == (Change("a", 1, 2),)
    assert start_before(builder.log, builder.at(500)) is None


@pytest.mark.spec("OPS-11")
def test_what_was_not_written_down_is_no_change(builder: LogBuilder):
    start(builder, 300, None)
    assert changes(builder) is None  # nothing to compare with
    start(builder, 200, {"a": 2})
    assert changes(builder) is None
    start(builder, 100, None, version="2.0")
    assert changes(builder) == (Change("version", "1.0", "2.0"),)
