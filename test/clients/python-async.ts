/**
 * Class of a client that is also generated in an asynchronous variant: the source of the class and the name of the
 * variant.
 */
interface MirroredClass {
  readonly source: string;
  readonly name: string;
  readonly variant: string;
  readonly summary: string;
}

/** Pattern of a method in a Python class, with its name, arguments and return type. */
const METHOD = /^( {4}@property\n)? {4}def (\w+)\(([^)]*(?:\([^)]*\)[^)]*)*)\) -> (.+):$/gm;

/**
 * Returns the types of `divisor.aio`. They repeat the signatures of the client, its operations and its frames as
 * coroutines.
 * @param sources texts of `client.py`, `api.py`, `views.py` and `batches.py`
 */
export function formatPythonAsync(sources: {
  readonly client: string;
  readonly api: string;
  readonly views: string;
  readonly batches: string;
}): string {
  const classes: readonly MirroredClass[] = [
    { source: sources.api, name: 'Operations', variant: 'AsyncOperations', summary: 'Every operation of the service.' },
    { source: sources.views, name: 'Frames', variant: 'AsyncFrames', summary: 'Responses as pandas frames.' },
    { source: sources.batches, name: 'Batches', variant: 'AsyncBatches', summary: 'Batches of accounts.' },
    { source: sources.client, name: 'Divisor', variant: 'AsyncDivisor', summary: 'A running service.' },
  ];
  return `# Written from the client and the OpenAPI document by \`npm run build\`.
import datetime
from datetime import date
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Generic, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from pandas import DataFrame, Series

from . import contract as c
from .batches import Accounts
from .client import Divisor
from .jobs import Job, Progress
from .transport import Event
from .views import Ids

R = TypeVar("R")

class AsyncJob(Generic[R]):
    sync: Job[R]
    def __init__(self, job: Job[R]) -> None: ...
    @property
    def job_id(self) -> Optional[str]: ...
    @property
    def status(self) -> Mapping[str, Any]: ...
    @property
    def is_over(self) -> bool: ...
    async def refresh(self, wait: float = 0) -> Mapping[str, Any]: ...
    async def cancel(self) -> c.JobStatus: ...
    def follow(self) -> AsyncIterator[Mapping[str, Any]]: ...
    async def wait(self, progress: Optional[Progress] = None, timeout: Optional[float] = None) -> R: ...

${classes.map(formatClass).join('\n')}`;
}

function formatClass({ source, name, variant, summary }: MirroredClass): string {
  const [, body = ''] = source.split(new RegExp(`^class ${name}:$`, 'm'));
  const end = body.search(/^\S/m);
  const methods = [...(end === -1 ? body : body.slice(0, end)).matchAll(METHOD)]
    .filter(([, property, method]) => property === undefined && !method!.startsWith('_'))
    .map(
      ([, , method, argumentText, type]) =>
        `    async def ${method}(${formatOneLine(argumentText!)}) -> ${convertToAsyncType(type!)}: ...`,
    );
  return `class ${variant}:\n    """${summary}"""\n\n${[...(MEMBERS[variant] ?? []), ...methods].join('\n')}\n`;
}

/** Declarations added to each asynchronous class, besides the mirrored methods. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  AsyncDivisor: [
    '    sync: Divisor',
    '    api: AsyncOperations',
    '    def __init__(self, url: Optional[str] = None, key: Optional[str] = None, progress: Optional[Progress] = None, frames: bool = True, retry_seconds: float = 30) -> None: ...',
    '    @property\n    def url(self) -> str: ...',
    '    @property\n    def key(self) -> Optional[str]: ...',
    '    @property\n    def frames(self) -> AsyncFrames: ...',
    '    @property\n    def batches(self) -> AsyncBatches: ...',
  ],
};

const formatOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().replace(/,$/, '');

/** Returns the return type of an asynchronous method. A quoted part of the text is a type that the stub imports. */
const convertToAsyncType = (type: string): string =>
  type
    .replaceAll('"', '')
    .replace(/^Job\[/, 'AsyncJob[')
    .replace(/^Iterator\[/, 'AsyncIterator[');
