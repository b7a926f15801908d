"""The one atomic writer: whole files or none, whatever happens while they are written."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dsekl.atomic import replacing, replacing_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit], ids=lambda error: error.__name__)
def test_what_goes_wrong_leaves_the_old_file_and_no_draft(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "m"
    write(path, b"old")
    with pytest.raises(error), replacing(path) as file:  # noqa: PT012 - the writing is what is broken off
        file.write(b"half of the new")
        assert len(names(tmp_path)) == 2
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["m"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666], ids=oct)
def test_a_file_that_is_replaced_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(mode)
    mask = os.umask(0o077)
    try:
        write(path, b"new")
    finally:
        os.umask(mask)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write(tmp_path / "m", b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "x" * 250 + ".csv", "数" * 85], ids=len)
def test_the_longest_names_that_there_are_can_be_written(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, b"old")
    with replacing(tmp_path / name) as file:
        file.write(b"new")
        assert all(len(os.fsencode(found)) <= 255 for found in names(tmp_path))
    assert (tmp_path / name).read_bytes() == b"new"
    assert names(tmp_path) == [name]


def test_a_link_stays_a_link_and_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "m", b"old")
    (tmp_path / "link").symlink_to("m")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m").read_bytes() == b"new"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop", b"new")


def test_no_draft_is_written_through_a_link_that_somebody_planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one who guesses the random name of a draft can put nothing in its way but an error."""
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 2 * n)
    with replacing(tmp_path / "m"):
        (draft,) = names(tmp_path)
    (tmp_path / "m").unlink()
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / draft).symlink_to("victim")
    with pytest.raises(FileExistsError):
        write(tmp_path / "m", b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a device or a pipe"):
        write(tmp_path / "pipe", b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    with replacing_text(tmp_path / "t") as file:
        file.write("é\r\nb\n")
    assert (tmp_path / "t").read_bytes() == "é\r\nb\n".encode()


WRITE_AND_WAIT = """
    import os, sys, time
    from pathlib import Path
    from dsekl.atomic import replacing
    with replacing(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_the_draft_of_a_killed_process_is_removed_and_that_of_a_live_one_is_not(number: int, tmp_path: Path) -> None:
    path, command = tmp_path / "m", [sys.executable, "-c", textwrap.dedent(WRITE_AND_WAIT)]
    write(path, b"old")
    with (
        subprocess.Popen([*command, path], stdout=subprocess.PIPE) as killed,
        subprocess.Popen([*command, path], stdout=subprocess.PIPE) as alive,
    ):
        assert killed.stdout is not None
        assert alive.stdout is not None
        killed.stdout.readline()
        alive.stdout.readline()
        (tmp_path / ".m.part").write_bytes(b"somebody's own")
        killed.send_signal(number)
        killed.wait()
        assert len(names(tmp_path)) == 4
        write(path, b"new")
        assert len(names(tmp_path)) == 3, "the other is still being written"
        alive.kill()
        alive.wait()
    write(path, b"newer")
    assert names(tmp_path) == [".m.part", "m"]
    assert path.read_bytes() == b"newer"


def save_and_load(path: Path, letter: bytes, count: int) -> None:
    for n in range(count):
        write(path, letter * (1000 + 977 * n))
        found = path.read_bytes()
        if len(found) < 1000 or set(found) != {found[0]}:
            os._exit(1)


def test_whoever_reads_finds_one_whole_file_however_many_write(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("spawn")
    workers = [fork.Process(target=save_and_load, args=(tmp_path / "m", letter, 40)) for letter in (b"a", b"b", b"c")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert names(tmp_path) == ["m"]
