"""The rules file and the FAQ file: their form, and what is said about a bad one."""

from pathlib import Path

import pytest

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.providers.rules_faq import best, entries_in
from phasewalk.phases.providers.rules_load import load_rules

MARKDOWN = """# Title

Not an answer.

## How do I get a role?

Ask a Keeper.

### Which one?

The blue one.

```
## no heading
```

## Empty

## Where are the rules? ##
In #rules.

# Another part
Neither an answer.
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules = [", "is not TOML"),
        ("rule = 1", "rule is not known; the nearest known key is 'rules'"),
        (
            '[[rules]]\nkeyword = ["a"]\nanswer = "b"',
            "rules.0.keyword is not known; the nearest known key is 'keywords'",
        ),
        ('[[rules]]\nkeywords = "a"\nanswer = "b"', "rules.0.keywords: input should be a valid list"),
        ('[[rules]]\nkeywords = [" "]\nanswer = "b"', "rules.0.keywords.0: string should have at least 1 character"),
        ('[[rules]]\nanswer = "b"', "rule 1: it needs exactly one of keywords and pattern"),
        ('[[rules]]\nkeywords = ["a"]\npattern = "a"\nanswer = "b"', "exactly one of keywords and pattern"),
        ('[[rules]]\npattern = "("\nanswer = "b"', r"rule 1: pattern '\(' is no regular expression: missing \)"),
        ('[[rules]]\npattern = "a"', "exactly one of answer, tool, staff, silence; it has none"),
        ('[[rules]]\npattern = "a"\nanswer = "b"\nstaff = "c"', "it has answer and staff"),
        ('[[rules]]\npattern = "a"\nanswer = "b"\narguments = {}', "arguments are accepted beside tool only"),
        ('[[rules]]\npattern = "a"\nsilence = false', "rules.0.silence: input should be True"),
        (
            '[[rules]]\npattern = "(?P<city>a)"\ntool = "t"\narguments = { c = "{ctiy}" }',
            r"rule 1: placeholder \{ctiy\} is not known; known are city, text",
        ),
        ("[parts]\nday = 1", "parts.day: input should be a valid string"),
        (
            "[parts]\nday = 'friday'\n[[rules]]\npattern = '(?&dya)'\nanswer = 'b'",
            "rule 1: part 'dya' is not known; known here are day",
        ),
        (
            "[parts]\nwhen = 'on (?&day)'\nday = 'friday'",
            "part when: part 'day' is not known; known here are none",
        ),
    ],
)
def test_a_bad_rules_file_is_refused_with_file_and_one_sentence(tmp_path: Path, text, problem):
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=problem) as raised:
        load_rules(file, None)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"rules file .*none\.toml cannot be read: No such file"):
        load_rules(tmp_path / "none.toml", None)
    with pytest.raises(ConfigurationError, match=r"FAQ file .*none\.md cannot be read"):
        load_rules(None, tmp_path / "none.md")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="is not UTF-8 text"):
        load_rules(tmp_path / "x", None)


def test_a_faq_without_questions_is_refused(tmp_path: Path):
    (tmp_path / "faq.md").write_text("# Only a title\n", "utf-8")
    with pytest.raises(ConfigurationError, match="holds no question; write '## Question'"):
        load_rules(None, tmp_path / "faq.md")


def test_an_operator_may_word_the_missing_answer(tmp_path: Path):
    (tmp_path / "r.toml").write_text('no-answer = "Weiß ich nicht."', "utf-8-sig")
    assert load_rules(tmp_path / "r.toml", None).no_answer == "Weiß ich nicht."


def test_questions_are_headings_of_level_two_with_what_stands_below():
    assert [(entry.question, entry.answer) for entry in entries_in(MARKDOWN)] == [
        ("How do I get a role?", "Ask a Keeper.\n\n### Which one?\n\nThe blue one.\n\n```\n## no heading\n```"),
        ("Where are the rules?", "In #rules."),
    ]


RAIDS = entries_in(
    "## When are the raids?\nRaids start on Wednesday.\n"
    "## How do I get a role?\nAsk.\n"
    "## How do I get the Raider role?\nWin.\n"
    "## Where can I post drawings and screenshots?\nPost in #gallery."
)


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("when are the raids", "When are the raids?"),
        ("raid?", "When are the raids?"),
        ("hello, when does the next raid start?", "When are the raids?"),
        ("how can I get roles", "How do I get a role?"),
        ("how do i get the raider role", "How do I get the Raider role?"),
        ("what is the weather at the raid?", None),
        ("raiders?", "How do I get the Raider role?"),
        ("who posted that?", None),
        ("who is the best player of all time", None),
        ("how are you", None),
        ("", None),
    ],
)
def test_the_entry_that_shares_the_significant_words_is_found(message, question):
    found = best(RAIDS, message)
    assert (found.question if found else None) == question


def test_of_equals_the_earlier_entry_wins():
    twice = entries_in("## The raid?\nOne.\n## A raid?\nTwo.")
    found = best(twice, "raid")
    assert found is not None
    assert found.answer == "One."


@pytest.mark.spec("OPS-02")
def test_a_pattern_is_put_together_of_parts_and_a_part_of_earlier_ones(tmp_path):
    (tmp_path / "rules.toml").write_text(
        "[parts]\nweek-day = 'friday|monday'\nwhen = 'on (?P<day>(?&week-day))'\n"
        "[[rules]]\npattern = 'raid (?&when)!'\nanswer = 'See you on {day}.'\n",
        "utf-8",
    )
    (rule,) = load_rules(tmp_path / "rules.toml", None).operator
    text = "the raid on Monday!"
    assert rule.match(text) == {"text": text, "day": "Monday"}
    assert rule.match("raid on friday") is None


def test_every_place_that_matches_is_given_with_its_values(tmp_path):
    (tmp_path / "rules.toml").write_text("[[rules]]\npattern = 'note (?P<n>[0-9])'\nanswer = 'x'\n", "utf-8")
    (rule,) = load_rules(tmp_path / "rules.toml", None).operator
    found = [(place, values["n"]) for place, values in rule.matches("note 1, note 2")]
    assert found == [(range(6), "1"), (range(8, 14), "2")]
