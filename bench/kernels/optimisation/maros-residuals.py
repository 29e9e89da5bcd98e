"""Residuals of an answer to a Maros-Meszaros problem, without rounding, and those of cvxopt with its time:
maros-residuals.py PROBLEM.mat ANSWER. The answer is x and a multiplier of each row, as doubles. Prints primal residual, dual
residual and duality gap of the answer; milliseconds of the processor, and the three of cvxopt."""
import sys
import time
from fractions import Fraction

import numpy as np
import scipy.io
import scipy.sparse as sparse

INFINITE = 1e15


def residuals(problem, x, y):
    """Largest violation of a row, largest entry of the gradient of the Lagrangian, |x'Px + q'x + bounds'y|: all by fractions."""
    curvature, linear, rows, lower, upper = problem
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(y))):
        return [float("inf")] * 3
    x = [Fraction(value) for value in x]
    bound = np.where(y > 0, upper, lower)
    y = [Fraction(0) if abs(at) >= INFINITE else Fraction(value) for value, at in zip(y, bound)]
    gradient = [Fraction(value) for value in linear]
    gap = sum(g * v for g, v in zip(gradient, x))
    for i, j, value in zip(*entries(curvature)):
        term = Fraction(value) * x[j]
        gradient[i] += term
        gap += term * x[i]
    left = [Fraction(0)] * rows.shape[0]
    for r, j, value in zip(*entries(rows)):
        left[r] += Fraction(value) * x[j]
        gradient[j] += Fraction(value) * y[r]
    gap += sum(multiplier * Fraction(at) for multiplier, at in zip(y, bound) if multiplier != 0)
    primal = Fraction(0)
    for value, least, most in zip(left, lower, upper):
        if least > -INFINITE:
            primal = max(primal, Fraction(least) - value)
        if most < INFINITE:
            primal = max(primal, value - Fraction(most))
    return [float(primal), float(max(abs(g) for g in gradient)), float(abs(gap))]


def entries(matrix):
    matrix = sparse.coo_matrix(matrix)
    return matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist()


def by_cvxopt(problem):
    """x, multipliers of the rows, milliseconds."""
    from cvxopt import matrix, solvers, spmatrix

    curvature, linear, rows, lower, upper = problem
    rows = sparse.csr_matrix(rows)
    equal = np.where(lower == upper)[0]
    below = np.where((lower != upper) & (upper < INFINITE))[0]
    above = np.where((lower != upper) & (lower > -INFINITE))[0]

    def sparse_of(some):
        some = sparse.coo_matrix(some)
        return spmatrix(some.data.tolist(), some.row.tolist(), some.col.tolist(), some.shape)

    solvers.options.update(show_progress=False, abstol=1e-9, reltol=1e-12, feastol=1e-9)
    one_sided = sparse.vstack([rows[below], -rows[above]])
    arguments = [sparse_of(curvature), matrix(linear), sparse_of(one_sided), matrix(np.concatenate([upper[below], -lower[above]]))]
    if len(equal) > 0:
        arguments += [sparse_of(rows[equal]), matrix(lower[equal])]
    y = np.zeros(rows.shape[0])
    begin = time.process_time()
    try:
        answer = solvers.qp(*arguments)
        x = np.array(answer["x"]).ravel()
        z = np.array(answer["z"]).ravel()
        if len(equal) > 0:
            y[equal] = np.array(answer["y"]).ravel()
        y[below] += z[: len(below)]
        y[above] -= z[len(below) :]
    except (ArithmeticError, ValueError, TypeError):
        x = np.full(len(linear), np.nan)
    return x, y, 1000 * (time.process_time() - begin)


if __name__ == "__main__":
    file = scipy.io.loadmat(sys.argv[1])
    flat = lambda key: np.asarray(file[key].todense() if sparse.issparse(file[key]) else file[key], dtype=float).ravel()
    problem = sparse.csc_matrix(file["P"], dtype=float), flat("q"), sparse.csc_matrix(file["A"], dtype=float), flat("l"), flat("u")
    answer = np.fromfile(sys.argv[2])
    n = len(problem[1])
    own = residuals(problem, answer[:n], answer[n:])
    x, y, ms = by_cvxopt(problem)
    print(*own, ms, *residuals(problem, x, y))
