import { once } from 'node:events';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { type ErrorDetail, ERRORS, Refusal } from '#domain/base/refusals.js';
import type { Reply } from './handler.js';

/** Headers by name. They are one object, so that a response is written once and not changed afterwards. */
export type Headers = Record<string, string>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Headers of one response: its request id, the common headers, its specific headers, and headers that describe its
 * body.
 */
export class ResponseHeaders {
  readonly #byName: Headers;
  #length: number | undefined;

  /** @param requestId visible ASCII @param commonHeaders headers of every response */
  constructor(requestId: string, commonHeaders: Headers) {
    this.#byName = { 'X-Request-Id': requestId, ...commonHeaders };
    this.#length = undefined;
  }

  /** Length of the body in bytes; undefined if there is no body or the length is unknown. */
  get length(): number | undefined {
    return this.#length;
  }

  /** Sets a header; replaces a common header of the same name. */
  set(name: string, value: string): void {
    this.#byName[name] = value;
  }

  /** @param type media type of the body. Default: JSON */
  describe(type: string | undefined, length: number | undefined): void {
    this.#byName['Content-Type'] = type ?? JSON_TYPE;
    if (length !== undefined) this.#byName['Content-Length'] = String(length);
    this.#length = length;
  }

  byName(): Headers {
    return this.#byName;
  }
}

/** Content codings of stored bytes, best first. */
export const CODINGS = ['br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/**
 * Returns the best compression that a client accepts; null if the bytes are sent unchanged.
 * @source RFC 9110, section 12.5.3
 */
export function selectCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = new Map(acceptEncoding.toLowerCase().split(',').map(parseWeight));
  const findWeight = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = CODINGS.filter((coding) => findWeight(coding) > 0).toSorted((a, b) => findWeight(b) - findWeight(a));
  // The client accepts unchanged bytes unless it refuses them by name.
  return best === undefined || findWeight(best) < (weights.get('identity') ?? 0) ? null : best;
}

function parseWeight(word: string): [string, number] {
  const [coding = '', ...parameters] = word.split(';').map((part) => part.trim());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  return [coding, Number.isFinite(weight) ? weight : 0];
}

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

/** Returns the media type of a response without its parameters. */
export const getType = ({ headers }: ResponseParts): string =>
  (headers.byName()['Content-Type'] ?? 'text/plain').split(';')[0]!.trim();

/** Reads the body of a response. If it is longer than the limit, closes the response and returns undefined. */
export async function readWithin(answer: ResponseParts, bytesMax: number): Promise<Uint8Array | undefined> {
  const { body, headers } = answer;
  if (body === null) return new Uint8Array(0);
  if ((headers.length ?? 0) > bytesMax) return void cancelBody(answer);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body.byteLength > bytesMax ? undefined : body;
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) return undefined; // leaving the loop cancels the stream
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks, total);
}

/** Closes a response that is not read. */
export function cancelBody({ body }: ResponseParts): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined);
}

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

/** Size in bytes of the buffer of one response. 20 MB then take 80 reads, and 1,000 slow readers fit into memory. */
const BUFFER_BYTES = 256 * 1024;

/** Response with a streamed body. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * Sends a stream. A byte stream uses one buffer. It is filled again after the operating system has accepted all its
 * bytes. Separate chunks would accumulate until V8 collects garbage, at 32 MiB of buffers.
 */
export async function sendStream(
  { status, headers, stream }: StreamedResponse,
  outgoing: ServerResponse,
): Promise<void> {
  const { next, cancel, isOfBytes } = createReader(stream);
  const cancelAll = () => cancel().catch(() => undefined); // the next read reports the failure
  if (outgoing.closed) return void (await cancelAll()); // the event will not occur again
  const closeEvent = once(outgoing, 'close').then(cancelAll, () => undefined);
  try {
    outgoing.writeHead(status, headers);
    // Events may come much later, so the headers are sent first.
    if (!isOfBytes) outgoing.flushHeaders();
    for (;;) {
      const part = await next();
      if (outgoing.closed) return;
      if (part === undefined) break;
      await Promise.race([writePart(outgoing, part), closeEvent]); // the write of bytes to a closed connection never completes
      if (outgoing.closed) return;
    }
    outgoing.end();
  } catch (failure) {
    outgoing.destroy(failure instanceof Error ? failure : undefined);
  }
}

interface StreamReader {
  readonly isOfBytes: boolean;
  /** Returns the next bytes; undefined at the end. The bytes are valid until the next call. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function createReader(stream: ReadableStream<Uint8Array>): StreamReader {
  const byteReader = openByobReader(stream);
  if (byteReader === undefined) {
    const reader = stream.getReader();
    return { isOfBytes: false, next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  return {
    isOfBytes: true,
    async next() {
      const { done, value } = await byteReader.read(new Uint8Array(buffer));
      if (done) return undefined;
      buffer = value.buffer;
      return value;
    },
    cancel: () => byteReader.cancel(),
  };
}

function writePart(outgoing: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(part, (failure) => (failure ? reject(failure) : resolve()));
  });
}

function openByobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined; // the only way to detect a byte stream
  }
}

/**
 * Time in ms after which an idle connection is closed. A client that polls keeps its connection; the connection of a
 * client that has gone is released.
 */
export const KEEP_ALIVE_MS = 20_000;

/**
 * Sends a response. If it cannot be sent, the connection is aborted. For a stream, resolves when the stream has ended.
 * A complete body is in the socket when the function returns.
 */
export function sendResponse(answer: ResponseParts, outgoing: ServerResponse): Promise<void> | undefined {
  const { status, headers, body } = answer;
  if (body instanceof ReadableStream) return sendStream({ status, headers: headers.byName(), stream: body }, outgoing);
  try {
    outgoing.writeHead(status, headers.byName());
    // If the text has one byte per character, it is ASCII. Its Latin-1 bytes are the same, and they need no counting or
    // encoding.
    if (typeof body === 'string') outgoing.end(body, headers.length === body.length ? 'latin1' : 'utf8');
    else outgoing.end(body ?? undefined);
  } catch (failure) {
    outgoing.destroy(failure as Error); // `node:http` throws this error
  }
  return undefined;
}
