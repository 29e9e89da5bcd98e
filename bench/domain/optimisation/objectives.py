"""One objective by a peer: objectives.py FILE OBJECTIVE SOLVER, or objectives.py probe SOLVER. Prints milliseconds of the processor, of the
clock, and the value as it is made small.

FILE has n, m, risk aversion, volatility limit, covariance [n x n], expected returns, index, lower, upper [n each], rows [m x n], their
lower and upper bounds [m each], as doubles. Ratios are solved homogenised by cvxopt, as they are by SLSQP; budgets of risk with the
logarithm of the weights.
"""
import sys
import time

import numpy as np


def clocks():
    return np.array([time.process_time(), time.perf_counter()])


class Case:
    def __init__(self, path):
        data = np.fromfile(path)
        n, m = int(data[0]), int(data[1])
        self.n, self.aversion, self.limit = n, data[2], data[3]
        parts = np.split(data[4:], np.cumsum([n * n, n, n, n, n, m * n, m]))
        self.covariance = parts[0].reshape(n, n)
        self.returns, self.index, self.lower, self.upper = parts[1:5]
        self.rows, self.least, self.most = parts[5].reshape(m, n), parts[6], parts[7]
        self.deviations = np.sqrt(np.diag(self.covariance))


def quadratic(case, kind):
    """Hessian and linear part of the objectives that are quadratic."""
    zero = np.zeros(case.n)
    if kind == "min_tracking_error":
        return 2 * case.covariance, -2 * case.covariance @ case.index
    if kind == "min_variance":
        return 2 * case.covariance, zero
    if kind == "max_decorrelation":
        return 2 * case.covariance / np.outer(case.deviations, case.deviations), zero
    return case.aversion * case.covariance, -case.returns


def slopes(case, kind):
    return case.returns if kind == "max_sharpe" else case.deviations


def value(case, kind, x):
    volatility = np.sqrt(x @ case.covariance @ x)
    if kind == "min_tracking_error":
        return (x - case.index) @ case.covariance @ (x - case.index)
    if kind in ("max_sharpe", "max_diversification"):
        return -slopes(case, kind) @ x / volatility
    if kind == "max_return":
        return -case.returns @ x
    if kind == "risk_parity":
        return np.log(volatility) - np.log(x).mean()
    hessian, linear = quadratic(case, kind)
    return x @ hessian @ x / 2 + linear @ x


RATIOS = ("max_sharpe", "max_diversification")


def by_cvxopt(case, kind):
    from cvxopt import matrix, solvers, spmatrix

    solvers.options.update(show_progress=False, abstol=1e-10, reltol=1e-9, feastol=1e-9)
    n = case.n
    if kind == "risk_parity":
        return by_cvxopt_parity(case)
    eye = np.eye(n)
    equal = case.least == case.most
    ranges = [case.rows[~equal], -case.rows[~equal], eye, -eye]
    bounds = np.concatenate([case.most[~equal], -case.least[~equal], case.upper, -case.lower])
    keep = np.isfinite(bounds)
    above, bounds = np.vstack(ranges)[keep], bounds[keep]
    even, to = case.rows[equal], case.least[equal]
    if kind in RATIOS:
        above, bounds = np.vstack([np.column_stack([above, -bounds]), -np.eye(n + 1)[n]]), np.zeros(len(bounds) + 1)
        even, to = np.vstack([np.column_stack([even, -to]), np.append(slopes(case, kind), 0)]), np.append(0 * to, 1)
        hessian, linear = np.zeros((n + 1, n + 1)), np.zeros(n + 1)
        hessian[:n, :n] = case.covariance
    elif kind != "max_return":
        hessian, linear = quadratic(case, kind)
    begin = clocks()
    if kind == "max_return":
        root = np.linalg.cholesky(case.covariance).T
        cone = np.vstack([np.zeros((1, n)), -root])
        dims = {"l": len(bounds), "q": [n + 1], "s": []}
        sides = np.concatenate([bounds, [case.limit], np.zeros(n)])
        answer = solvers.conelp(matrix(-case.returns), matrix(np.vstack([above, cone])), matrix(sides), dims, matrix(even), matrix(to))
    else:
        answer = solvers.qp(*map(matrix, (hessian, linear, above, bounds, even, to)))
    seconds = clocks() - begin
    x = np.array(answer["x"]).ravel()
    return seconds, x[:n] / x[n] if kind in RATIOS else x


def by_cvxopt_parity(case):
    from cvxopt import matrix, solvers

    n = case.n
    covariance = case.covariance / np.mean(np.diag(case.covariance))

    def barrier(x=None, z=None):
        if x is None:
            return 0, matrix(1.0, (n, 1))
        own = np.array(x).ravel()
        if own.min() <= 0:
            return None
        force = covariance @ own
        f = own @ force / 2 - np.log(own).mean()
        df = matrix((force - 1 / (n * own)).reshape(1, n))
        if z is None:
            return f, df
        return f, df, matrix(z[0] * (covariance + np.diag(1 / (n * own * own))))

    begin = clocks()
    answer = solvers.cp(barrier)
    seconds = clocks() - begin
    x = np.array(answer["x"]).ravel()
    return seconds, x / x.sum()


def by_slsqp(case, kind):
    from scipy.optimize import minimize

    n = case.n
    equal = case.least == case.most
    above, least = np.vstack([case.rows[~equal], -case.rows[~equal]]), np.concatenate([case.least[~equal], -case.most[~equal]])
    above, least = above[np.isfinite(least)], least[np.isfinite(least)]
    even, to = case.rows[equal], case.least[equal]
    constraints = [{"type": "eq", "fun": lambda x: even @ x - to, "jac": lambda x: even}]
    if len(least) > 0:
        constraints.append({"type": "ineq", "fun": lambda x: above @ x - least, "jac": lambda x: above})
    covariance = case.covariance
    if kind == "max_return":
        most = case.limit**2
        constraints.append({"type": "ineq", "fun": lambda x: most - x @ covariance @ x, "jac": lambda x: -2 * covariance @ x})
        target, gradient = (lambda x: -case.returns @ x), (lambda x: -case.returns)
    elif kind in RATIOS:
        own = slopes(case, kind)

        def target(x):
            return -own @ x / np.sqrt(x @ covariance @ x)

        def gradient(x):
            force = covariance @ x
            variance = x @ force
            return -own / np.sqrt(variance) + (own @ x) * force / variance**1.5
    elif kind == "risk_parity":
        scale = np.mean(np.diag(covariance))
        constraints = []
        target = lambda x: x @ covariance @ x / (2 * scale) - np.log(x).mean()
        gradient = lambda x: covariance @ x / scale - 1 / (n * x)
    else:
        hessian, linear = quadratic(case, kind)
        target, gradient = (lambda x: x @ hessian @ x / 2 + linear @ x), (lambda x: hessian @ x + linear)
    start = np.full(n, 1.0 if kind == "risk_parity" else 1 / n)
    bounds = [(1e-9, None)] * n if kind == "risk_parity" else list(zip(case.lower, case.upper))
    begin = clocks()
    answer = minimize(target, start, jac=gradient, method="SLSQP", bounds=bounds, constraints=constraints, options={"ftol": 1e-12, "maxiter": 500})
    return clocks() - begin, answer.x / answer.x.sum() if kind == "risk_parity" else answer.x


SOLVERS = {"cvxopt": by_cvxopt, "slsqp": by_slsqp}

if sys.argv[1] == "probe":
    __import__({"cvxopt": "cvxopt", "slsqp": "scipy.optimize"}[sys.argv[2]])
else:
    case = Case(sys.argv[1])
    best = np.full(2, np.inf)
    for run in range(5):
        seconds, weights = SOLVERS[sys.argv[3]](case, sys.argv[2])
        best = np.minimum(best, seconds)
        if best[0] > 0.5:
            break
    print(*1000 * best, value(case, sys.argv[2], weights))
