import type { MiddlewareHandler } from 'hono';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import {
  endSpan,
  isTracing,
  parseTraceContext,
  readEpochMs,
  runWithinSpan,
  startTrace,
  toSpanContext,
  type TraceContext,
} from '#base/tracing/tracing.js';
import { ERRORS, Refusal } from '#domain/base/refusals.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import { ANONYMOUS, type Env, type RequestContext } from '../handler.js';

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

/** Runs each request in its span, and reports its end. The response names the span. */
export const traceRequests: MiddlewareHandler<Env> = (c, next) => {
  c.set('startedMs', performance.now());
  const trace = parseTraceContext(c.req.header('traceparent') ?? null) ?? startTrace();
  c.set('trace', trace);
  return trace !== null && isTracing() ? runTraced(c, trace, next) : next();
};

async function runTraced(c: RequestContext, trace: TraceContext, next: () => Promise<void>): Promise<void> {
  await runWithinSpan(toSpanContext(trace), next);
  endRequest(c, trace);
}

/** Reports the span of an answered request. */
function endRequest(c: RequestContext, trace: TraceContext): void {
  const operation = c.get('operation');
  const [id, startedMs] = [c.get('requestId'), c.get('startedMs')];
  const { status } = c.res;
  const endMs = readEpochMs();
  endSpan({
    context: toSpanContext(trace),
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
function getTraceFields(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;

/** Writes one log line per request, and reports the request to the metrics. */
export function logRequests(log: Logger, observe: (answer: CompletedRequest) => void): MiddlewareHandler<Env> {
  // The fields of the error are not in `redact`. Keys and passwords in their values are still removed.
  const requestLog = log.child({}, { redact: [] });
  const loggedLevels = new Set<string>(LEVELS.filter((level) => log.isLevelEnabled(level)));
  return async (c, next) => {
    c.set('principal', ANONYMOUS);
    await next();
    const operation = c.get('operation');
    const { status } = c.res;
    const { method, path } = c.req;
    const ms = performance.now() - c.get('startedMs');
    const level =
      status >= 500 && status !== 503
        ? 'error'
        : status >= 400
          ? 'warn'
          : operation?.route.scope === 'open'
            ? 'debug'
            : 'info';
    const { keyId } = c.get('principal');
    if (loggedLevels.has(level)) {
      requestLog[level](
        {
          request_id: c.get('requestId'),
          ...getTraceFields(c.get('trace')),
          method,
          path,
          operation: operation?.id,
          status,
          ms: Math.round(ms * 100) / 100,
          key: keyId,
        },
        'request',
      );
    }
    observe({ operation: operation?.id, method, status, seconds: ms / 1000, keyId });
  };
}

/**
 * Converts a failure to a refusal, and logs its cause. A defect becomes INTERNAL. A code that only jobs use becomes
 * INTERNAL as well, because no route declares it.
 */
export function toRefusal(log: Logger, c: RequestContext, failure: unknown): Refusal {
  const requestId = c.get('requestId');
  const fields = { request_id: requestId, ...getTraceFields(c.get('trace')) };
  if (failure instanceof Refusal && ERRORS[failure.code].status !== null) {
    const { code, cause } = failure;
    // An outage affects every request. One line without a stack is enough.
    const err = code === 'STORE_UNAVAILABLE' ? String(cause) : cause;
    if (cause !== undefined) log.warn({ ...fields, code, err }, 'refusal with a cause');
    return failure;
  }
  const { method, url, signal } = c.req.raw;
  if (signal.aborted) return new Refusal('MALFORMED_REQUEST', 'The client disconnected before the response.');
  log.error({ ...fields, method, url, err: failure }, 'defect');
  return new Refusal('INTERNAL', 'The service failed to process this request.', { request_id: requestId });
}
