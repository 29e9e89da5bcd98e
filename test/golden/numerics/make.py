"""Writes the golden files beside it: inputs, and the results of numpy/LAPACK, scipy and scikit-learn.

    /usr/bin/python3 test/golden/numerics/make.py

Made with Debian bookworm's python3-numpy 1.24.2, python3-scipy 1.10.1 and python3-sklearn 1.2.1 on OpenBLAS 0.3.21.
Numbers are written in shortest round-trip form, so a reader gets the same doubles back.
scikit-learn centres with ddof 0: its Ledoit-Wolf intensity is compared after putting n = T in our formula (see the tests).
"""
import json
import pathlib

import numpy
import scipy.linalg
import scipy.stats
from sklearn.covariance import ledoit_wolf

HERE = pathlib.Path(__file__).parent


def panel(seed: int, observations: int, assets: int) -> numpy.ndarray:
    """Returns with a market factor, different volatilities and fat tails."""
    random = numpy.random.default_rng(seed)
    market = random.standard_t(5, size=(observations, 1)) * 0.008
    beta = random.uniform(0.4, 1.6, size=(1, assets))
    own = random.standard_t(5, size=(observations, assets)) * random.uniform(0.005, 0.02, size=(1, assets))
    return market * beta + own


def covariance_case(name: str, seed: int, observations: int, assets: int) -> dict:
    x = panel(seed, observations, assets)
    sample = numpy.cov(x, rowvar=False, ddof=1).reshape(assets, assets)
    half_life = observations / 4
    weights = 0.5 ** (numpy.arange(observations - 1, -1, -1) / half_life)
    weights /= weights.sum()
    deviations = x - weights @ x
    weighted = (deviations * weights[:, None]).T @ deviations / (1 - (weights**2).sum())
    shrunk, intensity = ledoit_wolf(x)
    return {
        "name": name,
        "observations": observations,
        "assets": assets,
        "returns": x.ravel().tolist(),
        "covariance": sample.ravel().tolist(),
        "half_life": half_life,
        "weighted_covariance": weighted.ravel().tolist(),
        "eigenvalues": numpy.linalg.eigvalsh(sample).tolist(),
        "sklearn_ledoit_wolf_ddof0": {"intensity": float(intensity), "covariance": shrunk.ravel().tolist()},
    }


def factor_case(seed: int, order: int) -> dict:
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((order + 5, order))
    a = x.T @ x / order
    b = random.standard_normal((order, 3))
    lower = numpy.linalg.cholesky(a)
    indefinite = random.standard_normal((order, order))
    indefinite = indefinite + indefinite.T
    return {
        "order": order,
        "a": a.ravel().tolist(),
        "b": b.ravel().tolist(),
        "cholesky": lower.ravel().tolist(),
        "solution": scipy.linalg.cho_solve((lower, True), b).ravel().tolist(),
        "indefinite": indefinite.ravel().tolist(),
        "eigenvalues": numpy.linalg.eigvalsh(indefinite).tolist(),
    }


def repair_case(seed: int, order: int) -> dict:
    """A correlation-like matrix with noise that makes some eigenvalues negative, and what clipping and rescaling make of it."""
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((order + 2, order))
    deviation = random.uniform(0.1, 0.5, size=order)
    broken = numpy.corrcoef(x, rowvar=False) + 0.3 * random.standard_normal((order, order))
    broken = (broken + broken.T) / 2
    numpy.fill_diagonal(broken, 1.0)
    broken = broken * numpy.outer(deviation, deviation)
    broken = (broken + broken.T) / 2
    values, vectors = numpy.linalg.eigh(broken)
    clipped = (vectors * numpy.maximum(values, 0)) @ vectors.T
    scale = numpy.sqrt(numpy.diag(broken) / numpy.diag(clipped))
    return {"order": order, "broken": broken.ravel().tolist(), "repaired": (clipped * numpy.outer(scale, scale)).ravel().tolist()}


def quantiles() -> dict:
    p = numpy.concatenate([10.0 ** -numpy.arange(1, 300, 13), numpy.linspace(0.001, 0.999, 41), 1 - 10.0 ** -numpy.arange(1, 16)])
    return {"p": p.tolist(), "z": scipy.stats.norm.ppf(p).tolist()}


def write(name: str, value: object) -> None:
    (HERE / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


write("covariance.json", [
    covariance_case("more observations than names", 1, 60, 7),
    covariance_case("more names than observations", 2, 25, 40),
    covariance_case("one name", 3, 30, 1),
])
write("factorisation.json", [factor_case(11, 1), factor_case(12, 6), factor_case(13, 37)])
write("repair.json", [repair_case(21, 5), repair_case(22, 24)])
write("normal-quantile.json", quantiles())
