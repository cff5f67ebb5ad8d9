"""Code, database and documentation speak the same closed sets of words."""

import re
import sqlite3
from pathlib import Path

import pytest

from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import PhasewalkError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Addressed, Cause, Decision, Kind, Outcome, Owner
from phasewalk.storage.database import open_for_writing

ROOT = Path(__file__).parents[2]
SCHEMA = (ROOT / "storage" / "schema.sql").read_text("utf-8")
PROMISED = """
ok answer_not_needed short_path queue_full wait_too_long user_limit paused shutting_down duplicate own_message
bot_author webhook_author requirement_unavailable request_unclear context_limit deadline_passed attempts_exhausted
candidates_exhausted side_effects safety_block refused_by_model http_429 http_4xx http_5xx connection_failed timed_out
no_choices malformed_response empty_answer truncated envelope_invalid unknown_provider unconfigured_provider
missing_capability no_model circuit_open rounds_exhausted identical_calls tool_failed tool_timed_out tool_denied
delivery_forbidden delivery_target_gone delivery_rejected delivery_in_doubt lease_lost process_gone claims_exhausted
log_write_failed internal_error rate_limited superseded witness_unmet operation_refused lock_held nothing_to_do
"""


def allowed(table: str, column: str) -> set[str]:
    """The words that the CHECK of a column allows."""
    body = re.search(rf"CREATE TABLE {table} \((.*?)\n\) STRICT", SCHEMA, re.DOTALL)
    assert body is not None
    check = re.search(rf"CHECK \({column} IN \(([^)]*)\)\)", body[1])
    assert check is not None
    return set(re.findall(r"'([^']*)'", check[1]))


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("turn", "kind", Kind),
        ("turn", "outcome", Outcome),
        ("turn", "addressed_by", Addressed),
        ("turn", "owner", Owner),
        ("attempt", "cause", Cause),
        ("fallback_step", "decision", Decision),
        ("effect", "kind", EffectKind),
    ],
)
def test_the_database_allows_exactly_the_words_of_the_code(table: str, column: str, words: type):
    assert allowed(table, column) == {str(word) for word in words}


def test_every_promised_reason_exists():
    assert [name for name in PROMISED.split() if name not in set(Reason)] == []


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_has_a_severity_and_one_sentence(reason: Reason):
    assert reason.severity in ("info", "warning", "error")
    assert reason.meaning[0].islower() or reason.meaning.startswith("the ")
    assert not reason.meaning.endswith(".")
    assert "\n" not in reason.meaning


def test_no_two_reasons_mean_the_same():
    assert len({reason.meaning for reason in Reason}) == len(Reason)


def test_the_table_of_reasons_is_the_enumeration(tmp_path: Path):
    connection = open_for_writing(tmp_path / "log.db")
    rows = connection.execute("SELECT code, severity, meaning FROM reason ORDER BY code").fetchall()
    connection.close()
    assert rows == sorted((str(reason), reason.severity, reason.meaning) for reason in Reason)


def test_a_reason_that_is_not_in_the_list_cannot_be_logged(tmp_path: Path):
    connection = open_for_writing(tmp_path / "log.db")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        connection.execute(
            "INSERT INTO ignored_message (process_id, channel_id, reason, hour_us, count, last_us)"
            " VALUES (1, '1', 'bored', 0, 1, 1)"
        )
    connection.close()


def test_the_tree_of_errors_is_drawn_as_it_is():
    drawn = PhasewalkError.__module__
    text = (ROOT / "machine" / "errors.py").read_text("utf-8").split('"""')[1]
    assert drawn == "phasewalk.machine.errors"

    def below(cls: type) -> set[str]:
        names = {cls.__name__}
        for child in cls.__subclasses__():
            if child.__module__ == drawn:
                names |= below(child)
        return names

    assert below(PhasewalkError) - {"ProviderError"} == set(re.findall(r"\b\w+Error\b", text)) - {"ProviderError"}
