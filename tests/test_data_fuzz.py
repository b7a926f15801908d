"""A part of ``make fuzz`` on data files and folders: whatever the bytes, they are read, or refused by name."""

from __future__ import annotations

import subprocess
import sys


def test_damaged_data_files_and_folders_are_right_or_refused() -> None:
    kinds = ["--only", "data files", "--only", "folders"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *kinds, "--scale", "0.05", "--seed", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "data files" in done.stdout
