import { randomBytes } from 'node:crypto';

/** Trace context of a request. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Span of the client as 16 hexadecimal digits; null if the trace starts in this service. */
  readonly parentId: string | null;
  /** Span of this service. */
  readonly spanId: string;
  /** Trace flags: two hexadecimal digits from the client. */
  readonly flags: string;
}

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
