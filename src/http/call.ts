import { resolveClientAddress } from './client-addresses.js';
import type { IsAddressOf } from '#services/operations/address-ranges.js';
import type { Principal } from './handler.js';
import { ignoreParams, type FoundPath } from './paths.js';
import type { Exchange, Operation } from './pipeline.js';
import { chooseRequestId } from './request-id.js';
import { endSpan, readEpochMs, isTracing, createTrace, runWithinSpan, type SpanContext } from '#base/tracing/spans.js';
import { parseTraceContext, type TraceContext } from './trace-context.js';

export const NO_PRINCIPAL: Principal = { keyId: null, name: null, scopes: new Set() };

function readSearch(url: string): string {
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? '' : url.slice(queryStart + 1);
}

/** One request in the pipeline. */
export interface RequestCall extends Exchange {
  readonly trace: TraceContext | null;
  readonly path: string;
  /** Operation of the request; undefined if the path does not exist or does not support the method. */
  readonly operation: Operation | undefined;
  /** True if the route needs no key. */
  readonly isOpen: boolean;
  principal: Principal;
  readonly startedMs: number;
}

export function openCall(
  { request, path, address, isClientAllowed }: Pick<RequestCall, 'request' | 'path' | 'address' | 'isClientAllowed'>,
  foundPath: FoundPath | undefined,
  isTrustedProxy: IsAddressOf,
): RequestCall {
  const { headers } = request;
  const operations = foundPath?.operations;
  const operation = operations?.byMethod.get(request.method === 'HEAD' ? 'GET' : request.method);
  const trace = parseTraceContext(headers.get('traceparent')) ?? startTrace();
  return {
    request,
    search: readSearch(request.url),
    param: foundPath?.param ?? ignoreParams,
    address: () => resolveClientAddress(address(), headers.get('x-forwarded-for'), isTrustedProxy),
    requestId: chooseRequestId(headers.get('x-request-id')),
    trace,
    traceId: trace === null ? null : trace.traceId,
    traceParent: trace === null ? null : formatJobParent(trace),
    path,
    operation,
    isOpen: operation === undefined ? operations?.isOpen === true : operation.route.scope === 'open',
    principal: NO_PRINCIPAL,
    isClientAllowed,
    startedMs: performance.now(),
  };
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
const formatJobParent = ({ traceId, spanId, parentId, flags }: TraceContext): string =>
  `00-${traceId}-${isTracing() ? spanId : (parentId ?? spanId)}-${flags}`;

const createContext = ({ traceId, spanId, flags }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  isSampled: (Number.parseInt(flags, 16) & 1) === 1,
});

/** Runs the work of a request in its span. */
export const runInRequest = <T>({ trace }: RequestCall, work: () => T): T =>
  trace === null || !isTracing() ? work() : runWithinSpan(createContext(trace), work);

/** Reports the span of an answered request. */
export function endRequest(
  { trace, request, operation, path, startedMs, requestId }: RequestCall,
  status: number,
): void {
  if (trace === null || !isTracing()) return;
  const endMs = readEpochMs();
  const route = operation?.route.path;
  endSpan({
    context: createContext(trace),
    parentId: trace.parentId,
    name: `${request.method} ${route ?? 'unknown'}`,
    kind: 'server',
    startMs: endMs - (performance.now() - startedMs),
    endMs,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'url.path': path,
      'http.response.status_code': status,
      'divisor.operation': operation?.id,
      'divisor.request_id': requestId,
    },
    error: status >= 500 ? String(status) : undefined,
  });
}

/** Returns the trace fields of a log line. */
export function getSpan(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}
