"""Jobs of the service."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable, Generic, Iterator, Mapping, Optional, TypeVar, cast

from .display import html_table
from .errors import DivisorError, JobCancelled, Unreachable, failure_of
from .transport import Transport, word

if TYPE_CHECKING:
    from . import contract as c

#: Wait of one request for a job's status; the service allows 60. It responds at a change of state.
POLL_SECONDS = 30.0
#: Pause between two requests while progress is reported without events.
WATCH_SECONDS = 0.5
#: Time for which requests to an unavailable or full service are retried while a job is followed.
PATIENCE_SECONDS = 60.0

Progress = Callable[[Mapping[str, Any]], None]
R = TypeVar("R")


class Job(Generic[R]):
    """A job of the service. It survives a restart of the service, and so does the wait for it.

    :param answer: its status; or the result itself, if the service returned it at once
    """

    def __init__(self, transport: Transport, answer: Mapping[str, Any]) -> None:
        self._transport = transport
        self._is_job = "job_id" in answer and "status" in answer
        self._answer = answer

    @property
    def job_id(self) -> Optional[str]:
        """Its id; None for an immediate result."""
        return self._answer["job_id"] if self._is_job else None

    @property
    def status(self) -> Mapping[str, Any]:
        """Its latest known status, or an immediate result."""
        return self._answer

    @property
    def is_over(self) -> bool:
        """True if its latest known status is final."""
        return not self._is_job or self._answer["status"] not in ("pending", "running")

    def refresh(self, wait: float = 0) -> Mapping[str, Any]:
        """Requests its status, and waits at most this many seconds for a change."""
        if self._is_job:
            path = f"/jobs/{word(self._answer['job_id'])}"
            self._answer = self._transport.json("GET", path, query={"wait": wait} if wait > 0 else None)
        return self._answer

    def cancel(self) -> "c.JobStatus":
        """Cancels it."""
        return cast("c.JobStatus", self._transport.json("DELETE", f"/jobs/{word(self.job_id)}"))

    def follow(self) -> Iterator[Mapping[str, Any]]:
        """Yields its statuses as they change, by server-sent events, or by polling if those fail."""
        return self._statuses(None)

    def _statuses(self, until: Optional[float]) -> Iterator[Mapping[str, Any]]:
        """Yields its statuses until a time of the clock; a comment arrives at least every 15 seconds."""
        seen: Optional[str] = None
        while not self.is_over and not _is_past(until):
            try:
                for event in self._transport.events("GET", f"/jobs/{word(self.job_id)}/events", last_event=seen):
                    seen = event.id or seen
                    if event.event == "status":
                        self._answer = event.data
                        yield event.data
                    if _is_past(until):
                        return
            except (Unreachable, DivisorError, ValueError):
                pass  # requested below, with retries
            if not self.is_over:
                yield self._patiently(WATCH_SECONDS)

    def wait(self, progress: Optional[Progress] = None, timeout: Optional[float] = None) -> R:
        """Follows it to its end. Returns its result.

        :param progress: called with every status
        :param timeout: seconds after which the wait ends; the job continues
        :raises JobFailed: with the job's own code
        :raises JobCancelled: when it was cancelled
        :raises TimeoutError: if it takes longer
        """
        until = None if timeout is None else time.monotonic() + timeout
        if progress is not None and self._is_job:
            progress(self._answer)
            for status in self._statuses(until):
                progress(status)
        while not self.is_over or (self._is_job and self._answer["status"] == "succeeded" and self._answer["result"] is None):
            left = POLL_SECONDS if until is None else min(POLL_SECONDS, until - time.monotonic())
            if left <= 0:
                raise TimeoutError(f"The job {self.job_id} did not end within {timeout} seconds; it continues.")
            self._patiently(left)
        return self._result()

    def _patiently(self, wait: float) -> Mapping[str, Any]:
        return self._transport.retried(lambda: self.refresh(wait), PATIENCE_SECONDS)

    def _result(self) -> R:
        if not self._is_job:
            return cast(R, self._answer)
        if self._answer["status"] == "failed":
            raise failure_of(self._answer)
        if self._answer["status"] == "cancelled":
            raise JobCancelled(f"The job {self.job_id} was cancelled.")
        return cast(R, self._answer["result"])

    def _repr_html_(self) -> str:
        status = self._answer["status"] if self._is_job else "succeeded"
        row = {"job": self.job_id or "done", "status": status}
        return html_table([{**row, **{name: self._answer.get(name) for name in ("progress", "message")}} if self._is_job else row])

    def __repr__(self) -> str:
        return f"<Job {self.job_id or 'done'}: {self._answer['status'] if self._is_job else 'succeeded'}>"


def _is_past(until: Optional[float]) -> bool:
    return until is not None and time.monotonic() > until
