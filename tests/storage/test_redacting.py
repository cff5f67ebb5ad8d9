"""Which texts of a record lose their secrets on the way into the log, and what stays as it is."""

import typing

import attrs
import pytest

from phasewalk.machine import records
from phasewalk.machine.circuit import CircuitEvent
from phasewalk.machine.documents import Payload, payload_of
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.redaction import Redactor
from phasewalk.machine.words import Cause, Decision, Outcome, Owner
from phasewalk.storage.redacting import TEXTS, without_secrets

SECRET = "hunter22"
REDACT = Redactor([SECRET])
CLASSES = typing.get_args(records.Record)

VALUES = {
    str: "before hunter22 behind",
    int: 7,
    Payload: payload_of("before hunter22 behind"),
    tuple[Payload, ...]: (payload_of("nothing here"), payload_of("before hunter22 behind")),
    Reason: Reason.HTTP_5XX,
    Outcome: Outcome.STOPPED,
    Owner: Owner.MODEL,
    Cause: Cause.FIRST,
    Decision: Decision.SKIPPED,
    CircuitEvent: CircuitEvent.FAILED,
    EffectKind: EffectKind.ANSWER,
}
"""A value for each type that a field may have; every text holds the secret."""

CLEAN = {
    str: "before [redacted] behind",
    Payload: Payload(payload_of("before hunter22 behind").digest, "before [redacted] behind"),
    tuple[Payload, ...]: (
        payload_of("nothing here"),
        Payload(payload_of("before hunter22 behind").digest, "before [redacted] behind"),
    ),
}
"""The same without the secret; digests are those of what was there."""

IDS_AND_WORDS = {
    "addressed", "api", "author_id", "call_id", "channel_id", "contract_hash", "digest", "effect", "effect_id", "event",
    "flags", "guild_id", "idempotency_key", "kind", "machine", "machine_hash", "message_id",
    "notice_code", "parent_turn_id", "phase", "reason_phase", "reply_message_id", "request_digest", "role",
    "rule", "state", "status", "to_phase", "transition", "trigger_key", "trigger_message_id", "turn_id", "unit", "user_id",
}  # fmt: skip
"""Fields that no person, model, tool or configuration fills with a text of its own; a new field is a decision."""

NAMED = [(cls, name) for cls, names in TEXTS.items() for name in names]


def kind_of(cls: type, name: str) -> object:
    """The type of a field, without the None that it may be as well."""
    kind = typing.get_type_hints(cls)[name]
    given = [part for part in typing.get_args(kind) if part is not type(None)]
    return given[0] if type(None) in typing.get_args(kind) else kind


def full_of_secrets(cls: type) -> records.Record:
    return cls(**{field.name: VALUES[kind_of(cls, field.name)] for field in attrs.fields(cls)})


def harmless(cls: type) -> records.Record:
    """The same with nothing to hide in it."""
    clean = {name: CLEAN[kind_of(cls, name)] for name in TEXTS[cls]}
    return attrs.evolve(full_of_secrets(cls), **clean)


@pytest.mark.spec("LOG-10")
def test_for_every_record_it_is_said_which_of_its_fields_hold_texts():
    assert set(TEXTS) == set(CLASSES)


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", TEXTS)
def test_the_fields_that_are_named_exist(cls):
    assert set(TEXTS[cls]) <= {field.name for field in attrs.fields(cls)}


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", CLASSES)
def test_no_payload_of_a_record_is_forgotten(cls):
    holding = {f.name for f in attrs.fields(cls) if kind_of(cls, f.name) in (Payload, tuple[Payload, ...])}
    assert holding <= set(TEXTS[cls])


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_not_named_is_an_id_a_digest_or_a_fixed_word(cls):
    texts = {field.name for field in attrs.fields(cls) if kind_of(cls, field.name) is str}
    assert texts - set(TEXTS[cls]) <= IDS_AND_WORDS


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize(("cls", "name"), NAMED, ids=[f"{cls.__name__}.{name}" for cls, name in NAMED])
def test_a_field_that_is_named_loses_its_secret(cls, name):
    clean = without_secrets(full_of_secrets(cls), REDACT)
    assert getattr(clean, name) == CLEAN[kind_of(cls, name)]


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", CLASSES)
def test_all_other_fields_stay_as_they_are(cls):
    given = full_of_secrets(cls)
    clean = without_secrets(given, REDACT)
    others = [field.name for field in attrs.fields(cls) if field.name not in TEXTS[cls]]
    assert [getattr(clean, name) for name in others] == [getattr(given, name) for name in others]


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", [cls for cls, names in TEXTS.items() if names])
def test_a_record_with_a_secret_is_copied_and_not_changed_itself(cls):
    given = full_of_secrets(cls)
    assert without_secrets(given, REDACT) is not given
    assert given == full_of_secrets(cls)


@pytest.mark.spec("LOG-10")
@pytest.mark.parametrize("cls", CLASSES)
def test_a_record_without_secrets_is_the_same_object(cls):
    given = harmless(cls)
    assert without_secrets(given, REDACT) is given


@pytest.mark.spec("LOG-10")
def test_what_a_record_does_not_have_is_passed_over():
    given = records.AttemptEnded(1, "ok", None, 20)
    assert (given.message, given.response) == (None, None)
    assert without_secrets(given, REDACT) is given


@pytest.mark.spec("LOG-10")
def test_a_payload_keeps_the_digest_under_which_others_refer_to_it():
    given = records.ToolEnded("a", "ok", None, 20, payload_of("the code is hunter22"))
    clean = without_secrets(given, REDACT)
    assert clean.result == Payload(payload_of("the code is hunter22").digest, "the code is [redacted]")


@pytest.mark.spec("LOG-10")
async def test_the_log_stores_the_text_of_a_turn_without_its_secret_under_the_digest_of_the_original(log):
    said = payload_of("my key is sk-0123456789abcdefghij")
    await log.turn("turn-1", text=said, user_name="ann sk-0123456789abcdefghij")
    assert log.rows("SELECT user_name, text_digest FROM turn") == [("ann [redacted]", said.digest)]
    assert log.rows("SELECT CAST(body AS TEXT) FROM payload WHERE digest = ?", said.digest) == [
        ("my key is [redacted]",)
    ]


@pytest.mark.spec("LOG-10")
async def test_the_log_stores_what_enters_history_without_secrets(log):
    text = "my key is sk-0123456789abcdefghij"
    await log.turn("turn-1", records.Said("2", "user", "3", "ann", text, 10))
    assert log.rows("SELECT text FROM message") == [("my key is [redacted]",)]
