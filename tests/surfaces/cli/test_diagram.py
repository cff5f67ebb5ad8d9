"""`phasewalk diagram` on a log: one turn's path, the traffic of all, drift of a file, and the PNG of the extra."""

import sys
from pathlib import Path
from types import SimpleNamespace

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


@pytest.fixture
def drawer(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """A stand-in for the package of the extra, which keeps what it was asked to draw."""
    asked = []

    def svg_to_bytes(**given: object) -> bytes:
        asked.append(given)
        return f"PNG {len(asked)}".encode()

    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=svg_to_bytes))
    return asked


@pytest.mark.spec("OPS-21")
def test_the_svg_shows_the_path_of_a_turn_and_the_heat_of_all(builder: LogBuilder, look):
    turn = walked(builder)
    plain, path, heat = (
        look("diagram", "--format", "svg", *more).out for more in ((), ("--turn", turn), ("--heat", "--since", "1d"))
    )
    assert plain == (Path(__file__).parents[3] / "diagrams" / "turn.svg").read_text("utf-8")
    assert ">T01 (1)<" in path
    assert 'class="edge path"' in path
    assert ">T01 (1x)<" in heat
    assert 'class="edge heat5"' in heat


@pytest.mark.spec("OPS-21")
def test_a_picture_is_written_to_the_file_that_is_named(look, tmp_path):
    answer = look("diagram", "summary", "--format", "svg", "--output", str(tmp_path / "new.svg"))
    assert (answer.status, answer.out) == (0, "")
    assert (tmp_path / "new.svg").read_bytes().decode() == look("diagram", "summary", "--format", "svg").out


@pytest.mark.spec("OPS-21", "OPS-13")
def test_a_file_that_cannot_be_written_is_one_sentence(look, tmp_path):
    answer = look("diagram", "--output", str(tmp_path / "none" / "turn.txt"))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"phasewalk: {tmp_path}/none/turn.txt: cannot be written (No such file or directory)\n"


@pytest.mark.spec("OPS-22")
def test_an_svg_that_lacks_an_edge_has_status_1_and_the_command_that_mends_it(look, tmp_path):
    file = tmp_path / "turn.svg"
    file.write_text(look("diagram", "--format", "svg").out, "utf-8")
    assert look("diagram", "--check", str(file)).status == 0
    file.write_text(file.read_text("utf-8").replace('data-ids="T18"', 'data-ids="T10"'), "utf-8")
    answer = look("diagram", "--check", str(file))
    assert answer.status == 1
    assert [line.split("; mend it: ") for line in answer.lines] == [
        [f"diagrams/turn.svg: {what}", "phasewalk diagram turn --format svg > diagrams/turn.svg"]
        for what in (
            "missing edge T18 from tool_rounds to model_attempt, the table has it",
            "extra edge T10 from tool_rounds to model_attempt, the table does not have it",
        )
    ]


@pytest.mark.spec("OPS-21")
def test_the_png_is_the_svg_drawn_larger(look, tmp_path, drawer):
    answer = look("diagram", "--format", "png", "--output", str(tmp_path / "turn.png"))
    assert (answer.status, answer.out) == (0, "")
    assert (tmp_path / "turn.png").read_bytes() == b"PNG 3"
    assert drawer[2] == {"svg_string": look("diagram", "--format", "svg").out, "zoom": 2.0}


@pytest.mark.spec("OPS-21")
def test_without_a_file_the_png_goes_to_standard_output(look, drawer):
    assert look("diagram", "--format", "png").out == "PNG 3"


@pytest.mark.spec("OPS-21", "OPS-13")
def test_a_png_is_not_thrown_at_a_terminal(look, monkeypatch, drawer):
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("phasewalk.surfaces.cli.diagram.sys", terminal)
    answer = look("diagram", "--format", "png")
    assert (answer.status, answer.out, drawer) == (2, "", [])
    assert "say where it goes with --output FILE" in answer.err


@pytest.mark.spec("OPS-21", "OPS-13")
def test_without_the_extra_a_png_says_what_to_install(look, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    answer = look("diagram", "--format", "png")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "phasewalk: a PNG needs one more package: pip install 'phasewalk[png]'\n"


@pytest.mark.spec("OPS-21", "OPS-13")
def test_without_any_font_a_png_is_refused_instead_of_drawn_without_words(look, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", SimpleNamespace(svg_to_bytes=lambda **_: b"blank"))
    answer = look("diagram", "--format", "png")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "phasewalk: a PNG needs a font, and this system has none; install fonts-dejavu-core\n"


@pytest.mark.spec("OPS-22", "OPS-13")
@pytest.mark.parametrize("options", [("--check", "turn.png"), ("--format", "png", "--check", "turn")])
def test_a_png_is_not_compared(look, options):
    answer = look("diagram", *options)
    assert answer.status == 2
    assert "a PNG is not compared; check the SVG that it is drawn from" in answer.err


@pytest.mark.spec("OPS-21")
def test_the_real_package_draws_the_picture_twice_as_large(look, tmp_path):
    pytest.importorskip("resvg_py")
    assert look("diagram", "--format", "png", "--output", str(tmp_path / "turn.png")).status == 0
    head = (tmp_path / "turn.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n")
    size = [int.from_bytes(head[start : start + 4], "big") for start in (16, 20)]
    svg = look("diagram", "--format", "svg").out
    assert f'width="{size[0] // 2}" height="{size[1] // 2}"' in svg
