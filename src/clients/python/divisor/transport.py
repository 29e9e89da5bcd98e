"""Requests as they travel: HTTP of the standard library, retries, events."""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, TypeVar, Union, cast

from .errors import DivisorError, LateAnswer, Unreachable, error_of

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
# What a connection ends with that is lost.
LOST = (ConnectionError, TimeoutError, socket.timeout, http.client.IncompleteRead)

#: Time one request may take; the wait of a poll comes on top of it.
TIMEOUT_SECONDS = 120
#: Time that a write may take: a store of thousands of files is read in minutes, on a machine at work in more.
WRITE_SECONDS = 7200
#: Pause where the service names none.
PAUSE_SECONDS = 1.0
#: Codes that say that nothing was done and that it may be tried again.
PASSING = ("RATE_LIMITED", "OVERLOADED", "DRAINING", "STORE_UNAVAILABLE")

T = TypeVar("T")


class Event(NamedTuple):
    """A server-sent event: `status`, `caught-up`, or `comment` when the service only says that it is there."""

    event: str
    id: Optional[str]
    data: Any


class Transport:
    """Sends requests to one service.

    :param retry_seconds: how long a request is tried again that the service refuses for now, by its `Retry-After`
    """

    def __init__(self, url: str, key: Optional[str] = None, retry_seconds: float = 0) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self.retry_seconds = retry_seconds
        self._opener = urllib.request.build_opener(_Http, _Https)

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        if_match: Optional[str] = None,
        note: Optional[str] = None,
    ) -> Any:
        """The answer as JSON makes it; None where there is none."""
        content = self.content(method, path, body, query, if_match, JSON, note)
        return json.loads(content) if content else None

    def content(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        if_match: Optional[str] = None,
        accept: str = "*/*",
        note: Optional[str] = None,
    ) -> bytes:
        """The answer as bytes."""
        return self.answer(method, path, body, query, if_match, accept, note)[0]

    def answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        if_match: Optional[str] = None,
        accept: str = "*/*",
        note: Optional[str] = None,
    ) -> "tuple[bytes, Mapping[str, str]]":
        """The answer as bytes, and its headers."""
        try:
            with self.open(method, path, body, query, if_match, accept, note=note) as response:
                content: bytes = response.read()
                return content, response.headers
        except LOST as cause:
            raise Unreachable(f"The connection to {self.url} was lost.") from cause

    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        if_match: Optional[str] = None,
        accept: str = "*/*",
        last_event: Optional[str] = None,
        note: Optional[str] = None,
    ) -> Any:
        """The answer as it comes, to be closed by the caller."""
        headers = {"Accept": accept}
        if if_match is not None:
            headers["If-Match"] = '"' + if_match.strip('"') + '"'
        if note is not None:
            # A header is sent as Latin-1, and the service reads its bytes as UTF-8.
            headers["X-Change-Note"] = note.encode().decode("latin-1")
        if last_event is not None:
            headers["Last-Event-ID"] = last_event
        data = None
        if body is not None:
            headers["Content-Type"] = JSON
            data = json.dumps(body, default=as_json).encode()
        address = path + search(query)

        def once() -> Any:
            return self._once(method, address, data, headers, TIMEOUT_SECONDS if method == "GET" else WRITE_SECONDS)

        return self.retried(once)

    def upload(self, path: str, pieces: Callable[[], Iterable[bytes]], kind: str, query: Mapping[str, Any]) -> Any:
        """Sends a body of a media type that is not held in one piece. Returns the answer as JSON makes it."""
        headers = {"Accept": JSON, "Content-Type": kind}

        def once() -> Any:
            try:
                with self._once("POST", path + search(query), pieces(), headers, WRITE_SECONDS) as response:
                    return json.loads(response.read())
            except LOST as cause:
                raise Unreachable(f"The connection to {self.url} was lost.") from cause

        return self.retried(once)

    def events(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        last_event: Optional[str] = None,
    ) -> Iterator[Event]:
        """Server-sent events as they come, until the service ends them."""
        try:
            with self.open(method, path, None, query, None, "text/event-stream", last_event) as response:
                fields: "dict[str, str]" = {}
                for line in response:
                    name, colon, value = line.decode().rstrip("\r\n").partition(":")
                    if colon or name:
                        fields[name or "comment"] = value[1:] if value.startswith(" ") else value
                    elif fields:
                        data = fields.get("data")
                        yield Event(fields.get("event", "comment"), fields.get("id"), data and json.loads(data))
                        fields = {}
        except LOST as cause:
            raise Unreachable(f"The connection to {self.url} was lost.") from cause

    def retried(self, request: Callable[[], T], patience: Optional[float] = None) -> T:
        """Tries again what the service refuses for now; with patience, also while nobody answers."""
        until = time.monotonic() + (self.retry_seconds if patience is None else patience)
        while True:
            try:
                return request()
            except (Unreachable, DivisorError) as failure:
                passes = failure.code in PASSING if isinstance(failure, DivisorError) else patience is not None
                pause = getattr(failure, "retry_after", None) or PAUSE_SECONDS
                if not passes or time.monotonic() + pause > until:
                    raise
                time.sleep(pause)

    def _once(
        self, method: str, path: str, data: Union[None, bytes, Iterable[bytes]], headers: Mapping[str, str], timeout: float
    ) -> Any:
        keyed = {**headers, "Authorization": f"Bearer {self.key}"} if self.key else dict(headers)
        request = urllib.request.Request(self.url + path, data=data, headers=keyed, method=method)
        try:
            return self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as refused:
            with refused:
                raise error_of(refused.read(), refused.code, refused.headers, refused.url) from None
        except (urllib.error.URLError, *LOST) as cause:
            # A connection that is not made in time is wrapped by urllib; an answer that does not come is not.
            if isinstance(cause, socket.timeout):
                raise LateAnswer(
                    f"No response from {self.url} within {timeout:g} seconds. The work may still be running: "
                    "check it before you try again."
                ) from cause
            raise Unreachable(f"Nothing answers at {self.url}.") from cause


class _Reading:
    """A connection that reads the answer also where the service gave it before the whole body was sent."""

    def request(self, *args: Any, **named: Any) -> None:
        try:
            super().request(*args, **named)  # type: ignore[misc]
        except (BrokenPipeError, ConnectionResetError):
            pass  # the answer says why, or reading it fails


class _HttpConnection(_Reading, http.client.HTTPConnection):
    pass


class _HttpsConnection(_Reading, http.client.HTTPSConnection):
    pass


class _Http(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_HttpConnection, request)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(cast(Any, _HttpsConnection), request)


def word(text: Any) -> str:
    """A value as a segment of a path."""
    return urllib.parse.quote(str(as_json(text)), safe=":")


def as_json(value: Any) -> Any:
    """What JSON and queries know nothing of: dates, and numbers of other libraries."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def search(query: Optional[Mapping[str, Any]]) -> str:
    """A query as it stands in an address, values that are None left out."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return "?" + urllib.parse.urlencode({name: _words(value) for name, value in given.items()}) if given else ""


def _words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_words(one) for one in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, default=as_json)
    return str(value if isinstance(value, (int, float)) else as_json(value))
