"""Cases, strikes, sanctions, and what became of proposed operations: frozen values, ids as strings of digits."""

from collections.abc import Mapping

from attrs import field, frozen

from phasewalk.machine.moderation.words import (
    Action,
    CaseStatus,
    Fault,
    Gravity,
    Infringement,
    OperationStatus,
    Result,
)


@frozen
class Case:
    """A case as it stands; of an open obligation `infringement`, `gravity` and `quote` are None or empty.

    `number` is 0 before it is stored; `message_text` is the evidence, copied before anything is removed (MOD-17).
    """

    source: str
    source_message_id: str
    status: CaseStatus
    summary: str
    author_id: str = ""
    author_name: str = ""
    guild_id: str = ""
    channel_id: str = ""
    channel_name: str = ""
    infringement: Infringement | None = None
    gravity: Gravity | None = None
    quote: str = ""
    message_text: str = ""
    number: int = 0
    opened_us: int = 0
    touched_us: int = 0


@frozen
class Strike:
    """A row of the ledger (MOD-16); it counts until `expires_us` unless it was revoked."""

    guild_id: str
    user_id: str
    infringement: Infringement
    source_message_id: str
    at_us: int
    expires_us: int
    case: int = 0


@frozen
class Sanction:
    """What is to be done about a case, decided by policy alone (MOD-15). `key` makes it happen once.

    `minutes` of a time-out; `delete_seconds` is what a ban removes of earlier messages, 0 unless policy says
    otherwise (MOD-17). `rule` names the policy rule that fired, `why` says it with its values.
    """

    action: Action
    guild_id: str
    user_id: str
    user_name: str
    channel_id: str
    message_id: str
    key: str
    rule: str
    why: str
    case: int = 0
    minutes: int = 0
    delete_seconds: int = 0
    infringement: Infringement | None = None

    def document(self) -> dict[str, object]:
        """What the log's rows hold beside the columns."""
        return {
            "rule": self.rule,
            "why": self.why,
            "minutes": self.minutes,
            "delete_message_seconds": self.delete_seconds,
            "infringement": self.infringement,
        }


@frozen
class Unfired:
    """A rule that did not fire, and why not (MOD-19)."""

    rule: str
    message: str
    why: str


@frozen
class Taken:
    """What came of a sanction: `detail` says more in words, such as whether a direct message arrived."""

    result: Result
    detail: Mapping[str, object] = field(factory=dict)


@frozen
class OperationResult:
    """What became of one proposed operation; `path` is the place of the fault in it, `payload` its JSON text."""

    index: int
    name: str
    status: OperationStatus
    reason: Fault | None = None
    path: str = ""
    target: str = ""
    payload: str = ""
    said: str = ""


@frozen
class Checked:
    """A batch after validation. `accepted` when no operation was refused; `batch` is what is to be applied, as JSON.

    `cases` are those that it opens or changes, `proposed` their messages.
    """

    results: tuple[OperationResult, ...]
    accepted: bool
    batch: str = "[]"
    cases: tuple[Case, ...] = ()

    @property
    def refused(self) -> tuple[OperationResult, ...]:
        """The operations that were refused."""
        return tuple(r for r in self.results if r.status is OperationStatus.REFUSED)
