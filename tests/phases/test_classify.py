"""Which families a sentence asks for. Add a sentence by adding a line to one of the tables."""

import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.contract import Classification
from phasewalk.machine.phase import checked_changes
from phasewalk.phases.classify import PHASE, classify_text, without_name
from phasewalk.phases.vocabulary_file import extended, shipped

VOCABULARY = shipped()

ASKED_FOR = [
    ("notes", "keep a note that the raid moved to Friday"),
    ("notes", "note: the raid moved to Friday"),
    ("notes", "show my notes"),
    ("notes", "Delete note 3, please."),
    ("notes", "please write down that we need more potions"),
    ("notes", "my notes please"),
    ("notes", "What notes do I have?"),
    ("notes", "how many notes do i have"),
    ("tasks", "remind me to water the plants tomorrow"),
    ("tasks", "which tasks are due?"),
    ("tasks", "mark my first to-do as done"),
    ("tasks", "remember to lock the door"),
    ("calendar", "what's on my calendar tomorrow?"),
    ("calendar", "Can you schedule a meeting with Ana at 5?"),
    ("calendar", "when is my next appointment"),
    ("calendar", "delete the event on Friday"),
    ("memory", "remember that I am allergic to peanuts"),
    ("memory", "what do you remember about me?"),
    ("memory", "forget fact 2"),
    ("memory", "do you remember my birthday?"),
    ("documents", "summarise the document about raids"),
    ("documents", "open the pdf please"),
    ("email", "any new emails?"),
    ("email", "Email Bob that lunch is off"),
    ("contacts", "what is Anna's phone number?"),
    ("search_browser", "google the best pizza in town"),
    ("search_browser", "look up when the museum opens"),
    ("search_browser", "could you search for the opening hours"),
    ("history", "search the chat history for the invite"),
    ("history", "what did I say about the raid?"),
    ("history", "find the messages about loot"),
    ("shell_files", "list the files in the folder"),
    ("shell_files", "run the script backup.sh"),
    ("image_generation", "draw a picture of a dragon"),
    ("image_generation", "make a logo with a fox"),
    ("image_editing", "crop this photo"),
    ("image_editing", "remove the background from this picture"),
    ("transcription", "transcribe this voice message"),
    ("media_inspection", "what is in this picture?"),
    ("media_inspection", "describe this image"),
    ("sessions", "close the session"),
    ("skills", "list your skills"),
    ("research", "do some research on solar panels"),
    ("research", "investigate why bees are dying"),
    ("admin", "restart the bot"),
    ("admin", "give Tom the raider role"),
    ("admin", "ban Tom"),
]

COMPOUND = [
    (("calendar", "search_browser"), "Add lunch to my calendar and search the web"),
    (("tasks", "calendar"), "move the task to my calendar"),
    (("email", "notes"), "email my notes to Bob"),
    (("notes", "tasks"), "show my notes. Then list my tasks!"),
    (("memory", "calendar"), "remember that I like tea and add lunch to my calendar"),
]

NOUNS_BEAT_VERBS = [
    ("contacts", "find my contacts"),
    ("memory", "search my memories"),
    ("calendar", "whats my schedule"),
    ("tasks", "list my scheduled tasks"),
    ("notes", "search for my notes"),
]

FORBIDDEN = [
    "do not create a note",
    "Please don't add anything to my calendar",
    "never search the web",
    "don't add, edit or delete notes",
    "do not create a note and search the web",
    "I don\N{RIGHT SINGLE QUOTATION MARK}t want you to search the web",
    "stop searching the web",
    "use no tools: what is on my calendar?",
    "show my notes without using tools",
]

PARTLY_FORBIDDEN = [
    ("search_browser", "don't create a note, but search the web for it"),
    ("search_browser", "search the web, don't create a note"),
    ("search_browser", "do not create a note, just search the web"),
    ("calendar", "Don't forget to add lunch to my calendar"),
    ("calendar", "no, put it into my calendar"),
    ("calendar", "Thanks, can you add lunch to my calendar?"),
    ("notes", "Thanks! Now show my notes."),
]

ABOUT_A_FEATURE = [
    "How do I delete calendar events?",
    "What is a task?",
    "what are notes",
    "how do I delete events and add tasks?",
    "Can I delete notes?",
    "tell me about tasks",
    "is it possible to search the web?",
    "what's the difference between a note and a task?",
]

DATA = [
    ("none", "> delete my calendar\nwhat do you think of this?"),
    ("none", 'She wrote "please delete my notes" yesterday'),
    ("none", "look at this: ```add lunch to my calendar```"),
    ("none", "look at this: ```add lunch to my calendar"),
    ("none", "tell me what `delete my notes` means"),
    ("none", "Summarise this text: add lunch to my calendar"),
    ("none", "tell me what you think of \u201csearch the web\u201d"),
    ("notes", "note: delete my calendar and search the web"),
    ("notes", "search my notes for the calendar link"),
    ("tasks", "create a task to email Bob"),
    ("search_browser", "search the web for pictures of cats"),
]

TALK = [
    "the raid moved to friday",
    "I lost my notes yesterday",
    "my calendar is full",
    "she emailed me about the meeting",
    "hello there",
    "Thank you",
    "thanks for the note!",
    "thanks for the reminder, did you eat?",
    "how are you?",
    "tell me a joke",
    "create a poem",
    "explain quantum physics",
    "I want to buy a new phone",
    "lol that picture was great",
    "what can you do?",
    "",
    "\U0001f602\U0001f602",
]

UNKNOWN = [
    ("book", "book me a flight to Rome"),
    ("turn on", "please turn on the lights"),
    ("order", "can you order a pizza?"),
    ("delete it", "delete it"),
    ("do that again", "do that again"),
    ("another one", "another one"),
]


def classified(text: str) -> Classification:
    return classify_text(text, VOCABULARY)


@pytest.mark.spec("CON-01")
@pytest.mark.parametrize(("family", "text"), ASKED_FOR)
def test_a_request_selects_the_family_it_names(family, text):
    assert (classified(text).selection, classified(text).families) == ("families", (family,))


@pytest.mark.spec("CON-01")
def test_every_family_that_ships_is_reached_by_a_sentence():
    assert {family for family, _ in ASKED_FOR} == {family.name for family in VOCABULARY.families}


@pytest.mark.spec("CON-02")
@pytest.mark.parametrize(("families", "text"), COMPOUND)
def test_a_compound_request_selects_every_family_in_the_order_named(families, text):
    assert classified(text).families == families


@pytest.mark.spec("CON-04")
@pytest.mark.parametrize(("family", "text"), NOUNS_BEAT_VERBS)
def test_nouns_beat_verbs(family, text):
    assert classified(text).families == (family,)


@pytest.mark.spec("CON-04")
@pytest.mark.parametrize("text", FORBIDDEN)
def test_what_is_forbidden_is_not_granted(text):
    assert (classified(text).selection, classified(text).families) == ("none", ())


@pytest.mark.spec("CON-04")
@pytest.mark.parametrize(("family", "text"), PARTLY_FORBIDDEN)
def test_a_prohibition_covers_no_more_than_it_says(family, text):
    assert classified(text).families == (family,)


@pytest.mark.spec("CON-04", "CON-08")
@pytest.mark.parametrize("text", ABOUT_A_FEATURE)
def test_a_question_about_a_feature_grants_nothing(text):
    assert classified(text).selection == "none"


@pytest.mark.spec("CON-05")
@pytest.mark.parametrize(("expected", "text"), DATA)
def test_quoted_and_labelled_text_and_content_are_data(expected, text):
    assert (classified(text).families or (classified(text).selection,)) == (expected,)


@pytest.mark.spec("CON-08")
@pytest.mark.parametrize("text", TALK)
def test_conversation_is_none(text):
    assert classified(text).selection == "none"


@pytest.mark.spec("CON-08")
@pytest.mark.parametrize(("action", "text"), UNKNOWN)
def test_an_action_that_fits_no_family_is_unknown(action, text):
    assert classified(text) == Classification("unknown", (), (f"unknown: {action}",))


@pytest.mark.spec("CON-01")
def test_the_words_that_decided_are_the_evidence():
    assert classified("keep a note that the raid moved").evidence == ("notes: note, keep",)


@pytest.mark.spec("CON-04")
def test_what_was_withheld_is_the_evidence_too():
    assert classified("do not create a note").evidence == ('"not" with notes: note',)
    assert classified("How do I delete calendar events?").evidence == ('"how do i" with calendar: calendar, events',)


@pytest.mark.spec("CON-08")
def test_a_family_of_the_operator_is_selected_by_its_words():
    vocabulary = extended(VOCABULARY, {"weather": {"nouns": ["weather", "forecast"], "verbs": ["rain"]}})
    assert classify_text("What's the weather in Berlin?", vocabulary).families == ("weather",)
    assert classify_text("show the forecasts", vocabulary).families == ("weather",)
    assert classify_text("What's the weather in Berlin?", VOCABULARY).families == ()


@pytest.mark.spec("CON-01")
@given(st.one_of(st.text(), st.lists(st.sampled_from(sorted(VOCABULARY.index)), max_size=30).map(" ".join)))
def test_any_text_is_classified_without_raising_and_always_the_same(text):
    first = classified(text)
    assert first == classified(text)
    assert first.selection in ("families", "none", "unknown")
    assert bool(first.families) == (first.selection == "families")


@pytest.mark.spec("CON-01")
def test_an_ordinary_message_takes_less_than_a_millisecond():
    text = "Hey, could you please add lunch with the raid team to my calendar and then search the web for a nice place?"
    classified(text)

    def seconds() -> float:
        begin = time.perf_counter()
        classified(text)
        return time.perf_counter() - begin

    assert min(seconds() for _ in range(20)) < 0.001


@pytest.mark.parametrize("piece", ["and , ", "\u201c", "<@", "note, ", "please ", "don't and ", "`", "how do i "])
def test_a_long_message_of_one_repeated_piece_is_no_trap(piece):
    text = (piece * 4000)[:4000]
    begin = time.perf_counter()
    classified(text)
    assert time.perf_counter() - begin < 0.5


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("helper, show my notes", "show my notes"),
        ("@helper show my notes", "show my notes"),
        ("Helper: note: x", "note: x"),
        ("helpers are nice", "helpers are nice"),
        ("ask helper", "ask helper"),
    ],
)
def test_the_bots_name_at_the_beginning_is_no_part_of_the_request(text, rest):
    assert without_name(text, "helper") == rest


@pytest.mark.spec("CON-01", "TURN-03")
async def test_the_phase_reports_the_classification_that_it_declares():
    turn = SimpleNamespace(trigger=SimpleNamespace(text="helper show my notes", families=None))
    ports = SimpleNamespace(settings=SimpleNamespace(bot_name="helper", vocabulary=VOCABULARY))
    report = await PHASE.run(turn, ports)
    checked_changes(PHASE, report.changes)
    assert report.event == "classified"
    assert report.changes["classification"].families == ("notes",)
