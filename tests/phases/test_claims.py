"""Which answers claim that something was done (CON-25)."""

import pytest

from phasewalk.phases.claims import claimed
from phasewalk.phases.vocabulary_file import shipped


@pytest.mark.spec("CON-25")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("I have added it to your notes.", "i have added"),
        ("I've just saved that for you!", "i've saved"),
        ("Sure! I added milk.", "i added"),
        ("Your reminder has been set for Friday.", "has been set"),
        ("The meeting was successfully moved to Monday.", "was moved"),
        ("Added milk to your notes.", "added"),
        ("Okay. Deleted.", "deleted"),
        ("I looked. I then removed the event.", "i removed"),
    ],
)
def test_an_answer_that_says_that_something_was_done_claims_it(answer, words):
    assert claimed(answer, shipped()) == words


@pytest.mark.spec("CON-25")
@pytest.mark.parametrize(
    "answer",
    [
        "Shall I add it to your notes?",
        "Should it be saved?",
        "I have not added anything.",
        "I couldn't find it, so nothing was deleted.",
        "I can add it once the meeting is scheduled.",
        "I will have it saved tomorrow.",
        "If it was deleted, you can restore it.",
        'The log says "I have added it".',
        "Bob moved to Rome.",
        "You have three notes.",
        "",
    ],
)
def test_what_is_asked_offered_denied_or_quoted_is_no_claim(answer):
    assert claimed(answer, shipped()) is None
