"""What must hold of every turn of the fault run (BAR-22), as questions to its story.

Owns the checks; each yields a sentence for whatever is wrong, and none repairs or forgives. Does not know how a
turn is run. Invariant: a check compares the log with what really happened outside of it, not with itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from fault_script import Ears, Script
from fault_story import ORDER, RETRY_MODELS, UNENDED, Row, Story

from phasewalk.machine.fallback import FailureKind as K
from phasewalk.machine.words import NoticeCode
from phasewalk.phases.notices import TEXTS

ATTEMPTS = 3
ROUNDS = 3
POST_EFFECT_DELAYS = (0.02, 0.05)
SAFETY_FALLS_BACK = ("two",)
"""The providers that are configured so."""

_BEGINS_CALL = ("first", "fallback", "tool_results", "probe")
_BEGAN = ("ok", "failed", "late")
_MAY_HAVE_BEGUN = ("timed_out", "interrupted")
_AFTER_FAILURES = ("attempts_exhausted", "candidates_exhausted", "side_effects", "safety_block")


def ended_once(story: Story) -> Iterator[str]:
    """One terminal row, with its outcome and reason, and every row of the turn closed."""
    turn = story.turn
    if None in (turn["ended_us"], turn["outcome"], turn["reason"], turn["reason_phase"]):
        yield f"has no end: it stands in {turn['phase']}"
    ends = [event for event in story.events if event["to_phase"] == "done"]
    if len(ends) != 1:
        yield f"went to done {len(ends)} times"
    elif story.events[-2] is not ends[0] or story.events[-1]["phase"] != "done":
        yield "went on after done"
    if [event["seq"] for event in story.events] != list(range(1, len(story.events) + 1)):
        yield "has a gap in its events"
    if any(enter["kind"] == leave["kind"] for enter, leave in pairwise(story.events)):
        yield "entered a phase without leaving the one before"
    for attempt in story.attempts:
        if attempt["status"] == "running":
            yield f"left attempt {attempt['n']} running"


def nobody_left_alone(story: Story) -> Iterator[str]:
    """Who spoke to the bot hears one thing, and who did not hears no notice."""
    if story.asked.addressed and len(story.heard) != 1:
        yield f"said {len(story.heard)} things to a person who waits for one ({story.turn['outcome']})"
    if not story.asked.addressed and any(speech.notice for speech in story.heard):
        yield "gave a notice to somebody who had not asked"
    logged = [effect for effect in story.effects if effect["kind"] in ("answer", "notice")]
    if len(logged) != len(story.heard):
        yield f"said {len(story.heard)} things, of which the log has {len(logged)}"


def said_what_was_due(story: Story) -> Iterator[str]:
    """Every text is a fixed notice, or the usable answer of the last attempt; so nothing of an error is in any."""
    answers = [s.answer for s, verdict in zip(story.served, story.verdicts, strict=False) if verdict is None]
    for speech in story.heard:
        if speech.notice is not None:
            if not speech.text.startswith(TEXTS[NoticeCode(speech.notice)].partition("{")[0]):
                yield f"gave a notice {speech.notice} that reads {speech.text!r}"
        elif not answers or speech.text != answers[-1]:
            yield f"said {speech.text!r}, where {answers[-1:]} was due"
    answered = any(speech.notice is None for speech in story.heard)
    if story.turn["outcome"] != "in_doubt" and answered != (story.turn["outcome"] == "answered"):
        yield f"is {story.turn['outcome']}, and {'an' if answered else 'no'} answer was heard"


def no_tool_twice(story: Story) -> Iterator[str]:
    """Each call ran as often as its rows say, and never more often than it was asked for."""
    sent = Counter(ticket for served in story.served for ticket in served.tickets)
    for ticket in sent | Counter(story.ran):
        rows = [row for row in story.calls if ticket in str(row["arguments"])]
        ran = story.ran.count(ticket)
        most = sum(row["status"] in (*_BEGAN, *_MAY_HAVE_BEGUN) for row in rows)
        least = sum(row["status"] in _BEGAN for row in rows)
        if ran > sent[ticket]:
            yield f"ran call {ticket} {ran} times, and it was asked for {sent[ticket]} times"
        if len(rows) > sent[ticket]:
            yield f"has {len(rows)} rows for call {ticket}"
        if not least <= ran <= most:
            yield f"ran call {ticket} {ran} times, and its rows say {[row['status'] for row in rows]}"


def no_call_lost(story: Story) -> Iterator[str]:
    """Each call of a usable answer is in the log, and has an end; a round that never began had no calls."""
    for row in story.calls:
        if row["status"] is None:
            yield f"left call {row['call_id']} to {row['name']} without an end"
    cut_short = (story.turn["reason"], story.turn["reason_phase"]) == ("deadline_passed", "tool_rounds")
    begun = story.served[:-1] if cut_short else story.served
    for served, verdict in zip(begun, story.verdicts, strict=False):
        if verdict is None and served.offered_tools:
            for ticket in served.tickets:
                if not any(ticket in str(row["arguments"]) for row in story.calls):
                    yield f"lost the call {ticket}"


def effects_settled(story: Story) -> Iterator[str]:
    """No effect is open but that of a tool whose end nobody knows."""
    unknown = [row["name"] for row in story.calls if row["status"] in _MAY_HAVE_BEGUN]
    for effect in story.effects:
        if effect["state"] == "intended" or (effect["state"] == "in_doubt" and effect["target"] not in unknown):
            yield f"left the effect {effect['kind']} on {effect['target']} {effect['state']}"
    tried = any(effect["kind"] == "tool" for effect in story.effects)
    if story.turn["outcome"] == "partial" and not tried:
        yield "is partial without any effect"
    if story.turn["outcome"] == "stopped" and tried:
        yield "is stopped, and had effects"


def nobody_else_after_effects(story: Story) -> Iterator[str]:
    """Once a mutating tool was started only the same model is asked, and without tools after unusable output."""
    withheld = False
    for index, attempt in enumerate(story.attempts):
        if not story.after_effects(attempt):
            continue
        before = story.attempts[index - 1]
        if (attempt["provider"], attempt["model"]) != (before["provider"], before["model"]):
            yield f"asked {attempt['model']} after side effects, which came by {before['model']}"
        if withheld and index < len(story.served) and story.served[index].offered_tools:
            yield f"offered tools in attempt {attempt['n']}, after side effects and unusable output"
        withheld = withheld or (index < len(story.served) and story.kind_of(index) is K.UNUSABLE)


def attempts_in_limits(story: Story) -> Iterator[str]:
    """No model call has more attempts than it may, and no turn more rounds."""
    counts: list[int] = []
    allowed = [ATTEMPTS]
    for attempt in story.attempts:
        if attempt["cause"] in _BEGINS_CALL:
            counts.append(0)
            allowed.append(ATTEMPTS + (len(POST_EFFECT_DELAYS) if story.after_effects(attempt) else 0))
        if attempt["cause"] == "probe":
            allowed[-1] = 1
        counts[-1] += attempt["cause"] != "shrunk"
    if any(count > most for count, most in zip(counts, allowed[1:], strict=True)):
        yield f"made {counts} attempts for its model calls, where {allowed[1:]} are allowed"
    if int(str(story.turn["rounds"])) > ROUNDS:
        yield f"had {story.turn['rounds']} rounds of tools"
    if int(str(story.turn["attempts"])) != len(story.attempts):
        yield f"counts {story.turn['attempts']} attempts and has {len(story.attempts)}"


def every_call_is_an_attempt(story: Story) -> Iterator[str]:
    """The log's attempts are the requests that really came, in this order, to these models."""
    logged, came = [str(a["model"]) for a in story.attempts], [s.model for s in story.served]
    cut_off = story.verdicts[-1:] == (UNENDED,)
    if logged != came and not (cut_off and logged[:-1] == came):
        yield f"has attempts at {logged}, and requests came to {came}"


def failures_by_their_name(story: Story) -> Iterator[str]:
    """What was wrong with an answer is what the log says was wrong with it."""
    for attempt, served, verdict in zip(story.attempts, story.served, story.verdicts, strict=False):
        fault = served.fault
        due = fault.reason if fault else None
        too_late = verdict in (UNENDED, "timed_out")
        if verdict != due and not too_late:
            yield f"took {fault.name if fault else 'a good answer'} in attempt {attempt['n']} for {verdict}, not {due}"


def followed_as_the_rules_say(story: Story) -> Iterator[str]:
    """What comes after each failure is what its row of FB-13 allows."""
    for index, (attempt, following) in enumerate(pairwise(story.attempts)):
        kind = story.kind_of(index)
        if kind is None:
            continue
        allowed = _allowed_after(kind, str(attempt["provider"]), after=story.after_effects(attempt))
        if following["cause"] not in allowed:
            yield f"followed {kind} in attempt {attempt['n']} with a {following['cause']}"


def _allowed_after(kind: K, provider: str, *, after: bool) -> tuple[str, ...]:
    again = kind in (K.UNUSABLE, K.RATE_LIMITED, K.TRANSIENT)
    if after:
        return ("retry",) if again else ()
    if kind is K.CONTEXT_LIMIT:
        return ("shrunk",)
    if kind is K.SAFETY_BLOCK and provider not in SAFETY_FALLS_BACK:
        return ()
    others = ("fallback", "probe")
    return (*others, *(("retry",) if again else ()), *(("retry_model",) if kind is K.RATE_LIMITED else ()))


def candidates_in_order(story: Story) -> Iterator[str]:
    """Each candidate asked was taken, each considered is a row, and all go by the configuration's order."""
    if [step["step"] for step in story.steps] != list(range(1, len(story.steps) + 1)):
        yield "has a gap in its steps of fallback"
    considered = [_named(step) for step in story.steps if step["decision"] in ("taken", "skipped")]
    if considered != list(ORDER[: len(considered)]):
        yield f"considered {considered}"
    taken = [_named(step) for step in story.steps if step["decision"] == "taken"]
    asked = [story.candidate_of(attempt) for attempt in story.attempts]
    asked = [one for index, one in enumerate(asked) if index == 0 or one != asked[index - 1]]
    if asked != taken and not (asked == taken[:-1] and story.turn["reason"] == UNENDED):
        yield f"asked {asked}, and took {taken}"
    for attempt in story.attempts:
        if RETRY_MODELS.get(str(attempt["model"]), attempt["provider"]) != attempt["provider"]:
            yield f"asked {attempt['provider']} for {attempt['model']}"


def stops_explained(story: Story) -> Iterator[str]:
    """A turn that failed says in its last step which rule stopped it; one that went well does not."""
    decisions = [step["decision"] for step in story.steps]
    ends = [decision for decision in decisions if decision in ("refused", "exhausted")]
    if story.turn["reason"] in _AFTER_FAILURES and story.attempts:
        if decisions[-1:] != ends or len(ends) != 1:
            yield f"stopped by {story.turn['reason']}, and its steps say {decisions}"
        if story.turn["reason"] == "candidates_exhausted" and not any(_named(s) == ORDER[-1] for s in story.steps):
            yield f"gave up before {ORDER[-1][1]} was considered"
    elif story.turn["outcome"] == "answered" and ends:
        yield f"was answered, and its steps say {decisions}"


def _named(step: Row) -> tuple[object, object]:
    return step["provider"], step["model"]


CHECKS: tuple[Callable[[Story], Iterator[str]], ...] = (
    ended_once,
    nobody_left_alone,
    said_what_was_due,
    no_tool_twice,
    no_call_lost,
    effects_settled,
    nobody_else_after_effects,
    attempts_in_limits,
    every_call_is_an_attempt,
    failures_by_their_name,
    followed_as_the_rules_say,
    candidates_in_order,
    stops_explained,
)


def violations(story: Story) -> Iterator[str]:
    """Everything that is wrong with this turn."""
    for check in CHECKS:
        for sentence in check(story):
            yield f"turn {story.asked.number} ({story.turn['turn_id']}) {sentence} [{check.__name__}]"


def outside(script: Script, ears: Ears, numbers: set[int]) -> Iterator[str]:
    """What is wrong with the whole run: requests of turns that are in no log, a message sent twice."""
    strangers = set(script.served) - numbers
    if strangers:
        yield f"requests came from turns {sorted(strangers)}, which the log does not know"
    for key, count in ears.keys.items():
        if count > 1:
            yield f"the message {key} was sent {count} times"
