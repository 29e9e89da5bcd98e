import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { getPath } from 'hono/utils/url';
import { hasResult, isFinal, isRepeatablePath } from '#contract/operations.js';
import type { receiptRoutes } from '#contract/receipts.js';
import { JSON_TYPE, type Route, type Success } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { ERRORS, getRetrySeconds, type Refusal } from '#domain/base/refusals.js';
import { NAMED_DOCUMENTS } from '#domain/definition/reach.js';
import type { Subject } from '#domain/definition/versions.js';
import { EXPORT_FORMATS, type ExportFormat, FORMAT_NAMES } from '#domain/outputs/exports.js';
import { formatSource, normaliseSource, parseSource } from '#domain/outputs/receipts.js';
import { workInTurns } from '#services/keys/access.js';
import {
  BODY_MEMBER,
  HASH_MEMBER,
  hashResult,
  packBody,
  type ReadResult,
  type Receipts,
  shortenHash,
  unpackBody,
} from '#services/reports/receipts.js';
import type { AdmittedClient, Handlers, Reply, RequestContext } from './handler.js';

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
async function readAhead(reply: Reply, stream: ReadableStream<Uint8Array>): Promise<Reply> {
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

/** Header with the address of a result, with everything pinned. */
const SOURCE_HEADER = 'X-Source';

/** Query members that do not change a result. */
const IRRELEVANT_MEMBERS = ['format', 'wait', 'callback', 'priority'];

/** Maximum number of requests that the verification of one text repeats. */
const REPEATED_MAX = 50;

/** Returns the number of the last version of a document if it has this ETag; null otherwise. */
export type FindVersion = (subject: Subject, etag: string) => Promise<number | null>;

/** Adds the address of its result to the reply of a read. @param sentBytes body of the request, if it has one */
type AddSource = (request: Request, search: string, reply: Reply, sentBytes?: Uint8Array) => Reply | Promise<Reply>;

/** Returns undefined for a route without results. @param paths all paths of the service */
export function createSourceWriter(
  route: Route,
  paths: ReadonlySet<string>,
  findVersion: FindVersion,
): AddSource | undefined {
  const { method, path } = route;
  if (!hasResult(route)) return undefined;
  const isFinalResult = isFinal(route);
  const parameter = /\{(\w+)\}$/.exec(path)?.[1];
  const kind = parameter === undefined ? undefined : NAMED_DOCUMENTS[parameter]?.kind;
  const versionsPath = [`${path}/versions`, `${path}/document/versions`].find((each) => paths.has(`${each}/{version}`));

  return async (request, search, reply, sentBytes) => {
    const ownPath = getPath(request);
    const etag = reply.etag ?? reply.documentEtag;
    if (
      versionsPath !== undefined &&
      kind !== undefined &&
      kind !== 'risk-model' &&
      search === '' &&
      etag !== undefined
    ) {
      const id = decodeURIComponent(ownPath.slice(ownPath.lastIndexOf('/') + 1));
      const version = await findVersion({ kind, id }, etag);
      if (version !== null) return addHeader(reply, `${ownPath}${versionsPath.slice(path.length)}/${version}`);
    }
    const query = new URLSearchParams(search);
    for (const name of IRRELEVANT_MEMBERS) query.delete(name);
    for (const [name, value] of Object.entries(reply.pins ?? {})) query.set(name, value);
    if (method === 'POST') {
      const member = packBody(sentBytes);
      if (member === undefined) return reply;
      query.set(BODY_MEMBER, member);
    }
    if (isFinalResult || reply.pins !== undefined) return addHeader(reply, ownPath, query);
    if (reply.type !== undefined && !reply.type.startsWith(JSON_TYPE)) return reply;
    if (reply.stream !== undefined && etag !== undefined) {
      query.set(HASH_MEMBER, shortenHash(etag));
      return addHeader(reply, ownPath, query);
    }
    const whole = reply.stream === undefined ? reply : await readAhead(reply, reply.stream);
    if (whole.stream !== undefined) return whole;
    const body = whole.bytes ?? whole.text ?? JSON.stringify(whole.json ?? null);
    query.set(HASH_MEMBER, hashResult(body));
    const { json: _, ...written } = whole;
    return addHeader(typeof body === 'string' ? { ...written, text: body } : whole, ownPath, query);
  };
}

/**
 * Returns the request that reads an address: a GET, or the read by POST that it contains; undefined if it contains no
 * such read. An address must not start anything.
 */
export function createSourceRequest(path: string, query: URLSearchParams, options: RequestInit): Request | undefined {
  const member = query.get(BODY_MEMBER);
  const rest = new URLSearchParams(query);
  for (const name of [BODY_MEMBER, HASH_MEMBER]) rest.delete(name);
  const url = `http://localhost${path}${rest.size === 0 ? '' : `?${rest}`}`;
  if (member === null) return new Request(url, options);
  const body = isRepeatablePath(path) ? unpackBody(member) : undefined;
  if (body === undefined) return undefined;
  const headers = new Headers(options.headers);
  headers.set('content-type', JSON_TYPE);
  return new Request(url, { ...options, method: 'POST', headers, ...(body.byteLength > 0 && { body }) });
}

function addHeader(reply: Reply, path: string, query: URLSearchParams = new URLSearchParams()): Reply {
  const source = formatSource(path, query);
  return { ...reply, headers: { ...reply.headers, [SOURCE_HEADER]: source } };
}

/** Reads the address of the source of a result. */
export const readSourceHeader = ({ headers }: ResponseParts): string | undefined =>
  headers.get(SOURCE_HEADER) ?? undefined;

interface ReceiptSources {
  /** Answers a request on behalf of an authenticated client. */
  readonly answerFor: (request: Request, client: AdmittedClient) => Promise<ResponseParts>;
  readonly receipts: Receipts;
}

export function createReceiptHandlers({ answerFor, receipts }: ReceiptSources): Handlers<typeof receiptRoutes> {
  return {
    async verifyText({ body, principal, signal, header, isStillAllowed }) {
      const requestId = header('x-request-id');
      let repeated = 0;
      const ask: Ask = async (path, query) => {
        if (query.has(BODY_MEMBER) && ++repeated > REPEATED_MAX) return `More than ${REPEATED_MAX} requests to repeat.`;
        const headers = { accept: JSON_TYPE, ...(requestId !== undefined && { 'x-request-id': requestId }) };
        // A request adds a listener to its signal, and a text may have thousands.
        const request = createSourceRequest(path, query, { headers, signal: AbortSignal.any([signal]) });
        if (request === undefined) return 'The address contains no read that can be repeated.';
        return answerFor(request, { principal, isStillAllowed });
      };
      return { json: await receipts.verify(body().text, (address) => readResult(address, ask), signal) };
    },
  };
}

/** Reads an address; a text says why it cannot be read. */
type Ask = (path: string, query: URLSearchParams) => Promise<ResponseParts | string>;

/** Reads the result of a pinned address. */
async function readResult(address: string, ask: Ask): Promise<ReadResult> {
  const parsed = parseSource(address);
  if (parsed === undefined) return { reason: 'The address must begin with divisor:/ and a path of the service.' };
  const { path, query } = parsed;
  for (const name of [...IRRELEVANT_MEMBERS, HASH_MEMBER]) query.delete(name);
  const answer = await ask(path, query);
  if (typeof answer === 'string') return { reason: answer };
  if (answer.status !== 200 || getType(answer) !== JSON_TYPE) return { reason: await explainStatus(answer) };
  const pinned = readSourceHeader(answer);
  // The body was sent as the address states it; other versions of the library compress it to other characters.
  if (pinned === undefined || normaliseSource(pinned, BODY_MEMBER) !== normaliseSource(address, BODY_MEMBER)) {
    cancelBody(answer);
    if (pinned === undefined) return { reason: 'The address is no result.' };
    const isChanged =
      parseSource(address)!.query.has(HASH_MEMBER) &&
      normaliseSource(pinned, HASH_MEMBER, BODY_MEMBER) === normaliseSource(address, HASH_MEMBER, BODY_MEMBER);
    return { reason: isChanged ? 'The result has changed since.' : 'The address is not pinned.', pinned };
  }
  const bytes = await readWithin(answer, LIMITS.MAX_RESOURCE_BYTES);
  return bytes === undefined ? { reason: `The result has more than ${LIMITS.MAX_RESOURCE_BYTES} bytes.` } : { bytes };
}

async function explainStatus(answer: ResponseParts): Promise<string> {
  if (answer.status === 200 || typeof answer.body !== 'string') {
    cancelBody(answer);
    return 'The address has no result in JSON.';
  }
  const { error } = JSON.parse(answer.body) as { readonly error?: { readonly message?: string } };
  return (error?.message ?? 'The address cannot be read.').slice(0, 300);
}
