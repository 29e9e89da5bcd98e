"""Writes real-panels.json beside it: results of numpy and scikit-learn for two public price panels, without the prices themselves.

    /usr/bin/python3 test/golden/numerics/make_real.py ../shared/data

Made with Debian bookworm's python3-numpy 1.24.2 and python3-sklearn 1.2.1 from skfolio's `sp500_dataset` (20 names, 1990-2022) and
PyPortfolioOpt's `stock_prices` (20 names with late listings, 1989-2018). The coverage rule and the constant-correlation
intensity are written again here, from the contract and from Ledoit & Wolf's published covCor, independently of the service.
"""
import csv
import gzip
import io
import json
import pathlib
import sys

import numpy
from sklearn.covariance import ledoit_wolf

HERE = pathlib.Path(__file__).parent


def read(path: pathlib.Path) -> tuple[list[str], list[str], numpy.ndarray]:
    text = gzip.open(path, "rt").read() if path.suffix == ".gz" else path.read_text()
    header, *rows = csv.reader(io.StringIO(text))
    prices = numpy.array([[float(cell) if cell else numpy.nan for cell in row[1:]] for row in rows])
    return [row[0] for row in rows], header[1:], prices


def covered(names: list[str], prices: numpy.ndarray) -> tuple[list[str], numpy.ndarray]:
    """Names with 20 returns and prices on 80 % of the sessions, then complete rows of returns; names ascending."""
    prices = prices[~numpy.isnan(prices).all(axis=1)]
    returns = prices[1:] / prices[:-1] - 1
    keep = [i for i in range(len(names)) if (~numpy.isnan(returns[:, i])).sum() >= 20 and (~numpy.isnan(prices[:, i])).mean() >= 0.8]
    keep.sort(key=lambda i: names[i])
    rows = returns[:, keep]
    return [names[i] for i in keep], rows[~numpy.isnan(rows).any(axis=1)]


def cov_cor(x: numpy.ndarray) -> tuple[numpy.ndarray, float]:
    """Ledoit & Wolf, covCor.m: constant-correlation target, n = T - 1."""
    t, n = x.shape
    y = x - x.mean(axis=0)
    k = t - 1
    sample = y.T @ y / k
    variance = numpy.diag(sample)[:, None]
    deviation = numpy.sqrt(variance)
    rbar = ((sample / (deviation @ deviation.T)).sum() - n) / (n * (n - 1))
    target = rbar * (deviation @ deviation.T)
    numpy.fill_diagonal(target, variance)
    y2 = y**2
    pi_matrix = y2.T @ y2 / k - sample**2
    theta = (y**3).T @ y / k - variance * sample
    numpy.fill_diagonal(theta, 0)
    rho = numpy.diag(pi_matrix).sum() + rbar * ((1 / deviation) @ deviation.T * theta).sum()
    gamma = numpy.linalg.norm(sample - target, "fro") ** 2
    return sample, float(max(0, min(1, (pi_matrix.sum() - rho) / gamma / k)))


def panel(path: pathlib.Path) -> dict:
    _, names, prices = read(path)
    kept, returns = covered(names, prices)
    sample, intensity = cov_cor(returns)
    _, identity = ledoit_wolf(returns)
    return {
        "names": kept,
        "observations": len(returns),
        "eigenvalues": (252 * numpy.linalg.eigvalsh(sample)).tolist(),
        "volatilities": numpy.sqrt(252 * numpy.diag(sample)).tolist(),
        "constant_correlation_intensity": intensity,
        "sklearn_identity_intensity_ddof0": float(identity),
        "first_row": (252 * sample[0]).tolist(),
    }


data = pathlib.Path(sys.argv[1])
panels = {
    "us-large-20": panel(data / "us-large-20/sp500_dataset.csv.gz"),
    "ragged-20": panel(data / "ragged-20/stock_prices.csv"),
}
(HERE / "real-panels.json").write_text(json.dumps(panels, indent=1) + "\n")
