"""The causes of a turn's end in words for people: what happened, which rule decided, what would have changed it.

Owns the sentences by outcome and reason. Pure: from the object of a turn; asks nothing and prints nothing.
Invariant: the first cause stands first, and what would have changed the outcome is told of the past (OPS-12).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phasewalk.machine.reasons import Reason
from phasewalk.surfaces.cli.render import plain
from phasewalk.surfaces.cli.times import lasting

Item = dict[str, Any]


def meaning(code: object) -> str:
    """A reason in words; its code where this version does not know it."""
    try:
        return f"{Reason(str(code)).meaning} ({code})"
    except ValueError:
        return str(code)


def causes(item: Item) -> Iterator[str]:
    """What led to the end, the first cause first."""
    yield from _before_the_model(item)
    yield from _model_calls(item)
    yield from _skips(item)
    yield from _tools(item)
    yield from _after_the_model(item)


def _before_the_model(item: Item) -> Iterator[str]:
    reason = item["reason"]
    if item["outcome"] == "refused":
        yield f"the message was not admitted: {meaning(reason)}"
    if reason == Reason.REQUIREMENT_UNAVAILABLE:
        evidence = "; ".join(_exit(item, "freeze_contract").get("evidence") or ())
        yield f"the message asks for something that this turn may not use or that does not exist ({evidence or 'no evidence kept'})"
    if reason == Reason.REQUEST_UNCLEAR:
        yield "the message asks for something to be done, and its words fit no family of tools"
    if reason == Reason.SHORT_PATH:
        yield "channel and person match a short path of the configuration: the message is archived and nothing else"


def _model_calls(item: Item) -> Iterator[str]:
    """Each model that was asked, in order, with what it failed by."""
    asked: dict[str, list[Item]] = {}
    for attempt in item["attempts"]:
        asked.setdefault(f"{attempt['provider']}/{attempt['model']}", []).append(attempt)
    for name, attempts in asked.items():
        failed = [a for a in attempts if a["status"] == "failed"]
        if not failed:
            continue
        first = failed[0]
        http = f", http {first['http_status']}" if first["http_status"] else ""
        took = f" after {lasting(first['took_ms'] / 1000)}" if first["took_ms"] is not None else ""
        asked_for = "once" if len(attempts) == 1 else f"{len(attempts)} times"
        often = "" if len(failed) == len(attempts) else f"{len(failed)} of them failed, "
        yield f"{name} was asked {asked_for}; {often}the first failure: {meaning(first['reason'])}{http}{took}"
        if first["message"]:
            yield f"  it said: {first['message']}"
    for visit in item["visits"]:
        if visit["event"] == "envelope_rejected":
            yield f"an answer was rejected: {meaning(visit['reason'])}"


def _skips(item: Item) -> Iterator[str]:
    for step in item["fallback"]:
        if step["decision"] == "skipped":
            yield f"{step['candidate']} was passed over: {meaning(step['reason'])}{values(step['values'])}"


def _tools(item: Item) -> Iterator[str]:
    for tool in item["tools"]:
        if tool["status"] not in ("ok", None):
            kind = "changes things" if tool["effect"] == "mutating" else "only reads"
            because = f", {meaning(tool['reason'])}" if tool["reason"] else ""
            yield f"the tool {tool['name']}, which {kind}, ended as {tool['status']}{because}"
    started = [t["name"] for t in item["tools"] if t["effect"] == "mutating" and t["status"] not in _NOT_BEGUN]
    if started and item["outcome"] in ("partial", "in_doubt", "expired", "cancelled"):
        yield f"before that, {', '.join(started)} had been started, which cannot be taken back"


_NOT_BEGUN = ("refused", "not_executed")


def _after_the_model(item: Item) -> Iterator[str]:
    outcome, reason = item["outcome"], item["reason"]
    if reason == Reason.ANSWER_NOT_NEEDED:
        yield "nobody had spoken to the bot, and the model said that no answer was needed"
    if outcome == "expired":
        limit = (item["deadline_us"] - item["started_us"]) / 1_000_000
        yield f"the turn may take {lasting(limit)}, and that was over in {item['phase']}"
    if reason in (Reason.SHUTTING_DOWN, Reason.CANCELLED):
        yield f"the turn was stopped from outside in {item['phase']}"
    for effect in item["effects"]:
        if effect["state"] in ("failed", "in_doubt", "intended"):
            said = effect["settled_detail"].get("reason") or effect["settled_detail"].get("error")
            because = f": {meaning(said)}" if said else ", and nobody knows whether it happened"
            yield f"the {effect['kind'].replace('_', ' ')} to {effect['target']} is {effect['state']}{because}"
    for visit in item["visits"]:
        if visit["event"] == "crashed":
            yield f"an error of the program's own ended {visit['phase']}: {_crash(visit['exit'])}"


def _crash(detail: Item) -> str:
    return f"{detail.get('error', 'unknown')}: {detail.get('message', '')}".rstrip(": ")


def deciding(item: Item) -> tuple[str, Mapping[str, object]] | None:
    """The rule by which nothing else was tried, and the values that it compared; None where no rule did."""
    for step in reversed(item["fallback"]):
        if step["decision"] in ("refused", "exhausted"):
            return str(step["rule"]), step["values"]
    for visit in reversed(item["visits"]):
        refused = [guard for guard in visit["guards"] if not guard["held"]]
        if refused and visit["event"] in ("attempt_failed", "envelope_rejected"):
            return f"{refused[-1]['transition']}.{refused[-1]['name']}", refused[-1]["values"]
    return None


def values(compared: Mapping[str, object]) -> str:
    """` (name: value, other: value)`, or nothing."""
    told = ", ".join(f"{name}: {plain(value)}" for name, value in compared.items())
    return f" ({told})" if told else ""


def _exit(item: Item, phase: str) -> Item:
    found = [visit["exit"] for visit in item["visits"] if visit["phase"] == phase and visit["event"]]
    return dict(found[-1]) if found else {}


def _other(item: Item) -> str:
    """The candidate that was not asked any more."""
    refused = [step["candidate"] for step in item["fallback"] if step["decision"] == "refused"]
    return refused[-1] if refused else "the next candidate"


def _side_effects(item: Item) -> str:
    started = [t["name"] for t in item["tools"] if t["effect"] == "mutating" and t["status"] not in _NOT_BEGUN]
    tools = ", ".join(started) or "what was done"
    return f"had {tools} been declared read_only, {_other(item)} would have been asked"


def _exhausted(item: Item) -> str:
    last = next((a for a in reversed(item["attempts"])), None)
    name = f"{last['provider']}/{last['model']}" if last else "the last candidate"
    return f"one more candidate behind {name}, or one more attempt that succeeded, would have answered"


def _skipped_for(item: Item) -> str:
    hints = {
        Reason.UNCONFIGURED_PROVIDER: "with its key in the environment the provider would have been asked",
        Reason.UNKNOWN_PROVIDER: "with an api that is known (chat, responses, rules) the provider would have been asked",
        Reason.CIRCUIT_OPEN: "with its circuit closed (phasewalk circuit --reset NAME) the provider would have been asked",
        Reason.MISSING_CAPABILITY: "with a candidate that has the capability somebody would have been asked",
        Reason.NO_MODEL: "with a model named for it the provider would have been asked",
    }
    return hints.get(item["reason"], "")


_OTHERWISE: Mapping[str, Callable[[Item], str]] = {
    Reason.SIDE_EFFECTS: _side_effects,
    Reason.SAFETY_BLOCK: lambda item: f'with safety-block = "fall_back" for that provider {_other(item)} would have been asked',
    Reason.CONTEXT_LIMIT: lambda _: "a shorter message, a shorter history or a model with a larger window would have fitted",
    Reason.CANDIDATES_EXHAUSTED: _exhausted,
    Reason.ATTEMPTS_EXHAUSTED: _exhausted,
    Reason.DEADLINE_PASSED: lambda item: f"with more time for a turn than {lasting((item['deadline_us'] - item['started_us']) / 1e6)} it would have gone on",
    Reason.ANSWER_NOT_NEEDED: lambda _: "a mention of the bot, a reply to it or a direct message would have been answered",
    Reason.REQUIREMENT_UNAVAILABLE: lambda _: "with a permitted tool of that family the model would have been asked",
    Reason.REQUEST_UNCLEAR: lambda _: 'with words that name a family, or with unclear = "model", the model would have been asked',
    Reason.ROUNDS_EXHAUSTED: lambda _: "more rounds of tools, or an answer without another call, would have ended it well",
    **dict.fromkeys(
        (Reason.UNCONFIGURED_PROVIDER, Reason.UNKNOWN_PROVIDER, Reason.CIRCUIT_OPEN, Reason.MISSING_CAPABILITY, Reason.NO_MODEL),
        _skipped_for,
    ),
}  # fmt: skip


def otherwise(item: Item) -> str:
    """What would have changed the outcome; empty where nothing simple would have."""
    told = _OTHERWISE.get(str(item["reason"]))
    return told(item) if told is not None and item["outcome"] not in _WELL else ""


_WELL = ("answered", "short_path", "completed")
