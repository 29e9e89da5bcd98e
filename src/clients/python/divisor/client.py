"""A client of Divisor: Python 3.9 or newer, with only the standard library.

    from divisor import Divisor

    service = Divisor("http://127.0.0.1:8080")
    service.put_index({"id": "CORE-40", "name": "Core forty", "calendar": "XNYS", "base_date": "2019-01-02",
                       "pipeline": {"weighting": {"type": "EqualWeight"}}})
    run = service.backtest("CORE-40", transaction_cost_bps=5)
    print(run["metrics"]["total_return"])

Dated series and tables are pandas objects if pandas is installed, otherwise `Series` and `Table`, which are
dictionaries of the same members. `service.api` has every operation as a typed method that returns parsed JSON.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import sys
import warnings
import zipfile
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from .api import Operations
from .arrow import can_read, frame_of
from .batches import Batches
from .display import Definition, Rows, Run
from .errors import DivisorError, JobCancelled, JobFailed, Unreachable
from .frames import HAS_PANDAS, as_frame, dated, assert_long, check, is_large, ready, split, warn_of_adjusted, with_dates
from .jobs import Job, Progress
from .optional import package
from .transport import ARROW, JSON, LOST, PARQUET, Transport, as_json, word

if TYPE_CHECKING:
    from .views import Frames

pandas = package("pandas")  # without it, tables are dictionaries
tqdm = package("tqdm.auto") if package("tqdm") is not None else None


class Divisor:
    """A running service.

    :param url: its address. Default: the variable DIVISOR_URL, or http://127.0.0.1:8080
    :param key: `dvs_...`, if the service has keys. Default: the variable DIVISOR_API_KEY
    :param progress: called with every status of a followed job; `progress_bar` draws on standard error
    :param frames: False keeps series and tables as dictionaries even if pandas is installed
    """

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        progress: Optional[Progress] = None,
        frames: bool = True,
        retry_seconds: float = 30,
    ) -> None:
        address = url or os.environ.get("DIVISOR_URL") or "http://127.0.0.1:8080"
        self.transport = Transport(address, key or os.environ.get("DIVISOR_API_KEY"), retry_seconds)
        #: Every operation as a typed method.
        self.api = Operations(self.transport)
        self.progress = progress
        self._frames = frames and HAS_PANDAS

    @property
    def url(self) -> str:
        return self.transport.url

    @property
    def key(self) -> Optional[str]:
        return self.transport.key

    @property
    def frames(self) -> "Frames":
        """Responses as pandas frames. Raises ImportError without pandas."""
        if not HAS_PANDAS:
            raise ImportError("frames requires pandas, which is not installed: pip install pandas")
        from .views import Frames

        framed = copy.copy(self)
        framed._frames = True
        return Frames(self.api, framed)

    @property
    def batches(self) -> Batches:
        """Personal indices: trades of many accounts with tax lots that follow an index."""
        return Batches(self)

    # Any route -------------------------------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        if_match: Optional[str] = None,
        note: Optional[str] = None,
    ) -> Any:
        """Returns the response of any route: JSON with converted series and tables, text, bytes, or None without a body."""
        content, headers = self.transport.answer(method, path, body, query, if_match, "application/json, */*;q=0.5", note)
        kind = headers.get("Content-Type", "")
        if not content:
            return None
        if kind.startswith("application/json"):
            return ready(json.loads(content), self._frames)
        return content.decode() if kind.startswith("text/") else content

    def run(self, path: str, body: Any = None, progress: Optional[Progress] = None, callback: Optional[str] = None) -> Any:
        """Starts the job of a route and follows it to its end. Returns its result, also if the service
        responds at once.

        :param callback: URL to notify of the end of the job too
        """
        query = None if callback is None else {"callback": callback}
        answer = self.transport.json("POST", path, {} if body is None else body, query)
        return self._followed(Job(self.transport, answer), progress)

    def wait(self, job: Union[str, Mapping[str, Any], "Job[Any]"], progress: Optional[Progress] = None) -> Any:
        """Follows a job, given by its id or status, to its end. Returns its result.

        :raises JobFailed: with the job's own code
        :raises JobCancelled: if it was cancelled
        """
        if isinstance(job, Job):
            return self._followed(job, progress)
        job_id = job if isinstance(job, str) else job["job_id"]
        status = self.transport.json("GET", f"/jobs/{word(job_id)}") if isinstance(job, str) else job
        return self._followed(Job(self.transport, status), progress)

    def _followed(self, job: "Job[Any]", progress: Optional[Progress]) -> Any:
        return ready(job.wait(progress or self.progress), self._frames)

    def cancel(self, job_id: str) -> Any:
        return self.request("DELETE", f"/jobs/{word(job_id)}")

    # Data ----------------------------------------------------------------------------------------------------------------

    def health(self) -> Any:
        return self.request("GET", "/health")

    def generate_market(self, **fields: Any) -> Any:
        """Generates a synthetic market and serves it. Fields of `POST /data/synthetic`: store_id, seed, assets, start, end, ..."""
        return self.run("/data/synthetic", fields)

    def import_tables(self, name: str, tables: Mapping[str, Any], **fields: Any) -> Any:
        """Writes tables into a new store: market, and optionally reference, corporate_actions, universes, series.

        A table is a pandas frame with columns `identifier`, `date`, ..., or with these in its index, or with identifiers in a
        second level of its columns; a dictionary of the three members of `to_dict("split")`; or a list of rows that are
        dictionaries. `activate=True` serves the store. Large frames are sent as Parquet, up to 4 GiB each.
        A frame with a column for each security is read with `mapping={"layout": "wide", "field": "CLOSE"}`.
        """
        for dataset, table in tables.items():
            check(dataset, table)
        if fields.get("mapping") is None:
            assert_long(tables.get("market"))
            warn_of_adjusted(tables.get("market"))
        if any(is_large(table) for table in tables.values()):
            return self._import_frames(name, tables, fields)
        body = {"name": name, "tables": {dataset: split(dataset, table) for dataset, table in tables.items()}, **fields}
        return self.request("POST", "/data/import", body)

    def _import_frames(self, name: str, tables: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
        """Sends the market, then the other tables, one by one; the last one activates the store if requested."""
        from .parquet import parquet  # requires numpy, which pandas installs

        datasets = sorted(tables, key=lambda dataset: dataset != "market")
        is_new = fields.get("on_exists", "refuse") == "refuse"
        rows: Dict[str, int] = {}
        store_id = None
        try:
            for dataset in datasets:
                query = {**fields, "name": name, "dataset": dataset, "activate": bool(fields.get("activate"))}
                if store_id is not None:
                    query.update(store_id=store_id, on_exists="append", mapping=None)
                query["activate"] = query["activate"] and dataset == datasets[-1]
                frame = as_frame(tables[dataset])
                answer = self.transport.upload("/data/import", lambda: parquet(frame), PARQUET, query)
                store_id = answer["store"]["store_id"]
                rows[dataset] = answer["rows"][dataset]
        except Exception:
            if store_id is not None and is_new:
                self.request("DELETE", f"/data/stores/{word(store_id)}")
            raise
        return {**ready(answer, self._frames), "rows": {**answer["rows"], **rows}}

    def import_file(self, path: Union[str, Path], **fields: Any) -> Any:
        """Imports an Excel workbook or a zip of CSV files in the form of `GET /data/import/template`; or the
        market as a CSV file (.csv), a Parquet file (.parquet) or an Arrow stream (.arrow), up to 4 GiB.

        :raises ValueError: for a file of another kind
        """
        file = Path(path)
        if file.suffix not in _FILES:
            raise ValueError(f"{file} must be one of {', '.join(_FILES)}.")
        kind = {".parquet": PARQUET, ".arrow": ARROW}.get(file.suffix)
        if kind is not None:
            file.stat()  # an absent file is not a lost connection
            answer = self.transport.upload("/data/import", lambda: _pieces(file), kind, {"name": file.stem, **fields})
            return ready(answer, self._frames)
        held = _zipped(file, fields.get("mapping")) if file.suffix == ".csv" else file.read_bytes()
        content = base64.b64encode(held).decode()
        kept = "xlsx" if file.suffix == ".xlsx" else "csv.zip"
        return self.request("POST", "/data/import", {"name": file.stem, "format": kept, "content": content, **fields})

    def import_risk_file(self, model_id: str, path: Union[str, Path], **fields: Any) -> Any:
        """Stores an external risk model: a .json file in the form of `GET /risk-models/{model_id}/export`, or a .csv or
        .arrow file with `units="annual"` or `"daily"`, and optionally `date`, `annualisation` and `repair`.

        :raises ValueError: for a file of another kind
        """
        file = Path(path)
        address = f"/risk-models/{word(model_id)}/import"
        if file.suffix == ".json":
            return self.request("POST", address, {**json.loads(file.read_text("utf-8")), **fields})
        kind = {".csv": "text/csv", ".arrow": ARROW}.get(file.suffix)
        if kind is None:
            raise ValueError(f"{file} must be one of .json, .csv, .arrow.")
        file.stat()  # an absent file is not a lost connection
        return self.transport.upload(address, lambda: _pieces(file), kind, fields)

    def serve(self, store_id: str) -> Any:
        """Loads and serves a store; no effect if it is already served."""
        try:
            return self.wait(self.request("POST", f"/data/stores/{word(store_id)}/activate"))
        except DivisorError as refused:
            if refused.code != "STORE_ACTIVE":
                raise
            return self.request("GET", f"/data/stores/{word(store_id)}")

    def prices(self, identifier: str, **query: Any) -> Any:
        """Market data of one security. Query: start, end, interval, columns, adjust."""
        path = f"/data/prices/{word(identifier)}"
        if not self._frames:
            return self.request("GET", path, query=query)["prices"]
        if not can_read():
            frame = self.request("GET", path, query=query)["prices"]
            # JSON writes 100.0 as 100, which would make a column of integers.
            return frame.astype({name: "float64" for name in frame.select_dtypes("integer").columns})
        frame = frame_of(self.transport.content("GET", path, query=query, accept=ARROW))
        return dated(frame.set_index(frame.columns[0]))

    def reference(self, identifiers: Iterable[str], fields: Optional[Iterable[str]] = None, as_of: Union[str, date, None] = None) -> Mapping[str, Any]:
        """Reference data by identifier, without securities that the store lacks."""
        answer = self.request("GET", "/data/reference", query={"identifiers": list(identifiers), "fields": None if fields is None else list(fields), "as_of": as_of})
        return {entry["identifier"]: entry["fields"] for entry in answer["entries"] if entry["found"]}

    # Indices -------------------------------------------------------------------------------------------------------------

    def put_index(self, document: Mapping[str, Any], if_match: Optional[str] = None, note: Optional[str] = None) -> Any:
        """Stores or replaces a definition; the note records the reason. Returns it with all defaults.

        `findings` of the result has the findings of the document; a `UserWarning` states each that is not only information.
        """
        saved = self.request("PUT", f"/indices/{word(document['id'])}", document, if_match=if_match, note=note)
        definition = Definition(saved["index"])
        definition.findings = Rows(saved["findings"])
        for finding in saved["findings"]:
            if finding["severity"] != "info":
                warnings.warn(f"{finding['code']} {finding['path']}: {finding['message']}", UserWarning, stacklevel=2)
        return definition

    def index(self, index_id: str) -> Any:
        return Definition(self.request("GET", f"/indices/{word(index_id)}"))

    def indices(self) -> Any:
        return Rows(self.request("GET", "/indices")["indices"])

    def delete_index(self, index_id: str) -> Any:
        return self.request("DELETE", f"/indices/{word(index_id)}")["deleted"]

    def validate(self, document: Mapping[str, Any]) -> Any:
        """Findings of a definition; nothing is stored."""
        return Rows(self.request("POST", "/indices/validate", document)["findings"])

    def preview(self, index: Union[str, Mapping[str, Any]], as_of: Union[str, date, None] = None) -> Any:
        """Composition of a stored index (by id) or a document on a date."""
        if isinstance(index, str):
            return self.request("POST", f"/indices/{word(index)}/preview", {"as_of": as_json(as_of)})
        return self.request("POST", "/indices/preview", {"document": index, "as_of": as_json(as_of)})

    def what_if(self, index_id: str, patch: Mapping[str, Any], as_of: Union[str, date, None] = None) -> Any:
        """Effect of a change of a stored index: securities added, removed and changed, and the turnover."""
        return self.request("POST", "/indices/whatif", {"index_id": index_id, "patch": patch, "as_of": as_json(as_of)})

    # Runs ----------------------------------------------------------------------------------------------------------------

    def backtest(self, index_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Backtests an index and waits. Fields: start, end, initial_capital, transaction_cost_bps, benchmark, if_stale."""
        return Run(self.run(f"/analytics/{word(index_id)}/backtest", fields, progress))

    def backtests(self, index_ids: Iterable[str], progress: Optional[Progress] = None, **fields: Any) -> List[Dict[str, Any]]:
        """Backtests many indices and waits. Fields: if_stale, and those of `backtest`; they apply to all.

        :returns: one dictionary per index: index_id, outcome (`done`, `current`, `failed` or `refused`), total_return and error
        """
        answer = self.transport.json("POST", "/analytics/backtests", {"ids": list(index_ids), **fields})
        return [self._backtested(entry, progress) for entry in answer["backtests"]]

    def _backtested(self, entry: Mapping[str, Any], progress: Optional[Progress]) -> Dict[str, Any]:
        row = {"index_id": entry["index_id"], "outcome": entry["outcome"], "total_return": None, "error": entry["error"]}
        if entry["job"] is None:
            return row
        try:
            run: Any = Job[Any](self.transport, entry["job"]).wait(progress or self.progress)
        except JobFailed as failed:
            return {**row, "outcome": "failed", "error": {"code": failed.code, "message": failed.message}}
        except JobCancelled:
            return {**row, "outcome": "failed", "error": {"code": None, "message": "The job was cancelled."}}
        return {**row, "outcome": "done", "total_return": run["metrics"]["total_return"]}

    def renders(self, **query: Any) -> List[Dict[str, Any]]:
        """Finished renders, newest first. Query: index_id, template_id, limit, before."""
        return list(self.transport.json("GET", "/reports/renders", query=query)["renders"])

    def overview(self, index_id: str) -> Any:
        return self.request("GET", f"/analytics/{word(index_id)}/overview")

    def record(self, index_id: str) -> Any:
        return self.request("GET", f"/analytics/{word(index_id)}/record")

    def attribution(self, index_id: str, start: Union[str, date, None] = None, end: Union[str, date, None] = None) -> Any:
        return self.request("GET", f"/analytics/{word(index_id)}/attribution", query={"start": start, "end": end})

    def weights(self, index_id: str, **query: Any) -> Any:
        """Holdings of the index. Query: as_of, benchmark, risk."""
        return self.request("GET", f"/analytics/{word(index_id)}/weights", query=query)

    def levels(self, index_id: str, **query: Any) -> Any:
        """Index levels as a series. Query: variant, start, end."""
        return self.request("GET", f"/analytics/{word(index_id)}/levels", query=query)["levels"]

    def export(self, index_id: str, table: str, path: Union[str, Path, None] = None, **query: Any) -> Any:
        """A table of the run over its whole history: levels, weights, trades, events and so on. Query: start, end.

        :param path: a file to write, in the format of its extension: .csv, .xlsx, .arrow, .parquet or .json
        :returns: the path; without a path a DataFrame, or a list of dictionaries without pandas
        """
        route = f"/analytics/{word(index_id)}/exports/{word(table)}"
        if path is not None:
            return self._download(route, query, path)
        if self._frames and can_read():
            return frame_of(self.transport.content("GET", route, query=query, accept=ARROW))
        answer = self.transport.json("GET", route, query=query)
        if not self._frames:
            return [dict(zip(answer["columns"], row)) for row in answer["data"]]
        frame = pandas.DataFrame(answer["data"], columns=answer["columns"])
        return with_dates(frame, frame.columns.intersection(["date", "decision_date"]))

    def sql(self, query: str, path: Union[str, Path, None] = None) -> Any:
        """Result of one SELECT statement over levels, weights, trades, rebalances, attribution, events, prices,
        actions, reference, indices and runs.

        :param path: a file to write, in the format of its extension: .csv, .arrow, .parquet or .json
        :returns: the path; without a path a DataFrame, or a list of dictionaries without pandas
        :raises ValidationFailed: with line and column of an error in the statement
        """
        if path is not None:
            format = Path(path).suffix.lstrip(".").lower()
            return self._written("POST", "/sql", path, {"query": query, "format": format}, None)
        as_arrow = self._frames and can_read()
        content, headers = self.transport.answer("POST", "/sql", {"query": query}, accept=ARROW if as_arrow else JSON)
        if headers["X-Truncated"] == "true":
            warnings.warn(f"The result is truncated after {headers['X-Rows']} rows.", UserWarning, stacklevel=2)
        if as_arrow:
            return frame_of(content)
        answer = json.loads(content)
        names = [column["name"] for column in answer["columns"]]
        if not self._frames:
            return [dict(zip(names, row)) for row in answer["data"]]
        frame = pandas.DataFrame(answer["data"], columns=names)
        for column in answer["columns"]:
            if column["type"] == "number":
                frame[column["name"]] = frame[column["name"]].astype("float64")
        return with_dates(frame, [column["name"] for column in answer["columns"] if column["type"] == "date"])

    def compare(self, *index_ids: str, **query: Any) -> Any:
        """Compares runs on their common dates. Query: benchmark, start, end."""
        return self.request("GET", "/analytics/compare", query={"ids": index_ids, **query})

    def simulate(self, index_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Simulates future levels. Fields: horizon, paths, method, seed, level, ..."""
        return self.run(f"/analytics/{word(index_id)}/simulate", fields, progress)

    def estimate_risk_model(self, model_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Estimates a covariance and waits. Fields: index_id or identifiers, start, end, intensity, intensity_method, target, repair."""
        return self.run(f"/risk-models/{word(model_id)}/estimate", fields, progress)

    def validate_risk_model(self, model_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Validates the forecasts of a risk model over history, and waits. Fields: start, end, sessions, horizon, index_id, random, ..."""
        return self.run(f"/risk-models/{word(model_id)}/validate", fields, progress)

    def optimise(self, index_id: str, constraint_set_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Optimises the weights of an index under a stored constraint set and waits. Fields: objective, expected_returns,
        costs, candidates, risk_model, as_of, start, end, ..."""
        body = {"index_id": index_id, "constraint_set_id": constraint_set_id, **fields}
        return self.run("/optimise/runs", body, progress)

    def scenarios(self, index_id: str, scenarios: Iterable[Mapping[str, Any]], run_id: Optional[str] = None, **fields: Any) -> Any:
        """Returns of a run's composition in past windows and under shocks. Fields: as_of, by."""
        body = {"scenarios": list(scenarios), **fields}
        return self.request("POST", f"/analytics/{word(index_id)}/scenarios", body, {"run_id": run_id})

    # Derivatives ---------------------------------------------------------------------------------------------------------

    def price_future(self, **fields: Any) -> Any:
        return self.request("POST", "/derivatives/futures/price", fields)

    def price_trs(self, **fields: Any) -> Any:
        return self.request("POST", "/derivatives/trs/price", fields)

    def term_structure(self, index_id: str, expiries: Iterable[Union[str, date]], **query: Any) -> Any:
        return self.request("GET", f"/derivatives/{word(index_id)}/term-structure", query={"expiries": list(expiries), **query})

    # Reports -------------------------------------------------------------------------------------------------------------

    def render(self, template_id: str, index_id: Optional[str] = None, progress: Optional[Progress] = None) -> bytes:
        """Renders a report. Returns the PDF."""
        result = self.run("/reports/render", {"template_id": template_id, "index_id": index_id}, progress)
        return self.api.get_render(result["render_id"])

    # Implementation ------------------------------------------------------------------------------------------------------

    def _download(self, route: str, query: Mapping[str, Any], path: Union[str, Path]) -> Union[str, Path]:
        return self._written("GET", route, path, None, {**query, "format": Path(path).suffix.lstrip(".").lower()})

    def _written(self, method: str, route: str, path: Union[str, Path], body: Any, query: Optional[Mapping[str, Any]]) -> Union[str, Path]:
        """Streams a response to a file, which appears only when it is complete."""
        part = Path(f"{path}.part")
        try:
            with self.transport.open(method, route, body, query, accept="*/*") as response, open(part, "wb") as file:
                shutil.copyfileobj(response, file, 1 << 18)
            os.replace(part, path)
        except LOST as cause:
            raise Unreachable(f"The connection to {self.url} was lost.") from cause
        finally:
            part.unlink(missing_ok=True)
        return path


#: Kinds of files to import.
_FILES = (".xlsx", ".zip", ".csv", ".parquet", ".arrow")


def _zipped(path: Path, mapping: Any) -> bytes:
    """Archives a CSV file as the market, under its own name if a mapping may refer to it."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "market.csv" if mapping is None else path.name)
    return held.getvalue()


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")


_bars: Dict[str, Any] = {}


def _tqdm_bar(module: Any, job: Mapping[str, Any]) -> None:
    bar = _bars.get(job["job_id"])
    if bar is None:
        bar = _bars[job["job_id"]] = module.tqdm(total=100, desc=job["job_id"], bar_format="{desc} {percentage:3.0f}% |{bar}| {postfix}")
    bar.n = round(100 * job["progress"])
    bar.set_postfix_str(job["message"] or job["status"])
    if job["status"] not in ("pending", "running"):
        _bars.pop(job["job_id"]).close()


def progress_bar(job: Mapping[str, Any]) -> None:
    """Draws the progress of a job on standard error: with tqdm a bar, also in a notebook; else one line that is redrawn
    on a terminal, or a line at the end."""
    if tqdm is not None:
        return _tqdm_bar(tqdm, job)
    ended = job["status"] not in ("pending", "running")
    filled = round(24 * job["progress"])
    line = f"{job['job_id']:<28} [{'=' * filled}{' ' * (24 - filled)}] {job['progress']:4.0%} {job['message'] or job['status']}"
    if sys.stderr.isatty():
        print(f"\r\033[2K{line[:100]}", end="\n" if ended else "", file=sys.stderr, flush=True)
    elif ended:
        print(line, file=sys.stderr)
