"""The endpoints about commands: registering them, and answering when somebody uses one.

Owns the order of answers: first the callback, in time and once, then follow-ups. Knows no socket. Invariant: a private
answer is kept with its interaction and stands in no channel.
"""

from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Routes, bad_field, missing
from phasewalk.surfaces.discord_testing.interactions import Answer, Interaction
from phasewalk.surfaces.discord_testing.payloads import EPHEMERAL
from phasewalk.surfaces.discord_testing.rest_messages import checked_content, checked_mentions, created, edited
from phasewalk.surfaces.discord_testing.values import Json, Message

MESSAGE_NOW, MESSAGE_LATER = 4, 5
MOST_COMMANDS = 100


def set_commands(call: Call) -> list[Json]:
    """`PUT /applications/{application}/commands`, and below a guild: what is given is all there is."""
    if len(call.body) > MOST_COMMANDS:
        raise ApiError(400, 30032, f"Maximum number of application commands reached ({MOST_COMMANDS}).")
    where = _where(call)
    call.world.commands[where] = [_registered(call, where, given) for given in call.body]
    return call.world.commands[where]


def add_command(call: Call) -> Json:
    """`POST /applications/{application}/commands`, and below a guild: one of the same name is replaced."""
    where = _where(call)
    made = _registered(call, where, call.body)
    others = [
        one for one in call.world.commands.get(where, ()) if (one["name"], one["type"]) != (made["name"], made["type"])
    ]
    call.world.commands[where] = [*others, made]
    return made


def commands(call: Call) -> list[Json]:
    """`GET /applications/{application}/commands`, and below a guild."""
    return call.world.commands.get(_where(call), [])


def remove_command(call: Call) -> None:
    """`DELETE /applications/{application}/commands/{command}`, and below a guild."""
    known = commands(call)
    left = [one for one in known if one["id"] != call.params["command"]]
    if len(left) == len(known):
        raise missing(10063, "application command")
    call.world.commands[_where(call)] = left


def callback(call: Call) -> Json | None:
    """`POST /interactions/{interaction}/{token}/callback`: the first answer, or the request for more time."""
    used = _used(call)
    if call.world.clock() > used.made + call.world.interaction_seconds:
        raise missing(10062, "interaction")
    if used.acknowledged:
        raise ApiError(400, 40060, "Interaction has already been acknowledged.")
    kind, given = call.body.get("type"), call.body.get("data") or {}
    if kind not in (MESSAGE_NOW, MESSAGE_LATER):
        raise bad_field("type", "BASE_TYPE_CHOICES", f"Value must be one of {{{MESSAGE_NOW}, {MESSAGE_LATER}}} here.")
    private = bool((given.get("flags") or 0) & EPHEMERAL)
    message = _said(call, used, given, private=private) if kind == MESSAGE_NOW else None
    used.acknowledged, used.deferred, used.private = True, message is None, private
    about = {
        "id": str(used.id),
        "type": 2,
        "response_message_loading": message is None,
        "response_message_ephemeral": private,
    }
    if message is None:
        return {"interaction": about, "resource": {"type": kind}}
    about["response_message_id"] = str(message.id)
    return {"interaction": about, "resource": {"type": kind, "message": call.shown(message)}}


def follow_up(call: Call) -> Json:
    """`POST /webhooks/{application}/{token}`: a further answer; after a request for time, the first."""
    used = _acknowledged(call)
    private = bool((call.body.get("flags") or 0) & EPHEMERAL)
    if used.deferred:
        private, used.deferred = used.private, False
    return call.shown(_said(call, used, call.body, private=private))


def get_answer(call: Call) -> Json:
    """`GET /webhooks/{application}/{token}/messages/{message}`; `@original` is the first."""
    return call.shown(_answer(call).message)


def edit_answer(call: Call) -> Json:
    """`PATCH /webhooks/{application}/{token}/messages/{message}`; it is also how promised answers come."""
    used = _acknowledged(call)
    if used.deferred and call.params["message"] == "@original":
        used.deferred = False
        return call.shown(_said(call, used, call.body, private=used.private))
    answer = _answer(call)
    if answer.private:
        answer.message.content = checked_content({"content": answer.message.content, **call.body})
        return call.shown(answer.message)
    return call.shown(edited(call, answer.message))


def delete_answer(call: Call) -> None:
    """`DELETE /webhooks/{application}/{token}/messages/{message}`."""
    answer = _answer(call)
    _acknowledged(call).answers.remove(answer)
    if not answer.private:
        call.world.delete(answer.message)


def _registered(call: Call, where: int | None, given: Json) -> Json:
    kept = {"type": 1, "description": "", "options": [], **given}
    about = {"id": str(call.world.ids.new()), "application_id": str(call.world.bot.id), "version": "1"}
    return kept | about | ({} if where is None else {"guild_id": str(where)})


def _where(call: Call) -> int | None:
    return call.guild().id if "guild" in call.params else None


def _used(call: Call) -> Interaction:
    used = call.world.interactions.get(call.params["token"])
    if used is None:
        raise missing(10062, "interaction")
    return used


def _acknowledged(call: Call) -> Interaction:
    used = call.world.interactions.get(call.params["token"])
    if used is None or not used.acknowledged:
        raise missing(10015, "Webhook")
    return used


def _said(call: Call, used: Interaction, given: Json, *, private: bool) -> Message:
    if private:
        content = checked_content(given, call.files)
        checked_mentions(given)
        number, bot = call.world.ids.new(), call.world.bot
        message = Message(number, used.channel, bot, content, embeds=given.get("embeds") or (), flags=EPHEMERAL)
    else:
        message = created(call, used.channel, given)
    used.answer(Answer(message, private, given))
    return message


def _answer(call: Call) -> Answer:
    answers = _acknowledged(call).answers
    wanted = call.params["message"]
    for answer in answers:
        if wanted == str(answer.message.id) or (wanted == "@original" and answer is answers[0]):
            return answer
    raise missing(10008, "Message")


COMMANDS = ("/applications/{application}/commands", "/applications/{application}/guilds/{guild}/commands")
ANSWER = "/webhooks/{application}/{token}/messages/{message}"
ROUTES: Routes = {
    **{f"PUT {path}": set_commands for path in COMMANDS},
    **{f"POST {path}": add_command for path in COMMANDS},
    **{f"GET {path}": commands for path in COMMANDS},
    **{f"DELETE {path}/{{command}}": remove_command for path in COMMANDS},
    "POST /interactions/{interaction}/{token}/callback": callback,
    "POST /webhooks/{application}/{token}": follow_up,
    f"GET {ANSWER}": get_answer,
    f"PATCH {ANSWER}": edit_answer,
    f"DELETE {ANSWER}": delete_answer,
}
