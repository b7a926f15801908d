"""A small part of the kills of ``tests/fuzz/kills.py``: a process of its own forks the commands and kills them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from pathlib import Path
from tests.fuzz import kills
folder, chosen = Path(sys.argv[1]), ("metric", "convert", "predict", "stream")
kills.prepare(folder, [case for case in kills.CASES if case.name in chosen])
seeds = [seed for seed, case in enumerate(kills.ROUND) if case.name in chosen]
print([kills.trial(folder, seed) for seed in seeds].count("right"), len(seeds))
"""


def test_commands_that_were_killed_give_the_same_results_when_they_are_run_again(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "11 11\n", done.stdout + done.stderr
