import { OPERATIONS, type ErrorDetail, type JobStatus, type OperationId, type Operations } from './contract.js';
import { DivisorError, createNoResponseError, UnreachableError } from './errors.js';

export type * from './contract.js';
export { DivisorError, LateAnswerError, UnreachableError } from './errors.js';

export interface ClientOptions {
  /** Address of the service, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Key `dvs_...`, if the service has keys. */
  readonly key?: string | undefined;
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  /** Cancels the request; work that the service has started continues. */
  readonly signal?: AbortSignal | undefined;
  /** Changes the document only if this is its current etag. */
  readonly ifMatch?: string | undefined;
  /** Reason for a write, stored as the note of the version. */
  readonly note?: string | undefined;
}

export interface WaitOptions {
  /** Called for every status, including the first. */
  readonly onProgress?: ((job: AnyJob) => void) | undefined;
  /** Stops waiting; the job continues unless it is cancelled. */
  readonly signal?: AbortSignal | undefined;
  /** Time for which requests to an unavailable or full service are retried. */
  readonly patienceSeconds?: number | undefined;
}

type Request<K extends OperationId> = Operations[K]['request'] & CallOptions;
/** A request is optional if all its members are. */
type Arguments<K extends OperationId> =
  Record<never, never> extends Operations[K]['request'] ? [request?: Request<K>] : [request: Request<K>];
type Answer<K extends OperationId> = Operations[K]['answer'];

/** Members of every job's status, whatever its result. */
export type AnyJob = Pick<JobStatus, 'job_id' | 'kind' | 'status' | 'progress' | 'message' | 'error'> & {
  readonly result: unknown;
};
type ResultOf<J extends AnyJob> = NonNullable<J['result']>;

/** Operations that return a job. */
type JobOperation = { [K in OperationId]: Answer<K> extends AnyJob ? K : never }[OperationId];
type JobResult<K extends JobOperation> = Answer<K> extends AnyJob ? ResultOf<Answer<K>> : never;

/** Operations that return the stored result if nothing has changed and `if_stale` requests nothing else. */
type CurrentOperation = {
  [K in OperationId]: Operations[K] extends { readonly unchanged: unknown } ? K : never;
}[OperationId];

/** Operations whose body may be a file. */
type UploadOperation = 'importStore' | 'importRiskModel' | 'startBatch';

/** Operations that return a stream of events. */
type EventOperation = 'followJob' | 'followJobs';

/** One event of a stream. */
export interface ServerEvent {
  /** `status`, `caught-up`; `comment` for a sign of life of the service. */
  readonly event: string;
  readonly id: string | null;
  /** Parsed data of the event: a JobStatus for `status`. */
  readonly data: unknown;
}

export interface DivisorClient {
  /** Calls an operation that returns a job or the stored result; a job has a `job_id`. */
  call<K extends CurrentOperation>(
    operation: K,
    request: Request<K> & { readonly body: { readonly if_stale: boolean } },
  ): Promise<Answer<K> | Operations[K]['unchanged']>;
  /**
   * Calls an operation and returns its response: typed JSON, text, bytes of a file, or null without a body. @throws
   * DivisorError, UnreachableError
   */
  call<K extends OperationId>(operation: K, ...[request]: Arguments<K>): Promise<Answer<K>>;
  /** Calls an operation and also returns the etag for `ifMatch`; null without an etag. */
  callWithEtag<K extends OperationId>(
    operation: K,
    ...[request]: Arguments<K>
  ): Promise<{ readonly answer: Answer<K>; readonly etag: string | null }>;
  /**
   * Yields server-sent events until the service or the signal ends them. @throws DivisorError; UnreachableError, also
   * after a lost connection
   */
  events<K extends EventOperation>(operation: K, ...[request]: Arguments<K>): AsyncGenerator<ServerEvent>;
  /**
   * Returns the response as bytes, for operations with other types than JSON, for example
   * `application/vnd.apache.arrow.stream`.
   */
  download<K extends OperationId>(operation: K, type: string, ...[request]: Arguments<K>): Promise<Uint8Array>;
  /** Returns the response as a stream of any length. A lost connection throws UnreachableError while it is read. */
  stream<K extends OperationId>(
    operation: K,
    type: string,
    ...[request]: Arguments<K>
  ): Promise<{ readonly headers: Headers; readonly bytes: AsyncGenerator<Uint8Array> }>;
  /** Sends a body that is not JSON: a file to import, with its media type. */
  upload<K extends UploadOperation>(
    operation: K,
    type: string,
    bytes: Blob | Uint8Array<ArrayBuffer>,
    request: Omit<Request<K>, 'body'>,
  ): Promise<Answer<K>>;
  /** Returns the result of a job at its end. @throws DivisorError with the job's code, or UNCLASSIFIED_FAILURE */
  waitForJob<J extends AnyJob>(job: J, options?: WaitOptions): Promise<ResultOf<J>>;
  /** Starts a job and follows it to its end; returns an immediate result directly. */
  run<K extends JobOperation>(operation: K, request: Request<K>, options?: WaitOptions): Promise<JobResult<K>>;
}

/** Wait of one request for a job's status; the service allows 60. It answers at a change of state. */
const POLL_SECONDS = 30;
/** Wait while progress is reported. */
const WATCH_SECONDS = 0.5;
const PATIENCE_SECONDS = 60;
const RETRY_SECONDS = 1;

/** Creates a client of a running service, typed by its contract. It needs only `fetch`. */
export function createDivisorClient({ url, key, fetch: ask = fetch }: ClientOptions): DivisorClient {
  async function send(operation: OperationId, request: LooseRequest, accept: string): Promise<Response> {
    const [method = '', template = ''] = routeOf(operation).split(' ');
    const headers: Record<string, string> = { accept };
    if (key !== undefined) headers['authorization'] = `Bearer ${key}`;
    if (request.ifMatch !== undefined) headers['if-match'] = `"${request.ifMatch.replaceAll('"', '')}"`;
    const note = new TextEncoder().encode(request.note); // a header has one character for each byte of UTF-8
    if (note.length > 0) headers['x-change-note'] = String.fromCharCode(...note);
    const { upload } = request;
    if (upload !== undefined || request.body !== undefined)
      headers['content-type'] = upload?.type ?? 'application/json';
    const address = new URL(pathOf(template, request), url.endsWith('/') ? url : `${url}/`);
    const startedMs = performance.now();
    let response: Response;
    try {
      response = await ask(address, {
        method,
        headers,
        body: upload?.bytes ?? (request.body === undefined ? null : JSON.stringify(request.body)),
        signal: request.signal ?? null,
      });
    } catch (cause) {
      request.signal?.throwIfAborted();
      throw createNoResponseError(url, (performance.now() - startedMs) / 1000, cause);
    }
    if (!response.ok) throw await errorOf(response, address);
    return response;
  }

  async function call<K extends OperationId>(
    operation: K,
    ...[request = {}]: [request?: LooseRequest]
  ): Promise<Answer<K>> {
    const response = await send(operation, request, 'application/json, */*;q=0.5');
    // The service's responses satisfy its contract, from which the types are generated.
    return (await contentOf(response)) as Answer<K>;
  }

  async function* events(operation: EventOperation, request: LooseRequest): AsyncGenerator<ServerEvent> {
    const { body } = await send(operation, request, 'text/event-stream');
    const decoder = new TextDecoder();
    let rest = '';
    for await (const part of bytesOf(body!, { url, signal: request.signal })) {
      const blocks = (rest + decoder.decode(part, { stream: true })).split('\n\n');
      rest = blocks.pop()!; // a split text has at least one part
      yield* blocks.map(parseEvent);
    }
  }

  async function waitForJob<J extends AnyJob>(
    job: J,
    { onProgress, signal, patienceSeconds = PATIENCE_SECONDS }: WaitOptions = {},
  ): Promise<ResultOf<J>> {
    let latest: AnyJob = job;
    const wait = onProgress === undefined ? POLL_SECONDS : WATCH_SECONDS;
    onProgress?.(latest);
    while (
      latest.status === 'pending' ||
      latest.status === 'running' ||
      (latest.status === 'succeeded' && latest.result === null)
    ) {
      latest = await withRetries(() => call('getJob', { params: { job_id: job.job_id }, query: { wait }, signal }), {
        seconds: patienceSeconds,
        signal,
      });
      onProgress?.(latest);
    }
    if (latest.status === 'succeeded') return latest.result as ResultOf<J>;
    throw new DivisorError(
      latest.error ?? {
        code: 'UNCLASSIFIED_FAILURE',
        message: `The job ${job.job_id} was ${latest.status}.`,
        detail: null,
      },
      { status: null },
    );
  }

  return {
    call: (operation: OperationId, ...request: readonly unknown[]) => call(operation, ...(request as [LooseRequest?])),
    async callWithEtag(operation, ...request) {
      const response = await send(operation, (request[0] ?? {}) as LooseRequest, 'application/json, */*;q=0.5');
      const etag = response.headers.get('etag')?.replaceAll('"', '') ?? null;
      return { answer: (await contentOf(response)) as Answer<typeof operation>, etag };
    },
    events: (operation, ...request) => events(operation, (request[0] ?? {}) as LooseRequest),
    download: async (operation, type, ...request) =>
      new Uint8Array(await (await send(operation, (request[0] ?? {}) as LooseRequest, type)).arrayBuffer()),
    async stream(operation, type, ...[request = {}]) {
      const { headers, body } = await send(operation, request as LooseRequest, type);
      return { headers, bytes: bytesOf(body!, { url, signal: (request as LooseRequest).signal }) }; // a success of these operations has a body
    },
    upload: async (operation, type, bytes, request) => {
      const response = await send(
        operation,
        { ...(request as LooseRequest), upload: { type, bytes } },
        'application/json',
      );
      return (await contentOf(response)) as Answer<typeof operation>;
    },
    waitForJob,
    async run(operation, request, options) {
      const answer: unknown = await call(operation, request as LooseRequest);
      // A job operation returns a job or its result, according to its type.
      return (isJob(answer) ? await waitForJob(answer, options) : answer) as JobResult<typeof operation>;
    },
  };
}

/** Returns method and path of an operation; an untyped caller may misspell it. @throws TypeError */
function routeOf(operation: OperationId): string {
  if (Object.hasOwn(OPERATIONS, operation)) return OPERATIONS[operation];
  throw new TypeError(`Unknown operation ${String(operation)}: /openapi.json of the service lists all operations.`);
}

/** Returns true if a response is a job rather than its immediate result. */
function isJob(answer: unknown): answer is AnyJob {
  return typeof answer === 'object' && answer !== null && 'job_id' in answer && 'status' in answer;
}

/** A request without the types of its operation. */
interface LooseRequest extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly upload?: { readonly type: string; readonly bytes: Blob | Uint8Array<ArrayBuffer> };
}

/** Builds path and query, relative to the address of the service. */
function pathOf(template: string, { params = {}, query = {} }: LooseRequest): string {
  const path = template
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const search = new URLSearchParams(
    Object.entries(query)
      .filter(([, value]) => value !== undefined && value !== null)
      .flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)])),
  ).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** Yields the bytes of a body; a successful GET has one. */
async function* bytesOf(
  body: ReadableStream<Uint8Array>,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new UnreachableError(`The connection to ${url} was lost.`, { cause });
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function contentOf(response: Response): Promise<unknown> {
  const type = response.headers.get('content-type') ?? '';
  if (response.status === 204) return null;
  if (type.startsWith('application/json')) return response.json();
  return type.startsWith('text/') ? response.text() : new Uint8Array(await response.arrayBuffer());
}

/** Parses a server-sent event with the fields that the service sends. @source WHATWG HTML, server-sent events */
function parseEvent(block: string): ServerEvent {
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const at = line.indexOf(':');
      return [line.slice(0, at), line.slice(at + 1).trimStart()];
    }),
  );
  const data = fields.get('data');
  return {
    event: fields.get('event') ?? 'comment',
    id: fields.get('id') ?? null,
    data: data === undefined ? null : (JSON.parse(data) as unknown),
  };
}

async function errorOf(response: Response, address: URL): Promise<Error> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error: ErrorDetail };
    if (typeof error.code === 'string') return new DivisorError(error, response);
  } catch {
    // A response without an envelope is reported below.
  }
  return new UnreachableError(
    `${response.url || address.href} answered ${response.status} without an error envelope. Is it the address of the service?`,
  );
}

/** Retries while the service restarts or is full, because a job survives both. */
async function withRetries<T>(
  question: () => Promise<T>,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal | undefined },
): Promise<T> {
  const until = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await question();
    } catch (failure) {
      const isPassing =
        failure instanceof UnreachableError ||
        (failure instanceof DivisorError && (failure.status === 503 || failure.status === 429));
      const pause = (failure instanceof DivisorError ? failure.retryAfterSeconds : null) ?? RETRY_SECONDS;
      if (!isPassing || Date.now() + pause * 1000 > until) throw failure;
      await delay(pause, signal);
    }
  }
}

function delay(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason instanceof Error ? signal.reason : new Error('The wait was cancelled.'));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
