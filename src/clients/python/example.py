"""Generates a market, defines two indices on it, backtests both and draws a chart of their levels.

    python3 example.py [http://127.0.0.1:8080]

Writes levels.png with matplotlib, else levels.svg.
"""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

from divisor import Divisor, DivisorError, progress_bar

STORE = {"store_id": "example", "seed": 42, "assets": 150, "start": "2018-01-01", "end": "2024-12-31"}


def index(index_id: str, name: str, weighting: dict) -> dict:
    return {
        "id": index_id, "name": name, "calendar": "XNYS", "base_date": "2019-01-02",
        "rebalance": {"frequency": "quarterly", "anchor": "third_friday"},
        "pipeline": {
            "selection": [{"id": "largest", "type": "TopN", "params": {"count": 50}}],
            "treatment": {"dividends": "total"},
            "weighting": weighting,
        },
    }


def main() -> None:
    service = Divisor(sys.argv[1] if len(sys.argv) > 1 else None, progress=progress_bar, frames=False)
    print(f"Divisor {service.health()['version']} at {service.url}")
    try:
        service.generate_market(**STORE)
    except DivisorError as refused:
        if refused.code != "STORE_EXISTS":
            raise
        service.serve(STORE["store_id"])
    service.put_index(index("EXAMPLE-CAP", "Fifty largest, capped", {"type": "MarketCapWeight", "cap": 0.05}))
    service.put_index(index("EXAMPLE-CALM", "Fifty largest, by inverse volatility", {"type": "InverseVolatilityWeight"}))

    print(f"{'':<40}{'return':>10}{'a year':>10}{'volatility':>12}{'Sharpe':>8}{'drawdown':>10}")
    levels = {}
    for index_id in ("EXAMPLE-CAP", "EXAMPLE-CALM"):
        run = service.backtest(index_id, transaction_cost_bps=5)
        name, found = service.index(index_id)["name"], run["metrics"]
        levels[name] = run["level"]
        print(f"{name:<40}{found['total_return']:>10.2%}{found['annualised_return']:>10.2%}{found['volatility']:>12.2%}{found['sharpe_ratio']:>8.2f}{found['max_drawdown']:>10.2%}")
    print(f"Chart written to {draw(levels)}")


def draw(levels: dict) -> Path:
    try:
        from matplotlib import pyplot
    except ImportError:
        return draw_svg(levels, Path("levels.svg"))
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for name, level in levels.items():
        axes.plot([date.fromisoformat(day) for day in level["index"]], level["data"], label=name, linewidth=1)
    axes.set_title("Levels, 100 at the start")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig("levels.png", dpi=150, bbox_inches="tight")
    return Path("levels.png")


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 460, 60, 20, 50, 40
COLOURS = ("#0b5cad", "#c2410c", "#0b6e4f", "#6a3fb0")


def draw_svg(levels: dict, path: Path) -> Path:
    """Draws a line chart: a grid of round levels, the first session of each year, a legend."""
    values = [value for level in levels.values() for value in level["data"]]
    step = next(s for s in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000) if (max(values) - min(values)) / s <= 8)
    low, high = step * (min(values) // step), step * -(-max(values) // step)
    days = next(iter(levels.values()))["index"]

    def x(i: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * i / (len(days) - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', f'<text x="{LEFT}" y="20" font-size="15">Levels, 100 at the start</text>']
    tick = low
    while tick <= high + step / 2:
        parts.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
        tick += step
    for i, day in enumerate(days):
        if i == 0 or day[:4] != days[i - 1][:4]:
            parts.append(f'<path d="M{x(i):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eee"/><text x="{x(i):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{day[:4]}</text>')
    for k, (name, level) in enumerate(levels.items()):
        points = " ".join(f"{x(i):.1f},{y(value):.1f}" for i, value in enumerate(level["data"]))
        colour = COLOURS[k % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
        parts.append(f'<path d="M{LEFT + 280 * k} 36h20" stroke="{colour}" stroke-width="3"/><text x="{LEFT + 280 * k + 26}" y="40">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>"]))
    return path


if __name__ == "__main__":
    main()
