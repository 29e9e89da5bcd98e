"""The client for programs with an event loop.

    from divisor.aio import AsyncDivisor

    service = AsyncDivisor()
    run = await service.backtest("CORE-40")
    frames = await asyncio.gather(*(service.export(name, "levels") for name in ("CORE-40", "VALUE")))
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Callable, Coroutine

from .client import Divisor


class AsyncDivisor:
    """Every method of `Divisor`, of its `api` and of its `frames` as a coroutine. Each call waits in a separate thread,
    so that the event loop keeps running; cancelling a call stops the wait, not the work of the service.

    :param arguments: those of `Divisor`
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        #: The wrapped client.
        self.sync = Divisor(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _waiting(getattr(self.sync, name))


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
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, functools.partial(method, *arguments, **named))

    return call
