"""The machine of a reply turn. Read this file first: nothing else in phasewalk names a next phase.

A turn walks  received, classify, freeze_contract, build_prompt, model_attempt (with tool_rounds),
validate_envelope, deliver, record, done.  Each row says: in this phase, on this event, if all guards hold,
go there. Rows of one (phase, event) are tried from top to bottom; the last one has no guard. Ids are stable.
Guards are questions, answered in `guards.py`; events are reported by the phases, in the past tense.
"""

from phasewalk.machine.table import Row, Table
from phasewalk.machine.words import (
    BUILD_PROMPT,
    CLASSIFY,
    DELIVER,
    DONE,
    FREEZE_CONTRACT,
    MODEL_ATTEMPT,
    RECEIVED,
    RECORD,
    TOOL_ROUNDS,
    VALIDATE_ENVELOPE,
    Cause,
)

THINK = (RECEIVED, CLASSIFY, FREEZE_CONTRACT, BUILD_PROMPT, MODEL_ATTEMPT, TOOL_ROUNDS, VALIDATE_ENVELOPE)

SHRINK = ("context_overflowed", "no_side_effects", "not_shrunk_yet", "before_deadline")
RETRY = ("retry_allowed", "attempts_left", "delay_fits_deadline")
FALL_BACK = ("fallback_allowed", "no_side_effects", "before_deadline", "candidate_left")
TRY_AGAIN = ("attempts_left", "delay_fits_deadline")
ASK_ANOTHER = ("no_side_effects", "before_deadline", "candidate_left")
RUN_AGAIN = ("nothing_intended", "claims_left", "recent_enough")

TURN_TABLE = Table(
    name="turn",
    phases=(*THINK, DELIVER, RECORD),
    rows=(
        Row("T01", RECEIVED, "admitted", (), CLASSIFY),
        Row("T02", RECEIVED, "short_path_matched", (), RECORD),
        Row("T03", RECEIVED, "admission_refused", (), DELIVER),
        Row("T04", CLASSIFY, "classified", (), FREEZE_CONTRACT),
        Row("T05", FREEZE_CONTRACT, "contract_frozen", (), BUILD_PROMPT),
        Row("T06", FREEZE_CONTRACT, "requirement_unavailable", (), DELIVER),
        Row("T07", FREEZE_CONTRACT, "request_unclear", (), DELIVER),
        Row("T08", BUILD_PROMPT, "prompt_built", (), MODEL_ATTEMPT),
        Row("T09", BUILD_PROMPT, "prompt_too_large", (), DELIVER),
        Row("T10", MODEL_ATTEMPT, "tools_requested", ("tools_were_offered",), TOOL_ROUNDS),
        Row("T11", MODEL_ATTEMPT, "tools_requested", (), VALIDATE_ENVELOPE),
        Row("T12", MODEL_ATTEMPT, "output_received", (), VALIDATE_ENVELOPE),
        Row("T13", MODEL_ATTEMPT, "attempt_failed", SHRINK, BUILD_PROMPT, Cause.SHRUNK),
        Row("T14", MODEL_ATTEMPT, "attempt_failed", RETRY, MODEL_ATTEMPT, Cause.RETRY),
        Row("T15", MODEL_ATTEMPT, "attempt_failed", FALL_BACK, MODEL_ATTEMPT, Cause.FALLBACK),
        Row("T16", MODEL_ATTEMPT, "attempt_failed", (), DELIVER),
        Row("T17", MODEL_ATTEMPT, "no_candidate", (), DELIVER),
        Row("T18", TOOL_ROUNDS, "results_ready", (), MODEL_ATTEMPT, Cause.TOOL_RESULTS),
        Row("T19", VALIDATE_ENVELOPE, "envelope_accepted", ("superseded",), RECORD),
        Row("T20", VALIDATE_ENVELOPE, "envelope_accepted", ("has_something_to_deliver",), DELIVER),
        Row("T21", VALIDATE_ENVELOPE, "envelope_accepted", (), RECORD),
        Row("T22", VALIDATE_ENVELOPE, "envelope_rejected", TRY_AGAIN, MODEL_ATTEMPT, Cause.RETRY),
        Row("T23", VALIDATE_ENVELOPE, "envelope_rejected", ASK_ANOTHER, MODEL_ATTEMPT, Cause.FALLBACK),
        Row("T24", VALIDATE_ENVELOPE, "envelope_rejected", (), DELIVER),
        Row("T25", DELIVER, "delivered", (), RECORD),
        Row("T26", DELIVER, "delivery_failed", (), RECORD),
        Row("T27", DELIVER, "delivery_in_doubt", (), RECORD),
        Row("T28", RECORD, "recorded", (), DONE),
        Row("T30", THINK, "deadline_passed", (), DELIVER),
        Row("T31", DELIVER, "deadline_passed", (), RECORD),
        Row("T32", THINK, "cancelled", (), DELIVER),
        Row("T33", DELIVER, "cancelled", (), RECORD),
        Row("T34", THINK, "crashed", (), DELIVER),
        Row("T35", DELIVER, "crashed", (), RECORD),
        Row("T36", RECORD, "crashed", (), DONE),
        Row("T40", THINK, "interrupted", RUN_AGAIN, RECEIVED),
        Row("T41", THINK, "interrupted", (), DELIVER),
        Row("T42", DELIVER, "interrupted", (), DELIVER),
        Row("T43", RECORD, "interrupted", (), RECORD),
    ),
)
