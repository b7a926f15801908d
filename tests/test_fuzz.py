"""A small part of ``make fuzz``, and that its harness notices every kind of failure."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

KINDS = (
    "model files", "online models", "stream files", "stream lines", "checkpoints", "checkpoints of Dask", "power cuts",
    "concurrent writers",
)  # fmt: skip


def test_a_hundredth_of_all_forged_files_is_right_or_refused() -> None:
    """In a process of its own, without threads, which forks its trials."""
    chosen = [word for kind in KINDS for word in ("--only", kind)]
    command = [sys.executable, "-m", "tests.fuzz", "--scale", "0.01", "--seed", "7", *chosen]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {line[:24].strip() for line in done.stdout.splitlines()} >= set(KINDS)


FAILING = """
    import os, signal, sys, time
    from pathlib import Path
    from tests.fuzz import harness

    harness.MOST_SECONDS, harness.BATCH = 0.5, 4

    class Kind:
        NAME, COUNT = "failing", 20
        prepare = staticmethod(lambda folder: (folder / "genuine").write_text("x"))

        @staticmethod
        def trial(folder: Path, seed: int) -> str:
            assert (folder / "genuine").read_text() == "x"
            match seed:
                case 3:
                    raise KeyError("nothing")
                case 5:
                    os.kill(os.getpid(), signal.SIGSEGV)
                case 6:
                    time.sleep(60)
                case 9:
                    bytearray(2**31)
                case 11:
                    return "nearly right"
                case 13:
                    os._exit(3)
            return "right" if seed % 2 else "refused"

    result = harness.run(Kind, range(20))
    assert result.outcomes == {"right": 5, "refused": 9, "failed": 6}, result.outcomes
    for seed, words in sorted(result.failures.items()):
        print(seed, words.partition(" (<")[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_the_harness_notices_every_kind_of_failure_and_goes_on_behind_it() -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(FAILING)], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "3 KeyError: 'nothing'",
        "5 the process died (SIGSEGV)",
        "6 it took more than 0 seconds",
        "9 MemoryError: ",
        "11 nearly right",
        "13 the process died (no signal)",
    ], done.stdout + done.stderr
