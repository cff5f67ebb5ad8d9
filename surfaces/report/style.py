"""How the pages look: two palettes, one style sheet, the policy that lets it in.

Owns colours, and the digest of every style that a page may use. Invariant: each colour of text stands out from each
ground by 4.5:1 or more, in light and in dark; print is black on white; nothing is told by colour alone.
"""

import base64
import hashlib
from collections.abc import Mapping

from phasewalk.machine.diagram.svg_style import STYLE as DIAGRAM
from phasewalk.machine.diagram.svg_style import STYLE_LIGHT as DIAGRAM_LIGHT

Palette = Mapping[str, str]

TEXTS = ("ink", "muted", "good", "bad", "warn", "link")
"""Colours that text is written in."""

GROUNDS = ("ground", "card", "shade")
"""Colours that text is written on."""

LIGHT: Palette = {
    "ink": "#1b1d21", "muted": "#555b65", "good": "#17663a", "bad": "#a3211b", "warn": "#754c00", "link": "#1c4e94",
    "ground": "#f5f5f2", "card": "#ffffff", "shade": "#eceeef", "line": "#d3d6da", "bar": "#5479ad",
}  # fmt: skip
DARK: Palette = {
    "ink": "#e7e8ea", "muted": "#a9aeb8", "good": "#7ed3a2", "bad": "#ff9d94", "warn": "#ebc46c", "link": "#9dc5ff",
    "ground": "#131517", "card": "#1b1e21", "shade": "#25292d", "line": "#3a3f45", "bar": "#5f86ba",
}  # fmt: skip
PRINT: Palette = {
    **dict.fromkeys((*TEXTS, "bar"), "#000000"), **dict.fromkeys(GROUNDS, "#ffffff"), "line": "#777777",
}  # fmt: skip


def _variables(palette: Palette) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in palette.items()) + "}"


_SCREEN = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
header,nav,main,footer{max-width:70rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:1.75rem}
h1{font-size:1.05rem;font-weight:600;margin:0;letter-spacing:.01em}
h2{font-size:1.2rem;margin:0 0 .75rem;line-height:1.3}
h3{font-size:1.05rem;margin:0 0 .35rem;line-height:1.4}
p{margin:.35rem 0}
a{color:var(--link);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:2px solid var(--link);outline-offset:2px}
code,pre,.id{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.9em}
.muted,.made,.covered{color:var(--muted)}
.made,.covered,.note{font-size:.9rem}
.good{color:var(--good)}
.bad{color:var(--bad)}
.warn{color:var(--warn)}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;margin:.75rem 0 1.25rem;padding:0;
font-size:.9rem}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:1.25rem 1.5rem;
margin:0 0 1.25rem}
.verdict{border-left:8px solid currentColor}
.verdict>*{color:var(--ink)}
.verdict h2{font-size:2.5rem;line-height:1.1;letter-spacing:-.01em;margin:.1rem 0 .4rem;color:inherit}
.verdict h2 span{display:block;font-size:.8rem;font-weight:600;color:var(--muted);text-transform:uppercase;
letter-spacing:.08em;margin-bottom:.35rem}
article .lead{font-weight:600;font-size:1.02rem}
.lead::first-letter{text-transform:uppercase}
.lead{font-size:1.12rem;line-height:1.45}
dl.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(7rem,1fr));gap:.5rem;margin:1rem 0}
dl.figures div{background:var(--shade);border-radius:6px;padding:.5rem .8rem}
dl.figures dt{font-size:.8rem;color:var(--muted)}
dl.figures dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto;margin:1rem 0 .5rem}
table{border-collapse:collapse;width:100%;font-size:.9rem;overflow-wrap:break-word}
caption{text-align:left;font-size:.9rem;font-weight:600;padding:0 0 .35rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-top:1px solid var(--line)}
thead th{border-top:0;border-bottom:1px solid var(--muted);color:var(--muted);font-weight:600;font-size:.8rem;
white-space:nowrap}
tbody th{font-weight:400}
tbody th code,tbody th .id{font-weight:600}
td .sub{color:var(--muted);font-size:.93em}
tr>:last-child{padding-right:0}
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.bar{min-width:11rem;width:34%}
td.wide,th.wide{min-width:14rem}
th[scope=row]{min-width:7.5rem}
td .sub{margin-top:.15rem}
time,.id,.keep{white-space:nowrap}
.type{background:var(--shade);border-radius:4px;padding:.1rem .35rem}
svg.phasewalk{display:block;max-width:100%;min-width:44rem;height:auto}
svg.phasewalk .ground,svg.phasewalk g rect{fill:var(--card)}
svg.bars{display:block;width:100%;height:14px;margin:.25rem 0}
svg.bars .track{fill:var(--shade)}
svg.bars .ok{fill:var(--bar)}
svg.bars .ill{fill:var(--bad)}
svg.bars .open{fill:var(--shade);stroke:var(--warn);stroke-width:2;stroke-dasharray:4 3}
article{border-top:2px solid var(--line);padding:1.25rem 0 1.5rem}
article:first-of-type{border-top:0;padding-top:.25rem}
article:last-of-type{padding-bottom:0}
.kind{display:inline-block;border:1px solid currentColor;border-radius:4px;padding:0 .4rem;font-size:.78rem;
font-weight:600;margin-right:.5rem;white-space:nowrap}
blockquote{margin:.35rem 0;padding:.4rem .8rem;border-left:3px solid var(--line);background:var(--shade);
white-space:pre-wrap;font-size:.93rem}
.said{display:grid;grid-template-columns:6.5rem 1fr;gap:.1rem .75rem;margin:.75rem 0}
.said dt{color:var(--muted);font-size:.85rem;padding-top:.55rem}
.said dd p{margin:.4rem 0}
.said dd{margin:0;min-width:0}
ul.why{margin:.35rem 0;padding-left:1.2rem}
ul.why li{margin:.15rem 0}
ul.why li.sub{list-style:none}
details{margin:.75rem 0}
summary{cursor:pointer;color:var(--link)}
figure{margin:0}
th.call{padding-left:1.25rem;min-width:4rem}
figcaption{color:var(--muted);font-size:.85rem}
pre{white-space:pre-wrap;background:var(--shade);padding:.75rem;border-radius:6px;font-size:.78rem;
line-height:1.45;overflow-wrap:anywhere}
footer{color:var(--muted);font-size:.85rem;padding-bottom:2rem}
@media (max-width:40rem){
header,nav,main,footer{padding-left:.75rem;padding-right:.75rem}
section{padding:1rem .9rem}
.verdict h2{font-size:2rem}
dl.figures{grid-template-columns:repeat(2,1fr)}
.said{grid-template-columns:1fr}
}
"""

_PRINT = """
@page{margin:14mm}
html{font-size:10pt}
body{font-size:9pt;background:#fff}
header,nav,main,footer{max-width:none;padding:0}
nav{display:none}
section{border:0;border-top:1pt solid #000;border-radius:0;padding:10pt 0;margin:0}
.verdict{border-left:6pt solid #000;border-top:0;padding-left:10pt}
.scroll{overflow:visible}
table{font-size:7.5pt}
caption{font-size:8.5pt}
th,td{padding:.2rem .5rem .2rem 0}
thead th{font-size:7pt;white-space:normal}
td time{white-space:normal}
.kind{font-size:7pt}
dl.figures{grid-template-columns:repeat(6,1fr)}
td.wide,th.wide,th[scope=row],td.bar{min-width:0}
.said dt,h2,h3,caption,thead,summary{break-after:avoid}
tr,blockquote,dl.figures,figure{break-inside:avoid}
.long{break-before:page}
.long article{break-before:page}
.long article:first-of-type{break-before:auto}
svg.phasewalk{min-width:0;max-height:195mm}
svg.bars .track{fill:none;stroke:#777;stroke-width:1}
svg.bars .ill{fill:#fff;stroke:#000;stroke-width:2}
details::details-content{content-visibility:visible;block-size:auto}
summary{list-style:none;font-weight:600}
details.data::details-content{content-visibility:hidden;block-size:0}
a{text-decoration:none}
a,summary{color:#000}
"""

SHEET = "\n".join(
    [
        _variables(LIGHT),
        f"@media screen and (prefers-color-scheme:dark){{{_variables(DARK)}}}",
        f"@media print{{{_variables(PRINT)}}}",
        _SCREEN.strip(),
        f"@media print{{{_PRINT.strip()}}}",
        "",
    ]
)
"""The style of every page."""

PICTURES = f"{DIAGRAM}@media print{{{DIAGRAM_LIGHT}}}\n"
"""The style of every diagram on a page; on paper they are light, also where the reader prefers dark."""


def _digest(sheet: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()


POLICY = (
    "default-src 'none'; "
    f"style-src {' '.join(repr(_digest(sheet)) for sheet in (SHEET, PICTURES))}; "
    "base-uri 'none'; form-action 'none'"
)
"""Nothing is loaded, sent or run; of styles only these two."""
