import type { Logger } from 'pino';
import { ERRORS, Refusal } from '#domain/refusals/refusal.js';
import { endRequest, getSpan, type RequestCall } from './call.js';
import type { ResponseParts } from './reply.js';

/** Data about a request that was answered. The log and the metrics use it. */
export interface CompletedRequest {
  /** Undefined if no route was found. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
  /** Id of the key that sent the request; null without a key. */
  readonly keyId: string | null;
}

/** Log lines and observations of requests. */
export interface RequestLog {
  /** Writes one log line and counts one response in the metrics. Returns the response. */
  record(call: RequestCall, response: ResponseParts): ResponseParts;
  /**
   * Converts a failure to a refusal. A defect becomes INTERNAL. A code that only jobs use becomes INTERNAL as well,
   * because no route declares it.
   */
  createRefusal(call: RequestCall, failure: unknown): Refusal;
}

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
const listLoggedLevels = (log: Logger) =>
  Object.fromEntries(LEVELS.map((level) => [level, log.isLevelEnabled(level)])) as Record<
    (typeof LEVELS)[number],
    boolean
  >; // the entries cover each of the levels

export function createRequestLog(log: Logger, observe?: (answer: CompletedRequest) => void): RequestLog {
  // The fields of the error are not in `redact`. Keys and passwords in their values are still removed.
  const requestLog = log.child({}, { redact: [] });
  const isLogged = listLoggedLevels(log);
  return { record, createRefusal };

  function record(call: RequestCall, response: ResponseParts): ResponseParts {
    const { request, requestId, trace, path, operation, isOpen, principal, startedMs } = call;
    const { status } = response;
    endRequest(call, status);
    const { method } = request;
    const ms = performance.now() - startedMs;
    const level = status >= 500 && status !== 503 ? 'error' : status >= 400 ? 'warn' : isOpen ? 'debug' : 'info';
    if (isLogged[level]) {
      requestLog[level](
        {
          request_id: requestId,
          ...getSpan(trace),
          method,
          path,
          operation: operation?.id,
          status,
          ms: Math.round(ms * 100) / 100,
          key: principal.keyId,
        },
        'request',
      );
    }
    observe?.({ operation: operation?.id, method, status, seconds: ms / 1000, keyId: principal.keyId });
    return response;
  }

  function createRefusal({ request, requestId, trace }: RequestCall, failure: unknown): Refusal {
    if (failure instanceof Refusal && ERRORS[failure.code].status !== null) {
      const { code, cause } = failure;
      // An outage affects every request. One line without a stack is enough.
      const err = code === 'STORE_UNAVAILABLE' ? String(cause) : cause;
      if (cause !== undefined)
        log.warn({ request_id: requestId, ...getSpan(trace), code, err }, 'refusal with a cause');
      return failure;
    }
    if (request.signal.aborted) return new Refusal('MALFORMED_REQUEST', 'The client disconnected before the response.');
    log.error(
      { request_id: requestId, ...getSpan(trace), method: request.method, url: request.url, err: failure },
      'defect',
    );
    return new Refusal('INTERNAL', 'The service failed to process this request.', { request_id: requestId });
  }
}
