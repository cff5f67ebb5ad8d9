"""How the shapes of the SVG picture look.

Owns colours and widths. Invariant: nothing is told by colour alone.
"""

WIDTHS = 5
"""Steps of width in which traffic is shown."""

_FONTS = "'DejaVu Sans Mono',ui-monospace,Menlo,Consolas,'Liberation Mono','Noto Sans Mono',monospace"
_INK, _GROUND = "#111", "#fff"
_DARK_INK, _DARK_GROUND = "#eee", "#111"


def _colours(ink: str, ground: str) -> str:
    return (
        f".phasewalk text,.phasewalk .head{{fill:{ink}}}"
        f".phasewalk .ground,.phasewalk rect{{fill:{ground}}}"
        f".phasewalk .line,.phasewalk g rect{{stroke:{ink}}}"
    )


STYLE_LIGHT = _colours(_INK, _GROUND)
"""The light colours alone, for a page that wants them whatever the reader prefers, as on paper."""

STYLE = "\n".join(
    [
        "",
        f".phasewalk text{{font-family:{_FONTS};font-size:11px}}",
        ".phasewalk .title{font-size:15px;font-weight:bold}",
        ".phasewalk .name{font-size:13px;font-weight:bold;text-anchor:middle}",
        ".phasewalk .end{text-anchor:end}",
        ".phasewalk .strong{font-weight:bold}",
        ".phasewalk .line{fill:none;stroke-width:1.6}",
        ".phasewalk .node rect{stroke-width:1.6}",
        ".phasewalk .side .line,.phasewalk .note .line,.phasewalk .note rect{stroke-width:0.9}",
        *(f".phasewalk .heat{step} .line{{stroke-width:{step}.4}}" for step in range(1, WIDTHS + 1)),
        ".phasewalk .idle .line{stroke-width:1;stroke-dasharray:4 4}",
        ".phasewalk .path .line,.phasewalk .visited rect{stroke-width:4}",
        ".phasewalk .path text{font-weight:bold}",
        ".phasewalk .edge:hover .line{stroke-width:5;stroke-dasharray:none}",
        STYLE_LIGHT,
        f"@media (prefers-color-scheme:dark){{{_colours(_DARK_INK, _DARK_GROUND)}}}",
        "",
    ]
)
"""The style sheet of every picture."""
