"""Solves a convex account with a peer: accounts.py FILE PEER, or accounts.py probe PEER; peers are cvxopt and osqp. Prints
milliseconds of the processor and of the clock, the objective and the status. Sums by security, factor exposures and gains are
variables, so that all matrices are sparse."""
import json
import sys
import time

import numpy as np


def programme(p):
    n, k, lots = p["n"], p["k"], len(p["lotSize"])
    # Variables: sales, purchases, weights, exposures, short gains, long gains, costs, tax.
    buy, weight, factor = lots, lots + n, lots + 2 * n
    short, long, cost, tax = range(lots + 2 * n + k, lots + 2 * n + k + 4)
    count = tax + 1
    equal, to, below, under = [], [], [], []

    def put(rows, values, entries, value):
        rows.append(entries)
        values.append(value)

    of_short, of_long, of_cost = [(short, 1.0)], [(long, 1.0)], [(cost, 1.0)]
    for i in range(n):
        own = range(p["lotStart"][i], p["lotStart"][i + 1])
        put(equal, to, [(weight + i, 1.0), (buy + i, -1.0)] + [(l, 1.0) for l in own], p["heldWeights"][i])
        of_cost.append((buy + i, -p["costRate"][i]))
        for l in own:
            of_cost.append((l, -p["costRate"][i]))
            of_short.append((l, -p["lotShort"][l]))
            of_long.append((l, -p["lotLong"][l]))
    put(equal, to, of_short, p["fixedShort"])
    put(equal, to, of_long, p["fixedLong"])
    put(equal, to, of_cost, 0.0)
    loadings = np.array(p["loadings"]).reshape(n, k)
    target = np.array(p["target"])
    for f in range(k):
        put(equal, to, [(factor + f, 1.0)] + [(weight + i, -loadings[i, f]) for i in range(n)], -float(loadings[:, f] @ target))
    for j, size in enumerate(p["lotSize"] + p["buyLimit"]):
        put(below, under, [(j, -1.0)], 0.0)
        put(below, under, [(j, 1.0)], size)
    for row in p["rows"]:
        entries = [(weight + i, row["weights"][i]) for i in range(n)] + [(short, row["short"]), (long, row["long"]), (cost, row["cost"])]
        put(below, under, entries, -row["constant"])
    for piece in p["sides"][0]["pieces"]:
        put(below, under, [(short, piece["short"]), (long, piece["long"]), (tax, -1.0)], -piece["constant"])
    put(below, under, [(long, -1.0)], 0.0)

    aversion, specific = p["aversion"], np.array(p["specific"])
    diagonal = np.zeros(count)
    diagonal[weight : weight + n] = 2 * aversion * specific
    diagonal[factor : factor + k] = 2 * aversion
    linear = np.zeros(count)
    linear[weight : weight + n] = -2 * aversion * specific * target
    linear[cost], linear[tax] = 1.0, p["taxWeight"]
    constant = aversion * float(specific @ target**2)
    return diagonal, linear, (below, under), (equal, to), constant


def entries_of(rows):
    entries = [(value, at, column) for at, row in enumerate(rows) for column, value in row]
    return [list(part) for part in zip(*entries)]


def by_cvxopt(diagonal, linear, inequalities, equalities):
    from cvxopt import matrix, solvers, spmatrix

    def sparse(rows):
        values, places, columns = entries_of(rows)
        return spmatrix(values, places, columns, (len(rows), len(linear)))

    solvers.options.update(show_progress=False, abstol=1e-11, reltol=1e-11, feastol=1e-11)
    hessian = spmatrix(diagonal, range(len(linear)), range(len(linear)))
    (below, under), (equal, to) = inequalities, equalities
    arguments = hessian, matrix(linear), sparse(below), matrix(under), sparse(equal), matrix(to)

    def solve():
        answer = solvers.qp(*arguments, kktsolver="chol2")
        return answer["primal objective"], answer["status"]

    return solve


def by_osqp(diagonal, linear, inequalities, equalities):
    import osqp
    from scipy import sparse

    (below, under), (equal, to) = inequalities, equalities
    values, places, columns = entries_of(below + equal)
    rows = sparse.csc_matrix((values, (places, columns)), shape=(len(below) + len(equal), len(linear)))
    lower = np.concatenate([np.full(len(below), -np.inf), to])
    upper = np.concatenate([under, to])

    def solve():
        problem = osqp.OSQP()
        problem.setup(
            sparse.diags(diagonal).tocsc(), linear, rows, lower, upper,
            eps_abs=1e-6, eps_rel=1e-6, max_iter=200_000, polishing=True, verbose=False,
        )
        answer = problem.solve()
        return answer.info.obj_val, answer.info.status.replace(" ", "_")

    return solve


PEERS = {"cvxopt": by_cvxopt, "osqp": by_osqp}

if sys.argv[1] == "probe":
    __import__(sys.argv[2])
else:
    with open(sys.argv[1]) as file:
        *arguments, constant = programme(json.load(file))
    solve = PEERS[sys.argv[2]](*arguments)
    times = []
    for _ in range(3):
        begin = np.array([time.process_time(), time.perf_counter()])
        objective, status = solve()
        times.append(np.array([time.process_time(), time.perf_counter()]) - begin)
    print(*1000 * np.median(times[1:], axis=0), objective + constant, status)
