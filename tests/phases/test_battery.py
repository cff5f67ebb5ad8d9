"""The battery of sentences in `battery.toml`: which families each asks for, with a web tool and without (CON-01..08)."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from phasewalk.machine.contract import Classification
from phasewalk.machine.ports import Earlier
from phasewalk.phases.classify import classify_text
from phasewalk.phases.freeze_contract import select
from phasewalk.phases.tools import tool
from phasewalk.phases.tools.registry import Registry
from phasewalk.phases.vocabulary_file import shipped

VOCABULARY = shipped()
GROUPS = tomllib.loads(Path(__file__).with_name("battery.toml").read_text("utf-8"))
KEYS = {"say", "is", "after", "failed", "warm", "tools", "web", "skip"}
CASES = [case for cases in GROUPS.values() for case in cases]
COUNTED = [case for case in CASES if "skip" not in case]


def named(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def families_of(case: dict) -> tuple[str, ...]:
    return () if case["is"] in ("none", "unknown") else named(case["is"])


def earlier_of(case: dict) -> list[Earlier]:
    turns: list[Earlier] = []
    said = case.get("after", [])
    for number, text in enumerate(said, 1):
        failed = case.get("failed", False) and number == len(said)
        turns.append(Earlier(text, () if failed else classify_text(text, VOCABULARY, turns).families))
    return turns


def classified(case: dict) -> Classification:
    return classify_text(case["say"], VOCABULARY, earlier_of(case))


def outcome(case: dict) -> tuple[str, tuple[str, ...]]:
    found = classified(case)
    return found.selection, found.families


def expected(case: dict) -> tuple[str, tuple[str, ...]]:
    families = families_of(case)
    return "families" if families else case["is"], families


def a_tool(family: str):
    @tool(family=family, name=f"{family}_tool")
    async def made() -> None:
        """Does something."""

    return made


TOOLS = Registry(map(a_tool, [family.name for family in VOCABULARY.families])).all()


def params() -> Iterator[object]:
    for group, cases in GROUPS.items():
        for number, case in enumerate(cases, 1):
            skipped = [pytest.mark.skip(reason=f"known to differ: {case['skip']}")] if "skip" in case else []
            for web in [case["web"]] if "web" in case else ["on", "off"]:
                yield pytest.param(case, web == "on", id=f"{group} {number}, web {web}: {case['say']}", marks=skipped)


@pytest.mark.spec("CON-01", "CON-02", "CON-03", "CON-04", "CON-05", "CON-06", "CON-07", "CON-08")
@pytest.mark.parametrize(("case", "web"), list(params()))
def test_what_a_sentence_asks_for(case: dict, web: bool):
    found = classified(case)
    assert outcome(case) == expected(case), found.evidence
    assert found.tools == named(case.get("tools", ""))
    if "warm" in case:
        assert found.warm == named(case["warm"])
    tools = tuple(info for info in TOOLS.values() if web or info.family != "search_browser")
    selection = select(found, tools, tools)
    assert ("search_browser" in {info.family for info in selection.offered}) == (
        web and "search_browser" in (*found.families, *found.warm)
    )
    assert ("search_browser" in selection.missing) == (not web and "search_browser" in found.families)


def test_every_sentence_that_is_skipped_is_in_fact_classified_otherwise():
    assert [case["say"] for case in CASES if "skip" in case and outcome(case) == expected(case)] == []


@pytest.mark.spec("CON-01")
def test_the_battery_is_as_broad_as_it_should_be():
    assert [set(case) - KEYS for case in CASES if set(case) - KEYS] == []
    assert len({(case["say"], *case.get("after", ())) for case in COUNTED}) >= 150
    assert len({family for case in COUNTED for family in families_of(case)}) >= 10
    assert sum("after" in case for case in COUNTED) >= 20
    assert {case.get("web") for case in COUNTED} == {"on", "off", None}
