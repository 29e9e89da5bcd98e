import { createMiddleware } from 'hono/factory';
import type { Logger } from 'pino';
import { ERRORS, Refusal } from '#domain/base/refusals.js';
import type { CompletedRequest } from '#services/shared/metrics.js';
import { ANONYMOUS, type Env, type RequestContext } from '../handler.js';
import { getTraceFields } from './tracing.js';

const LEVELS = ['error', 'warn', 'info', 'debug'] as const;

/** Writes one log line per request, and reports the request to the metrics. */
export function logRequests(log: Logger, observe: (answer: CompletedRequest) => void) {
  // The fields of the error are not in `redact`. Keys and passwords in their values are still removed.
  const requestLog = log.child({}, { redact: [] });
  const loggedLevels = new Set<string>(LEVELS.filter((level) => log.isLevelEnabled(level)));
  return createMiddleware<Env>(async (c, next) => {
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
  });
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
