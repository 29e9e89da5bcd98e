"""A client of Divisor in one file: Python 3.9 or newer, nothing but the standard library.

    from divisor import Divisor

    service = Divisor("http://127.0.0.1:8080")
    service.put_index({"id": "CORE-40", "name": "Core forty", "calendar": "XNYS", "base_date": "2019-01-02",
                       "pipeline": {"weighting": {"type": "EqualWeight"}}})
    run = service.backtest("CORE-40", transaction_cost_bps=5)
    print(run["metrics"]["total_return"])

Dated series and tables come as pandas objects when pandas is installed, otherwise as `Series` and `Table`, which are
dictionaries of the same members. Prices and risk models travel as Arrow when pyarrow is installed. Every route of the
service can be called with `request`; the methods below are the ones that are asked for most.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import date
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Sequence, Union

try:
    import pandas
except ImportError:
    pandas = None

try:
    import pyarrow
except ImportError:
    pyarrow = None

__all__ = ["Divisor", "DivisorError", "JobFailed", "JobCancelled", "Unreachable", "Series", "Table", "progress_bar"]

ARROW = "application/vnd.apache.arrow.stream"
# What a connection ends with that is lost.
LOST = (ConnectionError, TimeoutError, http.client.IncompleteRead)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

#: Longest wait of one question about a job; the service allows 60. It answers at a change of state.
POLL_SECONDS = 30
#: Somebody who watches wants to see progress too.
WATCH_SECONDS = 0.5
#: How long a service that is away or full is asked again while a job is followed.
PATIENCE_SECONDS = 60
#: Time one request may take; a poll waits on top of it.
TIMEOUT_SECONDS = 120

Progress = Callable[[Mapping[str, Any]], None]


class DivisorError(Exception):
    """The service answered with an error. Branch on `code`; `findings` lists everything that is wrong."""

    def __init__(self, error: Mapping[str, Any], status: Optional[int] = None, headers: Optional[Mapping[str, str]] = None):
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.detail: Optional[Mapping[str, Any]] = error.get("detail")
        self.status = status
        self.request_id = None if headers is None else headers.get("X-Request-Id")
        self.retry_after = None if headers is None or headers.get("Retry-After") is None else float(headers["Retry-After"])
        super().__init__("\n".join([f"{self.code}: {self.message}", *(f"  {f['severity']} {f['code']} {f['path']}: {f['message']}" for f in self.findings)]))

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """Findings of the request or document, worst first; empty when the code has none."""
        return (self.detail or {}).get("findings", [])


class JobFailed(DivisorError):
    """A job ended with an error of its own."""

    def __init__(self, job: Mapping[str, Any]):
        self.job = job
        super().__init__(job["error"])


class JobCancelled(Exception):
    """A job was cancelled while it was followed."""


class Unreachable(Exception):
    """Nothing answers at the address, or it does not speak as this service does."""


class Series(dict):
    """A dated series without pandas: `index` holds dates, `data` values, `name` its name."""

    def __len__(self) -> int:
        return len(self["index"])

    def items_by_date(self) -> Iterable[tuple]:
        return zip(self["index"], self["data"])

    @property
    def last(self) -> Any:
        return self["data"][-1]


class Table(dict):
    """A table without pandas: `index` holds labels of rows, `columns` those of columns, `data` rows."""

    def column(self, name: str) -> list:
        at = self["columns"].index(name)
        return [row[at] for row in self["data"]]


class Divisor:
    """A running service.

    :param url: its address; the variable DIVISOR_URL or http://127.0.0.1:8080 unless given
    :param key: `dvs_...`, when the service has keys; the variable DIVISOR_API_KEY unless given
    :param progress: told of every status of a job that is followed; `progress_bar` draws on standard error
    :param frames: False keeps series and tables as dictionaries even where pandas is installed
    """

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, progress: Optional[Progress] = None, frames: bool = True):
        self.url = (url or os.environ.get("DIVISOR_URL") or "http://127.0.0.1:8080").rstrip("/")
        self.key = key or os.environ.get("DIVISOR_API_KEY")
        self.progress = progress
        self._frames = frames and pandas is not None

    # Any route -----------------------------------------------------------------------------------------------------------

    def request(self, method: str, path: str, body: Any = None, query: Optional[Mapping[str, Any]] = None, if_match: Optional[str] = None) -> Any:
        """The answer of any route: JSON with its series and tables made ready, text, bytes, or None where there is none."""
        content, headers = self._send(method, path, body, query, "application/json, */*;q=0.5", if_match)
        kind = headers.get("Content-Type", "")
        if not content:
            return None
        if kind.startswith("application/json"):
            return self._ready(json.loads(content))
        return content.decode() if kind.startswith("text/") else content

    def run(self, path: str, body: Any = None, progress: Optional[Progress] = None) -> Any:
        """Starts the job that a route stands for and follows it to its end. Returns its result, also where that is answered at once."""
        answer = self.request("POST", path, {} if body is None else body)
        return self.wait(answer, progress) if "job_id" in answer else answer

    def wait(self, job: Union[str, Mapping[str, Any]], progress: Optional[Progress] = None) -> Any:
        """Follows a job, given by its id or status, to its end. Returns its result.

        :raises JobFailed: with the job's own code
        :raises JobCancelled: when it was cancelled
        """
        watcher = progress or self.progress
        told = watcher or (lambda _: None)
        wait = POLL_SECONDS if watcher is None else WATCH_SECONDS
        job_id = job if isinstance(job, str) else job["job_id"]
        latest = {"status": "pending"} if isinstance(job, str) else dict(job)
        while latest["status"] in ("pending", "running") or (latest["status"] == "succeeded" and latest.get("result") is None):
            if "job_id" in latest:
                told(latest)
            latest = self._patiently(lambda: self.request("GET", f"/jobs/{job_id}", query={"wait": wait}))
        told(latest)
        if latest["status"] == "failed":
            raise JobFailed(latest)
        if latest["status"] == "cancelled":
            raise JobCancelled(f"The job {job_id} was cancelled.")
        return latest["result"]

    def cancel(self, job_id: str) -> Any:
        return self.request("DELETE", f"/jobs/{_word(job_id)}")

    # Data ----------------------------------------------------------------------------------------------------------------

    def health(self) -> Any:
        return self.request("GET", "/health")

    def generate_market(self, **fields: Any) -> Any:
        """Generates a synthetic market and serves it. Fields as of `POST /data/synthetic`: store_id, seed, assets, start, end, ..."""
        return self.run("/data/synthetic", fields)

    def import_tables(self, name: str, tables: Mapping[str, Any], **fields: Any) -> Any:
        """Writes tables into a new store: market, and reference, corporate_actions, universes when there are any.

        A table is a pandas frame with columns `identifier`, `date`, ..., a dictionary of the three members of `to_dict("split")`,
        or a list of rows that are dictionaries. `activate=True` serves the store.
        """
        return self.request("POST", "/data/import", {"name": name, "tables": {dataset: _split(table) for dataset, table in tables.items()}, **fields})

    def import_file(self, path: Union[str, Path], **fields: Any) -> Any:
        """Imports an Excel workbook, or a zip of CSV files, made like the template of `GET /data/import/template`."""
        path = Path(path)
        content = base64.b64encode(path.read_bytes()).decode()
        return self.request("POST", "/data/import", {"name": path.stem, "format": "csv" if path.suffix == ".zip" else "xlsx", "content": content, **fields})

    def serve(self, store_id: str) -> Any:
        """Serves a store, reading it afresh; one that is served already stays as it is."""
        try:
            return self.wait(self.request("POST", f"/data/stores/{_word(store_id)}/activate"))
        except DivisorError as refused:
            if refused.code != "STORE_ACTIVE":
                raise
            return self.request("GET", f"/data/stores/{_word(store_id)}")

    def prices(self, identifier: str, **query: Any) -> Any:
        """Market data of one name. Query: start, end, interval, columns, adjust."""
        path = f"/data/prices/{_word(identifier)}"
        if not self._frames:
            return self.request("GET", path, query=query)["prices"]
        if pyarrow is None:
            frame = self.request("GET", path, query=query)["prices"]
            # JSON writes 100.0 as 100: a column of such would be one of integers.
            return frame.astype({name: "float64" for name in frame.select_dtypes("integer").columns})
        table, _ = self._arrow(path, query)
        frame = table.to_pandas()
        return _dated(frame.set_index(frame.columns[0]))

    def reference(self, identifiers: Iterable[str], fields: Optional[Iterable[str]] = None, as_of: Union[str, date, None] = None) -> dict:
        """Reference data by identifier; names the store does not hold are left out."""
        answer = self.request("GET", "/data/reference", query={"identifiers": list(identifiers), "fields": None if fields is None else list(fields), "as_of": as_of})
        return {entry["identifier"]: entry["fields"] for entry in answer["entries"] if entry["found"]}

    # Indices -------------------------------------------------------------------------------------------------------------

    def put_index(self, document: Mapping[str, Any], if_match: Optional[str] = None) -> Any:
        """Stores or replaces a definition. Returns it with every default filled in."""
        return self.request("PUT", f"/indices/{_word(document['id'])}", document, if_match=if_match)["index"]

    def index(self, index_id: str) -> Any:
        return self.request("GET", f"/indices/{_word(index_id)}")

    def indices(self) -> Any:
        return self.request("GET", "/indices")["indices"]

    def delete_index(self, index_id: str) -> Any:
        return self.request("DELETE", f"/indices/{_word(index_id)}")["deleted"]

    def validate(self, document: Mapping[str, Any]) -> Any:
        """Findings of a definition; nothing is stored."""
        return self.request("POST", "/indices/validate", document)["findings"]

    def preview(self, index: Union[str, Mapping[str, Any]], as_of: Union[str, date, None] = None) -> Any:
        """What a stored index (by id) or a document would hold, decided on a date."""
        if isinstance(index, str):
            return self.request("POST", f"/indices/{_word(index)}/preview", {"as_of": _text(as_of)})
        return self.request("POST", "/indices/preview", {"document": index, "as_of": _text(as_of)})

    def what_if(self, index_id: str, patch: Mapping[str, Any], as_of: Union[str, date, None] = None) -> Any:
        """What a change of a stored index would change: names added, removed and changed, and the turnover."""
        return self.request("POST", "/indices/whatif", {"index_id": index_id, "patch": patch, "as_of": _text(as_of)})

    # Runs ----------------------------------------------------------------------------------------------------------------

    def backtest(self, index_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Backtests an index and waits. Fields: start, end, initial_capital, transaction_cost_bps, benchmark, if_stale."""
        return self.run(f"/analytics/{_word(index_id)}/backtest", fields, progress)

    def overview(self, index_id: str) -> Any:
        return self.request("GET", f"/analytics/{_word(index_id)}/overview")

    def record(self, index_id: str) -> Any:
        return self.request("GET", f"/analytics/{_word(index_id)}/record")

    def attribution(self, index_id: str, start: Union[str, date, None] = None, end: Union[str, date, None] = None) -> Any:
        return self.request("GET", f"/analytics/{_word(index_id)}/attribution", query={"start": start, "end": end})

    def weights(self, index_id: str, **query: Any) -> Any:
        """What the index holds. Query: as_of, benchmark, risk."""
        return self.request("GET", f"/analytics/{_word(index_id)}/weights", query=query)

    def levels(self, index_id: str, **query: Any) -> Any:
        """Index levels as a series. Query: variant, start, end."""
        return self.request("GET", f"/analytics/{_word(index_id)}/levels", query=query)["levels"]

    def export(self, index_id: str, table: str, path: Union[str, Path, None] = None, **query: Any) -> Any:
        """A table of the run, its whole history: levels, weights, trades, events and so on. Query: start, end.

        :param path: a file to write, in the format of its ending: .csv, .xlsx, .arrow or .json
        :returns: the path; without one a DataFrame, or a list of dictionaries where pandas is not there
        """
        route = f"/analytics/{_word(index_id)}/exports/{_word(table)}"
        if path is not None:
            query["format"] = Path(path).suffix.lstrip(".").lower()
            part = Path(f"{path}.part")
            try:
                with self._open("GET", route, None, query, "*/*") as response, open(part, "wb") as file:
                    shutil.copyfileobj(response, file, 1 << 18)
                os.replace(part, path)
            except LOST as cause:
                raise Unreachable(f"The connection to {self.url} was lost.") from cause
            finally:
                part.unlink(missing_ok=True)
            return path
        if self._frames and pyarrow is not None:
            frame = self._arrow(route, query)[0].to_pandas()
        else:
            content, _ = self._send("GET", route, None, query, "application/json")
            answer = json.loads(content)
            if not self._frames:
                return [dict(zip(answer["columns"], row)) for row in answer["data"]]
            frame = pandas.DataFrame(answer["data"], columns=answer["columns"])
        for column in frame.columns.intersection(["date", "decision_date"]):
            frame[column] = pandas.to_datetime(frame[column])
        return frame

    def compare(self, *index_ids: str) -> Any:
        return self.request("GET", "/analytics/compare", query={"ids": index_ids})

    def simulate(self, index_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Simulates where the level may go. Fields: horizon, paths, method, seed, level, ..."""
        return self.run(f"/analytics/{_word(index_id)}/simulate", fields, progress)

    def estimate_risk_model(self, model_id: str, progress: Optional[Progress] = None, **fields: Any) -> Any:
        """Estimates a covariance and waits. Fields: index_id or identifiers, start, end, intensity, intensity_method, target, repair."""
        return self.run(f"/risk-models/{_word(model_id)}/estimate", fields, progress)

    # Derivatives ---------------------------------------------------------------------------------------------------------

    def price_future(self, **fields: Any) -> Any:
        return self.request("POST", "/derivatives/futures/price", fields)

    def price_trs(self, **fields: Any) -> Any:
        return self.request("POST", "/derivatives/trs/price", fields)

    def term_structure(self, index_id: str, expiries: Iterable[Union[str, date]], **query: Any) -> Any:
        return self.request("GET", f"/derivatives/{_word(index_id)}/term-structure", query={"expiries": list(expiries), **query})

    # Reports -------------------------------------------------------------------------------------------------------------

    def render(self, template_id: str, index_id: Optional[str] = None, progress: Optional[Progress] = None) -> bytes:
        """Renders a report. Returns the PDF."""
        result = self.run("/reports/render", {"template_id": template_id, "index_id": index_id}, progress)
        return self.request("GET", f"/reports/renders/{result['render_id']}")

    # How it is done ------------------------------------------------------------------------------------------------------

    def _send(self, method: str, path: str, body: Any, query: Optional[Mapping[str, Any]], accept: str, if_match: Optional[str] = None) -> tuple:
        try:
            with self._open(method, path, body, query, accept, if_match) as response:
                return response.read(), response.headers
        except LOST as cause:
            raise Unreachable(f"The connection to {self.url} was lost.") from cause

    def _open(self, method: str, path: str, body: Any, query: Optional[Mapping[str, Any]], accept: str, if_match: Optional[str] = None) -> Any:
        headers = {"Accept": accept}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if if_match is not None:
            headers["If-Match"] = '"' + if_match.strip('"') + '"'
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, default=_text).encode()
        request = urllib.request.Request(self.url + path + _search(query), data=data, headers=headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as refused:
            raise _error_of(refused) from None
        except (urllib.error.URLError, *LOST) as cause:
            raise Unreachable(f"Nothing answers at {self.url}.") from cause

    def _arrow(self, path: str, query: Optional[Mapping[str, Any]]) -> tuple:
        """An Arrow table, and the fields beside it."""
        content, _ = self._send("GET", path, None, query, ARROW)
        table = pyarrow.ipc.open_stream(content).read_all()
        return table, json.loads((table.schema.metadata or {}).get(b"body", b"{}"))

    def _ready(self, value: Any) -> Any:
        """JSON with every dated series and table in it as what a Python user works with."""
        if isinstance(value, list):
            return [self._ready(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"index", "data", "name"}:
            if not self._frames:
                return Series(value)
            return pandas.Series(value["data"], index=pandas.to_datetime(value["index"]), name=value["name"], dtype="float64")
        if value.keys() == {"index", "columns", "data"}:
            return _dated(pandas.DataFrame(**value)) if self._frames else Table(value)
        return {key: self._ready(member) for key, member in value.items()}

    def _patiently(self, question: Callable[[], Any]) -> Any:
        """Asks again while the service restarts or is full: a job outlives both."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return question()
            except (Unreachable, DivisorError) as failure:
                if isinstance(failure, DivisorError) and failure.status not in (429, 503):
                    raise
                pause = getattr(failure, "retry_after", None) or 1.0
                if time.monotonic() + pause > until:
                    raise
                time.sleep(pause)


def progress_bar(job: Mapping[str, Any]) -> None:
    """Draws the progress of a job on standard error: one line that is drawn over on a terminal, else a line at the end."""
    ended = job["status"] not in ("pending", "running")
    filled = round(24 * job["progress"])
    line = f"{job['job_id']:<28} [{'=' * filled}{' ' * (24 - filled)}] {job['progress']:4.0%} {job['message'] or job['status']}"
    if sys.stderr.isatty():
        print(f"\r\033[2K{line[:100]}", end="\n" if ended else "", file=sys.stderr, flush=True)
    elif ended:
        print(line, file=sys.stderr)


def _error_of(refused: urllib.error.HTTPError) -> Exception:
    content = refused.read()
    try:
        return DivisorError(json.loads(content)["error"], refused.code, refused.headers)
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"{refused.url} answered {refused.code} without an error envelope: is it this service?")


def _dated(frame: Any) -> Any:
    """A frame whose rows are dates, as text or as Python's own, gets the index that pandas works with."""
    labels = frame.index
    if len(labels) == 0 or not all(hasattr(label, "isoformat") or (isinstance(label, str) and DATE.fullmatch(label)) for label in labels):
        return frame
    return frame.set_axis(pandas.to_datetime(labels).astype("datetime64[ns]").rename(None))


def _word(text: str) -> str:
    return urllib.parse.quote(str(text), safe=":")


def _text(value: Any) -> Any:
    """What JSON and queries know nothing of: dates, and numbers of other libraries."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _search(query: Optional[Mapping[str, Any]]) -> str:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    if not given:
        return ""
    def words(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ",".join(words(one) for one in value)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value if isinstance(value, (int, float)) else _text(value))
    return "?" + urllib.parse.urlencode({name: words(value) for name, value in given.items()})


def _split(table: Any) -> Mapping[str, Any]:
    """A table in the three members the service reads."""
    if isinstance(table, Mapping):
        return table
    if hasattr(table, "to_dict"):
        return _without_gaps(table.reset_index(drop=True).to_dict("split"))
    rows = list(table)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"index": list(range(len(rows))), "columns": columns, "data": [[row.get(name) for name in columns] for row in rows]}


def _without_gaps(split: Mapping[str, Any]) -> Mapping[str, Any]:
    """NaN and NaT are null on the wire."""
    return {**split, "data": [[None if cell != cell else cell for cell in row] for row in split["data"]]}
