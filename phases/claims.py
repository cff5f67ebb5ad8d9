"""The words by which an answer claims that something was done (CON-25)."""

from phasewalk.phases.vocabulary import Vocabulary


def claimed(text: str, vocabulary: Vocabulary) -> str | None:
    """The words that claim an action, or None."""
    del text, vocabulary
    return None
