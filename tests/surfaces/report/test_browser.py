"""The page in a real browser: nothing is refused or asked for, and it can be read in light, in dark and on paper."""

import http.server
import re
import shutil
import struct
import subprocess
import threading
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import LogBuilder
from report_logs import LOGS, failing, hostile

from phasewalk.surfaces.report.style import DARK, LIGHT

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium, chromium-browser or google-chrome")

DARK_PREFERRED = "--blink-settings=preferredColorScheme=0"
LIGHT_PREFERRED = "--blink-settings=preferredColorScheme=1"
Browse = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Open a page or an address with some flags; the network leads nowhere but to this machine."""

    def opened(what: str, *flags: str) -> "subprocess.CompletedProcess[str]":
        address = what
        if not what.startswith("http"):
            file = tmp_path / "report.html"
            file.write_text(what, "utf-8")
            address = file.as_uri()
        return subprocess.run(
            [
                str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={tmp_path / 'profile'}",
                "--enable-logging=stderr", "--v=0", *flags, address,
            ],
            check=True, capture_output=True, text=True, timeout=100, cwd=tmp_path,
        )  # fmt: skip

    return opened


@pytest.fixture
def failing_page(builder: LogBuilder, render) -> str:
    """The page of turns that failed among turns that were answered."""
    failing(builder)
    return render()


def said(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """What the page wrote to the console: errors and violations of its policy."""
    return [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def pixels(path: Path) -> Counter[str]:
    """How often each colour stands in a picture."""
    data = path.read_bytes()
    width, height, depth, form = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    size = {2: 3, 6: 4}[form]
    parts, at = [], 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            parts.append(data[at + 8 : at + 8 + length])
        at += length + 12
    raw, stride = zlib.decompress(b"".join(parts)), width * size
    found, before = Counter[str](), bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        before = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), before, size)
        found.update(before[i : i + 3].hex() for i in range(0, stride, size))
    return found


def _unfiltered(kind: int, line: bytearray, above: bytearray, size: int) -> bytearray:
    """One line of a PNG without its filter."""
    for i in range(len(line)):
        left, up, corner = (line[i - size], above[i], above[i - size]) if i >= size else (0, above[i], 0)
        guess = left + up - corner
        near = min((left, up, corner), key=lambda value: abs(guess - value))
        line[i] = (line[i] + (0, left, up, (left + up) // 2, near)[kind]) & 255
    return line


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("name", LOGS)
def test_the_browser_has_nothing_to_complain_of(builder: LogBuilder, render, browse, name):
    """No error, and no style that the policy refuses; the sheet is in force."""
    LOGS[name](builder)
    done = browse(render(), "--dump-dom")
    assert said(done) == []
    assert 'id="verdict"' in done.stdout


@pytest.mark.spec("OPS-20")
def test_the_browser_would_complain_of_what_the_policy_forbids(builder: LogBuilder, render, browse):
    """A style, a script and a picture that somebody smuggled in are refused: the test above can fail."""
    smuggled = "<style>p{color:red}</style><script>document.title='owned'</script><img src='data:,x'>"
    done = browse(render().replace("</main>", f"{smuggled}</main>"), "--dump-dom")
    assert len(said(done)) == 3
    assert "<title>phasewalk report</title>" in done.stdout


@pytest.mark.spec("OPS-20")
def test_what_somebody_wrote_is_no_element_in_the_browser(builder: LogBuilder, render, browse):
    """The document holds not one script."""
    hostile(builder)
    assert "<script" not in browse(render(), "--dump-dom").stdout


@pytest.mark.spec("OPS-20")
def test_the_page_asks_for_nothing_else(builder: LogBuilder, render, browse):
    """A server is asked for the page and for nothing that the page names."""
    hostile(builder)
    text, asked = render().encode(), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if self.path == "/report.html" else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text if self.path == "/report.html" else b"")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = browse(f"http://127.0.0.1:{server.server_port}/report.html", "--dump-dom")
        server.shutdown()
    assert 'id="verdict"' in done.stdout
    assert [path for path in asked if path != "/favicon.ico"] == ["/report.html"]  # browsers ask for that by themselves


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize(("flag", "palette"), [(LIGHT_PREFERRED, LIGHT), (DARK_PREFERRED, DARK)], ids=["light", "dark"])
def test_the_page_is_light_or_dark_as_the_reader_prefers(failing_page, browse, tmp_path, flag, palette):
    """Ground and card of the palette are the commonest colours on the screen."""
    browse(failing_page, flag, "--screenshot=page.png", "--window-size=1000,700")
    common = [f"#{colour}" for colour, _ in pixels(tmp_path / "page.png").most_common(2)]
    assert set(common) == {palette["ground"], palette["card"]}


def printed(browse: Browse, text: str, folder: Path, *flags: str) -> bytes:
    """The page as a PDF."""
    browse(text, *flags, "--print-to-pdf=page.pdf", "--no-pdf-header-footer")
    return (folder / "page.pdf").read_bytes()


def sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", pdf))


def colours(pdf: bytes) -> set[tuple[float, ...]]:
    """Every colour that something is filled or drawn with."""
    found: set[tuple[float, ...]] = set()
    for head in re.finditer(rb"/FlateDecode[^>]*>>\s*stream\r?\n", pdf):
        drawn = zlib.decompressobj().decompress(pdf[head.end() :])
        for numbers in re.findall(rb"([\d.]+ [\d.]+ [\d.]+) (?:rg|RG)\b", drawn):
            found.add(tuple(map(float, numbers.split())))
    return found


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("flag", [LIGHT_PREFERRED, DARK_PREFERRED], ids=["light", "dark"])
def test_the_page_is_printed_black_on_white(failing_page, browse, tmp_path, flag):
    """Also where dark is preferred: nothing but white, black and greys."""
    found = colours(printed(browse, failing_page, tmp_path, flag))
    assert {(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)} <= found
    assert [colour for colour in found if len(set(colour)) > 1] == []


@pytest.mark.spec("OPS-20")
def test_what_stands_folded_is_printed_open(failing_page, browse, tmp_path):
    """As many sheets as if the reader had opened everything but the lines for programs, and more than a few."""
    folded = sheets(printed(browse, failing_page, tmp_path))
    opened = sheets(printed(browse, failing_page.replace("<details>", "<details open>"), tmp_path))
    assert folded == opened > 10


@pytest.mark.spec("OPS-20")
def test_a_narrow_screen_is_not_wider_than_itself(builder: LogBuilder, render, browse):
    """At 360 pixels only the boxes around tables and pictures scroll, not the page.

    The page, which may run no script, is measured by one around it that holds it in a frame of that width.
    """
    hostile(builder)
    failing(builder)
    measured = (
        render()
        .replace('http-equiv="Content-Security-Policy"', 'name="policy"')
        .replace("</main>", "</main><script>document.title='wide '+document.documentElement.scrollWidth</script>")
    )
    frame = (
        "<!DOCTYPE html><title>x</title><iframe width=360 height=700></iframe><script>"
        "const f=document.querySelector('iframe');f.onload=()=>document.title=f.contentDocument.title;"
        f"f.srcdoc=new TextDecoder().decode(Uint8Array.from(atob('{_base64(measured)}'),c=>c.charCodeAt(0)))</script>"
    )
    done = browse(frame, "--dump-dom", "--virtual-time-budget=5000")
    assert "<title>wide 360</title>" in done.stdout


def _base64(text: str) -> str:
    import base64

    return base64.b64encode(text.encode()).decode()
