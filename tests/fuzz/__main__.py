"""``python -m tests.fuzz [--seed S] [--scale F] [--only NAME ...] [--trial N]``: exit code 1 if any trial failed."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import cast

# Before NumPy is imported: trials are small, and the threads of a pool do not outlive a fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzz import harness

SEEDS_A_RUN = 10**6
"""Trials that one ``--seed`` may have: the next one begins behind them."""

SHOWN_FAILURES = 20


def kinds() -> list[harness.Kind]:
    """Return the modules of this folder that have trials."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [import_module(f"tests.fuzz.{name}") for name in names if name not in ("__init__", "__main__", "harness")]
    return [cast("harness.Kind", module) for module in modules if "trial" in vars(module)]


def main() -> int:
    """Run what is asked for, and print the table."""
    found = {kind.NAME: kind for kind in kinds()}
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another seed forges other files")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full number of trials")
    parser.add_argument("--only", action="append", choices=sorted(found), help="this kind of file (repeatable)")
    parser.add_argument("--trial", type=int, help="repeat this one trial")
    asked = parser.parse_args()
    results = []
    for name in asked.only or found:
        count = max(1, round(asked.scale * found[name].COUNT))
        first = asked.seed * SEEDS_A_RUN
        seeds = range(first, first + count) if asked.trial is None else range(asked.trial, asked.trial + 1)
        result = harness.run(found[name], seeds)
        results.append(result)
        for seed, words in sorted(result.failures.items())[:SHOWN_FAILURES]:
            print(f"{name}: {words}\n    python -m tests.fuzz --only {name!r} --trial {seed}", flush=True)
    print("\n".join(harness.table(results)))
    return int(any(result.failures for result in results))


if __name__ == "__main__":
    sys.exit(main())
