"""Writes risk-validation.json beside it: how sample covariances forecast portfolios of a small panel, by definition.

    python3 test/golden/risk-validation/make.py

Made with numpy 2.4.6.
"""
import json
import pathlib

import numpy as np

SESSIONS, HORIZON, YEAR = 40, 5, 252
rng = np.random.default_rng(7)
T, n = 161, 6
market = 0.01 * rng.standard_t(5, T)
returns = np.outer(market, 0.5 + rng.random(n)) + 0.012 * rng.standard_normal((T, n))
returns = np.round(returns, 8)
returns[0] = 0
growth = 1 + returns


def statistics(forecasts, outcomes):
    z = outcomes / forecasts
    windows = np.lib.stride_tricks.sliding_window_view(z, 12)
    return {
        "observations": len(z),
        "bias": np.std(z, ddof=1),
        "rolling_deviation": np.mean(np.abs(np.std(windows, axis=1, ddof=1) - 1)),
        "q_statistic": np.mean(z**2 - np.log(z**2)),
        "qlike": np.mean(np.log(forecasts**2) + z**2),
        "forecast_volatility": np.sqrt(np.mean(forecasts**2) * YEAR / HORIZON),
        "realised_volatility": np.std(outcomes, ddof=1) * np.sqrt(YEAR / HORIZON),
    }


series = {}
for t in range(SESSIONS, T - HORIZON, HORIZON):
    covariance = np.cov(returns[t - SESSIONS + 1 : t + 1].T, ddof=1)
    after = np.prod(growth[t + 1 : t + 1 + HORIZON], axis=0) - 1
    values, vectors = np.linalg.eigh(covariance)
    trials = {"equal_weight 1": np.full(n, 1 / n)}
    for k, column in enumerate([5, 2, 0]):  # ranks 0, 3 (2.5 rounded up) and 5 of six, from the largest
        vector = vectors[:, column]
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
        trials[f"eigenportfolio {k + 1}"] = vector / np.abs(vector).sum()
    for name, weights in trials.items():
        forecast = np.sqrt(HORIZON * weights @ covariance @ weights)
        series.setdefault(name, []).append((forecast, weights @ after))

found = {
    "returns": returns.tolist(),
    "sessions": SESSIONS,
    "horizon": HORIZON,
    "portfolios": {name: statistics(*np.array(pairs).T) for name, pairs in series.items()},
}
pathlib.Path(__file__).with_suffix("").with_name("risk-validation.json").write_text(json.dumps(found) + "\n")
