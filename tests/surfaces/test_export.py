"""Reading an export from its file: order, duplicates, bounded memory, and every way a file can be wrong."""

import io
import json
import tempfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.errors import ExportError
from phasewalk.surfaces.export import Export, open_export
from phasewalk.surfaces.export_errors import ExportCutOffError, ExportMissingError, ExportUnreadableError
from phasewalk.surfaces.export_json import JsonUnreadableError, parts_of
from phasewalk.surfaces.export_messages import ExportInfo, ExportMessage, message_of
from phasewalk.surfaces.export_sort import MessageSorter

pytestmark = pytest.mark.spec("MOD-22")


def record(message_id: object, text: str = "hi", **changes: object) -> dict[str, object]:
    return {
        "id": message_id,
        "type": "Default",
        "timestamp": "2026-09-14T08:00:00+00:00",
        "timestampEdited": None,
        "content": text,
        "author": {"id": "41", "name": "ada", "discriminator": "0000", "nickname": "Ada", "isBot": False},
        "attachments": [],
        "embeds": [{"title": "unread"}],
        "mentions": [],
        **changes,
    }


def document(records: Iterable[object], **changes: object) -> dict[str, object]:
    messages = list(records)
    return {
        "guild": {"id": "7", "name": "Mill"},
        "channel": {"id": "8", "type": "GuildTextChat", "name": "yard", "topic": "grain"},
        "dateRange": {"after": None, "before": None},
        "exportedAt": "2026-09-15T00:00:00+00:00",
        "messages": messages,
        "messageCount": len(messages),
        **changes,
    }


def written(path: Path, content: object) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "yard.json"


def ids(export: Iterable[ExportMessage]) -> list[str]:
    return [message.message_id for message in export]


def drained(export: Export) -> tuple[list[str], ExportError | None]:
    """The ids that were delivered, and the fault that came after them."""
    delivered: list[str] = []
    try:
        for message in export:
            delivered.append(message.message_id)  # noqa: PERF401 - what came before the fault must be kept
    except ExportError as error:
        return delivered, error
    return delivered, None


def test_the_head_tells_where_the_messages_come_from(file: Path) -> None:
    export = open_export(written(file, document([])))
    assert export.info == ExportInfo("7", "Mill", "8", "yard", "grain", "2026-09-15T00:00:00+00:00")


def test_an_export_without_messages_is_empty_and_fine(file: Path) -> None:
    assert drained(open_export(written(file, document([])))) == ([], None)


def test_messages_come_by_id_number_not_by_text_or_place_or_time(file: Path) -> None:
    late = "2030-01-01T00:00:00+00:00"
    records = [record("100"), record("9", timestamp=late), record("20"), record("3")]
    assert ids(open_export(written(file, document(records)))) == ["3", "9", "20", "100"]


def test_of_two_records_with_one_id_the_first_is_kept_and_the_other_noted(file: Path) -> None:
    export = open_export(written(file, document([record("5", "first"), record("6"), record("5", "second")])))
    assert [(message.message_id, message.text) for message in export] == [("5", "first"), ("6", "hi")]
    assert export.notes == (f"{file}: 1 duplicate record(s) dropped: an id that stands twice is read once",)


def test_records_that_cannot_be_used_are_skipped_and_counted_by_reason(file: Path) -> None:
    records = [record("5"), 3, None, ["x"], record("abc"), {"content": "no id"}]
    export = open_export(written(file, document(records)))
    assert ids(export) == ["5"]
    assert export.notes == (
        f"{file}: 2 record(s) skipped: no usable id",
        f"{file}: 3 record(s) skipped: not an object",
    )


def test_a_wrong_count_is_only_a_note(file: Path) -> None:
    export = open_export(written(file, document([record("5"), record("6")], messageCount=40)))
    assert ids(export) == ["5", "6"]
    assert export.notes == (f"{file}: messageCount says 40, but 2 record(s) were read",)


def test_a_faultless_export_leaves_no_notes(file: Path) -> None:
    export = open_export(written(file, document([record("5")])))
    assert ids(export) == ["5"]
    assert export.notes == ()


def test_keys_that_nobody_knows_are_passed_over(file: Path) -> None:
    content = document([record("5", poll={"a": [[1], {"b": None}]}, type="46")], newKey={"messages": [1, [2]]})
    export = open_export(written(file, content))
    assert [(message.message_id, message.kind) for message in export] == [("5", "46")]


def test_the_keys_of_the_root_may_stand_in_any_order(file: Path) -> None:
    turned = dict(reversed(document([record("5")]).items()))
    export = open_export(written(file, turned))
    assert (export.info.channel_id, export.info.guild_name, ids(export)) == ("8", "Mill", ["5"])


def test_an_export_can_be_walked_twice(file: Path) -> None:
    export = open_export(written(file, document([record("5"), record("5")])))
    assert ids(export) == ids(export) == ["5"]
    assert len(export.notes) == 1


def test_a_byte_order_mark_is_no_fault(file: Path) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(document([record("5")])).encode()
    assert ids(open_export(written(file, content))) == ["5"]


def test_a_missing_file_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ExportMissingError, match="no such file") as caught:
        open_export(tmp_path / "nowhere.json")
    assert caught.value.kind == "missing"


def test_a_directory_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(ExportUnreadableError, match="cannot be opened"):
        open_export(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(b"", "empty or holds no JSON", id="empty"),
        pytest.param(b" \n ", "empty or holds no JSON", id="blank"),
        pytest.param(b"tru", "empty or holds no JSON", id="fragment"),
        pytest.param(b"hello", "between the bytes 0 and 5", id="words"),
        pytest.param(bytes(range(256)), "between the bytes 0 and 256", id="binary"),
        pytest.param(json.dumps(document([])).encode("utf-16"), "no JSON in UTF-8", id="utf-16"),
        pytest.param('{"guild": {"name": "Mühle"}}'.encode("latin-1"), "no JSON in UTF-8", id="latin-1"),
        pytest.param(b"[]", "is a list", id="list"),
        pytest.param(b'"messages"', "is a text", id="text"),
        pytest.param(b"null", "is null", id="null"),
        pytest.param(b"12", "is a number", id="number"),
        pytest.param(b"{}", "no key 'messages'", id="empty-object"),
        pytest.param(b'{"model": "x"}', "no key 'messages'", id="other-object"),
        pytest.param(b'{"messages": {}}', "'messages' is an object", id="messages-object"),
        pytest.param(b'{"messages": true}', "'messages' is a boolean", id="messages-boolean"),
        pytest.param(b'{"a": ' + b"[" * 5000, "nested deeper than 100", id="deep"),
        pytest.param(b'{"a": ' + b"1" * 5000 + b', "messages": []}', "no JSON", id="long-integer"),
        pytest.param(b'{"a": 1e99999, "messages": []}', "no JSON", id="huge-number"),
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(file: Path, content: bytes, problem: str) -> None:
    with pytest.raises(ExportUnreadableError, match=problem) as caught:
        open_export(written(file, content))
    assert caught.value.kind == "unreadable"
    assert "\n" not in str(caught.value)


def test_a_file_cut_before_its_messages_is_cut_off(file: Path) -> None:
    with pytest.raises(ExportCutOffError, match="no message was read before that") as caught:
        open_export(written(file, b'{"guild": {"id": "7"'))
    assert (caught.value.kind, caught.value.messages_read, caught.value.last_id) == ("cut_off", 0, "")


def test_a_file_cut_inside_a_record_gives_all_records_before_it(file: Path) -> None:
    whole = json.dumps(document([record("6"), record("5"), record("7")])).encode()
    export = open_export(written(file, whole[: whole.index(b'"7"', whole.index(b'"5"'))]))
    delivered, error = drained(export)
    assert delivered == ["5", "6"]
    assert isinstance(error, ExportCutOffError)
    assert (error.messages_read, error.last_id) == (2, "5")
    assert "2 message(s) were read before that, the last one is 5" in str(error)


@pytest.mark.parametrize("missing", [1, len(', "messageCount": 1}')], ids=["brace", "count-and-brace"])
def test_a_root_that_does_not_close_is_cut_off_though_its_messages_are_complete(file: Path, missing: int) -> None:
    whole = json.dumps(document([record("5")])).encode()
    delivered, error = drained(open_export(written(file, whole[:-missing])))
    assert delivered == ["5"]
    assert isinstance(error, ExportCutOffError)


def test_a_cut_inside_a_character_is_a_cut(file: Path) -> None:
    whole = json.dumps(document([record("5"), record("6", "Mühle")]), ensure_ascii=False).encode()
    delivered, error = drained(open_export(written(file, whole[: whole.index(b"\xc3") + 1])))
    assert delivered == ["5"]
    assert isinstance(error, ExportCutOffError)


def test_damage_in_the_middle_is_no_cut_and_loses_nothing_before_it(file: Path) -> None:
    whole = json.dumps(document([record("5"), record("6")])).encode()
    damaged = whole.replace(b', {"id": "6"', b' @ {"id": "6"')
    delivered, error = drained(open_export(written(file, damaged)))
    assert delivered == ["5"]
    assert isinstance(error, ExportUnreadableError)
    assert "1 message(s) were read before that, the last one is 5" in str(error)


def test_bytes_after_the_document_are_damage_that_comes_after_all_messages(file: Path) -> None:
    delivered, error = drained(open_export(written(file, json.dumps(document([record("5")])).encode() + b"{}")))
    assert delivered == ["5"]
    assert isinstance(error, ExportUnreadableError)


@given(st.data())
def test_wherever_an_export_is_cut_the_records_before_the_cut_are_delivered(data: st.DataObject) -> None:
    encoded = [json.dumps(record(str(number))).encode() for number in range(1, 6)]
    head = json.dumps(document([])).encode().split(b"]")[0]
    whole = head + b", ".join(encoded) + b'], "messageCount": 5}'
    cut = data.draw(st.integers(len(head), len(whole) - 1))
    complete = sum(cut >= len(head) + len(b", ".join(encoded[: count + 1])) for count in range(5))
    with tempfile.TemporaryDirectory() as folder:
        delivered, error = drained(open_export(written(Path(folder) / "cut.json", whole[:cut])))
    assert delivered == [str(number) for number in range(1, complete + 1)]
    assert isinstance(error, ExportCutOffError)
    assert error.messages_read == complete


@given(st.binary(max_size=200))
def test_no_bytes_bring_anything_but_an_export_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ExportError):
        list(open_export(written(Path(folder) / "any.json", content)))


@given(
    st.lists(st.integers(1, 60), max_size=60),
    st.integers(1, 70),
)
def test_ordering_on_disk_gives_what_ordering_in_memory_gives(numbers: list[int], capacity: int) -> None:
    records = [record(str(number), f"record {place}") for place, number in enumerate(numbers)]
    first_text = {number: f"record {numbers.index(number)}" for number in numbers}
    with tempfile.TemporaryDirectory() as folder:
        export = open_export(written(Path(folder) / "any.json", document(records)), capacity=capacity)
        found = [(int(message.message_id), message.text) for message in export]
    assert found == sorted(first_text.items())


def test_a_newest_first_export_with_more_runs_than_may_be_open_is_ordered(file: Path) -> None:
    records = [record(str(number)) for number in range(300, 0, -1)]
    export = open_export(written(file, document(records)), capacity=2)
    assert ids(export) == [str(number) for number in range(1, 301)]


def test_no_more_than_64_runs_are_ever_kept(tmp_path: Path) -> None:
    sorter = MessageSorter(tmp_path, capacity=1)
    kept = []
    for number in range(200, 0, -1):
        sorter.add(message_of(record(str(number))))
        kept.append(len(list(tmp_path.iterdir())))
    assert max(kept) == 64
    assert [message.number for message in sorter.ordered()] == list(range(1, 201))


def test_a_disk_that_fails_while_reading_makes_the_export_unreadable() -> None:
    class FailingDisk(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(JsonUnreadableError, match=r"reading failed at byte 21 \(Input/output error\)"):
        list(parts_of(FailingDisk(b'{"guild": {"id": "7"}')))


def test_a_walk_left_early_leaves_no_files_behind(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    walk = iter(open_export(written(file, document(record(str(n)) for n in range(1, 9))), capacity=2))
    assert next(walk).message_id == "1"
    assert len(list(scratch.glob("*/run-*.jsonl"))) == 1  # ascending ids lengthen one run
    walk.close()
    assert list(scratch.iterdir()) == []


def test_memory_stays_bounded_while_an_export_of_sixty_thousand_messages_is_walked(file: Path) -> None:
    """Newest first, which needs runs on disk, in under 4 MB; held all at once they take 38 MB."""
    total = 60_000
    with file.open("w", encoding="utf-8") as stream:
        stream.write('{"guild": {"id": "7"}, "channel": {"id": "8"}, "messages": [')
        for number in range(total, 0, -1):
            stream.write(
                f'{{"id": "{number}", "content": "{number:0300}"}}'
                + (", " if number > 1 else '], "messageCount": 60000}')
            )
    tracemalloc.start()
    try:
        count = sum(1 for _ in open_export(file, capacity=2_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == total
    assert peak < 4_000_000
