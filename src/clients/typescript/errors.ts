import type { ErrorDetail, Finding } from './contract.js';

/** Thrown if the service returned an error, or a job failed with one. Branch on `code`. */
export class DivisorError extends Error {
  override readonly name = 'DivisorError';
  readonly code: ErrorDetail['code'];
  readonly detail: ErrorDetail['detail'];
  /** HTTP status; null if a job failed. */
  readonly status: number | null;
  /** Id to quote in a support request. */
  readonly requestId: string | null;
  /** Seconds after which to retry, with a 503 or 429. */
  readonly retryAfterSeconds: number | null;

  constructor(
    { code, message, detail }: ErrorDetail,
    from: { readonly status: number | null; readonly headers?: Headers | undefined },
  ) {
    super(`${code}: ${message}`);
    this.code = code;
    this.detail = detail;
    this.status = from.status;
    this.requestId = from.headers?.get('x-request-id') ?? null;
    const retryAfter = from.headers?.get('retry-after');
    this.retryAfterSeconds = typeof retryAfter === 'string' ? Number(retryAfter) : null;
  }

  /** All faults of the request or document, worst first; empty if the code has none. */
  get findings(): readonly Finding[] {
    // According to the contract, every validation code has this member.
    return (this.detail?.['findings'] ?? []) as readonly Finding[];
  }
}

/** Thrown if no service answers at the address, or the response is not from this service. */
export class UnreachableError extends Error {
  override readonly name: string = 'UnreachableError';
}

/** Thrown if the service accepted a request and did not respond in time: the work may be running or complete. */
export class LateAnswerError extends UnreachableError {
  override readonly name = 'LateAnswerError';
}

/** Returns the error of a request without a response, after the elapsed time. */
export function createNoResponseError(url: string, seconds: number, cause: unknown): UnreachableError {
  return isLate(cause)
    ? new LateAnswerError(`No response from ${url} within ${Math.round(seconds)} seconds.`, { cause })
    : new UnreachableError(`Nothing answers at ${url}.`, { cause });
}

/** Returns true if `fetch` timed out: Node's does after five minutes, a custom one at any time. */
function isLate(failure: unknown): boolean {
  const causes = [failure, failure instanceof Error ? failure.cause : undefined];
  return causes.some(
    (cause) =>
      cause instanceof Error &&
      (cause.name === 'TimeoutError' || ('code' in cause && cause.code === 'UND_ERR_HEADERS_TIMEOUT')),
  );
}
