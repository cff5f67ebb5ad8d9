"""Pictures that an answer asks for: an effect of `deliver`, never at the cost of the text (ENV-26)."""

import attrs
import pytest

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import EffectIntended, EffectSettled, TurnEnded
from phasewalk.machine.speech import Picture
from phasewalk.machine.trigger import Attachment

PNG = (Picture(b"one"), Picture(b"two"))


def effects(world) -> list[tuple]:
    settled = {e.effect_id: e.kind for e in world.rows(EffectSettled)}
    return [(e.kind, settled.get(e.effect_id)) for e in world.rows(EffectIntended)]


def flags(world) -> str | None:
    return world.rows(TurnEnded)[0].flags


@pytest.mark.spec("ENV-26", "CON-22")
async def test_a_picture_is_made_behind_its_intent_and_delivered_with_the_text(a_world, reply):
    world = a_world(reply.says("Here.", picture="a red fox", picture_count=2))
    world.provider.paints = PNG
    turn = await world.turn("draw a fox")
    assert effects(world) == [("answer", "receipt"), ("picture", "receipt")]
    assert [(s.kind, s.text, s.pictures) for s in world.spoken] == [
        ("answer", "Here.", ()), ("picture", "a red fox", PNG),
    ]  # fmt: skip
    (asked,) = world.provider.painted
    assert (asked.model, asked.description, asked.count, asked.images) == ("painter", "a red fox", 2, ())
    assert (turn.outcome, turn.reason) == ("answered", "ok")


@pytest.mark.spec("ENV-26", "ENV-34")
async def test_the_count_is_clamped_and_the_clamp_logged(a_world, reply):
    world = a_world(reply.says("Here.", picture="a fox", picture_count=57894))
    await world.turn()
    assert world.provider.painted[0].count == 4


@pytest.mark.spec("ENV-26")
async def test_an_edit_works_on_the_images_of_the_message(a_world, reply):
    world = a_world(reply.says("Here.", picture="make it blue", picture_edit=True))
    images = (
        Attachment("a.png", "https://files.example/a.png", 9, "image/png"),
        Attachment("b.txt", "https://x/b.txt"),
    )
    await world.turn(attachments=images)
    assert world.provider.painted[0].images == ("https://files.example/a.png",)


FAILURES = {
    "the provider fails": (lambda reply: reply.fails(FailureKind.TRANSIENT, Reason.HTTP_5XX), Reason.HTTP_5XX),
    "a bug": (lambda reply: RuntimeError("boom"), Reason.MALFORMED_RESPONSE),
}


@pytest.mark.spec("ENV-26")
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
async def test_a_failed_picture_never_costs_the_text(a_world, reply, failure):
    world = a_world(reply.says("Here.", picture="a fox"))
    world.provider.paints = failure[0](reply)
    turn = await world.turn()
    assert [(s.kind, s.text) for s in world.spoken] == [("answer", "Here.")]
    assert effects(world) == [("answer", "receipt"), ("picture", "failed")]
    assert (turn.outcome, turn.reason, flags(world)) == ("answered", "ok", '["picture_failed"]')


@pytest.mark.spec("ENV-26", "FB-20")
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())
async def test_a_failed_picture_without_text_gives_a_notice(a_world, reply, failure):
    world = a_world(reply.says(None, picture="a fox"))
    world.provider.paints = failure[0](reply)
    turn = await world.turn()
    assert [(s.kind, s.notice) for s in world.spoken] == [("notice", "all_failed")]
    assert (turn.outcome, turn.reason, turn.owner) == ("undelivered", failure[1], "notice")


@pytest.mark.spec("ENV-26", "FB-20")
async def test_without_an_image_model_the_person_is_told_what_is_missing(a_world, reply):
    world = a_world(reply.says(None, picture="a fox"))
    world.change(candidates=tuple(attrs.evolve(c, image_model=None) for c in world.settings.candidates))
    turn = await world.turn()
    assert [(s.notice, "image generation" in s.text) for s in world.spoken] == [("unavailable", True)]
    assert turn.reason == "missing_capability"


@pytest.mark.spec("ENV-26", "TURN-05")
async def test_a_picture_that_never_comes_ends_by_the_limit_of_a_model_call(a_world, reply):
    world = a_world(reply.says("Here.", picture="a fox"))

    async def never(request):
        await world.clock.sleep(10_000)

    world.provider.pictures = never
    world.change(limits=attrs.evolve(world.settings.limits, model_call=20.0))
    turn = await world.turn()
    assert (turn.outcome, flags(world)) == ("answered", '["picture_failed"]')


@pytest.mark.spec("ENV-26", "ENV-27")
@pytest.mark.parametrize("fields", [{"picture": "a fox"}, {"hack": True}], ids=["picture", "hack"])
async def test_neither_a_picture_nor_an_attack_forces_an_answer(a_world, reply, fields):
    world = a_world(reply.says("unsaid", answer_needed=False, **fields))
    turn = await world.turn(addressed=None)
    assert (turn.outcome, world.spoken) == ("silent", [])


@pytest.mark.spec("ENV-26")
async def test_the_bytes_of_pictures_are_not_in_the_log(a_world, reply):
    world = a_world(reply.says("Here.", picture="a fox"))
    world.provider.paints = (Picture(b"\xff\x00 not text"),)
    await world.turn()
    assert "not text" not in repr(world.log.rows)


@pytest.mark.spec("ENV-22")
async def test_images_of_the_message_are_shown_and_choose_the_model_for_vision(a_world, reply):
    world = a_world()
    world.change(candidates=tuple(attrs.evolve(c, vision_model="eyes") for c in world.settings.candidates))
    seen = Attachment("a.png", "data:image/png;base64,AAAA", 3, "image/png")
    hidden = Attachment("c.png", "file:///etc/c.png", 3, "image/png")
    await world.turn(attachments=(seen, hidden))
    (request,) = world.provider.requests
    assert (request.model, request.prompt.images) == ("eyes", ("data:image/png;base64,AAAA",))


@pytest.mark.spec("ENV-26", "CON-28")
async def test_a_delivery_that_fails_arose_in_deliver(a_world, reply):
    world = a_world(reply.says(None, picture="a fox"))
    world.provider.paints = reply.fails(FailureKind.PERMANENT, Reason.HTTP_4XX)
    await world.turn("draw a fox")
    (ended,) = world.rows(TurnEnded)
    assert (ended.outcome, ended.reason, ended.reason_phase) == ("undelivered", Reason.HTTP_4XX, "deliver")
