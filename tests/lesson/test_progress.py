"""Progress is never lost: not by a second tab, a crash, a damaged file or a reset."""

import json
import os

import pytest

from draftproof.errors import InvalidInput
from draftproof.lesson import progress
from draftproof.lesson.progress import KIND, Conflict, ProgressStore, loses

DONE = {"steps": {"predict": {"choice": "yes"}, "code": {"passedAt": "today"}}}


@pytest.fixture
def store(tmp_path):
    return ProgressStore(tmp_path / "data")


def test_nothing_saved_is_revision_zero(store):
    assert store.load().public() == {"rev": 0, "data": {}, "undo": False}


def test_a_saved_state_is_there_after_a_restart(store):
    assert store.save(0, DONE).rev == 1
    again = ProgressStore(store.folder).load()
    assert (again.rev, again.data) == (1, DONE)


@pytest.mark.parametrize("stale", [0, 2, -1])
def test_a_writer_with_another_revision_is_told_the_current_state(store, stale):
    store.save(0, DONE)
    with pytest.raises(Conflict) as refused:
        store.save(stale, {})
    assert (refused.value.current.rev, refused.value.current.data) == (1, DONE)
    assert store.load().data == DONE


def test_two_stores_on_one_folder_see_each_other(store):
    other = ProgressStore(store.folder)
    store.save(0, DONE)
    with pytest.raises(Conflict):
        other.save(0, {"steps": {}})
    assert other.save(1, DONE).rev == 2


@pytest.mark.parametrize(
    "text", ["", "{", '{"rev": 1}', '{"rev": "1", "data": {}}', '{"rev": true, "data": {}}', "[]"]
)
def test_a_damaged_file_is_set_aside_with_a_notice(store, text):
    store.folder.mkdir()
    store.file.write_text(text, encoding="utf-8")
    found = store.load()
    assert (found.rev, found.data) == (0, {})
    assert "progress.damaged-1.json" in found.public()["notice"]
    assert (store.folder / "progress.damaged-1.json").read_text(encoding="utf-8") == text
    assert store.save(0, DONE).rev == 1


def test_a_second_damaged_file_does_not_replace_the_first(store):
    store.folder.mkdir()
    for number, text in enumerate(["first", "second"], start=1):
        store.file.write_text(text, encoding="utf-8")
        store.load()
        aside = store.folder / f"progress.damaged-{number}.json"
        assert aside.read_text(encoding="utf-8") == text


def test_a_crash_while_writing_leaves_the_old_state_and_no_litter(store, monkeypatch):
    store.save(0, DONE)

    def power_cut(source, target):
        raise OSError("power cut")

    monkeypatch.setattr(progress.os, "replace", power_cut)
    with pytest.raises(OSError, match="power cut"):
        store.save(1, {"steps": {"predict": {}, "code": {}}})
    monkeypatch.undo()
    assert store.load().data == DONE
    assert [name for name in os.listdir(store.folder) if name.endswith(".tmp")] == []


def test_a_reset_can_be_undone_and_redone(store):
    store.save(0, DONE)
    reset = store.save(1, {"steps": {"predict": {"choice": "yes"}}})
    assert reset.undo
    back = store.undo()
    assert (back.rev, back.data) == (3, DONE)
    assert store.undo().data == reset.data


def test_an_ordinary_save_does_not_overwrite_what_undo_would_bring_back(store):
    store.save(0, DONE)
    store.save(1, {})
    store.save(2, {"steps": {"table": {}}})
    assert store.undo().data == DONE


def test_there_is_nothing_to_undo_at_first(store):
    store.save(0, DONE)
    with pytest.raises(InvalidInput, match="nothing to undo"):
        store.undo()


def test_import_replaces_the_state_and_can_be_undone(store):
    store.save(0, DONE)
    other = {"steps": {"table": {"p": "1/2"}}}
    assert store.restore({"kind": KIND, "data": other}).data == other
    assert store.undo().data == DONE


@pytest.mark.parametrize(
    "document", [None, [], {}, {"data": {}}, {"kind": KIND}, {"kind": KIND, "data": []}]
)
def test_import_refuses_other_files_and_changes_nothing(store, document):
    store.save(0, DONE)
    with pytest.raises(InvalidInput, match="not exported progress"):
        store.restore(document)
    assert store.load().data == DONE


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_the_page_could_not_read_back_is_refused(store, value):
    store.save(0, DONE)
    with pytest.raises(InvalidInput, match="JSON cannot carry"):
        store.save(1, DONE | {"x": value})
    assert store.load().data == DONE


def test_the_file_on_disk_is_plain_json(store):
    store.save(0, {"note": "½"})
    assert json.loads(store.file.read_text(encoding="utf-8")) == {"rev": 1, "data": {"note": "½"}}


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ({}, {}, False),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, True),
        ({"a": {"b": 1}}, {"a": 1}, True),
        ({"a": {"b": {"c": 1}}}, {"a": {"b": {}}}, True),
        ({"a": {}}, {"a": None}, False),
    ],
)
def test_losing_means_a_key_is_gone(old, new, lost):
    assert loses(old, new) is lost
