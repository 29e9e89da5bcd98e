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
  override readonly name = 'UnreachableError';
}
