"""The client for programs with an event loop.

    from divisor.aio import AsyncDivisor

    service = AsyncDivisor()
    run = await service.backtest("CORE-40")
    job = await service.api.start_backtest("VALUE", {})
    async for status in job.follow():
        print(status["progress"])
    frames = await asyncio.gather(*(service.export(name, "levels") for name in ("CORE-40", "VALUE")))

The types of all methods are in `aio.pyi`.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Optional

from .client import Divisor
from .jobs import Job

_END = object()


class AsyncDivisor:
    """Every method of `Divisor`, of its `api` and of its `frames` as a coroutine. Each call waits in a separate thread,
    so that the event loop keeps running; cancelling a call stops the wait, not the work of the service. Callbacks of
    progress are called in that thread.

    :param arguments: those of `Divisor`
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        #: The wrapped client.
        self.sync = Divisor(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _waiting(getattr(self.sync, name))


class AsyncJob:
    """A job of the service, with coroutines in place of the methods of `Job` that wait."""

    def __init__(self, job: Job[Any]) -> None:
        #: The wrapped job.
        self.sync = job

    @property
    def job_id(self) -> Optional[str]:
        return self.sync.job_id

    @property
    def status(self) -> Any:
        return self.sync.status

    @property
    def is_over(self) -> bool:
        return self.sync.is_over

    async def refresh(self, wait: float = 0) -> Any:
        return await _in_thread(self.sync.refresh, wait)

    async def cancel(self) -> Any:
        return await _in_thread(self.sync.cancel)

    def follow(self) -> AsyncIterator[Any]:
        """Yields its statuses as they change."""
        return _each(self.sync.follow())

    async def wait(self, progress: Any = None, timeout: Optional[float] = None) -> Any:
        return await _in_thread(self.sync.wait, progress, timeout)

    def _repr_html_(self) -> str:
        return self.sync._repr_html_()

    def __repr__(self) -> str:
        return repr(self.sync)


class _Members:
    """Wraps the methods of an object as coroutines."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return _waiting(getattr(self._target, name))


def _waiting(member: Any) -> Any:
    if callable(member):
        return _coroutine(member)
    return member if isinstance(member, (str, type(None))) else _Members(member)


def _coroutine(method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @functools.wraps(method)
    async def call(*arguments: Any, **named: Any) -> Any:
        answer = await _in_thread(method, *arguments, **named)
        if isinstance(answer, Job):
            return AsyncJob(answer)
        return _each(answer) if isinstance(answer, Iterator) else answer

    return call


async def _in_thread(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, functools.partial(method, *arguments, **named))


async def _each(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    """Yields what an iterator yields, which waits in a separate thread."""
    while True:
        value = await _in_thread(next, iterator, _END)
        if value is _END:
            return
        yield value
