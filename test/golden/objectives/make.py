"""Writes objectives.json beside it: problems and the optima of every objective, as cone programmes.

    /usr/bin/python3 test/golden/objectives/make.py

Made with Debian bookworm's python3-numpy 1.24.2, python3-scipy 1.10.1 and python3-cvxopt 1.3.0.

Everything is one cone programme over (y, k, trades...): k = 1 for variances, utilities and returns, and for ratios the
homogenised programme (Charnes & Cooper 1962, Schaible 1976), whose rows are multiplied by k and whose weights are y / k. Budgets of
risk minimise y'Sy/2 - sum b log y over the same cone. The power 3/2 of impact is two second-order cones. Unlike the service, no
problem is solved by a search for a multiplier.
Values: variance, utility, return, Sharpe ratio, diversification ratio; for risk_parity the logarithm of
volatility over the product of (w/b)^b, which the service reports less its value at parity; min_cvar and min_cdar the average of the
worst tenth of the losses or drawdowns of 60 scenarios, as linear programmes with every excess and every highest value a variable.
"""
import json
import math
import pathlib
import sys

import numpy
import scipy.linalg
from cvxopt import matrix, solvers
from scipy.optimize import linprog

HERE = pathlib.Path(__file__).parent
solvers.options.update(show_progress=False, abstol=1e-13, reltol=1e-12, feastol=1e-12, maxiters=200, refinement=3)


def problem(seed: int) -> dict:
    random = numpy.random.default_rng(seed)
    n = int(random.integers(8, 15))
    loadings = (random.random((n, 4)) - 0.4) * 0.25
    covariance = loadings @ loadings.T + numpy.diag(0.01 + 0.05 * random.random(n))
    index = random.random(n) ** 2 + 0.02
    previous = random.random(n) * (random.random(n) < 0.7) + 1e-3
    sectors = [f"S{i % 3}" for i in range(n)]
    rows = ROWS[seed % len(ROWS)]
    return {
        "seed": seed,
        "covariance": covariance.tolist(),
        "index": (index / index.sum()).tolist(),
        "previous": (previous / previous.sum()).tolist(),
        "expected_returns": (0.16 * random.random(n) - 0.02).tolist(),
        "sectors": sectors,
        "rows": rows,
        "costs": COSTS[(seed // 2) % len(COSTS)],
        "scenarios": scenarios(random, loadings).tolist(),
    }


def scenarios(random, loadings):
    """60 returns of a session, with five digits."""
    n, k = loadings.shape
    factors = random.standard_t(4, (60, k)) / 16
    return numpy.round(0.0004 + factors @ loadings.T + 0.012 * random.standard_normal((60, n)), 5)


ROWS = [
    [],
    [{"type": "PositionBounds", "params": {"upper": 0.16}}],
    [{"type": "GroupBounds", "params": {"field": "SECTOR", "lower": 0.2, "upper": 0.42}}],
    [{"type": "Turnover", "params": {"limit": 0.25, "reference": "previous"}}],
    [{"type": "TrackingError", "params": {"limit": 0.12}}],
    [{"type": "PositionBounds", "params": {"lower": -0.05, "upper": 0.3}}],
    [{"type": "EffectiveNumber", "params": {"minimum": 7}}, {"type": "PositionBounds", "params": {"upper": 0.25}}],
    [
        {"type": "GroupBounds", "params": {"field": "SECTOR", "upper": 0.45}},
        {"type": "Turnover", "params": {"limit": 0.35, "reference": "previous"}},
        {"type": "PositionBounds", "params": {"upper": 0.2}},
    ],
    [{"type": "Volatility", "params": {"limit": 0.16}}, {"type": "ActiveShare", "params": {"limit": 0.45}}],
    [{"type": "RelativePositionBounds", "params": {"lower": 0.2, "upper": 2.5}}],
]
COSTS = [None, {"bps": 30, "impact": 0}, {"bps": 0, "impact": 0.02}, {"bps": 15, "impact": 0.03}]
OBJECTIVES = [
    {"type": "min_tracking_error"},
    {"type": "min_variance"},
    {"type": "max_utility", "risk_aversion": 4},
    {"type": "max_return"},
    {"type": "max_sharpe", "risk_free_rate": 0.01},
    {"type": "risk_parity"},
    {"type": "max_diversification"},
    {"type": "max_decorrelation"},
    {"type": "min_cvar", "confidence": 0.9},
    {"type": "min_cdar", "confidence": 0.9},
]


class Cone:
    """Rows G z <= h over z = (y, k, further variables): linear ones, then second-order cones; and equalities."""

    def __init__(self, n: int):
        self.n = n
        self.size = n + 1
        self.linear: list[tuple[dict, float]] = []
        self.cones: list[list[tuple[dict, float]]] = []
        self.equal: list[tuple[dict, float]] = []

    def new(self, count: int) -> range:
        self.size += count
        return range(self.size - count, self.size)

    def most(self, row: dict, bound: float = 0.0):  # row'z <= bound
        self.linear.append((row, bound))

    def cone(self, head: dict, tail: list[dict], constant: float = 0.0):  # |tail z| <= head'z + constant
        self.cones.append([({v: -c for v, c in head.items()}, constant)] + [({v: -c for v, c in t.items()}, 0.0) for t in tail])

    def matrices(self):
        rows = self.linear + [row for cone in self.cones for row in cone]
        g = numpy.zeros((len(rows), self.size))
        h = numpy.zeros(len(rows))
        for r, (row, bound) in enumerate(rows):
            for v, c in row.items():
                g[r, v] += c
            h[r] = bound
        a = numpy.zeros((len(self.equal), self.size))
        b = numpy.zeros(len(self.equal))
        for r, (row, bound) in enumerate(self.equal):
            for v, c in row.items():
                a[r, v] += c
            b[r] = bound
        dims = {"l": len(self.linear), "q": [len(cone) for cone in self.cones], "s": []}
        return matrix(g), matrix(h), dims, matrix(a), matrix(b)


def distance(cone: Cone, reference, bound: float):
    """sum |y - k reference| <= 2 bound k"""
    k = cone.n
    t = cone.new(cone.n)
    for i in range(cone.n):
        cone.most({i: 1, k: -reference[i], t[i]: -1})
        cone.most({i: -1, k: reference[i], t[i]: -1})
    cone.most({**{v: 1 for v in t}, k: -2 * bound})


def build(p: dict) -> Cone:
    n = len(p["index"])
    k = n
    cone = Cone(n)
    covariance, index = numpy.array(p["covariance"]), numpy.array(p["index"])
    root = scipy.linalg.cholesky(covariance)  # root' root
    lower, upper = numpy.zeros(n), numpy.full(n, numpy.inf)
    for row in p["rows"]:
        params = row["params"]
        if row["type"] == "PositionBounds":
            upper = numpy.minimum(upper, params.get("upper", 1))
            if params.get("lower", 0) < 0:
                lower[:] = params["lower"]
        elif row["type"] == "RelativePositionBounds":
            upper = numpy.minimum(upper, params["upper"] * index)
            lower = numpy.maximum(lower, params["lower"] * index)
        elif row["type"] == "GroupBounds":
            for sector in sorted(set(p["sectors"])):
                members = {i: 1.0 for i in range(n) if p["sectors"][i] == sector}
                cone.most({**members, k: -params.get("upper", 1)})
                cone.most({**{i: -1.0 for i in members}, k: params.get("lower", 0)})
        elif row["type"] == "Turnover":
            distance(cone, p["previous"], params["limit"])
        elif row["type"] == "ActiveShare":
            distance(cone, index, params["limit"])
        elif row["type"] == "TrackingError":
            tail = [{**{j: root[i, j] for j in range(n)}, k: -float(root[i] @ index)} for i in range(n)]
            cone.cone({k: params["limit"]}, tail)
        elif row["type"] == "Volatility":
            cone.cone({k: params["limit"]}, [{j: root[i, j] for j in range(n)} for i in range(n)])
        elif row["type"] in ("CVaR", "CDaR"):
            tail_rows(cone, p, {"type": f"min_{row['type'].lower()}", "confidence": params["confidence"]}, average := {})
            cone.most({**average, k: -params["limit"]})
        elif row["type"] == "EffectiveNumber":
            cone.cone({k: 1 / math.sqrt(params["minimum"])}, [{i: 1.0} for i in range(n)])
    for i in range(n):
        cone.most({i: -1, k: lower[i]})
        if numpy.isfinite(upper[i]):
            cone.most({i: 1, k: -upper[i]})
    cone.most({k: -1})
    cone.equal.append(({**{i: 1.0 for i in range(n)}, k: -1.0}, 0.0))
    return cone


def cost_row(cone: Cone, p: dict) -> dict:
    """Variables whose weighted sum is at least k times the cost of the trades."""
    costs, k = p["costs"], cone.n
    if costs is None:
        return {}
    d, row = cone.new(cone.n), {}
    for i in range(cone.n):
        cone.most({i: 1, k: -p["previous"][i], d[i]: -1})
        cone.most({i: -1, k: p["previous"][i], d[i]: -1})
        row[d[i]] = costs["bps"] / 1e4
    if costs["impact"] > 0:
        t, u = cone.new(cone.n), cone.new(cone.n)
        for i in range(cone.n):  # d^2 <= t u and u^2 <= d k, so that t >= k (d / k)^1.5
            cone.cone({t[i]: 1, u[i]: 1}, [{d[i]: 2}, {t[i]: 1, u[i]: -1}])
            cone.cone({d[i]: 1, k: 1}, [{u[i]: 2}, {d[i]: 1, k: -1}])
            row[t[i]] = costs["impact"]
    return row


def cost_of(p: dict, w) -> float:
    if p["costs"] is None:
        return 0.0
    d = numpy.abs(w - numpy.array(p["previous"]))
    return float((p["costs"]["bps"] / 1e4) * d.sum() + p["costs"]["impact"] * (d**1.5).sum())


def solve(p: dict, objective: dict):
    n = len(p["index"])
    k = n
    covariance, index, mu = (numpy.array(p[name]) for name in ("covariance", "index", "expected_returns"))
    volatility = numpy.sqrt(numpy.diag(covariance))
    kind = objective["type"]
    cone = build(p)
    costs = cost_row(cone, p)
    quadratic = numpy.zeros((cone.size, cone.size))
    linear = numpy.zeros(cone.size)
    if kind in ("max_sharpe", "max_diversification", "max_decorrelation"):
        slopes = volatility if kind != "max_sharpe" else mu - objective["risk_free_rate"]
        quadratic[:n, :n] = covariance
        cone.equal.append(({**{i: slopes[i] for i in range(n)}, **{v: -c for v, c in costs.items()}}, 1.0))
    elif kind == "risk_parity":
        return parity(p, cone)
    elif kind in ("min_cvar", "min_cdar"):
        tail_rows(cone, p, objective, linear_out := {})
        linear = numpy.zeros(cone.size)
        for v, c in {**linear_out, **costs}.items():
            linear[v] += c
        cone.equal.append(({k: 1.0}, 1.0))
        return vertex(p, objective, cone, linear)
    else:
        curvature = {"max_utility": objective.get("risk_aversion", 0), "max_return": 0}.get(kind, 2)
        quadratic[:n, :n] = curvature * covariance
        if kind == "min_tracking_error":
            linear[:n] = -2 * covariance @ index
        if kind in ("max_utility", "max_return"):
            linear[:n] = -mu
        for v, c in costs.items():
            linear[v] += c
        cone.equal.append(({k: 1.0}, 1.0))
    g, h, dims, a, b = cone.matrices()
    answer = solvers.coneqp(matrix(quadratic), matrix(linear), g, h, dims, a, b)
    z = numpy.array(answer["x"]).ravel()
    if answer["status"] != "optimal" and answer["gap"] > 5e-9:
        raise SystemExit(f"{kind} {p['seed']}: {answer['status']} {answer['gap']}")
    return z[:n] / z[k]


def vertex(p: dict, objective: dict, cone: Cone, linear):
    """A linear programme, by HiGHS to a vertex where it has no cones."""
    n = cone.n
    g, h, dims, a, b = cone.matrices()
    if not dims["q"]:
        answer = linprog(linear, *(numpy.array(part) for part in (g, h, a, b)), bounds=(None, None), method="highs-ds")
        if answer.status != 0:
            raise SystemExit(f"{objective['type']} {p['seed']}: {answer.message}")
        return answer.x[:n] / answer.x[n]
    for tolerance in (1e-12, 1e-11, 1e-10):  # As far as rounding lets it go.
        try:
            options = {**solvers.options, "abstol": tolerance, "reltol": tolerance, "feastol": tolerance}
            answer = solvers.conelp(matrix(linear), g, h, dims, a, b, options=options)
        except ValueError:
            continue
        if answer["status"] == "optimal":
            z = numpy.array(answer["x"]).ravel()
            return z[:n] / z[n]
    raise SystemExit(f"{objective['type']} {p['seed']}: no answer")


def tail_rows(cone: Cone, p: dict, objective: dict, cost: dict):
    """level + sum of the excesses over it / size of the tail (Rockafellar & Uryasev 2000; Chekhlov et al. 2005)."""
    returns, n = numpy.array(p["scenarios"]), cone.n
    (level,) = cone.new(1)
    excess = cone.new(len(returns))
    highest = cone.new(len(returns)) if objective["type"] == "min_cdar" else None
    sums = returns.cumsum(axis=0) if highest else returns
    for t, row in enumerate(sums):
        value = {i: -float(row[i]) for i in range(n)}
        cone.most({excess[t]: -1})
        cone.most({**value, level: -1, excess[t]: -1, **({highest[t]: 1} if highest else {})})
        if highest:
            cone.most({**{i: -c for i, c in value.items()}, highest[t]: -1})
            cone.most({highest[t]: -1, **({highest[t - 1]: 1} if t else {})})
    cost[level] = 1.0
    cost.update({e: 1 / ((1 - objective["confidence"]) * len(returns)) for e in excess})


def tail(p: dict, objective: dict, w) -> float:
    values = numpy.array(p["scenarios"]) @ w
    if objective["type"] == "min_cdar":
        sums = values.cumsum()
        values = sums - numpy.maximum.accumulate(numpy.maximum(sums, 0))
    return -float(numpy.sort(values)[: round((1 - objective["confidence"]) * len(values))].mean())


def parity(p: dict, cone: Cone):
    """Budgets all alike; without costs, which would not be homogeneous with the logarithm."""
    n = len(p["index"])
    covariance = numpy.array(p["covariance"])

    def F(x=None, z=None):
        if x is None:
            start = numpy.full(cone.size, 1.0)
            return 0, matrix(start)
        y = numpy.array(x).ravel()[:n]
        if (y <= 0).any():
            return None
        value = 0.5 * y @ covariance @ y - numpy.log(y).sum() / n
        gradient = numpy.zeros((1, cone.size))
        gradient[0, :n] = covariance @ y - 1 / (n * y)
        if z is None:
            return matrix(value), matrix(gradient)
        hessian = numpy.zeros((cone.size, cone.size))
        hessian[:n, :n] = z[0] * (covariance + numpy.diag(1 / (n * y * y)))
        return matrix(value), matrix(gradient), matrix(hessian)

    g, h, dims, a, b = cone.matrices()
    answer = solvers.cp(F, g, h, dims, a, b)
    if answer["status"] != "optimal" and answer["gap"] > 5e-9:
        raise SystemExit(f"risk_parity {p['seed']}: {answer['status']} {answer['gap']}")
    z = numpy.array(answer["x"]).ravel()
    return z[:n] / z[n]


def value_of(p: dict, objective: dict, w) -> float:
    covariance, index, mu = (numpy.array(p[name]) for name in ("covariance", "index", "expected_returns"))
    volatility = numpy.sqrt(numpy.diag(covariance))
    deviation = math.sqrt(w @ covariance @ w)
    cost = cost_of(p, w)
    kind = objective["type"]
    if kind == "min_tracking_error":
        return (w - index) @ covariance @ (w - index) + cost
    if kind == "min_variance":
        return deviation**2 + cost
    if kind == "max_utility":
        return mu @ w - objective["risk_aversion"] / 2 * deviation**2 - cost
    if kind == "max_return":
        return mu @ w - cost
    if kind in ("min_cvar", "min_cdar"):
        return tail(p, objective, w) + cost
    if kind == "max_sharpe":
        return ((mu - objective["risk_free_rate"]) @ w - cost) / deviation
    if kind in ("max_diversification", "max_decorrelation"):
        return (volatility @ w - cost) / deviation
    return math.log(deviation) - numpy.log(w * len(w)).sum() / len(w)


def costs_with(kind: str, costs: dict | None) -> dict | None:
    """Costs that go with an objective."""
    return None if kind == "risk_parity" else costs


def main():
    cases = []
    for seed in range(1, 21):
        p = problem(seed)
        answers = []
        for objective in OBJECTIVES:
            asked = {**p, "costs": costs_with(objective["type"], p["costs"])}
            w = solve(asked, objective)
            answers.append({"objective": objective, "value": float(value_of(asked, objective, w)), "weights": [round(float(x), 7) for x in w]})
        cases.append({**p, "answers": answers})
        print(seed, len(p["index"]), file=sys.stderr)
    (HERE / "objectives.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
