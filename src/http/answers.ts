import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Success } from '#contract/route.js';
import { ERRORS, getRetrySeconds, type Refusal } from '#domain/base/refusals.js';
import { EXPORT_FORMATS, type ExportFormat, FORMAT_NAMES } from '#domain/outputs/exports.js';
import { workInTurns } from '#services/keys/access.js';
import { HASH_MEMBER, shortenHash } from '#services/reports/receipts.js';
import type { Reply, RequestContext } from './handler.js';

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

/** Response to a request that a route sends for its client. */
export interface ResponseParts {
  readonly status: number;
  readonly headers: Headers;
  /** Text or bytes of a short response; the body of a long response is a stream. */
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null;
}

/** Size in bytes up to which the body of a response is read at once. */
const SHORT_BYTES = 65_536;

/** Returns the parts of a response of this process. Its reader decides whether to read a long body. */
export async function readParts(response: Response, isStreamed: boolean): Promise<ResponseParts> {
  const { status, headers } = response;
  const isLong = isStreamed || Number(headers.get('Content-Length')) > SHORT_BYTES;
  if (isLong || response.body === null) return { status, headers, body: response.body };
  const isText = /^(?:application\/json|text\/)/.test(headers.get('Content-Type') ?? '');
  return { status, headers, body: isText ? await response.text() : new Uint8Array(await response.arrayBuffer()) };
}

/** Returns the media type of a response without its parameters. */
export const getType = ({ headers }: ResponseParts): string =>
  (headers.get('Content-Type') ?? 'text/plain').split(';')[0]!.trim();

/** Reads the body of a response. If it is longer than the limit, closes the response and returns undefined. */
export async function readWithin(answer: ResponseParts, bytesMax: number): Promise<Uint8Array | undefined> {
  const { body, headers } = answer;
  if (body === null) return new Uint8Array(0);
  if (Number(headers.get('Content-Length')) > bytesMax) return void cancelBody(answer);
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
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
  if (body instanceof ReadableStream) cancelStream(body);
}

export const toJobReply = (status: { readonly job_id: string }): Reply => ({
  json: status,
  headers: { Location: `/jobs/${status.job_id}` },
});

/** Returns the reply of a stored document. The service returns its etag and the document, under any name. */
export function toDocumentReply(stored: { readonly etag?: string | null | undefined }): Reply {
  const { etag, ...members } = stored;
  const [json] = Object.values(members);
  return { json, ...(typeof etag === 'string' && { documentEtag: etag }) };
}

export function parseExportFormat(media: string): ExportFormat {
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].media === media)!; // the routes offer only these media types
}

/** Names the file as which a browser stores a reply. */
export const nameFile = (name: string): Readonly<Record<string, string>> => ({
  'Content-Disposition': `attachment; filename="${name}"`,
});

/** Returns the reply of a file in a format. Text formats name their encoding. */
export function toFileReply(name: string, format: ExportFormat, reply: Reply): Reply {
  const { media, extension } = EXPORT_FORMATS[format];
  const type = format === 'csv' || format === 'json' ? `${media}; charset=utf-8` : media;
  return { ...reply, type, headers: { ...nameFile(`${name}.${extension}`), ...reply.headers } };
}

/**
 * Creates a response. Its headers are a plain object, which the adapter writes without creating `Headers`; `newResponse`
 * of Hono would create them.
 */
function createResponse(
  c: RequestContext,
  body: ConstructorParameters<typeof Response>[0],
  status: number,
  headers: Record<string, string>,
) {
  return new Response(body, { status, headers: { ...c.get('headers')(), ...headers } });
}

/** Builds the response of a reply. It has status 304 if the client already has the etag, and no body for HEAD. */
export function respond(c: RequestContext, reply: Reply, success: Success): Response {
  const status = reply.status ?? success.status;
  const headers: Record<string, string> = (success.media ?? []).length === 0 ? {} : { Vary: 'Accept' };
  Object.assign(headers, reply.headers);
  const etag = reply.etag ?? reply.documentEtag;
  if (etag !== undefined) {
    headers['ETag'] = `"${etag}"`;
    headers['Cache-Control'] = 'no-cache';
    const isRead = c.req.method === 'GET' || c.req.method === 'HEAD';
    if (isRead && status === 200 && reply.etag !== undefined && namesEtag(c.req.header('if-none-match'), reply.etag)) {
      cancelStream(reply.stream);
      return createResponse(c, null, 304, headers);
    }
  }
  const { body, length } = createBody(reply);
  if (body === null) return createResponse(c, null, status, headers);
  headers['Content-Type'] = reply.type ?? JSON_CONTENT_TYPE;
  if (length !== undefined) headers['Content-Length'] = String(length);
  if (c.req.method === 'HEAD') cancelStream(reply.stream);
  else c.env.isStreamed = reply.stream !== undefined;
  return createResponse(c, c.req.method === 'HEAD' ? null : body, status, headers);
}

function createBody(reply: Reply) {
  if (reply.stream !== undefined) return { body: reply.stream, length: reply.length };
  if (reply.bytes !== undefined) return { body: reply.bytes, length: reply.bytes.byteLength };
  const text = reply.text ?? (reply.json === undefined ? undefined : JSON.stringify(reply.json));
  if (text === undefined) return { body: null, length: undefined };
  return { body: text, length: Buffer.byteLength(text) };
}

/** Size of one chunk of a response in bytes. */
const PIECE_BYTES = 1 << 18;

/** Streams parts in chunks. Other requests are handled between two chunks. */
export function createByteStream(parts: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(splitParts(parts));
}

function* splitParts(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const part of parts)
    for (let offset = 0; offset < part.length; offset += PIECE_BYTES) yield part.subarray(offset, offset + PIECE_BYTES);
}

/** Cancels a stream that is not read, so that its file is closed. */
export function cancelStream(stream: ReadableStream<Uint8Array> | undefined): void {
  stream?.cancel().catch(() => undefined);
}

/** Returns true if `If-None-Match` contains the etag. Uses the weak comparison of RFC 9110. */
export function namesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((name) => name.trim().replace(/^W\//, '') === `"${etag}"`);
}

/** Builds the response of a refusal: an ErrorEnvelope with the status that belongs to the code. */
export function respondWithError(c: RequestContext, refusal: Refusal): Response {
  const status = ERRORS[refusal.code].status ?? 500; // codes without a status have already become INTERNAL
  const headers: Record<string, string> = { 'Content-Type': JSON_CONTENT_TYPE };
  const retrySeconds = getRetrySeconds(refusal.code);
  if (retrySeconds !== undefined) headers['Retry-After'] = String(retrySeconds);
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  const allowedMethods = refusal.detail?.['allowed'];
  if (status === 405 && Array.isArray(allowedMethods)) headers['Allow'] = allowedMethods.join(', ');
  const text = JSON.stringify({ error: refusal.toDetail() });
  headers['Content-Length'] = String(Buffer.byteLength(text));
  return createResponse(c, c.req.method === 'HEAD' ? null : text, status, headers);
}

/** Formats a response as text. It is written directly to a socket if the parser refused the request. */
export async function formatRawResponse(response: Response): Promise<string> {
  const { status, headers } = response;
  headers.set('Connection', 'close');
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${await response.text()}`;
}

/** Size in bytes of the buffer of one response. 20 MB then take 80 reads, and 1,000 slow readers fit into memory. */
const BUFFER_BYTES = 256 * 1024;

interface StreamedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
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

/** Returns a reader whose bytes are valid until the next call of `next`, which returns undefined at the end. */
function createReader(stream: ReadableStream<Uint8Array>) {
  const byteReader = openByobReader(stream);
  if (byteReader === undefined) {
    const reader = stream.getReader();
    return { isOfBytes: false, next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  return {
    isOfBytes: true,
    async next(): Promise<Uint8Array | undefined> {
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

/** Size in characters up to which a response of JSON is one text. */
const TEXT_LENGTH_MAX = 1_048_576;

/**
 * Writes the JSON of a reply whose lists have several entries, in turns of the event loop: the entries may be many large
 * documents. A long response is a stream with the hash of `createSourceWriter`.
 */
export async function writeLists(reply: Reply): Promise<Reply> {
  const { json, ...rest } = reply;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return reply;
  const members = (Object.entries(json) as [string, unknown][]).filter(([, member]) => member !== undefined);
  if (!members.some(([, member]) => isList(member))) return reply;
  const texts: string[] = [];
  for (const [k, [name, member]] of members.entries()) {
    const key = `${k === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    if (!isList(member)) texts.push(`${key}${JSON.stringify(member)}`);
    else {
      let separator = `${key}[`;
      await workInTurns(member, (entry) => {
        texts.push(`${separator}${JSON.stringify(entry) ?? 'null'}`);
        separator = ',';
      });
      texts.push(']');
    }
  }
  texts.push('}');
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return length <= TEXT_LENGTH_MAX ? { ...rest, text: texts.join('') } : streamTexts(rest, texts);
}

const isList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > 1 && typeof value[0] === 'object';

async function streamTexts(reply: Reply, texts: readonly string[]): Promise<Reply> {
  const sum = createHash('sha256');
  const parts: Uint8Array[] = [];
  await workInTurns(texts, (text) => {
    const part = Buffer.from(text);
    sum.update(part);
    parts.push(part);
  });
  const length = parts.reduce((total, part) => total + part.length, 0);
  const pins = { ...reply.pins, [HASH_MEMBER]: shortenHash(sum.digest('hex')) };
  return { ...reply, stream: createByteStream(parts), length, pins };
}

/** Maximum size of a stream that is read before it is sent, because only its hash identifies it. */
const AHEAD_BYTES_MAX = 1_048_576;

/** Reads the stream of a reply as a whole if it is short; otherwise returns the reply with the same stream. */
export async function readAhead(reply: Reply, stream: ReadableStream<Uint8Array>): Promise<Reply> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  while (size <= AHEAD_BYTES_MAX) {
    const { done, value } = await reader.read();
    if (done) {
      const { stream: _, length: __, ...rest } = reply;
      return { ...rest, bytes: new Uint8Array(Buffer.concat(parts)) };
    }
    parts.push(value);
    size += value.byteLength;
  }
  reader.releaseLock();
  const repeatParts = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => parts.forEach((part) => controller.enqueue(part)),
  });
  return { ...reply, stream: stream.pipeThrough(repeatParts) };
}
