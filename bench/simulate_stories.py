"""The sorts of turns of the simulated month: which story each is, and how often it happens.

Owns the configurations before and after the change, the stories and their shares. Walks nothing.
"""

import re

from attrs import evolve
from simulate_story import ANSWER, WORDS, Step, Story

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import Settings
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Addressed, Kind
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.settings import backends, settings_of

NIMBUS = {"name": "nimbus", "base-url": "http://127.0.0.1:8080/v1", "api-key-env": "", "retry-model": "nimbus-5-nano"}
HARBOR = {"name": "harbor", "base-url": "http://127.0.0.1:8081/v1", "api-key-env": "", "model": "harbor-large"}
PERSONA = (
    "You are helper, the assistant of the Lantern Hall community. You know its rules, its raids and its crafts."
    " You answer briefly, in the language of the person, and you send whoever is in danger to the staff."
)


def _settings(*providers: dict[str, object], persona: str = PERSONA) -> Settings:
    bot = {"persona": persona, "staff-channel": "staff", "allowed-channels": ["announcements"], "unclear": "ask"}
    made = Configuration.model_validate(
        {"bot": bot, "providers": list(providers), "policy": {"disabled-families": ["admin"]}}
    )
    return settings_of(made, backends(made, {}))


SETTINGS = {
    "before": _settings({**NIMBUS, "model": "nimbus-4", "fallback-model": "nimbus-4-mini", "window": 32_000}, HARBOR),
    "after": _settings(
        {**NIMBUS, "model": "nimbus-5", "fallback-model": "nimbus-5-mini", "window": 64_000}, HARBOR,
        persona=f"{PERSONA} You never give medical advice.",
    ),
    "one_provider": _settings({**NIMBUS, "model": "nimbus-5", "window": 64_000}),
}  # fmt: skip

DIRECT, MENTION, REPLY = Addressed.DIRECT, Addressed.MENTION, Addressed.REPLY
NOTE = ("notes_add", f'{{"text": "{WORDS}"}}')
TASK = ("tasks_add", f'{{"text": "{WORDS}", "due": null}}')
SAYS, SILENT = Step(ANSWER), Step(None, needed=False, seconds=1.1)
BUSY = Step(
    fault=(FailureKind.TRANSIENT, Reason.HTTP_5XX, "503 Service Unavailable: upstream is overloaded", 503, None),
    seconds=0.4,
)
SLOW = Step(
    fault=(FailureKind.TRANSIENT, Reason.TIMED_OUT, "no complete answer within 300 s", None, None), seconds=60.0
)
LOST = Step(
    fault=(FailureKind.TRANSIENT, Reason.CONNECTION_FAILED, "connection reset by peer", None, None), seconds=0.2
)
LIMITED = Step(fault=(FailureKind.RATE_LIMITED, Reason.HTTP_429, "429 Too Many Requests", 429, 7.0), seconds=0.2)
BAD_KEY = Step(
    fault=(FailureKind.PERMANENT, Reason.HTTP_4XX, "401 Unauthorized: the API key was revoked", 401, None), seconds=0.15
)
TOO_LONG = Step(
    fault=(FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT, "400: maximum context length exceeded", 400, None),
    seconds=0.3,
)
BLOCKED = Step(
    fault=(FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK, "the request was blocked", None, None), seconds=0.6
)
PROSE = Step(text=f"Sure! {ANSWER}")
CANNED = Step("I cannot help with that right now. Please contact the staff.", seconds=0.3)


def _short(settings: Settings) -> Settings:
    anything = re.compile(".")
    return evolve(settings, short_path=((anything, anything),))


def _no_notes(settings: Settings) -> Settings:
    return evolve(settings, disabled_families=(*settings.disabled_families, "notes"))


def _tiny(settings: Settings) -> Settings:
    return evolve(settings, candidates=tuple(evolve(c, window=600) for c in settings.candidates))


def _slow_tools(settings: Settings) -> Settings:
    return evolve(settings, limits=evolve(settings.limits, tool=60.0))


S = Story
_NOTE_TEXT, _TASK_TEXT = f"note: {WORDS}", f"add a task: {WORDS}"
STORIES = {
    story.name: story
    for story in (
        S("short_path", settings=_short),
        S("overheard", steps=(SILENT,)),
        S("overheard_answered", steps=(SAYS,)),
        S("overheard_to_staff", steps=(evolve(SILENT, staff=f"please look: {ANSWER}"),)),
        S("answered", addressed=MENTION, steps=(SAYS,)),
        S("answered_direct", addressed=DIRECT, steps=(SAYS,)),
        S("answered_reply", addressed=REPLY, steps=(SAYS,)),
        S("noted", _NOTE_TEXT, MENTION, steps=(Step(tools=(NOTE,), seconds=1.2), SAYS)),
        S("task_kept", _TASK_TEXT, DIRECT, steps=(Step(tools=(TASK,), seconds=1.2), SAYS)),
        S("notes_read", "show my notes", DIRECT, steps=(Step(tools=(("notes_list", "{}"),), seconds=1.0), SAYS)),
        S("two_rounds", _NOTE_TEXT, MENTION, steps=(Step(tools=(("notes_list", "{}"),)), Step(tools=(NOTE,)), SAYS)),
        S("tool_refused", _NOTE_TEXT, MENTION, steps=(Step(tools=(("roles_add", "{}"),)), Step(tools=(NOTE,)), SAYS)),
        S(
            "arguments_wrong",
            _NOTE_TEXT,
            MENTION,
            steps=(Step(tools=(("notes_add", "{}"),)), Step(tools=(NOTE,)), SAYS),
        ),
        S("tool_failed", _NOTE_TEXT, MENTION, steps=(Step(tools=(NOTE,)), SAYS), tool_seconds=0.005),
        S("tool_timed_out", _NOTE_TEXT, MENTION, steps=(Step(tools=(NOTE,)), SAYS), tool_seconds=90.0),
        S("retried", addressed=MENTION, steps=(BUSY, SAYS)),
        S("reconnected", addressed=REPLY, steps=(LOST, LOST, SAYS)),
        S("rate_limited", addressed=MENTION, steps=(LIMITED, SAYS)),
        S("fell_back", addressed=DIRECT, steps=(BUSY, BUSY, BUSY, SAYS)),
        S("fell_back_twice", addressed=MENTION, steps=(BAD_KEY, BAD_KEY, SAYS)),
        S("rejected_once", addressed=MENTION, steps=(PROSE, SAYS)),
        S("shrunk", addressed=REPLY, steps=(TOO_LONG, SAYS), history=True),
        S("retried_after_effects", _NOTE_TEXT, DIRECT, steps=(Step(tools=(NOTE,)), BUSY, SAYS)),
        S("scheduled", f"weekly question: {WORDS}", kind=Kind.SCHEDULED, steps=(SAYS,)),
        S("unavailable", f"add {WORDS} to my calendar", MENTION),
        S("unclear", "delete it", MENTION),
        S("refused", addressed=MENTION, refusal=Reason.QUEUE_FULL),
        S("refused_user", addressed=DIRECT, refusal=Reason.USER_LIMIT),
        S("exhausted", addressed=MENTION, steps=(BUSY,) * 3 + (LOST,) * 3 + (SLOW,) * 3),
        S("exhausted_overheard", steps=(BAD_KEY, BAD_KEY, BAD_KEY)),
        S("blocked", addressed=MENTION, steps=(BLOCKED,)),
        S("too_long", addressed=DIRECT, settings=_tiny),
        S("overflowed", addressed=MENTION, steps=(TOO_LONG, TOO_LONG), history=True),
        S("no_candidate", addressed=REPLY, open_circuits=("nimbus", "harbor")),
        S("crashed", addressed=MENTION, crash=True),
        S("partial", _NOTE_TEXT, MENTION, steps=(Step(tools=(NOTE,)), BUSY, BUSY, BUSY)),
        S("forbidden", addressed=MENTION, steps=(SAYS,), sending="forbidden"),
        S("gone", addressed=REPLY, steps=(SAYS,), sending="gone"),
        S("not_sent", addressed=DIRECT, steps=(SAYS,), sending="failed"),
        S("in_doubt", addressed=MENTION, steps=(SAYS,), sending="in_doubt"),
        S("expired", addressed=MENTION, steps=(Step(hangs=True), Step(hangs=True))),
        S("expired_overheard", steps=(Step(hangs=True), Step(hangs=True))),
        S("cancelled", addressed=MENTION, steps=(Step(ANSWER, seconds=8.0),), cancel=Reason.CANCELLED),
        S("restarted", addressed=MENTION, steps=(Step(ANSWER, seconds=5.0),), cancel=Reason.SHUTTING_DOWN),
        S("summary", steps=(Step(text=ANSWER, seconds=3.0),), summary=True),
        # what a fault shapes
        S("hangs", addressed=MENTION, steps=(SAYS,), cut=("call", 1)),
        S("hangs_overheard", steps=(SAYS,), cut=("call", 1)),
        S("hangs_after_tool", _NOTE_TEXT, DIRECT, steps=(Step(tools=(NOTE,)), SAYS), cut=("call", 2)),
        S("dies_sending", addressed=DIRECT, steps=(SAYS,), cut=("send", 1)),
        S("key_revoked", addressed=MENTION, steps=(BAD_KEY,)),
        S("key_revoked_overheard", steps=(BAD_KEY,)),
        S("key_revoked_in_turn", _NOTE_TEXT, MENTION, steps=(Step(tools=(NOTE,)), BAD_KEY)),
        S("notes_disabled", _NOTE_TEXT, MENTION, settings=_no_notes),
        S("canned", addressed=MENTION, steps=(CANNED,)),
    )
}

SHARES = {
    "short_path": 120, "overheard": 310, "overheard_answered": 28, "overheard_to_staff": 5,
    "answered": 190, "answered_direct": 90, "answered_reply": 60, "noted": 34, "task_kept": 22, "notes_read": 16,
    "two_rounds": 8, "tool_refused": 2, "arguments_wrong": 3, "tool_failed": 1.5, "tool_timed_out": 0,
    "retried": 9, "reconnected": 3, "rate_limited": 4, "fell_back": 5, "fell_back_twice": 2, "rejected_once": 5,
    "shrunk": 2, "retried_after_effects": 1.5, "scheduled": 12, "unavailable": 10, "unclear": 5, "refused": 2,
    "refused_user": 2, "exhausted": 1.6, "exhausted_overheard": 1, "blocked": 1.6, "too_long": 0.6, "overflowed": 0.6,
    "no_candidate": 0.5, "crashed": 0.3, "partial": 0.8, "forbidden": 0.8, "gone": 0.4, "not_sent": 0.3,
    "in_doubt": 0.3, "expired": 1.0, "expired_overheard": 0.4, "cancelled": 0.4,
}  # fmt: skip
"""How many of about a thousand turns are of each sort."""

IN_DOUBT = ("in_doubt", "tool_timed_out")
"""What leaves an effect in doubt: somebody has to look at it, so none is in a healthy last day."""
