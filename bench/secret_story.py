"""What happens in the secrets run: who says what to the bot, what the model answers, what tools and surface do.

Owns the places where text comes in, and a scene for each. Knows neither log nor search. Invariant: what a turn meets
depends on seed and number of the turn alone.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field, frozen
from secret_shapes import Mint

from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.speech import Speech
from phasewalk.machine.trigger import Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import Recorded, envelope, picture, raw, refusal, responses, status, tool_calls
from phasewalk.phases.providers.testing_steps import PIXEL, Step
from phasewalk.surfaces.cli.turn import console_trigger
from phasewalk.surfaces.speech import OnePlace

WORDS, NEWS, MODEL = "person's own words", "news file", "name of a model"
USER, NICKNAME, CHANNEL, TOPIC = "name of a user", "nickname", "name of a channel", "topic of a channel"
CONSOLE, FILE, SUMMARY = "names given to `phasewalk turn`", "name of an attachment", "summary by a model"
ALWAYS = (WORDS, NEWS, MODEL, USER, NICKNAME, CHANNEL, TOPIC, CONSOLE, FILE, SUMMARY)
"""The places that belong to no scene, but to every turn or to the run."""

CHANNELS = 6
_TURN = re.compile(rb"\(turn (\d+)\)")


@define
class Scene:
    """One turn while it is laid out: the answers of the model in order, and what becomes of calls and speeches.

    `text` makes a text with a secret of the scene's place.
    """

    number: int
    place: str
    mint: Mint
    said: dict[str, object]
    wish: str = "how is the weather"
    steps: list[Step] = field(factory=list)
    spoken: Exception | None = None
    attachments: tuple[Attachment, ...] = ()

    @property
    def text(self) -> str:
        return self.mint.text(self.place, self.number)

    @property
    def short(self) -> str:
        return self.mint.short(self.place, self.number)

    def call(
        self, name: str, result: object = "fine", call_id: str = "", said: str | None = None, **given: str
    ) -> None:
        """The model calls this tool of the vault, which then returns or raises `result`."""
        self.wish = "please look into the vault"
        ticket = f"<{self.number}.{len(self.steps)}>"
        self.said[ticket] = result
        self.steps.append(tool_calls([(call_id or "call", name, {"ticket": ticket, **given})], said))


def _kept(tool: str, wish: str, listing: str) -> Callable[[Scene], None]:
    """The model keeps a text with a tool that ships, and lists what is kept."""

    def play(s: Scene) -> None:
        s.wish = wish
        s.steps += [tool_calls([("keep", tool, {"text": s.text})]), tool_calls([("look", listing, {})])]

    return play


def _answer(name: str, where: str = "{}") -> Callable[[Scene], None]:
    """An accepted answer with a secret in this field."""

    def play(s: Scene) -> None:
        fields: dict[str, Any] = {
            "answer": "Here it is.",
            name: where.format(s.short if name == "channel" or "[" in where else s.text, turn=f"(turn {s.number})"),
        }
        s.steps.append(envelope(**fields))

    return play


def _rejected(change: Callable[[str], str]) -> Callable[[Scene], None]:
    return lambda s: s.steps.append(envelope(text=change(s.text)))


def _error(make: Callable[[str], Step]) -> Callable[[Scene], None]:
    return lambda s: s.steps.append(make(s.text))


def _extra_key(text: str) -> str:
    fields = {"answer": "Sure.", "answer_needed": True, "channel": None, "staff": None, "picture": None}
    return json.dumps({**fields, "picture_count": None, "picture_edit": False, "hack": False, text: 1})


def _headers(*names: str) -> Callable[[Scene], None]:
    """An error whose headers of these names hold a secret."""

    def play(s: Scene) -> None:
        values = {name: s.short.encode("latin-1", "replace").decode("latin-1") for name in names}
        s.steps.append(status(500, values))

    return play


def _offline(s: Scene) -> None:
    """No model answers, so the embedded rules keep the person's words as a note."""
    s.wish = f"note: {s.text}"
    s.steps += [status(400)] * 3


def _speaking(make: Callable[[str], Exception]) -> Callable[[Scene], None]:
    def play(s: Scene) -> None:
        s.spoken = make(s.text)

    return play


def _image(s: Scene) -> None:
    """An image, so that the model for images is asked; its name holds a secret as well."""
    s.attachments = (Attachment(s.short, "data:image/png;base64,AAAA", 3, "image/png"),)


def _history(s: Scene) -> None:
    """A search of the history, so that the model for facts is asked."""
    s.wish = "search the chat history for the weather"
    s.steps.append(tool_calls([("seek", "history_search", {"query": s.text})]))


def _reasoned(s: Scene) -> None:
    """Reasoning beside a call, which goes back to the Responses API; chat/completions gets the call alone."""
    s.call("vault_read")
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": s.text}]}
    sealed = {**thought, "encrypted_content": "sealed"}
    named = {"type": "function_call", "id": "fc", "status": "completed", "call_id": "call", "name": "vault_read"}
    call = {**named, "arguments": json.dumps({"ticket": f"<{s.number}.0>"})}
    step = s.steps.pop()
    s.steps.append(evolve(step, response=responses([sealed, call]).body))


def _paths(s: Scene) -> None:
    s.call("vault_read", FileNotFoundError(2, "No such file", f"/srv/{s.short}/x.db"))


SCENES: Mapping[str, Callable[[Scene], None]] = {
    "result of a tool": lambda s: s.call("vault_read", s.text),
    "result of a tool, an object": lambda s: s.call("vault_write", {"rows": [{"text": s.text}], s.short: 7}),
    "result of a late tool": lambda s: s.call("vault_late", s.text),
    "error of a tool": lambda s: s.call("vault_write", RuntimeError(s.text)),
    "path in an error of a tool": _paths,
    "argument of a call": lambda s: s.call("vault_write", text=s.text),
    "argument of a refused call": lambda s: s.call("vault_write", **{s.short: "1"}),
    "argument that is no JSON": lambda s: (
        s.call("vault_write"),
        s.steps.append(tool_calls([("c", "vault_write", '{"ticket": ' + s.text)])),
    )[0],
    "argument that waits for approval": lambda s: s.call("vault_open", text=s.text),
    "name of a called tool": lambda s: s.call(s.short),
    "id of a call": lambda s: s.call("vault_read", call_id=s.short),
    "said beside a call": lambda s: s.call("vault_read", said=s.text),
    "reasoning beside a call": _reasoned,
    "note": _kept("notes_add", "note: the brass key", "notes_list"),
    "task": _kept("tasks_add", "remind me to water the plants", "tasks_list"),
    "fact": _kept("memory_remember", "remember that I like tea", "memory_recall"),
    "note kept offline": _offline,
    "search of the history": _history,
    "name of an image": _image,
    "error body": _error(lambda text: status(500, message=text)),
    "error body of a 429": _error(lambda text: status(429, message=text)),
    "error body of a 400": _error(lambda text: status(400, message=text, error_code=text)),
    "error body, HTML": _error(lambda text: raw(502, f"<html>{text}</html>", None, "text/html")),
    "error body with 200": _error(lambda text: raw(200, json.dumps({"error": {"message": text}}))),
    "request id of an error": _headers("x-request-id"),
    "headers of an error": _headers("www-authenticate", "set-cookie"),
    "rejected: no JSON": _rejected(str),
    "rejected: fenced": _rejected(lambda text: f"```json\n{text}\n```"),
    "rejected: key of its own": _rejected(_extra_key),
    "rejected: cut off": _error(lambda text: envelope(text, finish_reason="length")),
    "refusal": _error(refusal),
    "finish reason": lambda s: s.steps.append(envelope("Here.", finish_reason=s.short)),
    "answer": _answer("answer"),
    "sticker in an answer": _answer("answer", "Here [sticker: {}] it is."),
    "channel of an answer": _answer("channel"),
    "staff note": _answer("staff"),
    "note on an attack": lambda s: s.steps.append(envelope("No.", hack=True)),
    "picture": _answer("picture", "a cat with {} {turn}"),
    "error of the surface": _speaking(DeliveryError),
    "doubt of the surface": _speaking(DeliveryInDoubtError),
    "bug of the surface": _speaking(RuntimeError),
}
"""A scene for each place, by its name."""

PLACES = (*ALWAYS, *SCENES)


@frozen
class Asked:
    """A turn as laid out."""

    trigger: Trigger
    steps: list[Step]
    spoken: Exception | None


NAMED = ("argument that waits for approval", "note on an attack")
"""Scenes in which the person's name is written or said; it then holds the secret of that scene."""


def asked(mint: Mint, number: int, said: dict[str, object], redact: Callable[[str], str]) -> Asked:
    """Lay out a turn: scenes take turns, and the person's words and names have a secret in all of them."""
    place = list(SCENES)[number % len(SCENES)]
    scene = Scene(number, place, mint, said)
    SCENES[place](scene)
    one = number % 5
    words = f"{scene.wish} (turn {number})" + (f"\nBy the way. {mint.text(WORDS, number)}" if one == 0 else "")
    key = f"secrets:{number}"
    if number % 10 == 7 and place not in NAMED:
        names = {"channel": mint.short(CONSOLE, number), "user": mint.short(CONSOLE, number)}
        typed = console_trigger(
            words, redact=redact, addressed=Addressed.DIRECT, attachments=scene.attachments, **names
        )
        return Asked(evolve(typed, key=key), scene.steps, scene.spoken)
    files = (Attachment(mint.short(FILE, number), "", 7, "text/plain"),) if one == 1 else ()
    trigger = Trigger(
        key=key,
        kind=Kind.USER,
        text=words,
        channel_id=str(number % CHANNELS),
        channel_name=mint.short(CHANNEL, number) if one == 2 else "general",
        user_id=str(number % 7),
        user_name=mint.short(place if place in NAMED else USER, number)
        if one == 3 or place in NAMED
        else f"person-{number % 7}",
        nickname=mint.short(NICKNAME, number) if one == 4 else "",
        topic=mint.short(TOPIC, number) if one == 0 else "",
        message_id=str(10_000 + number),
        addressed=Addressed.DIRECT,
        attachments=(*scene.attachments, *files),
    )
    return Asked(trigger, scene.steps, scene.spoken)


def turn_of(body: bytes) -> int | None:
    """The turn that a request belongs to: the last one named in it, since those before are history."""
    if b'"sum up' in body or b'\\"sum up' in body:
        return None
    found = _TURN.findall(body)
    return int(found[-1]) if found else None


@define
class World(OnePlace):
    """The two ends of the run: the model, which answers requests when called, and the surface, which hears."""

    mint: Mint
    turns: dict[int, Asked] = field(factory=dict)
    heard: list[Speech] = field(factory=list)
    summaries: int = 0

    def __call__(self, request: Recorded) -> Step:
        if "/images/" in request.path:
            return picture(PIXEL)
        number = turn_of(request.raw)
        if number is None:
            self.summaries += 1
            return envelope(text=self.mint.text(SUMMARY))
        steps = self.turns[number].steps
        return steps.pop(0) if steps else envelope(f"Done {number}.")

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        self.heard.append(speech)
        spoken = self.turns[int(trigger.key.removeprefix("secrets:"))].spoken
        if spoken is not None:
            raise spoken
        return f"ears:{key}"
