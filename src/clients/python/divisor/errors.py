"""Exceptions of requests. `divisor.codes` has an exception for every error code."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional, Sequence, Type


class DivisorError(Exception):
    """The service returned an error. Branch on `code`; `findings` lists all faults."""

    def __init__(
        self, error: Mapping[str, Any], status: Optional[int] = None, headers: Optional[Mapping[str, str]] = None
    ) -> None:
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.detail: Optional[Mapping[str, Any]] = error.get("detail")
        #: HTTP status; None if a job failed.
        self.status = status
        #: Id to quote in a support request.
        self.request_id: Optional[str] = None if headers is None else headers.get("X-Request-Id")
        after = None if headers is None else headers.get("Retry-After")
        #: Seconds after which to retry.
        self.retry_after: Optional[float] = None if after is None else float(after)
        found = (f"  {f['severity']} {f['code']} {f['path']}: {f['message']}" for f in self.findings)
        super().__init__("\n".join([f"{self.code}: {self.message}", *found]))

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """Findings of the request or document, worst first; empty if the code has none."""
        found: Sequence[Mapping[str, Any]] = (self.detail or {}).get("findings", [])
        return found


class JobFailed(DivisorError):
    """A job failed; the exception is also an instance of that of its code."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        super().__init__(job["error"])


class JobCancelled(Exception):
    """A job was cancelled while it was followed."""


class Unreachable(Exception):
    """No service answers at the address, or the response is not from this service."""


class LateAnswer(Unreachable):
    """The service accepted the request and did not respond in time: the work may be running or complete."""


_failed: Dict[str, Type[JobFailed]] = {}


def failure_of(job: Mapping[str, Any]) -> JobFailed:
    """Returns the exception of a failed job."""
    from .codes import BY_CODE

    code = job["error"]["code"]
    known = BY_CODE.get(code)
    if known is None:
        return JobFailed(job)
    if code not in _failed:
        _failed[code] = type(known.__name__, (JobFailed, known), {"__doc__": known.__doc__})
    return _failed[code](job)


def error_of(content: bytes, status: int, headers: Any, url: str) -> Exception:
    """Returns the exception of an unsuccessful response."""
    from .codes import BY_CODE

    try:
        error = json.loads(content)["error"]
        return BY_CODE.get(error["code"], DivisorError)(error, status, headers)
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"{url} answered {status} without an error envelope: is it this service?")
