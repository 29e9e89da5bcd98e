"""Writes factor-models.json beside it: a style model and its cross-sectional regressions, by definition.

    python3 test/golden/factor-models/make.py

Made with numpy 2.4.6. Prices and shares are formulas that the test has as well, so that no data is stored. Regressions
are by lstsq on rows multiplied by the root of their weight.
"""
import json
import pathlib

import numpy as np

T, N, FROM, YEAR = 420, 14, 300, 252
months = np.busday_offset("2020-01-01", np.arange(T)).astype("datetime64[M]")
ATTRIBUTED, HELD = 400, np.sin(np.arange(N) + 1) / 10 + 1 / N
i, t = np.arange(N), np.arange(T)[:, None]
returns = 0.012 * np.sin(12.9898 * t + 78.233 * i + 0.37 * t * i) + 0.004 * np.sin(0.9 * t)
returns[0] = 0
close = 50 * np.cumprod(1 + returns, axis=0)
shares = 1e6 * (1 + 3 * np.sin(i) ** 2)
volume = 1e4 * (2 + np.sin(5.1 * i + 0.3 * t))
quality = np.cos(3 * i) / 5
book = np.where(i == 4, np.nan, 1 + np.sin(2 * i) / 2)
sector = i % 3


def zscore(x):
    return (x - np.nanmean(x)) / np.nanstd(x)


def score(x):
    return np.nan_to_num(zscore(np.clip(zscore(x), -3, 3)))


def exposures(s):
    year = returns[s - 251 : s + 1]
    size = score(np.log(close[s] * shares))
    traded = score(np.log((close * volume)[s - 62 : s + 1].mean(axis=0)))
    rest = traded - size * (traded @ size) / (size @ size)
    momentum = np.prod(1 + returns[s - 21 - 230 : s - 20], axis=0) - 1
    volatility = np.std(year, axis=0, ddof=1) * np.sqrt(YEAR)
    return np.column_stack([size, score(book), score(momentum), score(volatility), zscore(rest), score(quality)])


dummies = (sector[:, None] == np.arange(3)).astype(float)
last = T - 1
factors, residuals, shares_explained, t_values = [], [], [], []
# Market: the mean of the sectors; a sector: beyond the market.
combine = np.block(
    [
        [np.full((1, 3), 1 / 3), np.zeros((1, 6))],
        [np.eye(3) - 1 / 3, np.zeros((3, 6))],
        [np.zeros((6, 3)), np.eye(6)],
    ]
)
for s in range(FROM + 1, T):
    known = np.searchsorted(months, months[s]) - 1  # the last session of the month before
    design = np.hstack([dummies, exposures(known)])
    root = np.sqrt(close[known] * shares)
    weights = root / root.mean()
    half = np.sqrt(weights)
    found = np.linalg.lstsq(design * half[:, None], returns[s] * half, rcond=None)[0]
    left = returns[s] - design @ found
    squares = weights @ left**2
    mean = weights @ returns[s] / weights.sum()
    inverse = np.linalg.inv(design.T @ (design * weights[:, None]))
    error = np.sqrt(squares / (N - 9) * np.diag(combine @ inverse @ combine.T))
    if s == ATTRIBUTED:
        held = np.hstack([np.ones((N, 1)), design]).T @ HELD
        attribution = {"contributions": (held * (combine @ found)).tolist(), "specific": float(HELD @ left)}
    factors.append(combine @ found)
    residuals.append(left)
    shares_explained.append(1 - squares / (weights @ (returns[s] - mean) ** 2))
    t_values.append(np.abs(combine @ found) / error)

now = np.hstack([np.ones((N, 1)), dummies, exposures(last)])
covariance = YEAR * np.cov(np.array(factors).T, ddof=1)
specific = YEAR * np.var(np.array(residuals), axis=0, ddof=1)
found = {
    "volatilities": np.sqrt(np.diag(covariance)).tolist(),
    "t_statistics": np.mean(t_values, axis=0).tolist(),
    "significant": np.mean(np.array(t_values) > 2, axis=0).tolist(),
    "attribution": attribution,
    "r_squared": float(np.mean(shares_explained)),
    "covariance": (now @ covariance @ now.T + np.diag(specific)).tolist(),
}
pathlib.Path(__file__).with_name("factor-models.json").write_text(json.dumps(found) + "\n")
