import { clientAddress } from './client-addresses.js';
import type { IsAddressOf } from '#services/operations/address-ranges.js';
import type { Principal } from './handler.js';
import { noParams, type FoundPath } from './paths.js';
import type { Exchange, Operation } from './pipeline.js';
import { requestIdOf } from './request-id.js';
import { traceContextOf, type TraceContext } from './trace-context.js';

export const NOBODY: Principal = { keyId: null, name: null, scopes: new Set() };

function searchOf(url: string): string {
  const at = url.indexOf('?');
  return at === -1 ? '' : url.slice(at + 1);
}

/** One request in the pipeline. */
export interface Call extends Exchange {
  readonly trace: TraceContext | null;
  readonly path: string;
  /** Undefined when the path or its method is not there. */
  readonly operation: Operation | undefined;
  /** Needs no key. */
  readonly isOpen: boolean;
  principal: Principal;
  readonly startedMs: number;
}

export function openCall(
  { request, path, address }: Pick<Call, 'request' | 'path' | 'address'>,
  found: FoundPath | undefined,
  isTrustedProxy: IsAddressOf,
): Call {
  const { headers } = request;
  const operations = found?.operations;
  const operation = operations?.byMethod.get(request.method === 'HEAD' ? 'GET' : request.method);
  const trace = traceContextOf(headers.get('traceparent'));
  return {
    request,
    search: searchOf(request.url),
    param: found?.param ?? noParams,
    address: () => clientAddress(address(), headers.get('x-forwarded-for'), isTrustedProxy),
    requestId: requestIdOf(headers.get('x-request-id')),
    trace,
    traceId: trace === null ? null : trace.traceId,
    path,
    operation,
    isOpen: operation === undefined ? operations?.isOpen === true : operation.route.scope === 'open',
    principal: NOBODY,
    startedMs: performance.now(),
  };
}

/** Trace fields of a log line. */
export function spanOf(trace: TraceContext | null): object {
  return trace === null ? {} : { trace_id: trace.traceId, span_id: trace.spanId, parent_id: trace.parentId };
}
