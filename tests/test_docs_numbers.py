"""What the pages of docs/design and docs/guide repeat from the code is what the code says."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsekl import DSEKLClassifier, DSEKLRegressor, gram, losses, metric
from dsekl.cli import options
from dsekl.cli.app import FAILED
from dsekl.dask import overview
from dsekl.data import (
    column_encodings,
    column_learners,
    encoder_learner,
    lines,
    npy_header,
    ranks,
    recipe_learner,
    table,
    target,
    target_statistics,
)
from dsekl.estimators import inputs, parameters, seen_tables, units
from dsekl.expansions import FixedSubset, RandomFourier
from dsekl.gram import columns, dense, sparse, stored_points, tables, tree
from dsekl.gram.loops import microtile, walk
from dsekl.kernels import bandwidth
from dsekl.losses import steps
from dsekl.metric import (
    beyond,
    candidates,
    choice,
    comparison,
    descent,
    kind,
    region_distances,
    region_fits,
    relevance,
    score,
    search,
)
from dsekl.metric import (
    data as metric_data,
)
from dsekl.models import compaction, examples, fitting, machine, model, storage
from dsekl.online import dual_steps, mixture, relearning, stream_settings
from dsekl.parts import ascent_in_parts, cuts, gap_of_parts
from dsekl.parts.build import MOST_COPIES
from dsekl.persistence import container
from dsekl.rows import array, stored
from dsekl.rows.digest import HASHED_ROWS
from dsekl.runs import Stopping, progress
from dsekl.runs.role import Role
from dsekl.search import lattice, regions
from dsekl.solvers import DualAscent, block_gradient, preconditioner, shared_memory
from dsekl.solvers.dual import acceleration, active_rows, ascent, conjugate, shrinking
from dsekl.tuning import candidate, halving
from tests.fuzz import (
    checkpoints,
    dask_checkpoints,
    data_files,
    folders,
    journals,
    models,
    online_models,
    stream_files,
    stream_lines,
)
from tests.hops import MAIN_LINE, hops

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "dsekl"

DEFAULTS = {name: parameter.default for name, parameter in parameters.SHARED.items()}
MEGABYTE = machine.MEGABYTE
WORDS = {
    "twice": 2,
    "three": 3,
    "five": 5,
    "six": 6,
    "half": 0.5,
    "fifth": 0.2,
    "tenth": 0.1,
    "third": 1 / 3,
    "quarter": 1 / 4,
    "eighth": 1 / 8,
    "sixteenth": 1 / 16,
}

N = r"([\d,.e^-]*\d)"
"""A number: 4,096 or 0.05 or 1e-5 or 2^20."""

W = r"(\w+)"
"""A number in words."""

NUMBERS: list[tuple[str, str, float]] = [
    ("guide/clusters", rf"those of a sample of {N} rows", encoder_learner.SAMPLE_ROWS),
    ("guide/clusters", rf"one for each {N} rows", cuts.MOST_ROWS),
    ("guide/clusters", rf"a sample of up to {N} rows, drawn", overview.SAMPLE_ROWS),
    ("guide/clusters", rf"drawn from up to {N} times as many", overview.SPARE),
    ("design/dask", rf"looks at, up to {N} where not all", gap_of_parts.MOST_AUDITED),
    ("design/dask", rf"would have more than {N} copies", MOST_COPIES),
    ("design/dask", rf"so every {N} rounds", ascent_in_parts.SNAPSHOT),
    ("design/kernels", rf"draws {N} random pairs", bandwidth.N_PAIRS),
    ("design/metric-and-search", rf"between {N} intervals of its values", relevance.INTERVALS),
    ("design/metric-and-search", rf"0 below {N} standard errors", relevance.NOISE),
    ("design/metric-and-search", rf"and a {W} of a\s+typical share", candidates.FLOOR),
    ("design/metric-and-search", rf"The third start, of {N} columns or more", candidates.MANY_COLUMNS),
    ("guide/metric", rf"\(of {N} columns or more\)", candidates.MANY_COLUMNS),
    ("guide/metric", rf"over {N} intervals of its values", relevance.INTERVALS),
    ("design/losses", rf"SquaredHinge, Logistic \| classification \| {N} ", losses.Hinge.settled_gap),
    ("design/losses", rf"Squared \| both \| {N} ", losses.Squared.settled_gap),
    ("design/losses", rf"Quantile \| regression \| {N} ", losses.Quantile.settled_gap),
    ("design/losses", rf"at most {N} iterations", steps.NEWTON_STEPS),
    ("design/rows", rf"shapes and bytes, {N} rows", HASHED_ROWS),
    ("design/rows", rf"in chunks of {N} entries", array.CHUNK_ENTRIES),
    ("design/rows", rf"Up to a {W} of `memory_budget`", 1 / inputs.HELD_SHARE),
    ("design/rows", rf"bring a page of {N} MB", stored.LARGEST_PAGE / MEGABYTE),
    ("design/rows", rf"span at most {N} MB", stored.PIECE_BYTES / MEGABYTE),
    ("design/rows", rf"can reach, {N} MB at a time", stored_points.HELD_BYTES / MEGABYTE),
    ("design/gram", rf"neighbouring points, at most {N},", tree.LEAF),
    ("design/gram", rf"{N} columns \(8 in float64\)", microtile.LINE_BYTES / 4),
    ("design/gram", rf"lines of {N} bytes", microtile.LINE_BYTES),
    ("design/gram", rf"kernel values of {N} rows with some groups", microtile.TILE_ROWS),
    ("design/gram", rf"sums of {N} rows with 16 columns", microtile.TILE_ROWS),
    ("design/gram", rf"from {N} rows on, points are put", dense.FEWEST_ORDERED),
    ("design/gram", rf"of up to {N} points is cut by NumPy", tree.SMALL_TREE),
    ("design/gram", rf"leaves of at most {N} points", tree.LEAF),
    ("design/gram", rf"Each worker gets {N} tasks", columns.TASKS_A_WORKER),
    ("design/gram", rf"products under {N} multiplications", columns.LEAST_PARALLEL_WORK),
    ("design/gram", rf"Dense rows of {N} columns or more", sparse.WIDE),
    ("design/gram", rf"at most a {W} are not zero", sparse.MOST_FILLED),
    ("design/gram", rf"the sums of {N} columns", walk.TABLE_LINES * microtile.LINE_BYTES / 4),
    ("design/gram", rf"Slabs of {N} features", walk.SLAB_FEATURES),
    ("design/gram", rf"a line of {N} bytes", walk.TABLE_LINES * microtile.LINE_BYTES),
    ("design/gram", rf"budget, or {N} MB", tables.FEWEST_LINES * walk.TABLE_LINES * microtile.LINE_BYTES / MEGABYTE),
    ("design/gram", rf"at most an {W} of the memory", 1 / tables.TABLES),
    ("guide/memory", rf"ends after {N}% of the time at the latest", 100 * machine.SEARCHED_BY),
    ("guide/memory", rf"solver ends after {N}% of the time", 100 * fitting.SOLVED_BY),
    ("guide/memory", rf"{W} of that is for learning feature weights", metric.LEARNED_BY),
    ("design/runs", rf"The search has one at {N}% of the time", 100 * machine.SEARCHED_BY),
    ("design/runs", rf"The solver's is at {N}%\.", 100 * fitting.SOLVED_BY),
    ("guide/memory", rf"takes at most a {W} of `memory_budget`: one row", dense.PACKED_SHARE),
    ("guide/memory", rf"more than {N} entries for each MB", MEGABYTE / (walk.TABLE_LINES * microtile.LINE_BYTES)),
    ("guide/memory", rf"table\s+takes {N} bytes an entry", walk.TABLE_LINES * microtile.LINE_BYTES),
    ("design/expansions", rf"FixedSubset\(n_terms={N}\)", FixedSubset().n_terms),
    ("design/expansions", rf"RandomFourier\(n_terms={N}\)", RandomFourier().n_terms),
    ("design/solvers", rf"one block of {N} rows", DualAscent().block_size),
    ("design/solvers", rf"the rows, {N} at least", ascent.FEWEST_ROWS),
    ("design/solvers", rf"The factor is {N}, with", preconditioner.FIRST_STEP),
    ("design/solvers", rf"with a damping of {N};", preconditioner.DAMPING),
    ("design/solvers", rf"are predicted {N} times as badly", preconditioner.WORSE_THAN_NOTHING),
    ("design/solvers", rf"by more than {N}\nof the ridge", acceleration.MOST_NOISE),
    ("design/solvers", rf"Step t counts t to the power {N}, chosen", preconditioner.AVERAGE),
    ("guide/doubly-stochastic", rf"step t counts about t to the power {N}:", preconditioner.AVERAGE),
    ("guide/doubly-stochastic", rf"\({N} of the curvature of one row\)", preconditioner.DAMPING),
    ("guide/doubly-stochastic", r"\\eta = (\d[\d.]*) \$\$", preconditioner.FIRST_STEP),
    ("design/solvers", rf"share starts at {N} and", ascent.COARSE),
    ("design/solvers", rf"down to {N}\.", ascent.FINE),
    ("design/solvers", rf"tests {N}, 0\.2", shrinking.SLACKS[0]),
    ("design/solvers", rf"0\.4 and {N} of the targets", shrinking.SLACKS[-1]),
    ("design/solvers", rf"at most {N} % may have moved", 100 * ascent.TOLERATED_SHARE),
    ("design/solvers", rf"taken times {N};", ascent.OPTIMISM),
    ("design/solvers", rf"below 1/{N} of the last exact gap", 1 / ascent.TRUST),
    ("design/solvers", rf"unseen_loss / primal\)`, at most {N}\.", ascent.WIDEST_GAP),
    ("design/solvers", rf"is {N} for classification losses", losses.Logistic.settled_gap),
    ("design/solvers", rf"classification losses, {N} for the squared loss", losses.Squared.settled_gap),
    ("design/solvers", rf"squared loss and {N} for the other", losses.Huber.settled_gap),
    ("design/solvers", rf"F of the last {N} epochs", acceleration.MEMORY),
    ("design/solvers", rf"one landmark for {N} rows", conjugate.ROWS_A_LANDMARK),
    ("design/solvers", rf"rows, at least {N} and at most", conjugate.FEWEST_LANDMARKS),
    ("design/solvers", rf"and at most {N}\. Its columns", conjugate.MOST_LANDMARKS),
    ("design/solvers", rf"where more than {N} of the pairs", conjugate.WIDE),
    ("design/solvers", rf"pairs of {N} random rows", conjugate.PROBED),
    ("design/solvers", rf"values above {N}\. Narrow", conjugate.VISIBLE),
    ("design/solvers", rf"After {N} such epochs", conjugate.MOST_EPOCHS),
    ("design/solvers", rf"sweeps may be {N} times as many", active_rows.SWEEPS_OF_ONE_BLOCK),
    ("design/solvers", rf"After {N} epochs in a row", active_rows.SLOW_EPOCHS),
    ("design/solvers", rf"leave more than {N} of the gap", ascent.SLOW),
    ("design/solvers", rf"A block of at most {N} MB", block_gradient.BLOCK_BYTES / MEGABYTE),
    ("design/solvers", rf"boxes leave under {N} of the pairs", shared_memory.MOST_PAIRS_LEFT),
    ("guide/streams", rf"changed: after {N} of them", relearning.LEARNED_AT[0]),
    ("guide/streams", rf"so on, up to {N}, then", relearning.LEARNED_AT[-1]),
    ("design/online", rf"row counts half after {N} rows, in masses", dual_steps.MASS_HALF_LIFE),
    ("guide/streams", rf"with more than {N} columns", mixture.MOST_COLUMNS),
    ("guide/streams", rf"budgets above {N} have", stream_settings.MOST_BUDGET),
    ("design/metric-and-search", rf"{N} steps of 512 rows", descent.N_STEPS),
    ("design/metric-and-search", rf"steps of {N} rows", descent.N_ROWS),
    ("design/metric-and-search", rf"up to {N} centres", descent.N_COLS),
    ("design/metric-and-search", rf"after {N} of the", descent.HALFWAY),
    ("design/metric-and-search", rf"Of up to {N} rows half are centres", descent.HALVED_ROWS),
    ("design/metric-and-search", rf"half are centres, or {N}", descent.FEW_COLS),
    ("design/metric-and-search", rf"The last {N} steps are averaged", descent.N_AVERAGED),
    ("design/metric-and-search", rf"mean of {W} descents", candidates.N_DESCENTS),
    ("design/metric-and-search", rf"There, up to {N} rows, weights", candidates.MOST_REPEATED),
    ("guide/metric", rf"geometric mean of {W} runs", candidates.N_DESCENTS),
    ("design/metric-and-search", rf"Up to {N} rows \(fewer", regions.REGION_ROWS),
    ("design/metric-and-search", rf"many outputs, {N} for ridge", regions.RIDGE_REGION_ROWS),
    ("design/metric-and-search", rf"in up to {N} splits", regions.FOLDS),
    ("design/metric-and-search", rf"as far as {N} rows go", comparison.FEW_ROWS),
    ("design/metric-and-search", rf"of more rows there are up to {W}\.", comparison.MOST_SPLITS),
    ("design/metric-and-search", rf"From {N} rows on there is one split", comparison.FEW_ROWS // 2 + 1),
    ("design/metric-and-search", rf"one split: a {W} is held out", regions.HELD_OUT),
    ("design/metric-and-search", rf"more than 10,000 rows an {W}, but", comparison.JUDGING_SHARE),
    ("design/metric-and-search", rf"but at least {N} and at most", comparison.MORE_ROWS),
    ("design/metric-and-search", rf"and at most {N}\), and twice", comparison.MOST_ROWS),
    ("design/metric-and-search", rf"other than the usual by {N}\.", score.CLEAR),
    ("design/metric-and-search", rf"win by {W} a standard error of the difference", score.DOUBT),
    ("guide/metric", rf"by more than {W} a standard error of the paired", score.DOUBT),
    ("guide/defaults", rf"\| {W} a standard error of the paired difference; beyond", score.DOUBT),
    ("design/metric-and-search", rf"A log loss below {N} counts", metric_data.SURE),
    ("design/metric-and-search", rf"its error and {W} its log loss", score.LOSS_WEIGHT),
    ("guide/metric", rf"their error rate and {W} their log loss", score.LOSS_WEIGHT),
    ("guide/defaults", rf"the latter counting\s+{W};", score.LOSS_WEIGHT),
    ("design/metric-and-search", rf"Above {N} rows only rbf", machine.MOST_HEAVY_ROWS),
    ("design/metric-and-search", rf"an entry {N} deviations", choice.HEAVY_TAIL),
    ("design/metric-and-search", rf"must also save {N} %\s+of the errors", 100 * comparison.LEAST_GAIN),
    ("design/metric-and-search", rf"of the errors, by {N} standard error", choice.DOUBT_OF_MANY),
    ("guide/first-table", rf"more than {N} deviations", ranks.HEAVY_TAIL),
    ("guide/first-table", rf"more than {N} categories", target_statistics.FEW_LEVELS),
    ("guide/first-table", rf"{N} at most, one for all others", seen_tables.MOST_CATEGORIES),
    ("design/metric-and-search", rf"at least {N} % of the held-out rows is wrong", 100 * choice.OVERLAP),
    ("design/metric-and-search", rf"where at least a {W} is wrong", choice.OVERLAP_OF_MANY),
    ("design/metric-and-search", rf"an error of {N} or more", choice.MUCH_OVERLAP),
    ("design/metric-and-search", rf"where at least {W} of the errors", choice.WEAK),
    ("guide/metric", rf"at least {W} of the errors", choice.WEAK),
    ("guide/defaults", rf"at least {W} of the errors", choice.WEAK),
    ("design/metric-and-search", rf"After {N} of them \(the first split", candidates.ENOUGH_ROWS),
    ("design/metric-and-search", rf"with at least {N} held-out rows \(1,200", search.FIRST_ROWS),
    ("design/metric-and-search", rf"held-out rows \({N} for ridge\), and half", search.FIRST_RIDGE_ROWS),
    ("design/metric-and-search", rf"\(all of fewer than {N};", 2 * search.FEWEST_SKETCHED),
    ("design/metric-and-search", rf"every third where {N} rows", regions.THINNED_ROWS),
    ("design/metric-and-search", rf"A fit takes {N} sweeps there where", region_fits.SKETCH_SWEEPS[0]),
    ("design/metric-and-search", rf"where C is at most {N}, and 30", kind.FIRST_C),
    ("design/metric-and-search", rf"where C is at most 4, and {N} else", region_fits.SWEEPS[1]),
    ("design/metric-and-search", rf"win by {N} standard errors ends there", score.CLEAR),
    ("design/metric-and-search", rf"if it is {W} a one behind", score.BEHIND - score.CLEAR),
    ("design/metric-and-search", rf"others if they are {N} behind", score.HOPELESS),
    ("design/metric-and-search", rf"a {W} of them judges each setting first", 1 / search.FIRST_REGIONS),
    ("design/metric-and-search", rf"of at least {N} held-out rows so few", score.ENOUGH_ROWS),
    ("guide/defaults", rf"of at least {N} held-out rows so few", score.ENOUGH_ROWS),
    ("design/metric-and-search", rf"Up to a C of {N} the factor", region_fits.MOST_SINGLE_C),
    ("design/metric-and-search", rf"Up to {N} rows the splits are fitted once more", regions.REGION_ROWS),
    ("guide/metric", rf"at least {N} % of the rows are misclassified", 100 * choice.OVERLAP),
    ("guide/metric", rf"and a loss by one and by {N} % of the errors", 100 * comparison.LEAST_GAIN),
    ("guide/metric", rf"extrapolates better: {N} %", 100 * beyond.SHARE),
    ("guide/defaults", rf"On more than {N} rows C is", kind.MANY_ROWS),
    ("guide/defaults", rf"rows C is at most {N},", kind.FIRST_C * lattice.C_STEP**kind.C_STEPS_OF_MANY),
    ("guide/defaults", rf"on more than {N} at most", kind.VERY_MANY_ROWS),
    ("guide/defaults", rf"[0-9] at most {N}, but for ridge", kind.FIRST_C * lattice.C_STEP**kind.C_STEPS_OF_VERY_MANY),
    ("design/metric-and-search", rf"and at most {N} rows, candidates", comparison.WHOLE_ROWS),
    ("design/metric-and-search", rf"tell apart by {N} standard errors", score.DECIDED),
    ("design/metric-and-search", rf"does so every {N} steps", descent.KEPT_STEPS),
    ("design/metric-and-search", rf"take no more\s+than {N} MB", region_distances.KEPT_BYTES / MEGABYTE),
    ("design/metric-and-search", rf"{N} rows in all decide between candidates", comparison.FEW_ROWS),
    ("design/metric-and-search", rf"more than {N} rows an eighth", comparison.WHOLE_ROWS),
    ("design/metric-and-search", rf"in factors of {N} \(gamma\)", lattice.WIDTH_STEP),
    ("design/metric-and-search", rf"and {N} \(C\)", lattice.C_STEP),
    ("design/metric-and-search", rf"begins at {W} widths", len(search.STARTS)),
    ("design/metric-and-search", rf"on at least {N} dense rows", metric.FEWEST_ROWS),
    ("design/metric-and-search", rf"its centres, at most {N} entries", descent.MOST_ENTRIES),
    ("design/metric-and-search", rf"\(or {N} centres of very wide", descent.FEWEST_COLS),
    ("design/metric-and-search", rf"A region of {N} rows", regions.REGION_ROWS),
    ("design/runs", rf"max_epochs \({N}\)", Stopping().max_epochs),
    ("design/runs", rf"patience \({N}\)", Stopping().patience),
    ("design/runs", rf"written every {N} seconds", DEFAULTS["checkpoint_interval"]),
    ("design/runs", rf"notebook after {N} second", progress.PATIENCE_SECONDS),
    ("design/models", rf"places at most {N} rows", model.QUERY_ROWS),
    ("design/models", rf"Up to {N} rows doubles", machine.MOST_DOUBLE_ROWS),
    ("design/models", rf"for C above {N}:", machine.MOST_SINGLE_C),
    ("design/models", rf"differ by more than {N} times", machine.SCALE_RATIO),
    ("design/models", rf"in at most {N} rows\.", machine.SCALE_ROWS),
    ("design/models", rf"in at most {N} tries", compaction.TRIES),
    ("design/estimators", rf"`SHARED` has {N} parameters", len(parameters.SHARED)),
    ("design/estimators", rf"and has {N}\.", len(inspect.signature(DSEKLClassifier).parameters)),
    ("design/estimators", rf"and {N} parameters should", len(inspect.signature(DSEKLClassifier).parameters)),
    ("design/estimators", rf"The budget is {N} megabytes", DEFAULTS["memory_budget"]),
    ("design/persistence", rf"kernel values of {N} points", storage.WITNESSES),
    ("design/persistence", rf"at most {N} characters", container.MOST_HEADER),
    ("design/persistence", rf"It is {N}\. Files", container.FORMAT),
    ("design/persistence", rf"forges {N} model files", models.COUNT),
    ("design/persistence", rf"model files, {N} of online models", online_models.COUNT),
    ("design/persistence", rf"online models and {N} of streams", stream_files.COUNT),
    ("design/persistence", rf"of streams, {N}\s+checkpoints of every solver", checkpoints.COUNT),
    ("design/persistence", rf"every solver and {N} of fits on Dask", dask_checkpoints.COUNT),
    ("guide/promises", rf"`make fuzz`: {N} forged model files", models.COUNT),
    ("guide/promises", rf"forged model files, {N} of online models", online_models.COUNT),
    ("guide/promises", rf"of online models, {N} of streams", stream_files.COUNT),
    ("guide/promises", rf"of streams, {N} forged checkpoints", checkpoints.COUNT),
    ("guide/promises", rf"forged checkpoints and {N} of fits on Dask", dask_checkpoints.COUNT),
    ("guide/promises", rf"data files, {N} damaged streams", stream_lines.COUNT),
    ("design/data-and-cli", rf"exit codes 0 success, {N} the run", FAILED),
    ("design/data-and-cli", rf"at most {N} entries and", table.CELLS),
    ("design/data-and-cli", rf"entries and {N} rows", table.MOST_ROWS),
    ("design/data-and-cli", rf"A line has at most {N} bytes", lines.LONGEST_LINE),
    ("design/data-and-cli", rf"a table {N} columns", table.MOST_COLUMNS),
    ("design/data-and-cli", rf"an npy header {N} bytes", npy_header.LONGEST_HEADER),
    ("design/data-and-cli", rf"beyond {N}, whose squares overflow", column_encodings.LARGEST),
    ("design/data-and-cli", rf"reads {N} damaged and forged files", data_files.COUNT),
    ("design/data-and-cli", rf"forged files, {N} folders", folders.COUNT),
    ("design/data-and-cli", rf"folders and {N} journals", journals.COUNT),
    ("design/data-and-cli", rf"encoded: {N} categories", recipe_learner.Options().max_categories),
    ("design/data-and-cli", rf"each with {N} training rows", column_learners.MIN_FREQUENCY),
    ("design/data-and-cli", rf"up to {N} different integers", target.MOST_INFERRED_CLASSES),
    ("design/data-and-cli", rf"The share is {N} by default", options.DEFAULT_VALIDATION),
    ("design/data-and-cli", rf"by default, from {N} rows on", options.FEWEST_ROWS_TO_SPLIT),
    ("design/experiments-and-tuning", rf"fitted on {N} whole regions", halving.RUNGS_OF_REGIONS[0]),
    ("design/experiments-and-tuning", rf"better {W} on 16", halving.KEPT_SHARE),
    ("design/experiments-and-tuning", rf"third on {N}, and", halving.RUNGS_OF_REGIONS[1]),
    ("design/experiments-and-tuning", rf"the last {N} on all rows", halving.FINALISTS),
    ("design/experiments-and-tuning", rf"split in {N} ways", regions.FOLDS),
    ("design/experiments-and-tuning", rf"compared on {N}, 3 and 5", halving.RUNGS_OF_SPLITS[0]),
    ("design/experiments-and-tuning", rf"{N} steps of the lattice", candidate.WIDTH_STEPS),
    ("design/experiments-and-tuning", rf"more than {N} columns", halving.TREE_COLUMNS),
    ("guide/callbacks", rf"longer than (?:one|a) {W}", progress.PATIENCE_SECONDS),
    ("guide/checkpoints", rf"\({N} by default; 0", DEFAULTS["checkpoint_interval"]),
    ("guide/choosing-a-loss", rf"by name has {N} \(`delta`\)", losses.Huber().delta),
    ("guide/choosing-a-loss", rf"or {N} \(`epsilon`\)", losses.EpsilonInsensitive().epsilon),
    ("guide/choosing-a-loss", rf"interquartile range / {N},", units.NORMAL_RANGE),
    ("guide/reproducibility", rf"interquartile range / {N}\)", units.NORMAL_RANGE),
    ("guide/reproducibility", rf"up to\s+{N} entries", examples.MOST_ENTRIES),
    ("design/models", rf"up to {N} entries", examples.MOST_ENTRIES),
    ("guide/choosing-a-solver", rf"number of blocks; it is {N}\.", DualAscent().block_size),
    ("guide/dual-ascent", rf"{N} for classification losses", losses.Hinge.settled_gap),
    ("guide/dual-ascent", rf"losses, {N} for the\s+squared loss", losses.Squared.settled_gap),
    ("guide/dual-ascent", rf"squared\s+loss and {N} for the other", losses.Quantile.settled_gap),
    ("guide/dual-ascent", rf"rows but at least {N},", ascent.FEWEST_ROWS),
    ("guide/dual-ascent", rf"\s{W} epochs, which costs no kernel value", acceleration.MEMORY),
    ("guide/large-data", rf"at most a {W} of `memory_budget`", 1 / inputs.HELD_SHARE),
    ("guide/large-data", rf"float32 beyond {N}\s", machine.MOST_DOUBLE_ROWS),
    ("guide/memory", rf"squared loss, {W} past epochs", acceleration.MEMORY),
    ("guide/memory", rf"\| N o times {N} \|", 2 * 8 * acceleration.MEMORY),
    ("guide/memory", rf"8 up to {N} rows", machine.MOST_DOUBLE_ROWS),
    ("guide/memory", rf"for C above {N}, or", machine.MOST_SINGLE_C),
    ("guide/memory", rf"`memory_budget`, {N} MB by default", DEFAULTS["memory_budget"]),
    ("guide/memory", rf"at most {N} entries", descent.MOST_ENTRIES),
    ("guide/memory", rf"or {N} centres", descent.FEWEST_COLS),
    ("guide/memory", rf"regions of {N} rows", regions.REGION_ROWS),
    ("guide/memory", rf"takes at most {N} rows at a time", model.QUERY_ROWS),
    ("guide/metric", rf"at least {N} dense rows", metric.FEWEST_ROWS),
    ("guide/metric", rf"step draws {N} rows", descent.N_ROWS),
    ("guide/metric", rf"There are {N} steps", descent.N_STEPS),
    ("guide/metric", rf"Up to {N} rows \(fewer", regions.REGION_ROWS),
    ("guide/metric", rf"there are up to {W} splits", regions.FOLDS),
    ("guide/metric", rf"On larger data one {W} of the rows", regions.HELD_OUT),
    ("guide/metric", rf"if it is better by {N} standard errors", score.CLEAR),
    ("guide/metric", rf"On more than {N} rows", machine.MOST_HEAVY_ROWS),
    ("guide/metric", rf"widths in factors of {N} and", lattice.WIDTH_STEP),
    ("guide/metric", rf"C in factors of {N},", lattice.C_STEP),
    ("guide/metric", rf"up to {N} centres", descent.N_COLS),
    ("guide/pruning", rf"at most {N} points", tree.LEAF),
]  # fmt: skip


def value_of(text: str) -> float:
    """Return a number as a page has it, in digits or in words."""
    if text in WORDS:
        return WORDS[text]
    if text == "second":
        return 1.0
    base, _, power = text.replace(",", "").partition("^")
    return float(base) ** float(power or 1)


@pytest.mark.parametrize(("page", "pattern", "value"), NUMBERS)
def test_a_number_on_a_page_is_that_of_the_code(page: str, pattern: str, value: float) -> None:
    # Where a page breaks its lines is no matter.
    found = re.findall(re.sub(r"(?<!\\) ", r"\\s+", pattern), (DOCS / f"{page}.md").read_text())
    assert len(found) == 1, f"docs/{page}.md has {len(found)} places that say {pattern!r}; correct the test or the page"
    assert value_of(found[0]) == pytest.approx(value), f"docs/{page}.md says {found[0]}; the code has {value}"


def lines_of_table(page: str, first: str) -> Iterator[list[str]]:
    """Return the cells of a table whose header begins with ``first``."""
    text = (DOCS / f"{page}.md").read_text()
    body = text[text.index(f"| {first} |") :].split("\n\n")[0]
    for line in body.splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_glossary_of_gram_is_that_of_its_docstring() -> None:
    words = dict(lines_of_table("design/gram", "word"))
    assert gram.__doc__ is not None
    known = dict(re.findall(r"^(\w+) {2,}(\S.*)$", gram.__doc__, re.MULTILINE))
    assert {word: meaning.replace("`", "") for word, meaning in words.items()} == {
        word: meaning.replace("`", "") for word, meaning in known.items()
    }


def test_the_roles_are_those_of_the_code() -> None:
    yes = {True: "yes", False: "no"}
    listed = {name: cells for name, _, *cells in lines_of_table("design/runs", "role")}
    assert {name: cells[:2] for name, cells in listed.items()} == {
        role.name: [yes[role.in_file], yes[role.in_identity]] for role in Role
    }


def test_the_parameters_have_the_roles_that_the_page_lists() -> None:
    roles = {**DSEKLClassifier._roles, **DSEKLRegressor._roles}
    listed = {name: role for role, names in lines_of_table("design/estimators", "role") for name in names.split(", ")}
    assert listed == {name: role.name for name, role in roles.items()}


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a file of dsekl imports from."""
    place = path.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dsekl" and not node.level:
            rest = str(node.module).split(".")[1:]
            yield from rest[:1] or (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level >= len(place) and node.module:
            yield node.module.split(".")[0]


def test_the_packages_import_what_the_table_says() -> None:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        found.setdefault(package, set()).update(imported(path))
    from_the_top = {"DSEKLClassifier": "estimators", "DSEKLRegressor": "estimators", "load": "estimators"}
    packages = {
        package: {from_the_top.get(name, name) for name in names} - {package}
        for package, names in found.items()
        if not package.startswith("__")
    }
    listed = {
        package.strip("`/").removesuffix(".py"): set(filter(None, names.split(", ")))
        for package, _, names in lines_of_table("design/index", "package")
    }
    assert listed == packages


def test_the_hops_of_a_default_fit_are_those_that_the_page_lists() -> None:
    everything = hops()
    main_line = [hop for hop in everything if hop[0].startswith(MAIN_LINE)]
    page = (DOCS / "design" / "index.md").read_text()
    listed = re.findall(r"^\d+\. .*?to `([^`]+)`: `([^`]+)`", page, re.MULTILINE)
    assert listed == [(called, name) for _, called, name in main_line]
    counts = re.search(r"There are (\d+) on this main line, and (\d+) in (\d+) files", page)
    assert counts is not None
    assert [int(count) for count in counts.groups()] == [
        len(main_line),
        len(everything),
        len({called for _, called, _ in everything}),
    ]
