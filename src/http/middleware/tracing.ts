import type { MiddlewareHandler } from 'hono';
import { randomUUID } from 'node:crypto';
import {
  createTrace,
  endSpan,
  isTracing,
  parseTraceContext,
  readEpochMs,
  runWithinSpan,
  toSpanContext,
  type TraceContext,
} from '#base/tracing/tracing.js';
import type { Env, RequestContext } from '../handler.js';

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

/** Starts a new trace if the request does not belong to one. */
function startTrace(): TraceContext | null {
  const newTrace = createTrace();
  return newTrace && { ...newTrace, parentId: null, flags: newTrace.isSampled ? '01' : '00' };
}

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
export function getTraceFields(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}
