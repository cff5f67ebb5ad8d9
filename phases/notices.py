"""The fixed texts that are not answers (FB-20): what each says unless the operator says otherwise."""

from collections.abc import Mapping
from types import MappingProxyType

from phasewalk.machine.words import NoticeCode

TEXTS: Mapping[NoticeCode, str] = {
    NoticeCode.ALL_FAILED: "Sorry, I could not get an answer this time. Please try again later.",
    NoticeCode.PARTIAL: "I did part of what you asked, but could not finish. Please check before you ask again.",
    NoticeCode.DEADLINE: "Sorry, this took longer than I may take, so I stopped. Please try again.",
    NoticeCode.RESTART: "I am being restarted and had to stop. Please ask again in a minute.",
    NoticeCode.CONTEXT_LIMIT: "Sorry, that is more than I can read at once. Please send a shorter message.",
    NoticeCode.UNAVAILABLE: "Sorry, I cannot do that here. What is missing: {missing}.",
    NoticeCode.UNCLEAR: "I am not sure what you want me to do. Could you say it in other words?",
    NoticeCode.SAFETY: "Sorry, I cannot help with that.",
    NoticeCode.BUSY: "I am busy at the moment. Please try again shortly.",
}


def notice_text(
    code: NoticeCode,
    configured: Mapping[NoticeCode, str],
    missing: tuple[str, ...] = (),
    come_back: float | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The text of a notice; `{missing}` stands for the families that are missing, other braces stay.

    `labels` name families in the operator's language. `come_back` is in seconds: when a provider said how long it
    will refuse, the person is told (ENV-12).
    """
    text = configured.get(code, TEXTS[code])
    names = [labels.get(family, family.replace("_", " ")) for family in missing]
    text = text.replace("{missing}", ", ".join(names) or "a tool")
    if code is NoticeCode.ALL_FAILED and come_back is not None:
        minutes = max(1, round(come_back / 60))
        return f"{text} ({minutes} min)"
    return text
