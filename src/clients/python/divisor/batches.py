"""Personal indices: trades of many accounts with tax lots that follow an index."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Union

from .arrow import can_read, frame_of
from .frames import HAS_PANDAS
from .jobs import Job, Progress
from .optional import package
from .transport import ARROW, PARQUET, as_json, word

if TYPE_CHECKING:
    from . import contract as c
    from .client import Divisor

pandas = package("pandas")
pyarrow = package("pyarrow")

LINES = "application/x-ndjson"
#: Media types of files of accounts.
_KINDS = {".csv": "text/csv", ".parquet": PARQUET, ".arrow": ARROW, ".ndjson": LINES}
_ROUTE = "/optimise/batches"
#: Accounts of a block of results.
_BLOCK = 100

#: A file, a pandas frame, or accounts as dictionaries.
Accounts = Any


class Batches:
    """Batches of accounts: `service.batches.run("accounts.csv", {"parent": "CORE-40", "risk_model": "factors"})`.

    Tables are pandas frames if pandas is installed, otherwise lists of dictionaries.
    """

    def __init__(self, client: "Divisor") -> None:
        self._client = client
        self._transport = client.transport

    def submit(self, accounts: Accounts, terms: Optional[Mapping[str, Any]] = None, batch_id: Optional[str] = None) -> "Job[c.BatchView]":
        """Submits a batch.

        :param accounts: a .csv, .parquet, .arrow or .ndjson file; a frame with a row per lot (the columns of `template`),
            or with a row per account and its `lots` as a list; or dictionaries with the fields of an account
        :param terms: parent, risk_model, objective, constraints, whole_shares, as_of and defaults; None for a file that
            contains them
        :raises ValueError: for a file of another kind
        :raises ValidationFailed: with every finding about the terms and the columns
        """
        query = {"terms": None if terms is None else json.dumps(terms, default=as_json), "batch_id": batch_id}
        if isinstance(accounts, (str, Path)):
            file = Path(accounts)
            kind = _KINDS.get(file.suffix)
            if kind is None:
                raise ValueError(f"{file} must be one of {', '.join(_KINDS)}.")
            file.stat()  # an absent file is not a lost connection
            return Job(self._transport, self._transport.upload(_ROUTE, lambda: _pieces(file), kind, query))
        if HAS_PANDAS and isinstance(accounts, pandas.DataFrame):
            if "lots" not in accounts.columns:
                text = _table(accounts)
                return Job(self._transport, self._transport.upload(_ROUTE, lambda: [text], "text/csv", query))
            accounts = _records(accounts)
        rows = list(accounts)
        return Job(self._transport, self._transport.upload(_ROUTE, lambda: (_line(row) for row in rows), LINES, query))

    def run(self, accounts: Accounts, terms: Optional[Mapping[str, Any]] = None, batch_id: Optional[str] = None, progress: Optional[Progress] = None) -> "c.BatchView":
        """Submits a batch and waits. Returns its figures, with the findings of refused accounts.

        :param progress: called with every status of the job. Default: that of the client
        """
        return self.submit(accounts, terms, batch_id).wait(progress or self._client.progress)

    def view(self, batch_id: str) -> Any:
        """Status of the job of a batch, with its figures in `result` after its end."""
        return self._transport.json("GET", f"/jobs/{word(f'batch:{batch_id}')}")

    def list(self) -> List[Any]:
        """Jobs of batches, newest first."""
        return list(self._transport.json("GET", "/jobs", query={"kind": "batch", "limit": 100})["jobs"])

    def results(self, batch_id: str) -> Iterator["c.BatchAccount"]:
        """Yields the result of each account, also of a running batch up to the first block that is not solved."""
        for block in range(self._blocks(batch_id)):
            yield from self._block(batch_id, block)["accounts"]

    def account(self, batch_id: str, account_id: str, position: Optional[int] = None) -> "c.BatchAccount":
        """Result of one account: trades, lots after trading, gap, shadow prices, deviations, certificate, conflicts with amounts.

        :param position: position of the account in the batch, as `accounts` has it; without it, the results are searched
            from the first one, which takes minutes for 100,000 accounts
        :raises KeyError: if the batch has no such account, or another one at the position
        """
        found = self.results(batch_id) if position is None else iter(self._block(batch_id, position // _BLOCK)["accounts"])
        for result in found:
            if result["account_id"] == account_id:
                return result
        raise KeyError(f"The batch {batch_id} has no account {account_id}.")

    def accounts(self, batch_id: str) -> Any:
        """All accounts of a batch, one row each: status, value, tracking error, tax, costs, gap."""
        return self._rows(batch_id, "accounts")

    def trades(self, batch_id: str) -> Any:
        """All trades of a batch, one row each: sales by lot, and purchases."""
        return self._rows(batch_id, "trades")

    def arrow(self, batch_id: str, table: str = "accounts") -> Any:
        """Accounts or trades as a table of pyarrow, which must be installed."""
        if pyarrow is None:
            raise ImportError("arrow requires pyarrow, which is not installed: pip install pyarrow")
        return pyarrow.concat_tables([pyarrow.ipc.open_stream(content).read_all() for content in self._contents(batch_id, table)])

    def template(self, path: Union[str, Path, None] = None) -> Any:
        """A table of accounts as CSV with every column and two example accounts.

        :param path: a file to write
        :returns: the path; without a path the text
        """
        text = self._transport.content("GET", f"{_ROUTE}/template").decode()
        if path is None:
            return text
        Path(path).write_text(text, newline="")
        return path

    # Implementation ------------------------------------------------------------------------------------------------------

    def _block(self, batch_id: str, block: int) -> Any:
        return self._transport.json("GET", f"{_ROUTE}/{word(batch_id)}/accounts", query={"block": block})

    def _blocks(self, batch_id: str) -> int:
        result = self.view(batch_id)["result"]
        return int(result["blocks"] if result is not None else self._block(batch_id, 0)["blocks"])

    def _contents(self, batch_id: str, table: str) -> Iterator[bytes]:
        for block in range(self._blocks(batch_id)):
            query = {"block": block, "table": table, "format": "arrow"}
            yield self._transport.content("GET", f"{_ROUTE}/{word(batch_id)}/accounts", query=query, accept=ARROW)

    def _rows(self, batch_id: str, table: str) -> Any:
        if self._client._frames and can_read():
            return pandas.concat([frame_of(content) for content in self._contents(batch_id, table)], ignore_index=True)
        rows = [
            row
            for position, result in enumerate(self.results(batch_id))
            for row in ([_summary(result, position)] if table == "accounts" else _traded(result))
        ]
        return pandas.DataFrame(rows) if self._client._frames else rows


def _summary(result: Mapping[str, Any], position: int) -> Dict[str, Any]:
    own = {"account_id": result["account_id"], "position": position, "status": result["status"]}
    if result["status"] == "infeasible":
        amounts = result.get("conflict_amounts") or {}
        conflicts = (rule if amounts.get(rule) is None else f"{rule} by {amounts[rule]:.6g}" for rule in result["conflicts"])
        return {**own, "value": result["value"], "conflicts": "; ".join(conflicts)}
    return {**own, **{name: value for name, value in result.items() if value is None or isinstance(value, (str, int, float))}}


def _traded(result: Mapping[str, Any]) -> List[Dict[str, Any]]:
    return [{"account_id": result["account_id"], **trade} for trade in result.get("trades") or []]


def _line(account: Any) -> bytes:
    return json.dumps(account, default=as_json).encode() + b"\n"


def _table(frame: Any) -> bytes:
    """Writes a frame with a row per lot as CSV. Lists of a cell become one text, as the template has them."""
    written = frame.copy()
    for name in written.columns:
        if written[name].map(lambda cell: isinstance(cell, (list, tuple))).any():
            written[name] = written[name].map(lambda cell: "/".join(map(str, cell)) if isinstance(cell, (list, tuple)) else cell)
    return bytes(written.to_csv(index=False).encode())


def _records(frame: Any) -> Iterable[Dict[str, Any]]:
    """Yields the rows of a frame with a row per account, without empty cells."""
    for row in frame.to_dict("records"):
        yield {name: value for name, value in row.items() if isinstance(value, (list, tuple, dict)) or not pandas.isna(value)}


def _pieces(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from iter(lambda: file.read(1 << 20), b"")
