"""How a turn is named (OPS-10)."""

import pytest
from builders import LogBuilder

QUESTION = "1100000000000000009"
REPLY = "1100000000000000555"


def shown(answer) -> list[str]:
    """The turns that `show` showed."""
    assert answer.status == 0, answer.err
    return [item["turn_id"] for item in answer.items]


@pytest.mark.spec("OPS-10")
@pytest.mark.parametrize("name", ["last", "last~0"])
def test_last_is_the_newest_turn(builder: LogBuilder, look, name):
    builder.turn(age=90)
    newest = builder.turn(age=10)
    assert shown(look("show", name, "--json")) == [newest]


@pytest.mark.spec("OPS-10")
def test_last_with_a_number_goes_back_from_the_newest(builder: LogBuilder, look):
    third, _, _ = (builder.turn(age=age) for age in (90, 60, 30))
    assert shown(look("show", "last~2", "--json")) == [third]


@pytest.mark.spec("OPS-10")
@pytest.mark.parametrize(
    "name",
    [
        f"https://discord.com/channels/1/200/{QUESTION}",
        f"https://ptb.discord.com/channels/1/200/{QUESTION}",
        f"https://canary.discord.com/channels/1/200/{QUESTION}/",
        f"https://discordapp.com/channels/@me/200/{QUESTION}",
        f"<https://discord.com/channels/1/200/{QUESTION}>",
        QUESTION,
        f"https://discord.com/channels/1/200/{REPLY}",
        REPLY,
    ],
)
def test_a_turn_is_found_by_link_or_id_of_question_and_reply(builder: LogBuilder, look, name):
    builder.turns(3)
    turn = builder.turn(trigger_message_id=QUESTION, reply_message_id=REPLY)
    builder.turns(3)
    assert shown(look("show", name, "--json")) == [turn]


@pytest.mark.spec("OPS-10")
def test_an_unanswered_question_names_its_turn(builder: LogBuilder, look):
    turn = builder.turn(outcome=None, phase="model_attempt", trigger_message_id=QUESTION)
    assert shown(look("show", f"https://discord.com/channels/1/200/{QUESTION}", "--json")) == [turn]


@pytest.mark.spec("OPS-10")
def test_a_later_part_of_an_answer_names_its_turn(builder: LogBuilder, look):
    turn = builder.turn(reply_message_id=REPLY)
    builder.insert(
        "message", turn_id=turn, channel_id="200", role="assistant", author_id="", author="helper", text="part 2",
        at_us=1, message_id="1100000000000000556",
    )  # fmt: skip
    assert shown(look("show", "1100000000000000556", "--json")) == [turn]


@pytest.mark.spec("OPS-10")
def test_a_unique_prefix_of_four_characters_is_enough(builder: LogBuilder, look):
    builder.turn(turn_id="abcd1234567890")
    builder.turn(turn_id="abce1234567890")
    assert shown(look("show", "abcd", "--json")) == ["abcd1234567890"]


@pytest.mark.spec("OPS-10")
def test_a_whole_id_is_meant_also_when_another_begins_with_it(builder: LogBuilder, look):
    builder.turn(turn_id="abcd")
    builder.turn(turn_id="abcd1234567890")
    assert shown(look("show", "abcd", "--json")) == ["abcd"]


@pytest.mark.spec("OPS-10", "OPS-13")
def test_of_an_ambiguous_prefix_the_candidates_are_listed(builder: LogBuilder, look):
    builder.turn(turn_id="abcd1", outcome="stopped", reason="http_5xx", user_name="mira")
    builder.turn(turn_id="abcd2", user_name="tom\x1b[2J")
    answer = look("show", "abcd")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.splitlines()[0] == "phasewalk: 'abcd' may mean:"
    assert "abcd1" in answer.err
    assert "stopped  #general mira" in answer.err
    assert r"tom\x1b[2J" in answer.err


@pytest.mark.spec("OPS-10", "OPS-13")
@pytest.mark.parametrize(
    "name",
    [
        "abc",
        "nosuchturn",
        "last~7",
        "1999999999999999999",
        "https://discord.com/channels/1/2/3",
        "",
        "last~99999999999",
    ],
)
def test_an_unknown_name_is_one_sentence_with_what_the_log_covers(builder: LogBuilder, look, name):
    builder.turn(turn_id="abcd1")
    answer = look("show", name)
    assert (answer.status, answer.out) == (3, "")
    (sentence,) = answer.err.splitlines()
    assert sentence.startswith(f"phasewalk: no turn '{name}'; expected an id")
    assert "the log covers 1 turn from" in sentence


@pytest.mark.spec("OPS-10", "OPS-14")
def test_bytes_that_are_no_text_name_no_turn(builder: LogBuilder, look):
    answer = look("show", "ab\udcffcd")
    assert answer.status == 3
    assert r"no turn 'ab\udcffcd'" in answer.err


@pytest.mark.spec("OPS-10")
def test_a_dash_reads_ids_from_standard_input(builder: LogBuilder, look):
    first, second = builder.turn(age=90), builder.turn(age=60)
    answer = look("show", "-", "--json", stdin=f"{second}  the rest of a line\n\n{first}\n")
    assert shown(answer) == [second, first]


@pytest.mark.spec("OPS-10", "OPS-13")
def test_a_dash_with_nothing_on_standard_input_names_no_turn(builder: LogBuilder, look):
    answer = look("show", "-", stdin="\n")
    assert (answer.status, answer.err) == (3, "phasewalk: no turn is named on standard input\n")


@pytest.mark.spec("OPS-10")
def test_lines_of_json_on_standard_input_name_their_turns(builder: LogBuilder, look):
    older, newer = builder.turn(age=90), builder.turn(age=30)
    listed = look("list", "--jsonl").out
    assert shown(look("show", "-", "--json", stdin=listed)) == [newer, older]
    assert look("show", "-", stdin='{"turn_id": \n').status == 3
