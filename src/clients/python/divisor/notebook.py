"""Plots of runs for notebooks; requires matplotlib and pandas.

    from divisor import Divisor, notebook

    service = Divisor()
    notebook.plot_levels(service, "CORE-40", "VALUE")
"""

from __future__ import annotations

from typing import Any, Optional

from .client import Divisor
from .optional import package

pyplot = package("matplotlib.pyplot") if package("matplotlib") is not None else None


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    if pyplot is None:
        raise ImportError("divisor.notebook requires matplotlib, which is not installed: pip install matplotlib")
    return pyplot.subplots(figsize=(9, 4))[1]


def plot_levels(service: Divisor, *index_ids: str, axes: Any = None, **query: Any) -> Any:
    """Plots levels of runs, rebased to 100, on their common dates. Query: start, end. Returns the axes."""
    levels = service.frames.levels(*index_ids, **query).dropna()
    return _drawn(100 * levels / levels.iloc[0], axes, "Level")


def plot_drawdowns(service: Divisor, *index_ids: str, axes: Any = None, **query: Any) -> Any:
    """Plots drawdowns of runs. Query: start, end. Returns the axes."""
    levels = service.frames.levels(*index_ids, **query)
    return _drawn(levels / levels.cummax() - 1, axes, "Drawdown")


def plot_exposures(service: Divisor, index_id: str, by: Optional[str] = None, axes: Any = None, **query: Any) -> Any:
    """Plots weights of groups through time, stacked. Returns the axes."""
    exposures = service.frames.exposures(index_id, by=by, **query)
    drawn = _axes(axes)
    drawn.stackplot(exposures.index, exposures.to_numpy().T, labels=list(exposures.columns))
    return _labelled(drawn, "Weight")


def plot_weights(service: Divisor, index_id: str, count: int = 20, axes: Any = None, **query: Any) -> Any:
    """Plots the largest weights on a date. Query: as_of. Returns the axes."""
    weights = service.frames.weights(index_id, **query)["weight"].nlargest(count)[::-1]
    drawn = _axes(axes)
    drawn.barh(list(weights.index), weights.to_numpy())
    drawn.set_xlabel("Weight")
    return drawn


def _drawn(frame: Any, axes: Any, label: str) -> Any:
    drawn = _axes(axes)
    for name in frame.columns:
        drawn.plot(frame.index, frame[name].to_numpy(), label=str(name))
    return _labelled(drawn, label)


def _labelled(axes: Any, label: str) -> Any:
    axes.set_ylabel(label)
    axes.legend(loc="upper left", fontsize="small")
    axes.grid(True, alpha=0.3)
    return axes
