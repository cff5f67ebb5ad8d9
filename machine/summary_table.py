"""The machine that sums up what has left the working window of a channel (ENV-31).

A model task like any other: its calls are retried, fall back and stop by the guards of the turn table, and it is
logged in the same way (FB-04). It speaks to nobody.
"""

from phasewalk.machine.table import Row, Table
from phasewalk.machine.turn_table import ASK_ANOTHER, FALL_BACK, RETRY, SHRINK, TRY_AGAIN
from phasewalk.machine.words import (
    BUILD_PROMPT,
    DONE,
    FREEZE_CONTRACT,
    MODEL_ATTEMPT,
    RECEIVED,
    RECORD,
    VALIDATE_ENVELOPE,
    Cause,
)

WORK = (RECEIVED, FREEZE_CONTRACT, BUILD_PROMPT, MODEL_ATTEMPT, VALIDATE_ENVELOPE)

SUMMARY_TABLE = Table(
    name="summary",
    phases=(*WORK, RECORD),
    rows=(
        Row("S01", RECEIVED, "admitted", (), FREEZE_CONTRACT),
        Row("S02", RECEIVED, "nothing_found", (), RECORD),
        Row("S03", FREEZE_CONTRACT, "contract_frozen", (), BUILD_PROMPT),
        Row("S04", BUILD_PROMPT, "prompt_built", (), MODEL_ATTEMPT),
        Row("S05", BUILD_PROMPT, "prompt_too_large", (), RECORD),
        Row("S06", MODEL_ATTEMPT, ("output_received", "tools_requested"), (), VALIDATE_ENVELOPE),
        Row("S07", MODEL_ATTEMPT, "attempt_failed", SHRINK, BUILD_PROMPT, Cause.SHRUNK),
        Row("S08", MODEL_ATTEMPT, "attempt_failed", RETRY, MODEL_ATTEMPT, Cause.RETRY),
        Row("S09", MODEL_ATTEMPT, "attempt_failed", FALL_BACK, MODEL_ATTEMPT, Cause.FALLBACK),
        Row("S10", MODEL_ATTEMPT, "attempt_failed", (), RECORD),
        Row("S11", MODEL_ATTEMPT, "no_candidate", (), RECORD),
        Row("S12", VALIDATE_ENVELOPE, "envelope_accepted", (), RECORD),
        Row("S13", VALIDATE_ENVELOPE, "envelope_rejected", TRY_AGAIN, MODEL_ATTEMPT, Cause.RETRY),
        Row("S14", VALIDATE_ENVELOPE, "envelope_rejected", ASK_ANOTHER, MODEL_ATTEMPT, Cause.FALLBACK),
        Row("S15", VALIDATE_ENVELOPE, "envelope_rejected", (), RECORD),
        Row("S16", RECORD, "recorded", (), DONE),
        Row("S20", WORK, ("deadline_passed", "cancelled", "crashed", "interrupted"), (), RECORD),
        Row("S21", RECORD, "crashed", (), DONE),
        Row("S22", RECORD, "interrupted", (), RECORD),
    ),
)
