import type { ErrorDetail, Finding } from './contract.js';

/** The service answered with an error, or a job ended with one. Branch on `code`. */
export class DivisorError extends Error {
  override readonly name = 'DivisorError';
  readonly code: ErrorDetail['code'];
  readonly detail: ErrorDetail['detail'];
  /** Status of HTTP; null when a job failed. */
  readonly status: number | null;
  /** Quote it when asking about the error. */
  readonly requestId: string | null;
  /** Seconds after which to try again, with a 503 or 429. */
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

  /** Everything that is wrong with the request or document, worst first; empty when the code has none. */
  get findings(): readonly Finding[] {
    // The contract gives every code of validation this member.
    return (this.detail?.['findings'] ?? []) as readonly Finding[];
  }
}

/** Nothing answers at the address, or it does not speak as this service does. */
export class UnreachableError extends Error {
  override readonly name: string = 'UnreachableError';
}

/** The service took a request and did not answer in time: what was asked for may still go on, and may be done. */
export class LateAnswerError extends UnreachableError {
  override readonly name = 'LateAnswerError';
}

/** What a request that got no answer ends with, after so long. */
export function unanswered(url: string, seconds: number, cause: unknown): UnreachableError {
  return isLate(cause)
    ? new LateAnswerError(`No answer came from ${url} within ${Math.round(seconds)} seconds.`, { cause })
    : new UnreachableError(`Nothing answers at ${url}.`, { cause });
}

/** Whether `fetch` gave up on an answer: Node's does after five minutes, one that the client is given when it wants. */
function isLate(failure: unknown): boolean {
  const causes = [failure, failure instanceof Error ? failure.cause : undefined];
  return causes.some(
    (cause) =>
      cause instanceof Error &&
      (cause.name === 'TimeoutError' || ('code' in cause && cause.code === 'UND_ERR_HEADERS_TIMEOUT')),
  );
}
