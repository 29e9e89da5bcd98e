import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';

/** Request to an object store, up to the header of its response. */
export interface ObjectRequest {
  /** HTTP method: GET reads and lists, HEAD checks existence, PUT writes and copies. */
  readonly method: string;
  readonly seconds: number;
  /** False if the store sent no response, a server error or a request to slow down. */
  readonly isAnswered: boolean;
}

/**
 * Diagnostics channel on which requests are reported. The channel is global, because threads receive settings as data
 * and create many clients from them.
 */
const REQUEST_CHANNEL = channel('divisor:object-request');

/** Sends a request and reports its duration to the listeners of this thread. */
export async function timeRequest(method: string, send: () => Promise<Response>): Promise<Response> {
  const startMs = performance.now();
  let isAnswered = false;
  try {
    const answer = await send();
    isAnswered = answer.status < 500 && answer.status !== 429;
    return answer;
  } finally {
    const seconds = (performance.now() - startMs) / 1000;
    REQUEST_CHANNEL.publish({ method, seconds, isAnswered } satisfies ObjectRequest);
  }
}

/** Listens to each request of this thread, including retries. @returns a function that stops listening */
export function onObjectRequest(call: (request: ObjectRequest) => void): () => void {
  const listener = (message: unknown): void => call(message as ObjectRequest); // published by `timeRequest`
  REQUEST_CHANNEL.subscribe(listener);
  return () => void REQUEST_CHANNEL.unsubscribe(listener);
}

/** Maximum number of requests that a thread reports at once, to limit the size of a message. */
const REPORTED_MAX = 10_000;

/**
 * Starts to collect the requests of this thread, to pass them to another thread.
 * @returns a function that returns the requests since its last call; undefined if there are none
 */
export function collectObjectRequests(): () => readonly ObjectRequest[] | undefined {
  let collectedRequests: ObjectRequest[] = [];
  onObjectRequest((request) => {
    if (collectedRequests.length < REPORTED_MAX) collectedRequests.push(request);
  });
  return () => {
    if (collectedRequests.length === 0) return undefined;
    const objectRequests = collectedRequests;
    collectedRequests = [];
    return objectRequests;
  };
}

/** Reports requests of another thread to the listeners in this thread. */
export function reportObjectRequests(requests: readonly ObjectRequest[]): void {
  for (const request of requests) REQUEST_CHANNEL.publish(request);
}

/** Identity of a span, as in the W3C trace context. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

export type SpanKind = 'internal' | 'server' | 'client' | 'consumer';

export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A span that has ended. */
export interface Span {
  readonly context: SpanContext;
  readonly parentId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Reason of the failure; undefined if the work succeeded. */
  readonly error: string | undefined;
}

/** Receives spans, and decides which new traces are recorded. */
export interface Tracer {
  readonly end: (span: Span) => void;
  /** Returns true if a trace that begins here is recorded. */
  readonly samples: (traceId: string) => boolean;
}

let tracer: Tracer | undefined;
const contextStorage = new AsyncLocalStorage<SpanContext>();

/** Starts to record spans of this process. @returns a function that stops recording */
export function startTracing(started: Tracer): () => void {
  const before = tracer;
  tracer = started;
  return () => void (tracer = before);
}

export const isTracing = (): boolean => tracer !== undefined;

/** Returns the span to which the current work belongs. Returns undefined if tracing is off. */
export const findCurrentSpan = (): SpanContext | undefined =>
  tracer === undefined ? undefined : contextStorage.getStore();

/** Returns milliseconds since the epoch, consistent across all threads and processes of a machine. */
export const readEpochMs = (): number => performance.timeOrigin + performance.now();

/** Runs a function as part of a span. */
export const runWithinSpan = <T>(context: SpanContext, work: () => T): T => contextStorage.run(context, work);

/** Reports a span with known times. */
export function endSpan(span: Span): void {
  if (span.context.isSampled) tracer?.end(span);
}

export interface SpanOrder {
  readonly kind?: SpanKind;
  /** Default: the current span. */
  readonly parent?: SpanContext | undefined;
  readonly attributes?: Attributes;
}

/** A span that has started. */
export interface OpenSpan {
  readonly context: SpanContext;
  /** @param error why the work failed */
  end(error?: string, more?: Attributes): void;
}

/** Starts a span in a trace. Returns undefined if tracing is off or if there is no trace. */
export function openSpan(name: string, order: SpanOrder = {}): OpenSpan | undefined {
  const { kind = 'internal', parent = findCurrentSpan(), attributes = {} } = order;
  if (tracer === undefined || parent?.isSampled !== true) return undefined;
  const { traceId, spanId: parentId } = parent;
  const context = { traceId, spanId: createRandomHex(8), isSampled: true };
  const startMs = readEpochMs();
  return {
    context,
    end: (error, more = {}) =>
      endSpan({
        context,
        parentId,
        name,
        kind,
        startMs,
        endMs: readEpochMs(),
        attributes: { ...attributes, ...more },
        error,
      }),
  };
}

/** Runs a function in a new span of the current trace; without a trace it only runs the function. */
export async function runInSpan<T>(name: string, order: SpanOrder, work: () => Promise<T>): Promise<T> {
  const span = openSpan(name, order);
  if (span === undefined) return work();
  try {
    const result = await runWithinSpan(span.context, work);
    span.end();
    return result;
  } catch (failure) {
    span.end(failure instanceof Error ? failure.message : String(failure));
    throw failure;
  }
}

/** Times of work that another thread or process has measured. */
export interface Timing {
  readonly startMs: number;
  readonly endMs: number;
}

/** Reports work that was measured separately as a child span. */
export function reportTiming(
  name: string,
  parent: SpanContext,
  { startMs, endMs }: Timing,
  attributes: Attributes,
): void {
  const context = { ...parent, spanId: createRandomHex(8) };
  endSpan({ context, parentId: parent.spanId, name, kind: 'internal', startMs, endMs, attributes, error: undefined });
}

/** Returns the `traceparent` header of a request that is sent in a span. @source W3C Trace Context, section 3.2 */
export const formatTraceParent = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

/**
 * Returns the parent span for the jobs of a request: the span of this service if it is recorded, otherwise the span of
 * the client.
 */
export const formatJobParent = ({ traceId, spanId, parentId, flags }: TraceContext): string =>
  `00-${traceId}-${isTracing() ? spanId : (parentId ?? spanId)}-${flags}`;

/** Parses a `traceparent`. Returns undefined for any other text. */
export function parseTraceParent(text: string | null | undefined): SpanContext | undefined {
  const sent = parseTraceContext(text ?? null);
  return sent?.parentId == null ? undefined : toSpanContext({ ...sent, spanId: sent.parentId });
}

/** Trace context of a request. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Span of the client as 16 hexadecimal digits; null if the trace starts in this service. */
  readonly parentId: string | null;
  /** Span of this service. */
  readonly spanId: string;
  /** Trace flags: two hexadecimal digits from the client. */
  readonly flags: string;
}

/** Matches version, trace, parent and flags. Later versions may add fields after another dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZEROS = /^0+$/;

/**
 * Returns the trace context of a request with a new span of this service. The trace comes from the header
 * `traceparent`. An invalid header is ignored: a request must not fail because another program sent a wrong header.
 * @source W3C Trace Context, Recommendation of 23 November 2021, section 3.2
 */
export function parseTraceContext(
  header: string | null,
  newSpanId: () => string = () => createRandomHex(8),
): TraceContext | null {
  if (header === null) return null;
  const [, version = '', traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(header.trim()) ?? [];
  const isValid =
    version !== '' &&
    version !== 'ff' &&
    !(version === '00' && rest !== undefined) &&
    !ALL_ZEROS.test(traceId) &&
    !ALL_ZEROS.test(parentId);
  return isValid ? { traceId, parentId, spanId: newSpanId(), flags } : null;
}

/** Starts a new trace, for a request that does not belong to one. Returns null if tracing is off. */
export function startTrace(): TraceContext | null {
  if (tracer === undefined) return null;
  const traceId = createRandomHex(16);
  return { traceId, parentId: null, spanId: createRandomHex(8), flags: tracer.samples(traceId) ? '01' : '00' };
}

/** Returns the span of this service in a trace. */
export const toSpanContext = ({ traceId, spanId, flags }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  isSampled: (Number.parseInt(flags, 16) & 1) === 1,
});

/**
 * Formats the header `traceresponse`. It contains the span of the response.
 * @source W3C Trace Context Level 2, section 3.4 (draft)
 */
export const formatTraceResponse = ({ traceId, spanId, flags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${flags}`;

/** Returns random bytes as hexadecimal text. Never returns only zeros, because an identifier of zeros is invalid. */
function createRandomHex(bytes: number): string {
  const randomBytes = crypto.getRandomValues(new Uint8Array(bytes));
  const text = Array.from(randomBytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return ALL_ZEROS.test(text) ? createRandomHex(bytes) : text;
}
