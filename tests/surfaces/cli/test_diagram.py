"""`phasewalk diagram` on a log: one turn's path, the traffic of all, and drift of a file."""

import pytest
from builders import LogBuilder


def walked(builder: LogBuilder, **columns: object) -> str:
    turn = builder.turn(**columns)
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 1, "T01 admitted", "classify")
    builder.leave(turn, "classify", 2, "T04 classified", "freeze_contract")
    return turn


@pytest.mark.spec("OPS-21")
def test_the_path_of_a_turn_is_laid_over_the_machine_that_it_walked(builder: LogBuilder, look):
    turn = walked(builder)
    by_id, by_name = look("diagram", "--turn", turn), look("diagram", "--turn", "last")
    assert by_id == by_name
    assert by_id.out != look("diagram").out
    line = next(line for line in by_id.lines if "T01" in line)
    assert "(1)" in line


@pytest.mark.spec("OPS-21")
def test_heat_counts_the_turns_of_the_period(builder: LogBuilder, look):
    walked(builder)
    walked(builder, age=9 * 86_400)

    def counted(*options: str) -> str:
        return next(line for line in look("diagram", "--heat", *options).lines if "T01" in line)

    assert "(2x)" in counted()
    assert "(1x)" in counted("--since", "1d")


@pytest.mark.spec("OPS-10", "OPS-13")
def test_an_unknown_turn_has_status_3(look):
    assert look("diagram", "--turn", "nosuchturn").status == 3


@pytest.mark.spec("OPS-22", "OPS-13")
def test_a_file_that_differs_from_the_table_has_status_1(look, tmp_path):
    file = tmp_path / "turn.mmd"
    file.write_text(look("diagram", "--format", "mermaid").out)
    assert look("diagram", "--check", str(file)).status == 0
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "T12" not in line))
    answer = look("diagram", "--check", str(file))
    assert answer.status == 1
    assert "T12" in answer.out
