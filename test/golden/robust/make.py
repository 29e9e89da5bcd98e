"""Writes robust.json beside it: optima for the worst expected returns and covariances of sets, as cone programmes.

    /usr/bin/python3 test/golden/robust/make.py

Made with Debian bookworm's python3-numpy 1.24.2, python3-scipy 1.10.1 and python3-cvxopt 1.3.0.

The problems are the first ten of ../objectives, with their rows and costs; only what is uncertain is stored here. An ellipsoid of
expected returns is one second-order cone, a box the sizes of the weights as variables, a spread of covariances the square of the
gross volatility, again a variable. Ratios are homogenised. Unlike the service, no problem is solved by a search for a multiplier.
"""
import json
import math
import pathlib
import sys

import numpy
import scipy.linalg
from cvxopt import matrix, solvers

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "objectives"))
import make as plain  # noqa: E402

HERE = pathlib.Path(__file__).parent
SETS = [
    {"returns": {"set": "ellipsoid", "radius": 0.5}},
    {"returns": {"set": "diagonal", "radius": 0.3}},
    {"returns": {"set": "box", "radius": 0.15}},
    {"covariance": {"radius": 0.2}},
    {"returns": {"set": "ellipsoid", "radius": 0.3}, "covariance": {"radius": 0.1}},
    {"returns": {"set": "diagonal", "radius": 0.4}, "covariance": {"radius": 0.3}},
]
OBJECTIVES = [
    {"type": "min_variance"},
    {"type": "max_utility", "risk_aversion": 4},
    {"type": "max_return"},
    {"type": "max_sharpe", "risk_free_rate": 0.01},
]
TAKES = {"min_variance": {"covariance"}, "max_return": {"returns"}}


def root_of(p: dict, returns: dict):
    covariance = numpy.array(p["covariance"])
    if returns["set"] == "diagonal":
        return numpy.diag(numpy.sqrt(numpy.diag(covariance)))
    return scipy.linalg.cholesky(covariance)


def solve(p: dict, objective: dict, sets: dict):
    n = len(p["index"])
    k = n
    covariance, mu = numpy.array(p["covariance"]), numpy.array(p["expected_returns"])
    volatility = numpy.sqrt(numpy.diag(covariance))
    cone = plain.build(p)
    costs = plain.cost_row(cone, p)  # what is taken off the return
    off = dict(costs)
    returns, spread = sets.get("returns"), sets.get("covariance", {}).get("radius", 0)
    size = None
    if spread or (returns and returns["set"] == "box"):
        size = cone.new(n)
        for i in range(n):
            cone.most({i: 1, size[i]: -1})
            cone.most({i: -1, size[i]: -1})
    if returns and returns["set"] == "box":
        for i in range(n):
            off[size[i]] = returns["radius"] * volatility[i]
    elif returns:
        (length,) = cone.new(1)
        root = root_of(p, returns)
        cone.cone({length: 1.0}, [{j: float(root[i, j]) for j in range(n)} for i in range(n)])
        off[length] = returns["radius"]
    if spread:
        (gross,) = cone.new(1)
        cone.most({**{size[i]: volatility[i] for i in range(n)}, gross: -1})
    kind = objective["type"]
    curvature = {"min_variance": 2, "max_utility": objective.get("risk_aversion"), "max_return": 0, "max_sharpe": 1}[kind]
    quadratic = numpy.zeros((cone.size, cone.size))
    linear = numpy.zeros(cone.size)
    quadratic[:n, :n] = curvature * covariance
    if spread:
        quadratic[gross, gross] = curvature * spread
    if kind == "max_sharpe":
        slopes = mu - objective["risk_free_rate"]
        cone.most({**{i: -slopes[i] for i in range(n)}, **off}, -1.0)
    else:
        if kind != "min_variance":
            linear[:n] = -mu
        for v, c in off.items():
            linear[v] += c
        cone.equal.append(({k: 1.0}, 1.0))
    g, h, dims, a, b = cone.matrices()
    if not quadratic.any():
        return plain.vertex(p, objective, cone, linear)
    for tolerance in (1e-13, 1e-12, 1e-11, 1e-10):  # As far as rounding lets it go.
        options = {**solvers.options, "abstol": tolerance, "reltol": 10 * tolerance, "feastol": 10 * tolerance}
        try:
            answer = solvers.coneqp(matrix(quadratic), matrix(linear), g, h, dims, a, b, options=options)
        except (ValueError, ArithmeticError):
            continue
        if answer["status"] == "optimal":
            z = numpy.array(answer["x"]).ravel()
            return z[:n] / z[k]
    return None


def value_of(p: dict, objective: dict, sets: dict, w) -> float:
    covariance, mu = numpy.array(p["covariance"]), numpy.array(p["expected_returns"])
    volatility = numpy.sqrt(numpy.diag(covariance))
    variance = w @ covariance @ w + sets.get("covariance", {}).get("radius", 0) * (volatility @ numpy.abs(w)) ** 2
    off = plain.cost_of(p, w)
    returns = sets.get("returns")
    if returns and returns["set"] == "box":
        off += returns["radius"] * (volatility @ numpy.abs(w))
    elif returns:
        off += returns["radius"] * float(numpy.linalg.norm(root_of(p, returns) @ w))
    kind = objective["type"]
    if kind == "min_variance":
        return variance + off
    if kind == "max_return":
        return mu @ w - off
    if kind == "max_utility":
        return mu @ w - objective["risk_aversion"] / 2 * variance - off
    return ((mu - objective["risk_free_rate"]) @ w - off) / math.sqrt(variance)


def main():
    cases = []
    for seed in range(1, 11):
        p = plain.problem(seed)
        for s, sets in enumerate(SETS):
            for objective in OBJECTIVES:
                takes = TAKES.get(objective["type"], {"returns", "covariance"})
                if not set(sets) <= takes or (seed + s) % 2:
                    continue
                w = solve(p, objective, sets)
                if w is None:
                    if objective["type"] != "max_sharpe":
                        raise SystemExit(f"{objective} {seed} {sets}: no answer")
                    continue  # Nothing is expected to earn more than the rate in the worst case.
                value = value_of(p, objective, sets, w)
                if objective["type"] == "max_sharpe" and value < 1e-3:
                    continue
                cases.append({"seed": seed, "objective": objective, "uncertainty": sets, "value": value, "weights": [round(float(x), 9) for x in w]})
    (HERE / "robust.json").write_text(json.dumps({"cases": cases}) + "\n")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
