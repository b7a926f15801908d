"""Budgeted dual ascent, one row at a time: the doubly stochastic scheme on a stream, for every loss.

For each row, in the order in which they come:

1. its kernel values with the points of the buffer give f;
2. if its own coefficient is not best at 0, it enters the buffer with the exact dual step of its loss;
3. ``n_cols`` random points of the buffer take their own exact steps;
4. over the budget, the buffer loses a point (``maintenance``);
5. the average of the coefficients moves towards them.

A point's coefficients are bounded by C times its mass, the weight of the rows that it stands for.

Machines that forget at different rates share the buffer and the kernel row. Their predictions, and those of their
averages, are weighted by ``exp(-recent loss)``: where nothing changes the average is best, where much does, the last
coefficients are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsekl.compiled import njit

from .buffer import ARRIVAL, FACTOR, LABEL, REGRET, SCRATCH, SIZE, Floats, part, split
from .buffer_points import add, dot, kernel_row, own_value, random_below
from .callbacks import call_shrink, call_step
from .odds import wrong_class
from .pairs import least_regret, trust

SMALL = 0.02
"""Steps that move their own prediction by less are left out; margins are 1, and targets have spread 1.

Where C, or a weight, lets no step move it by 1, it is this share of what it lets."""

RATE = 0.02
"""Share of the new coefficients in their average: what the last fifty rows happened to say cancels out."""

RECENT = 0.99
"""Share that a machine's losses keep with each row."""

LEAST_TRUST = 0.1
"""Weight of a machine, over that of the best, from which on it has a say in which rows enter."""

MASS_HALF_LIFE = 50_000
"""Rows after which a row counts half in the mass of its point."""

SMALLEST_FACTOR = 1e-6
"""Of forgetting; then it is multiplied out."""


class Compared(NamedTuple):
    """What compares two points, for compiled code."""

    pairwise: int
    profile: int
    """The address of the kernel's profile."""
    params: Floats


class Ascent(NamedTuple):
    """What decides on the steps, for compiled code."""

    step: int
    """The address of the loss's ``dual_step``."""
    shape: float
    C: Floats
    """Of each machine."""
    n_cols: int
    shrink: int
    """The address of what happens over the budget."""
    tilt: float
    """Share of the loss that a prediction below its target has: 0.5, but for quantiles; 0 for classes."""
    by_errors: bool
    """Whether machines are weighed by their errors: where there are several classes."""


class Rows(NamedTuple):
    """Rows as points (n, n_features), targets (n, n_outputs), weights (n,) and labels (n,)."""

    points: Floats
    targets: Floats
    weights: Floats
    labels: NDArray[np.int64]
    beside: Floats
    """What stands beside the sum over points, (n, n_outputs)."""


@part()
def step_at(b: Any, n: int, j: int, a: Any) -> None:
    """Let point j take the exact step of each of its coefficients."""
    coef, f, _, targets, mass, _, beside = split(b)
    for g in range(coef.shape[0]):
        m = g // b.outputs
        o = g - m * b.outputs
        factor, own = b.machines[FACTOR, m], b.kernel[j, j]
        old = factor * coef[g, j]
        bound = a.C[m] * factor * mass[m, j]
        new = call_step(a.step, targets[o, j], old, factor * f[g, j] + beside[o, j], own, bound, a.shape)
        if abs(new - old) * own > SMALL * min(1.0, bound * own):
            change = (new - old) / factor
            coef[g, j] += change
            add(f[g], b.kernel[j], n, change)


@part()
def enter(b: Any, row: Any, sums: Any, start: Any, rows: Any, r: int, arrival: int) -> None:
    """Put row r into the buffer, with coefficients ``start``; ``row`` has its kernel values, its own the last.

    ``sums`` are those over the points, as they are stored.
    """
    coef, f, average, targets, mass, rest, beside = split(b)
    n = np.int64(b.counts[SIZE])
    for k in range(b.points.shape[0]):
        b.points[k, n] = rows.points[r, k]
    for j in range(n + 1):
        b.kernel[n, j] = row[j]
        b.kernel[j, n] = row[j]
    for g in range(coef.shape[0]):
        stored = start[g] / b.machines[FACTOR, g // b.outputs]
        coef[g, n] = stored
        average[g, n] = 0.0
        f[g, n] = sums[g]
        add(f[g], row, n + 1, stored)
    for o in range(b.outputs):
        targets[o, n] = rows.targets[r, o]
        beside[o, n] = rows.beside[r, o]
    for m in range(mass.shape[0]):
        mass[m, n] = rows.weights[r] / b.machines[FACTOR, m]
    rest[LABEL, n] = rows.labels[r]
    rest[ARRIVAL, n] = arrival
    b.counts[SIZE] = n + 1


@part()
def predict(b: Any, n: int, row: Any, beside: Any, sums: Any, lines: Any) -> None:
    """Put what each machine predicts into ``lines``, and behind that what their averages do.

    ``sums`` become those over the points with the coefficients as they are stored.
    """
    coef, _, average, _, _, _, _ = split(b)
    for g in range(coef.shape[0]):
        factor = b.machines[FACTOR, g // b.outputs]
        own = beside[g % b.outputs]
        sums[g] = dot(coef[g], row, n)
        lines[g] = factor * sums[g] + own
        lines[coef.shape[0] + g] = factor * dot(average[g], row, n) + own


@part()
def combine(b: Any, lines: Any, out: Any) -> None:
    """Put the mean of all predictions, weighted by their recent losses, into ``out``."""
    least, total, machines = least_regret(b.machines), 0.0, b.machines.shape[1]
    for o in range(b.outputs):
        out[o] = 0.0
    for place in range(2 * machines):
        weight = np.exp(least - b.machines[REGRET + place // machines, place % machines])
        total += weight
        for o in range(b.outputs):
            out[o] += weight * lines[place * b.outputs + o]
    for o in range(b.outputs):
        out[o] /= total


@part()
def judge(b: Any, lines: Any, targets: Any, a: Any) -> None:
    """Count the losses of all predictions of a row: errors of classes, else distances from margin or target."""
    machines = b.machines.shape[1]
    for place in range(2 * machines):
        f, loss = lines[place * b.outputs : (place + 1) * b.outputs], 0.0
        if a.by_errors:
            loss = 1.0 if wrong_class(f, targets) else 0.0
        else:
            for o in range(b.outputs):
                y = targets[o]
                if a.tilt == 0.0:
                    loss += 0.5 * max(0.0, 1.0 - max(-1.0, y * f[o])) / b.outputs
                else:
                    loss += 2.0 * (a.tilt * max(0.0, y - f[o]) + (1.0 - a.tilt) * max(0.0, f[o] - y)) / b.outputs
        kind, m = REGRET + place // machines, place % machines
        b.machines[kind, m] = RECENT * b.machines[kind, m] + loss


@part()
def age(b: Any, n: int, keep: Any, sums: Any) -> None:
    """Let each machine forget a little; ``sums`` over the points are of coefficients as they are stored."""
    mass = split(b)[4]
    for m in range(b.machines.shape[1]):
        b.machines[FACTOR, m] *= keep[m]
        factor = b.machines[FACTOR, m]
        if factor < SMALLEST_FACTOR:
            for j in range(n):
                mass[m, j] *= factor
            each = b.outputs * b.machines.shape[1]
            for o in range(b.outputs):
                sums[m * b.outputs + o] *= factor
                for kind in range(3):  # coef, f and average
                    line = b.lines[kind * each + m * b.outputs + o]
                    for j in range(n):
                        line[j] *= factor
            b.machines[FACTOR, m] = 1.0


@part()
def lighten(b: Any, n: int) -> None:
    """Let masses count less with each row: without a bound, C would mean something else the longer a stream is."""
    mass, keep = split(b)[4], 0.5 ** (1.0 / MASS_HALF_LIFE)
    for m in range(mass.shape[0]):
        for j in range(n):
            mass[m, j] *= keep


@part()
def refresh(b: Any, n: int, j: int) -> None:
    """Sum up f at point j anew, so that rounding does not pile up over a long stream."""
    coef, f = split(b)[:2]
    for g in range(coef.shape[0]):
        f[g, j] = dot(coef[g], b.kernel[j], n)


@part()
def first_steps(b: Any, sums: Any, own: float, rows: Any, r: int, a: Any, start: Any) -> Any:
    """Put the coefficients with which row r would enter into ``start``; tell whether it is to enter.

    A machine that is hardly trusted does not let rows in: what it would forget soon pushes out what others keep.
    """
    enters = False
    for g in range(sums.size):
        m = g // b.outputs
        o = g - m * b.outputs
        f = b.machines[FACTOR, m] * sums[g] + rows.beside[r, o]
        bound = a.C[m] * rows.weights[r]
        start[g] = call_step(a.step, rows.targets[r, o], 0.0, f, own, bound, a.shape)
        large = abs(start[g]) * own > SMALL * min(1.0, bound * own)
        enters = enters or (large and trust(b, m) > LEAST_TRUST)
    return enters


@njit(cache=True, nogil=True, error_model="numpy")
def learn(b: Any, rows: Any, compared: Any, a: Any, keep: Any, n_seen: int, out: Any) -> None:
    """Learn from rows in order; ``out`` (n, n_outputs) is what each was predicted to be before."""
    coef, _, average, _, _, rest, _ = split(b)
    row = rest[SCRATCH]
    predicted, start, sums = np.empty(2 * coef.shape[0]), np.empty(coef.shape[0]), np.empty(coef.shape[0])
    for r in range(rows.points.shape[0]):
        n = np.int64(b.counts[SIZE])
        kernel_row(b.points, n, rows.points[r], compared.pairwise, compared.profile, compared.params, row)
        own = own_value(rows.points[r], compared.pairwise, compared.profile, compared.params)
        row[n] = own
        predict(b, n, row, rows.beside[r], sums, predicted)
        combine(b, predicted, out[r])
        if rows.weights[r] == 0.0:
            continue
        judge(b, predicted, rows.targets[r], a)
        age(b, n, keep, sums)
        lighten(b, n)
        if first_steps(b, sums, own, rows, r, a, start):
            enter(b, row, sums, start, rows, r, n_seen + r)
            n += 1
        if n > 0:
            for _ in range(a.n_cols):
                step_at(b, n, random_below(b.counts, n), a)
            refresh(b, n, random_below(b.counts, n))
        if n == b.kernel.shape[0]:
            call_shrink(a.shrink, b.points, b.kernel, b.lines, b.machines, b.counts, b.outputs)
            n -= 1
        rate = max(RATE, 1.0 / (1.0 + 0.2 * (n_seen + r)))
        for g in range(coef.shape[0]):
            for j in range(n):
                average[g, j] += rate * (coef[g, j] - average[g, j])


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(b: Any, a: Any, times: int) -> None:
    """Let every point of the buffer take its steps, so many times over; the average starts anew from there."""
    n = np.int64(b.counts[SIZE])
    coef, average = split(b)[0], split(b)[2]
    for j in range(n):
        refresh(b, n, j)
    for _ in range(times):
        for j in range(n):
            step_at(b, n, j, a)
    for g in range(coef.shape[0]):
        for j in range(n):
            average[g, j] = coef[g, j]


@njit(cache=True, nogil=True, error_model="numpy")
def gram(b: Any, compared: Any) -> None:
    """Compute the kernel values of the points anew."""
    n = np.int64(b.counts[SIZE])
    x = np.empty(b.points.shape[0])
    for i in range(n):
        for k in range(x.size):
            x[k] = b.points[k, i]
        kernel_row(b.points, n, x, compared.pairwise, compared.profile, compared.params, b.kernel[i])


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(b: Any, points: Any, beside: Any, compared: Any, out: Any) -> None:
    """Predict points (n, n_features); ``beside`` and ``out`` are (n, n_outputs)."""
    n = np.int64(b.counts[SIZE])
    each = b.machines.shape[1] * b.outputs
    row, sums, predicted = np.empty(b.kernel.shape[0]), np.empty(each), np.empty(2 * each)
    for r in range(points.shape[0]):
        kernel_row(b.points, n, points[r], compared.pairwise, compared.profile, compared.params, row)
        predict(b, n, row, beside[r], sums, predicted)
        combine(b, predicted, out[r])
