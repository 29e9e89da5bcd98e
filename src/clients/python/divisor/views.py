"""Responses of the service as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union, cast

import pandas

from .api import Operations
from .frames import flat, to_frame, to_series

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from . import contract as c
    from .client import Divisor

#: An id, or several as a list.
Ids = Union[str, Iterable[str]]


def ids_of(named: Tuple[Ids, ...]) -> List[str]:
    """Flattens ids that a method receives one by one or as a list."""
    return [one for each in named for one in ([each] if isinstance(each, str) else each)]


def _statistics(answer: "c.PerformanceView") -> Dict[str, Any]:
    own: Dict[str, Any] = {**flat(answer["metrics"]), "observations": answer["observations"], **flat(answer["statistics"])}
    against = flat(answer["benchmark_statistics"] or {})
    return {**own, **{f"benchmark_{name}" if name in own else name: value for name, value in against.items()}}


class Frames:
    """The most common tables of the service as pandas frames: `service.frames.weights("CORE-40")`.

    Keyword arguments are those of the operation, `service.api.get_weights` here. A table without a method
    here is one of `tables(answer)`, for any response of `service.api`.
    """

    def __init__(self, api: Operations, client: "Divisor") -> None:
        self._api = api
        self._client = client

    def sql(self, query: str) -> "DataFrame":
        """Result of one SELECT statement."""
        return cast("DataFrame", self._client.sql(query))

    def export(self, index_id: str, table: str, **query: Any) -> "DataFrame":
        """Any table of a run over its whole history: levels, weights, constituents, rebalances, trades, attribution, events, ..."""
        return cast("DataFrame", self._client.export(index_id, table, **query))

    # Data ------------------------------------------------------------------------------------------------------------

    def prices(self, identifier: str, **query: Any) -> "DataFrame":
        """Market data of one security by date."""
        return to_frame(self._api.get_prices(identifier, **query)["prices"]).astype("float64")

    def corporate_actions(self, identifier: str, **query: Any) -> "DataFrame":
        """Corporate actions of one security."""
        return to_frame(self._api.get_corporate_actions(identifier, **query)["actions"])

    def reference(self, *identifiers: "Ids", **query: Any) -> "DataFrame":
        """Reference data, one row per security, without securities that the store lacks.

        :raises ValueError: without an identifier."""
        if not identifiers:
            raise ValueError("reference requires at least one identifier, as in reference('AAPL', 'MSFT'); identifiers() lists them.")
        entries = self._api.get_asset_references(ids_of(identifiers), **query)["entries"]
        return to_frame([{"identifier": one["identifier"], **one["fields"]} for one in entries if one["found"]], "identifier")

    def identifiers(self, **query: Any) -> "DataFrame":
        """Securities of the served store with their first and last dates."""
        return to_frame(self._api.search_identifiers(**query)["identifiers"], "identifier")

    # Indices ---------------------------------------------------------------------------------------------------------

    def preview(self, index: "Union[str, Mapping[str, Any]]", as_of: "Optional[c.Date]" = None) -> "DataFrame":
        """Composition of a stored index (by id) or a document: one row per candidate."""
        return to_frame(self._previewed(index, as_of)["assets"], "identifier")

    def funnel(self, index: "Union[str, Mapping[str, Any]]", as_of: "Optional[c.Date]" = None) -> "DataFrame":
        """Number of candidates after each rule of a preview."""
        return to_frame(self._previewed(index, as_of)["steps"] or [], "position")

    def what_if(self, index_id: str, patch: Mapping[str, Any], as_of: "Optional[c.Date]" = None) -> "DataFrame":
        """Effect of a change of a stored index: one row per added, removed or changed security."""
        answer = self._api.what_if({"index_id": index_id, "patch": dict(patch), "as_of": as_of})
        kinds = {"added": answer["added"], "removed": answer["removed"], "changed": answer["changed"]}
        return to_frame([{"kind": kind, **row} for kind, rows in kinds.items() for row in rows], "identifier")

    def _previewed(self, index: "Union[str, Mapping[str, Any]]", as_of: "Optional[c.Date]") -> "c.PreviewResponse":
        if isinstance(index, str):
            return self._api.preview_index(index, {"as_of": as_of})
        return self._api.preview_document({"document": cast("c.IndexDocumentBody", index), "as_of": as_of})

    # Runs ------------------------------------------------------------------------------------------------------------

    def runs(self, **query: Any) -> "DataFrame":
        """Every stored run: level, returns, volatility, next rebalance."""
        rows = self._api.list_summaries(**query)["summaries"]
        return to_frame([{name: value for name, value in row.items() if name != "trace"} for row in rows], "index_id")

    def levels(self, *index_ids: "Ids", **query: Any) -> "DataFrame":
        """Levels of runs, one column each, on all dates of any run."""
        return pandas.DataFrame({one: to_series(self._api.get_levels(one, **query)["levels"]) for one in ids_of(index_ids)})

    def metrics(self, *index_ids: "Ids", **query: Any) -> "DataFrame":
        """Returns, volatility, Sharpe ratio, drawdown and so on, one column per run."""
        found = {one: flat(self._api.get_performance(one, **query)["metrics"]) for one in ids_of(index_ids)}
        return pandas.DataFrame(found).astype("float64", errors="ignore")

    def statistics(self, *index_ids: "Ids", **query: Any) -> "DataFrame":
        """All figures of `performance`, one column per run: metrics, the distribution of returns (Sortino ratio, CVaR,
        skewness, hit rate), and those against the benchmark (information ratio, captures; NaN without one), which begin
        with `benchmark_` if a metric has the same name. The table of drawdowns is `drawdowns`."""
        found = {one: _statistics(self._api.get_performance(one, **query)) for one in ids_of(index_ids)}
        return pandas.DataFrame(found).astype("float64", errors="ignore")

    def performance(self, index_id: str, **query: Any) -> "DataFrame":
        """Levels of a run, of its index and benchmark if any, and the drawdown, by date."""
        answer: Mapping[str, Any] = self._api.get_performance(index_id, **query)
        held = ("level", "index_level", "benchmark_level", "drawdown")
        return pandas.DataFrame({name: to_series(answer[name]) for name in held if answer[name] is not None})

    def drawdowns(self, index_id: str, **query: Any) -> "DataFrame":
        """The deepest drawdowns of a run: peak, trough, recovery, depth."""
        table = to_frame(self._api.get_performance(index_id, **query)["drawdowns"])
        for name in {"peak", "trough", "recovery"}.intersection(table.columns):
            table[name] = pandas.to_datetime(table[name])
        return table

    def correlations(self, *index_ids: "Ids", **query: Any) -> "DataFrame":
        """Correlations of the returns of runs and of a benchmark, on their common dates."""
        answer = self._api.compare_runs(ids_of(index_ids), **query)
        names = [entry["index_id"] for entry in answer["entries"]]
        return pandas.DataFrame(answer["correlations"], index=names, columns=names, dtype="float64")

    def monthly_returns(self, index_id: str, **query: Any) -> "DataFrame":
        """Returns by year and month."""
        months = pandas.Series(self._api.get_performance(index_id, **query)["monthly_returns"], dtype="float64")
        dates = pandas.PeriodIndex(months.index, freq="M")
        return months.groupby([dates.year.rename("year"), dates.month.rename("month")]).first().unstack("month")

    def compare(self, *index_ids: "Ids", **query: Any) -> "DataFrame":
        """Levels of runs and of a benchmark on their common dates, rebased to 100. Query: benchmark, start, end."""
        entries = self._api.compare_runs(ids_of(index_ids), **query)["entries"]
        return pandas.DataFrame({entry["index_id"]: to_series(entry["level"]) for entry in entries})

    def weights(self, index_id: str, **query: Any) -> "DataFrame":
        """Holdings of an index on a date."""
        return to_frame(self._api.get_weights(index_id, **query)["weights"], "identifier")

    def attribution(self, index_id: str, **query: Any) -> "DataFrame":
        """Contribution of each security to the return."""
        return to_frame(self._api.get_attribution(index_id, **query)["contributions"], "asset_id")

    def group_attribution(self, index_id: str, **query: Any) -> "DataFrame":
        """Contribution of each group; against a benchmark allocation, selection and interaction too."""
        return to_frame(self._api.get_group_attribution(index_id, **query)["groups"], "group")

    def exposures(self, index_id: str, **query: Any) -> "DataFrame":
        """Weight of each group through time."""
        answer = self._api.get_exposures(index_id, **query)
        groups = {row["group"]: row["weights"] for row in answer["groups"]}
        return pandas.DataFrame(groups, index=pandas.to_datetime(list(answer["dates"])))

    def rebalances(self, index_id: str) -> "DataFrame":
        """The rebalances of a run by date."""
        return to_frame(self._api.list_rebalances(index_id)["rebalances"], "date")

    def rebalance(self, index_id: str, date: "c.Date") -> "DataFrame":
        """Each security of one rebalance, before and after."""
        return to_frame(self._api.get_rebalance(index_id, date)["names"], "identifier")

    def rolling(self, index_id: str, **query: Any) -> "DataFrame":
        """Rolling volatility, tracking error, beta and correlation."""
        return to_frame(self._api.get_rolling_risk(index_id, **query)["risk"])

    def factor_risk(self, index_id: str, benchmark: str, **query: Any) -> "Series":
        """Fraction of the active factor variance that each factor contributes."""
        return pandas.Series(self._api.get_factor_risk(index_id, benchmark, **query)["contributions"], dtype="float64")

    def total_risk(self, index_id: str, **query: Any) -> "Series":
        """Fraction of the total factor variance that each factor contributes."""
        return pandas.Series(self._api.get_total_risk(index_id, **query)["contributions"], dtype="float64")

    # Jobs ------------------------------------------------------------------------------------------------------------

    def sweep(self, body: "Union[c.SweepRequest, c.SweepView]") -> "DataFrame":
        """Variants of a sweep by rank, with their changes and metrics; runs a request first."""
        answer: Any = body if "rows" in body else self._api.start_sweep(body).wait()
        rows = [{**row, **row["patch"], **(row["metrics"] or {})} for row in answer["rows"]]
        return to_frame([{name: row[name] for name in row if name not in ("patch", "metrics")} for row in rows], "variant")

    def optimisation(self, body: "Union[c.OptimisationRunRequest, c.OptimisationRunResult]") -> "DataFrame":
        """Weights of an optimisation; runs a request first."""
        answer: Any = body if "weights" in body else self._api.start_optimisation(body).wait()
        return to_frame(answer["weights"], "identifier")

    def scenarios(self, index_id: str, scenarios: "Iterable[Mapping[str, Any]]", run_id: Optional[str] = None, **fields: Any) -> "DataFrame":
        """Past windows and shocks by scenario: return, covered weight, fit of a regression. `tables(answer)` has names and groups."""
        body: Any = {"scenarios": list(scenarios), **fields}
        answer = self._api.run_scenarios(index_id, body, run_id=run_id)
        rows = [{name: value for name, value in row.items() if not isinstance(value, (list, dict))} for row in answer["scenarios"]]
        return to_frame(rows, "name")

    def risk_validation(self, model_id: str, body: "Union[c.RiskValidationRequest, c.RiskValidationView, None]" = None) -> "DataFrame":
        """Forecast quality of a risk model for each portfolio; runs a request first."""
        wanted: Any = body or {}
        answer: Any = wanted if "portfolios" in wanted else self._api.validate_risk_model(model_id, wanted).wait()
        return to_frame([{**row, "portfolio": f"{row['family']} {row['number']}"} for row in answer["portfolios"]], "portfolio")

    def covariance(self, model_id: str) -> "DataFrame":
        """The covariance of a risk model."""
        return to_frame(self._api.get_risk_model(model_id)["covariance"])
