"""The tables of benchmarks/distributed.py, made of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cells
from report import Section, table

COMMAND = "python benchmarks/distributed.py"

Cell = dict[str, Any]


def covertype_table(found: dict[str, Cell]) -> str:
    lines = []
    for name, cell in found.items():
        settings, who = name.split(", ")
        local = found[f"{settings}, two threads"]["seconds"]
        lines.append([settings, who, f"{cell['seconds']:.1f}", f"{cell['seconds'] / local:.2f}", cell["rounds"],
                      f"{cell['gap']:.4f}", f"{100 * cell['error']:.2f} %"])  # fmt: skip
    words = f"{next(iter(found.values()))['rows']:,} training rows. The rows are on the workers when the clock starts."
    header = ["settings", "who", "seconds", "over local", "epochs or rounds", "gap", "test error"]
    return f"{words}\n\n{table(header, sorted(lines, key=lambda line: (line[0] != 'fixed', line[1])))}"


def workers_table(found: dict[str, Cell]) -> str:
    lines = [[n, cell["rounds"], cell["terms"], "yes" if cell["same"] else "no"] for n, cell in found.items()]
    rows = f"{next(iter(found.values()))['rows']:,} rows of covertype."
    return f"{rows}\n\n{table(['workers', 'rounds', 'terms', 'the bits of one worker'], lines)}"


def kills_table(found: dict[str, Cell]) -> str:
    lines = [[f"{cell['rows']:,}", cell["rounds"], cell["kills"], cell["restarts"], cell["fits"],
              "yes" if cell["same"] else "no"] for cell in found.values()]  # fmt: skip
    words = "Two workers. Fits go on, one after the other, until all kills are done; a nanny starts workers again."
    header = ["rows", "rounds of a fit", "SIGKILLs", "restarts of all", "fits", "all with the bits of a fit in peace"]
    return f"{words}\n\n{table(header, lines)}"


def scheduler_table(found: dict[str, Cell]) -> str:
    lines = [[f"{cell['rows']:,}", cell["rounds"], cell["killed"], int(cell["first"]), "yes" if cell["same"] else "no"]
             for cell in found.values()]  # fmt: skip
    header = ["rows", "rounds of a fit", "scheduler killed after", "resumed with round", "the bits of a fit in peace"]
    return f"The fit says: {next(iter(found.values()))['said']}.\n\n{table(header, lines)}"


def memory_table(found: dict[str, Cell]) -> str:
    lines = [[f"{cell['rows']:,} x {cell['columns']}", f"{cell['gigabytes']:.1f}", f"2 x {cell['limit']}",
              ", ".join(f"{peak:.0f}" for peak in cell["peaks"]), f"{cell['client']:.0f}", cell["rounds"],
              f"{cell['gap']:.3f}", f"{100 * cell['error']:.2f} %"] for cell in found.values()]  # fmt: skip
    header = ["rows in parquet", "GB as float64", "limit of the workers, MB", "peaks of the workers, MB",
              "peak of client and scheduler, MB", "rounds", "gap", "test error"]  # fmt: skip
    words = (
        "Rows drawn from covertype, every column three times, with noise of its own in each that has numbers; those of "
        "the test are drawn from other rows. There is a part for each 15,000 rows, as building one takes several times "
        "its memory. All training rows are predicted too. A peak is given for every process that a worker had. "
        "What Python and the libraries take is in all peaks."
    )
    return f"{words}\n\n{table(header, lines)}"


def traffic_table(found: dict[str, Cell]) -> str:
    lines = []
    for name, cell in sorted(found.items(), key=lambda item: (item[0][0], int(item[0].split(", ")[-1]))):
        data, n_parts = name.rsplit(", ", 1)
        lines.append([data, f"{cell['rows']:,}", n_parts, cell["rounds"], f"{cell['halo']:.2f}",
                      "yes" if cell["wide"] else "no", f"{cell['received'] / 2e6:.3f}", f"{cell['most'] / 2e6:.3f}",
                      f"{cell['sent'] / 2e6:.2f}", f"{cell['values']:.2g}"])  # fmt: skip
    header = ["data", "rows", "parts", "rounds", "copies of a row", "wide", "MB a round between parts, per worker",
              "the most", "MB a round that each worker sends in all", "kernel values"]  # fmt: skip
    words = (
        "Two workers. Between parts go coefficients, and points where the kernel is wide; half of the parts are on the "
        "same worker, where nothing need be sent. What a worker sends in all is Dask's own count, to other workers and "
        "to the client. Cuts, every sixth round, and the certificate's rows are in it, and so are parts that "
        "Dask moves to a worker that has nothing to do."
    )
    return f"{words}\n\n{table(header, lines)}"


SETTINGS_OF_BOTH = (
    "Defaults of dsekl; DaskLGBMClassifier of LightGBM with 1,000 trees of 255 leaves; two workers of one thread."
)


def lightgbm_table(found: dict[str, Cell]) -> str:
    lines = [[name, f"{cell['seconds']:.1f}", f"{100 * cell['error']:.2f} %"] for name, cell in found.items()]
    words = f"{next(iter(found.values()))['rows']:,} training rows of covertype. {SETTINGS_OF_BOTH}"
    return f"{words}\n\n{table(['who', 'seconds', 'test error'], lines)}"


def killed_table(found: dict[str, Cell]) -> str:
    moments = list(next(iter(found.values()))["killed"])
    lines = [[name, *(cell["killed"][moment] for moment in moments)] for name, cell in found.items()]
    words = (
        f"{next(iter(found.values()))['rows']:,} training rows of covertype. {SETTINGS_OF_BOTH} A worker is killed "
        "after a share of the time that a fit takes in peace, each time in a fit and a cluster of its own, whose nanny "
        "starts another worker. A fit is waited for, for a minute and twice its time in peace."
    )
    return f"{words}\n\n{table(['who', *(f'killed after {moment}' for moment in moments)], lines)}"


TABLES: dict[str, Callable[[dict[str, Cell]], str]] = {
    "covertype": covertype_table,
    "workers": workers_table,
    "kills": kills_table,
    "scheduler": scheduler_table,
    "memory": memory_table,
    "traffic": traffic_table,
    "lightgbm": lightgbm_table,
    "killed": killed_table,
}


def sections() -> Iterator[Section]:
    """Yield the sections that are made from the file of results."""
    import distributed_model as model_of

    found = cells.read(cells.RESULTS / "distributed.json")
    for section, made in TABLES.items():
        if section in found:
            yield Section(f"Many machines: {section}", f"DSEKL_DATA=... {COMMAND} {section}", made(found[section]))
    if model_of.can_be_made(found):
        yield Section("Many machines: a model", f"{COMMAND} publish", model_of.model_table(found))
