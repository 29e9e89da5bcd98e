"""Responses as tables in notebooks."""

from __future__ import annotations

from html import escape
from json import dumps
from typing import Any, Dict, List, Mapping, Sequence

#: Maximum number of rows in a notebook.
ROWS_SHOWN = 60


class Rows(List[Dict[str, Any]]):
    """A list of rows that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html_table(self)


class Run(Dict[str, Any]):
    """The result of a backtest; a notebook shows its metrics."""

    def _repr_html_(self) -> str:
        metrics: Mapping[str, Any] = self.get("metrics") or {}
        return html_table([{"metric": name, "value": value} for name, value in metrics.items() if not isinstance(value, Mapping)])


class Definition(Dict[str, Any]):
    """A definition; a notebook shows its members. `findings` has those of the document after it was stored."""

    findings: Sequence[Mapping[str, Any]] = ()

    def _repr_html_(self) -> str:
        return html_table(
            [{"member": name, "value": dumps(value) if isinstance(value, (list, dict)) else value} for name, value in self.items()]
        )


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Formats rows as an HTML table; cells are escaped text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(str(name))}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(row.get(name))}</td>' for name in names)}</tr>" for row in rows[:ROWS_SHOWN])
    more = f"<caption>{ROWS_SHOWN} of {len(rows)} rows</caption>" if len(rows) > ROWS_SHOWN else ""
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))
