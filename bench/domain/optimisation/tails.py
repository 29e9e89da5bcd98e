"""Least CVaR or CDaR by a peer: tails.py FILE SOLVER, or tails.py probe SOLVER. Prints milliseconds and the optimum.

FILE has names, scenarios, groups, cap, confidence, whether drawdowns are meant, and the returns, as doubles.
"""
import sys
import time

import numpy as np
from scipy import sparse


def programme(path):
    data = np.fromfile(path)
    n, t, groups, cap, confidence, drawdowns = data[:6]
    n, t, groups = int(n), int(t), int(groups)
    returns = data[6:].reshape(t, n)
    extra = t if drawdowns else 0
    width = n + 1 + t + extra
    cost = np.zeros(width)
    cost[n], cost[n + 1 : n + 1 + t] = 1, 1 / ((1 - confidence) * t)
    eye, level = sparse.eye(t), sparse.csr_matrix(np.ones((t, 1)))
    sums = sparse.csr_matrix(returns.cumsum(axis=0) if drawdowns else returns)
    rows = [sparse.hstack([-sums, -level, -eye] + ([eye] if drawdowns else []))]
    if drawdowns:
        rows.append(sparse.hstack([sums, sparse.csr_matrix((t, 1 + t)), -eye]))
        rows.append(sparse.hstack([sparse.csr_matrix((t, n + 1 + t)), sparse.eye(t, k=-1) - eye]))
    member = sparse.csr_matrix((np.ones(n), (np.arange(n) % groups, np.arange(n))), shape=(groups, width))
    rows += [member, -member]
    bound = np.concatenate([np.zeros(t * (3 if drawdowns else 1)), np.full(groups, 1.4 / groups), np.full(groups, -0.6 / groups)])
    equal = sparse.csr_matrix((np.ones(n), (np.zeros(n, int), np.arange(n))), shape=(1, width))
    lower = np.concatenate([np.zeros(n), [-np.inf], np.zeros(t + extra)])
    upper = np.concatenate([np.full(n, cap), np.full(1 + t + extra, np.inf)])
    return cost, sparse.vstack(rows).tocsc(), bound, equal, lower, upper


def by_highs(cost, rows, bound, equal, lower, upper, method):
    from scipy.optimize import linprog

    begin = time.process_time()
    answer = linprog(cost, rows, bound, equal, [1.0], np.column_stack([lower, upper]), method=method)
    if answer.status != 0:
        raise SystemExit(answer.message)
    return time.process_time() - begin, answer.fun


def by_cvxopt(cost, rows, bound, equal, lower, upper):
    from cvxopt import matrix, solvers, spmatrix

    solvers.options.update(show_progress=False)
    low, high = np.isfinite(lower), np.isfinite(upper)
    eye = sparse.eye(len(cost)).tocsr()
    rows, bound = sparse.vstack([rows, -eye[low], eye[high]]).tocoo(), np.concatenate([bound, -lower[low], upper[high]])
    equal = equal.tocoo()
    as_matrix = lambda s: spmatrix(s.data, s.row.astype(int), s.col.astype(int), s.shape)
    begin = time.process_time()
    answer = solvers.lp(matrix(cost), as_matrix(rows), matrix(bound), as_matrix(equal), matrix([1.0]))
    return time.process_time() - begin, answer["primal objective"]


SOLVERS = {
    "highs-ds": lambda *parts: by_highs(*parts, "highs-ds"),
    "highs-ipm": lambda *parts: by_highs(*parts, "highs-ipm"),
    "cvxopt": by_cvxopt,
}

if sys.argv[1] == "probe":
    __import__("cvxopt" if sys.argv[2] == "cvxopt" else "scipy.optimize")
else:
    seconds, value = SOLVERS[sys.argv[2]](*programme(sys.argv[1]))
    print(1000 * seconds, value)
