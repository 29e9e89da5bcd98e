import type { MiddlewareHandler } from 'hono';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  createTrace,
  endSpan,
  isTracing,
  readEpochMs,
  runWithinSpan,
  type SpanContext,
} from '#base/tracing/tracing.js';
import type { Env, RequestContext, TraceContext } from '../handler.js';

const VISIBLE_ASCII = /^[\x21-\x7e]{1,128}$/;

/** Returns the request id of the client if it is short and visible ASCII; otherwise a new id. */
export function chooseRequestId(sent: string | null): string {
  return sent !== null && VISIBLE_ASCII.test(sent) ? sent : randomUUID();
}

/** Chooses the id of each request. The middleware of Hono accepts fewer ids. */
export const identifyRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('requestId', chooseRequestId(c.req.header('x-request-id') ?? null));
  return next();
};

/** Matches version, trace, parent and flags. Later versions may add fields after another dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ALL_ZEROS = /^0+$/;

/**
 * Returns the trace context of a request with a new span of this service. The trace comes from the header
 * `traceparent`. An invalid header is ignored: a request must not fail because another program sent a wrong header.
 * @source W3C Trace Context, Recommendation of 23 November 2021, section 3.2
 */
export function parseTraceContext(header: string | null, newSpanId: () => string = createSpanId): TraceContext | null {
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

/**
 * Formats the header `traceresponse`. It contains the span of the response.
 * @source W3C Trace Context Level 2, section 3.4 (draft)
 */
export function formatTraceResponse({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

function createSpanId(): string {
  for (;;) {
    const id = randomBytes(8).toString('hex');
    if (!ALL_ZEROS.test(id)) return id;
  }
}

/** Starts a new trace if the request does not belong to one. */
function startTrace(): TraceContext | null {
  const newTrace = createTrace();
  return newTrace && { ...newTrace, parentId: null, flags: newTrace.isSampled ? '01' : '00' };
}

/**
 * Returns the parent span for the jobs of a request: the span of this service if it is recorded, otherwise the span of
 * the client.
 */
export const formatJobParent = ({ traceId, spanId, parentId, flags }: TraceContext): string =>
  `00-${traceId}-${isTracing() ? spanId : (parentId ?? spanId)}-${flags}`;

const createContext = ({ traceId, spanId, flags }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  isSampled: (Number.parseInt(flags, 16) & 1) === 1,
});

/** Runs each request in its span, and reports its end. The response names the span. */
export const traceRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('startedMs', performance.now());
  const trace = parseTraceContext(c.req.header('traceparent') ?? null) ?? startTrace();
  c.set('trace', trace);
  return trace !== null && isTracing() ? runTraced(c, trace, next) : next();
};

async function runTraced(c: RequestContext, trace: TraceContext, next: () => Promise<void>): Promise<void> {
  await runWithinSpan(createContext(trace), next);
  endRequest(c, trace);
}

/** Reports the span of an answered request. */
function endRequest(c: RequestContext, trace: TraceContext): void {
  const operation = c.get('operation');
  const [id, startedMs] = [c.get('requestId'), c.get('startedMs')];
  const { status } = c.res;
  const endMs = readEpochMs();
  endSpan({
    context: createContext(trace),
    parentId: trace.parentId,
    name: `${c.req.method} ${operation?.route.path ?? 'unknown'}`,
    kind: 'server',
    startMs: endMs - (performance.now() - startedMs),
    endMs,
    attributes: {
      'http.request.method': c.req.method,
      'http.route': operation?.route.path,
      'url.path': c.req.path,
      'http.response.status_code': status,
      'divisor.operation': operation?.id,
      'divisor.request_id': id,
    },
    error: status >= 500 ? String(status) : undefined,
  });
}

/** Returns the trace fields of a log line. */
export function getTraceFields(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}
