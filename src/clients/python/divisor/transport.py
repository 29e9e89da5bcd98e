"""HTTP requests with the standard library: retries, events."""

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
# Exceptions of a lost connection.
LOST = (ConnectionError, TimeoutError, socket.timeout, http.client.IncompleteRead)

#: Time limit of a request, in addition to the wait of a poll.
TIMEOUT_SECONDS = 120
#: Time limit of a write: a store of thousands of files takes minutes to load, more on a busy machine.
WRITE_SECONDS = 7200
#: Default pause, if the service names none.
PAUSE_SECONDS = 1.0
#: Codes of refused requests that had no effect and may be retried.
PASSING = ("RATE_LIMITED", "OVERLOADED", "DRAINING", "STORE_UNAVAILABLE")

T = TypeVar("T")


class Event(NamedTuple):
    """A server-sent event: `status`, `caught-up`, or `comment` for a sign of life of the service."""

    event: str
    id: Optional[str]
    data: Any


class Transport:
    """Sends requests to one service.

    :param retry_seconds: time for which a temporarily refused request is retried, by its `Retry-After`
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
        """Returns the response as parsed JSON; None without a body."""
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
        """Returns the response as bytes."""
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
        """Returns the response as bytes, and its headers."""
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
        """Returns the open response, which the caller closes."""
        headers = {"Accept": accept}
        if if_match is not None:
            headers["If-Match"] = '"' + if_match.strip('"') + '"'
        if note is not None:
            # A header is sent as Latin-1; the service reads its bytes as UTF-8.
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
        """Streams a body with a media type. Returns the response as parsed JSON."""
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
        """Yields server-sent events until the service ends them."""
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
        """Retries a temporarily refused request; with patience, also while the service is unreachable."""
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
            # urllib wraps a timeout of the connection, but not of the response.
            if isinstance(cause, socket.timeout):
                raise LateAnswer(
                    f"No response from {self.url} within {timeout:g} seconds. The work may still be running: "
                    "check it before you try again."
                ) from cause
            raise Unreachable(f"Nothing answers at {self.url}.") from cause


class _Reading:
    """A connection that reads the response even if it arrived before the whole body was sent."""

    def request(self, *args: Any, **named: Any) -> None:
        try:
            super().request(*args, **named)  # type: ignore[misc]
        except (BrokenPipeError, ConnectionResetError):
            pass  # the response names the reason, or reading it fails


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
    """Encodes a value as a segment of a path."""
    return urllib.parse.quote(str(as_json(text)), safe=":")


def as_json(value: Any) -> Any:
    """Converts values outside JSON: dates, and numbers of other libraries."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def search(query: Optional[Mapping[str, Any]]) -> str:
    """Encodes a query, without values that are None."""
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
