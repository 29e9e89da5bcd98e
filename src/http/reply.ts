import { STATUS_CODES } from 'node:http';
import { ERRORS, Refusal, type ErrorDetail } from '#domain/refusals/refusal.js';
import { JSON_TYPE, type ResponseHeaders } from './answer-headers.js';
import type { Reply } from './handler.js';

/**
 * Seconds after which a client may try again, by error code: codes with status 503 or 429, and other temporary
 * conditions.
 */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorDetail['code'], number>> = {
  OVERLOADED: 2,
  RATE_LIMITED: 2,
  STORAGE_FULL: 60,
  STORE_LOADING: 5,
  STORE_REFRESHING: 5,
};
const RETRY_AFTER_DEFAULT_SECONDS = 5;

export interface ReplyContext {
  readonly method: string;
  /** Success status that the route declares. */
  readonly status: number;
  /** Headers of this response. The function adds more headers; no other response uses the same object. */
  readonly headers: ResponseHeaders;
  /** `If-None-Match` of the request. */
  readonly ifNoneMatch: string | undefined;
}

/** Parts of a response. */
export interface ResponseParts {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

type ResponseBody = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null;

export const toResponse = ({ status, headers, body }: ResponseParts): Response =>
  new Response(body, { status, headers: headers.byName() });

/** Builds the response of a reply. It has status 304 if the client already has the etag, and no body for HEAD. */
export function createSuccessAnswer(reply: Reply, context: ReplyContext): ResponseParts {
  const { headers } = context;
  const isRead = context.method === 'GET' || context.method === 'HEAD';
  const status = reply.status ?? context.status;
  if (reply.headers !== undefined) for (const [name, value] of Object.entries(reply.headers)) headers.set(name, value);
  const etag = reply.etag ?? reply.documentEtag;
  if (etag !== undefined) {
    headers.set('ETag', `"${etag}"`);
    headers.set('Cache-Control', 'no-cache');
    if (isRead && status === 200 && reply.etag !== undefined && namesEtag(context.ifNoneMatch, reply.etag)) {
      cancelStream(reply.stream);
      return { status: 304, headers, body: null };
    }
  }
  const { body, length } = createBody(reply);
  if (body === null) return { status, headers, body };
  headers.describe(reply.type, length);
  if (context.method !== 'HEAD') return { status, headers, body };
  cancelStream(reply.stream);
  return { status, headers, body: null };
}

function createBody(reply: Reply): { readonly body: ResponseBody; readonly length: number | undefined } {
  if (reply.stream !== undefined) return { body: reply.stream, length: reply.length };
  if (reply.bytes !== undefined) return { body: reply.bytes, length: reply.bytes.byteLength };
  const text = reply.text ?? (reply.json === undefined ? undefined : JSON.stringify(reply.json));
  if (text === undefined) return { body: null, length: undefined };
  return { body: text, length: Buffer.byteLength(text) };
}

/** Cancels a stream that is not read, so that its file is closed. */
function cancelStream(stream: ReadableStream<Uint8Array> | undefined): void {
  stream?.cancel().catch(() => undefined);
}

/** Returns true if `If-None-Match` contains the etag. Uses the weak comparison of RFC 9110. */
export function namesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((name) => name.trim().replace(/^W\//, '') === `"${etag}"`);
}

/** Builds the response of a refusal: an ErrorEnvelope with the status that belongs to the code. */
export function createErrorAnswer(refusal: Refusal, method: string, headers: ResponseHeaders): ResponseParts {
  const status = getStatus(refusal);
  const transientDelay = status === 503 || status === 429 ? RETRY_AFTER_DEFAULT_SECONDS : undefined;
  const retrySeconds = RETRY_AFTER_SECONDS[refusal.code] ?? transientDelay;
  if (retrySeconds !== undefined) headers.set('Retry-After', String(retrySeconds));
  if (status === 401) headers.set('WWW-Authenticate', 'Bearer');
  const allowedMethods = refusal.detail?.['allowed'];
  if (status === 405 && Array.isArray(allowedMethods)) headers.set('Allow', allowedMethods.join(', '));
  const text = formatError(refusal.toDetail());
  headers.describe(JSON_TYPE, Buffer.byteLength(text));
  return { status, headers, body: method === 'HEAD' ? null : text };
}

/** Returns the status of a refusal. The application has already converted codes without a status to INTERNAL. */
function getStatus(refusal: Refusal): number {
  return ERRORS[refusal.code].status ?? 500;
}

export function formatError(error: ErrorDetail): string {
  return JSON.stringify({ error });
}

/** Formats a whole HTTP/1.1 response as text. It is written directly to a socket if the parser refused the request. */
export function formatRawErrorResponse(refusal: Refusal, headers: ResponseHeaders): string {
  const text = formatError(refusal.toDetail());
  const status = getStatus(refusal);
  headers.set('Connection', 'close');
  headers.describe(JSON_TYPE, Buffer.byteLength(text));
  const lines = Object.entries(headers.byName()).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
}
