"""`phasewalk classify`: the words that decided, without a model and without a log."""

import pytest


@pytest.mark.spec("CON-01", "OPS-13")
def test_the_families_and_the_words_that_decided_are_shown(look):
    answer = look("classify", "add lunch to my calandar and search the web")
    assert (answer.status, answer.err) == (0, "")
    assert answer.lines == [
        "families: calendar, search_browser",
        "  calendar: calendar, add, calandar read as calendar",
        "  search_browser: search the web",
    ]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["tell me a joke"], ["none: nothing asks for a tool"]),
        (["book a table"], ["unknown: something is to be done that fits no family", "  unknown: book"]),
        (["do not create a note"], ["none: nothing asks for a tool", '  "not" with notes: note']),
        (
            ["what is my email address?"],
            [
                "families: email",
                "  email: my email address",
                "  narrowed to the tool email_account, where there is one",
            ],
        ),
        (["helper, hello"], ["none: nothing asks for a tool"]),
    ],
)
def test_each_result_says_what_it_means(look, arguments, lines):
    assert look("classify", *arguments).lines == lines


@pytest.mark.spec("CON-03")
def test_earlier_messages_are_what_a_reference_means(look):
    assert look("classify", "delete it").lines[0].startswith("unknown")
    assert look("classify", "delete it", "--after", "show my notes").lines[0] == "families: notes"
    assert look("classify", "delete it", "--after", "show my notes", "--after", "thanks").lines[0].startswith("unknown")
    warm = look("classify", "and now?", "--after", "show my notes").lines
    assert warm[-1] == "  offered, since the conversation is about them: notes"


@pytest.mark.spec("OPS-14")
def test_json_has_every_key(look):
    document = look("classify", "delete it", "--after", "show my notes", "--json").document
    assert list(document) == ["schema_version", "as_of", "coverage", "truncated", "items"]
    assert document["items"] == [
        {
            "text": "delete it",
            "selection": "families",
            "families": ["notes"],
            "evidence": ['notes: "delete it" of an earlier turn'],
            "warm": [],
            "tools": [],
            "referred": True,
        }
    ]


def test_words_of_the_configuration_count(builder, process, tmp_path):
    (tmp_path / "phasewalk.toml").write_text('[families.weather]\nnouns = ["forecast"]\n', "utf-8")
    answer = process("--config", str(tmp_path / "phasewalk.toml"), "classify", "show the forecast")
    assert answer.lines[0] == "families: weather"


def test_a_missing_text_is_one_sentence(look):
    answer = look("classify")
    assert answer.status == 2
    assert "Missing argument 'TEXT'" in answer.err
