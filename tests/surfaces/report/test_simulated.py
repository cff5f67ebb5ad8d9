"""Pages of the simulated month of `bench/simulate.py`, one for each fault: logs as real phases write them."""

import re
import sys
from pathlib import Path

import pytest
from report_logs import UTC, XHTML, facts, section, words

from phasewalk.surfaces.report.page import LIMIT, Made, page

BENCH = Path(__file__).parents[3] / "bench"
NOW_US = 1_790_000_000_000_000
CAUSES = {
    "process_dead": "died without a word",
    "hanging": "turns are not moving",
    "failing": "ended badly, mostly",
    "undelivered": "were made and not delivered, mostly",
    "canned": "got a fixed notice",
}


@pytest.mark.spec("OPS-20", "OPS-11")
@pytest.mark.parametrize("fault", CAUSES)
def test_a_page_tells_the_fault_and_shows_each_turn_whole(tmp_path, fault):
    """NOT WELL with its cause, valid, and 25 turns with bars and a drawn path in less than the limit."""
    sys.path.insert(0, str(BENCH))
    try:
        from simulate import simulate
    finally:
        sys.path.remove(str(BENCH))
    simulate(tmp_path / "month.db", 2000, seed=1, fault=fault, now_us=NOW_US)
    text = page(facts(tmp_path / "month.db", as_of=NOW_US, turns=25), UTC, Made(NOW_US, "0.1.0"))
    assert len(text.encode()) < LIMIT
    told = words(section(text, "verdict"))
    assert "NOT WELL" in told
    assert CAUSES[fault] in told
    articles = list(section(text, "turns").iter(f"{XHTML}article"))
    assert len(articles) == 25
    for article in articles:
        captions = [words(caption) for caption in article.iter(f"{XHTML}caption")]
        assert captions[0].startswith("Visits on a line of ")
        assert re.match(r"The path of the turn in \d+ steps?, ", words(next(article.iter(f"{XHTML}figcaption"))))
