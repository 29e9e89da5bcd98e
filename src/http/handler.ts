import type { Context } from 'hono';
import { parseAccept } from 'hono/utils/accept';
import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import { formatJobParent, type TraceContext } from '#base/tracing/tracing.js';
import { callOnce } from '#base/once.js';
import { type Body, checkBody, type CheckedBody, readBodyText, type Route, type Scope } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { type Authorship, LOCAL_AUTHOR, NOTE_LENGTH_MAX } from '#domain/definition/versions.js';
import type { JobPriority } from '#domain/outputs/job-priority.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { Precondition } from '#services/shared/documents.js';
import type { RequestedRun } from '#services/shared/run-documents.js';

/** Authenticated client. It has a key, or it is a client on this machine that needs no key and has all scopes. */
export interface Principal {
  readonly keyId: string | null;
  /** Name of the key. */
  readonly name: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /**
   * True if `keyId` is `sub:` and the subject of a token. The name comes from the provider and does not identify the
   * client.
   */
  readonly isSubject?: true;
  /** Prefixes of the ids that the client may use. Default: all ids. */
  readonly prefixes?: readonly string[];
}

export const ANONYMOUS: Principal = { keyId: null, name: null, scopes: new Set() };

/** Client that a route has admitted. */
export interface AdmittedClient {
  readonly principal: Principal;
  /** Resolves to true while the client may call the route. */
  isStillAllowed(): Promise<boolean>;
}

/** Values that the application receives with a request. */
export interface Bindings {
  /** Returns the address of the socket; absent for a request of a route. */
  readonly address?: () => string | undefined;
  /** Client of the route that sends the request. */
  readonly client?: AdmittedClient;
  /** Refusal of a request that cannot be read. */
  readonly refusal?: Refusal;
  /** Set with the response: true if its body is a stream. */
  isStreamed?: boolean;
}

/** Hono context of a request. */
export interface Env {
  readonly Bindings: Bindings;
  readonly Variables: {
    readonly requestId: string;
    /** Returns the headers of every response. */
    readonly headers: () => Readonly<Record<string, string>>;
    readonly trace: TraceContext | null;
    readonly startedMs: number;
    readonly principal: Principal;
    /** Route of the request; undefined if the path does not exist or does not support the method. */
    readonly operation: { readonly id: string; readonly route: Route } | undefined;
  };
}

export type RequestContext = Context<Env>;

type Parsed<S> = S extends z.ZodType ? z.output<S> : Record<string, never>;
type ParsedBody<B> = B extends Body
  ? B extends { readonly raw: true }
    ? Uint8Array
    : B extends { readonly document: true }
      ? Readonly<Record<string, unknown>>
      : z.output<B['schema']>
  : undefined;

/** Values of a request that the schemas of its route have parsed, and a check that the client still has access. */
type ParsedValues<R extends Route> = Pick<RouteRequest<R>, 'params' | 'query' | 'media' | 'isStillAllowed'>;

/**
 * Request whose path, query and JSON syntax are already checked. A handler may take single members out of it. It is a
 * class, because getters in an object literal cost more than all other members together.
 */
export class RouteRequest<R extends Route> {
  readonly #context: RequestContext;
  readonly #sent: SentBody | undefined;
  readonly principal: Principal;
  readonly params: Parsed<R['params']>;
  readonly query: Parsed<R['query']>;
  /**
   * Media type of the response: the one that matches `Accept` best, or the first one for the requested format. Empty if
   * the route has no media types.
   */
  readonly media: string;
  /** Resolves to false if the key has expired or was revoked since the request. For long responses. */
  readonly isStillAllowed: () => Promise<boolean>;

  constructor(context: RequestContext, sent: SentBody | undefined, values: ParsedValues<R>) {
    this.#context = context;
    this.#sent = sent;
    this.principal = context.get('principal');
    this.params = values.params;
    this.query = values.query;
    this.media = values.media;
    this.isStillAllowed = values.isStillAllowed;
  }

  /** Returns a header of the request by lower-case name. */
  get header() {
    const { req } = this.#context;
    return (name: string): string | undefined => req.header(name);
  }

  /**
   * Parses the body by its schema. For a document, returns the JSON object. A handler must first find the resource in
   * the path, because an unknown resource is reported before an invalid body.
   * @throws Refusal VALIDATION_FAILED
   */
  get body() {
    const sent = this.#sent;
    return () => sent?.read() as ParsedBody<R['body']>;
  }

  /**
   * Returns the entries of the member that the route declares as `lines`, as lines of JSON. The member is then an empty
   * list in the body. Returns undefined for a small body.
   */
  get lines() {
    const sent = this.#sent;
    return () => sent?.lines;
  }

  /** Returns the body as a stream if the route accepts its media type as a file; otherwise undefined. */
  get upload() {
    const sent = this.#sent;
    return () => sent?.upload;
  }

  /**
   * Returns the precondition in `If-Match`; undefined if the header is absent. The service checks it in the transaction
   * that writes: see `src/services/shared/documents.ts`.
   */
  get precondition() {
    const { header } = this;
    return () => parseIfMatch(header('if-match'));
  }

  /** Returns author and note of a write. @throws Refusal VALIDATION_FAILED for a note that is too long */
  get authorship() {
    const { header, principal } = this;
    const requestId = this.#context.get('requestId');
    return (): Authorship => ({
      author: principal.name ?? LOCAL_AUTHOR,
      keyId: principal.keyId,
      note: findNote(header('x-change-note')),
      requestId,
    });
  }

  /** Returns the raw query string after the question mark. */
  get search() {
    return () => getSearch(this.#context);
  }

  /** Trace context of the submitted work. */
  get origin(): JobOrigin {
    const [requestId, trace] = [this.#context.get('requestId'), this.#context.get('trace')];
    const { callback, priority } = this.query as StartQuery; // the schema of each route with callbacks or priorities has these members
    return {
      owner: this.principal.keyId,
      author: this.principal.name,
      note: findNote(this.header('x-change-note')),
      requestId,
      traceId: trace === null ? null : trace.traceId,
      ...(trace !== null && { traceParent: formatJobParent(trace) }),
      callback: callback ?? null,
      ...(priority !== undefined && { priority }),
    };
  }

  /** Aborts when the client disconnects. */
  get signal() {
    return this.#context.req.raw.signal;
  }
}

/** Reply of a handler. It has at most one of `json`, `text`, `bytes` and `stream`, and none of them with status 204. */
export interface Reply {
  /** Default: the route's success status. */
  readonly status?: number;
  readonly json?: unknown;
  /** JSON as text. */
  readonly text?: string;
  /** Stored bytes; JSON unless `type` is set. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** Stream of bytes. It is cancelled when the client disconnects. Set `length` if it is known. */
  readonly stream?: ReadableStream<Uint8Array>;
  /** Length of `stream` in bytes. */
  readonly length?: number;
  /** Media type of `bytes` or `stream`. Default: JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Query members that pin the result of a read, for its address in `X-Source`. */
  readonly pins?: Readonly<Record<string, string>>;
  /** Strong ETag without quotes. A GET whose `If-None-Match` contains it gets status 304 without a body. */
  readonly etag?: string;
  /**
   * ETag of the stored document, for `If-Match`, if the body has members that are not of this document. A conditional
   * GET is then answered in full, because the members may have changed.
   */
  readonly documentEtag?: string;
}

export type Handler<R extends Route> = (request: RouteRequest<R>) => Reply | Promise<Reply>;

/** One handler per route of a table. */
export type Handlers<T extends Record<string, Route>> = { readonly [K in keyof T]: Handler<T[K]> };

export interface RunParameters {
  readonly params: { readonly index_id: string };
  readonly query: { readonly run_id?: string | undefined };
}

export function readRunParameters({ params, query }: RunParameters): RequestedRun {
  return { subject: params.index_id, id: query.run_id };
}

/** Returns the query string without the question mark. */
export function getSearch({ req: { url } }: RequestContext): string {
  const queryStart = url.indexOf('?');
  return queryStart === -1 ? '' : url.slice(queryStart + 1);
}

/** Query members of the routes that start jobs. */
interface StartQuery {
  readonly callback?: string;
  readonly priority?: JobPriority;
}

/** Returns the note of a write, decoded as UTF-8 if possible. @throws Refusal VALIDATION_FAILED */
function findNote(header: string | undefined): string | null {
  if (header === undefined || header === '') return null;
  const note = decodeUtf8(header);
  const length = [...note].length;
  if (length <= NOTE_LENGTH_MAX) return note;
  const message = `X-Change-Note has ${length} characters; at most ${NOTE_LENGTH_MAX} are accepted.`;
  throw refuseWithFindings('request', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path: 'X-Change-Note' }]);
}

/** Decodes a header as UTF-8 if its bytes are valid UTF-8. Headers arrive as Latin-1. */
function decodeUtf8(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'));
  } catch {
    return header;
  }
}

/** Parses etags and removes their quotes. A weak etag never matches, because preconditions compare strongly. */
function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return '*';
  return header.split(',').flatMap((name) => /^"([^"]*)"$/.exec(name.trim())?.[1] ?? []);
}

/** Parses the terms of an uploaded file, which are in the query. @throws Refusal VALIDATION_FAILED */
export function parseTerms<S extends z.ZodType>(schema: S, query: object): z.output<S> {
  const { value, findings } = checkShape(schema, query);
  if (value === undefined) throw refuseWithFindings('query', findings);
  return value;
}

/** Refuses terms in the query of a JSON body, which contains them. @throws Refusal VALIDATION_FAILED */
export function assertNoTerms(query: object): void {
  const [name] = Object.keys(query);
  if (name === undefined) return;
  const message = `For a JSON body, ${name} must be in the body.`;
  throw refuseWithFindings('query', [{ severity: 'error', code: 'UNKNOWN_FIELD', message, path: name }]);
}

/** Maximum time in ms in which a body must arrive. A body of a route with a higher size limit has more time. */
const ARRIVAL_MS = 30_000;
const ARRIVAL_LARGE_MS = 300_000;

/** Maximum pause in ms between two parts of an upload, and maximum time in ms for the whole upload. */
const PAUSE_MS = 30_000;
export const UPLOAD_MS = 3_600_000;

/** Parses and checks the bytes of a body outside the event loop. @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST */
type CheckApart = (bytes: Uint8Array) => Promise<CheckedBody>;

/** Request body that the handler reads as a stream. */
interface Upload {
  readonly media: string;
  /** Bytes of the body. @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST if the body is incomplete */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Body of a request. */
export interface SentBody {
  /** Returns the value for the handler; undefined for an upload. @throws Refusal VALIDATION_FAILED */
  readonly read: () => unknown;
  /** Entries of the member `lines` of the route as lines of JSON; absent for a small body. */
  readonly lines?: Uint8Array | undefined;
  /** The JSON as it was sent. */
  readonly bytes?: Uint8Array;
  /** The body as a stream, if the route accepts its media type as a file. */
  readonly upload?: Upload;
}

const NO_TEXT = { text: 'null', overflows: false, values: 1 };

/**
 * Receives the body of a request. A body that is too large for the event loop is checked by `checkApart`.
 * @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST
 */
export async function receiveBody(request: Request, body: Body, checkApart?: CheckApart): Promise<SentBody> {
  const media = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  if (body.upload?.media.includes(media) === true)
    return { read: () => undefined, upload: { media, bytes: readUpload(request, body.upload.bytesMax) } };
  const bytes = await readBytes(request, body);
  if (bytes.byteLength === 0) {
    if (body.optional === true) return { read: () => getValue(checkBody(body, NO_TEXT, false)) };
    throw refuseMalformed('The body is empty; this route requires a JSON body.');
  }
  checkType(request.headers);
  if (body.raw === true) return { read: () => bytes, bytes };
  if (checkApart === undefined || bytes.byteLength <= LIMITS.MAX_DIRECT_BYTES) {
    const text = readBodyText(body, bytes);
    const isLarge = text.values > LIMITS.MAX_DIRECT_VALUES;
    if (checkApart === undefined || !isLarge)
      return { read: callOnce(() => getValue(checkBody(body, text, isLarge))), bytes };
  }
  const checkedBody = await checkApart(bytes);
  const lines = 'lines' in checkedBody ? checkedBody.lines : undefined;
  return { read: () => getValue(checkedBody), lines, bytes };
}

function getValue(checkedBody: CheckedBody): unknown {
  if ('refusal' in checkedBody) throw checkedBody.refusal;
  return checkedBody.value;
}

async function* readUpload(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  assertDeclaredLength(request, { bytesMax });
  assertPlain(request.headers);
  let isEmpty = true;
  for await (const chunk of readChunks(request, { bytesMax, timeMs: UPLOAD_MS, pauseMs: PAUSE_MS })) {
    yield chunk;
    isEmpty = false;
  }
  if (isEmpty) throw refuseMalformed('The body is empty.');
}

async function readBytes(request: Request, { bytesMax = LIMITS.MAX_BODY_BYTES, upload }: Body): Promise<Uint8Array> {
  const length = assertDeclaredLength(request, { bytesMax, upload });
  const timeMs = bytesMax > LIMITS.MAX_BODY_BYTES ? ARRIVAL_LARGE_MS : ARRIVAL_MS;
  // The HTTP parser enforces a declared length. Only a body without a declared length must be counted. A large body is
  // copied as its parts arrive, because the adapter would copy all of them at once.
  return length === undefined || length > LIMITS.MAX_DIRECT_BYTES
    ? collect(readChunks(request, { bytesMax, upload, timeMs }), length)
    : new Uint8Array(await rejectAfter(request.arrayBuffer(), timeMs));
}

/** Size limit of a body. The refusal names the limits of the route for uploads, which may be larger. */
type SizeLimit = Readonly<{ bytesMax: number; upload?: Body['upload'] }>;

interface ChunkLimits extends SizeLimit {
  /** Maximum time in ms for all chunks. */
  readonly timeMs: number;
  /** Maximum time in ms for one chunk. Default: `timeMs`. */
  readonly pauseMs?: number;
}

/** Returns the declared length of a body; undefined if it is sent in chunks without it. @throws Refusal BODY_TOO_LARGE */
function assertDeclaredLength({ headers }: Request, limit: SizeLimit): number | undefined {
  const declared = headers.get('content-length');
  if (declared === null) return undefined;
  if (Number(declared) > limit.bytesMax) throw refuseTooLarge(String(Number(declared)), limit);
  return Number(declared);
}

async function* readChunks({ body }: Request, limits: ChunkLimits): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const { bytesMax, timeMs, pauseMs = timeMs } = limits;
  const reader = body.getReader();
  const deadlineMs = performance.now() + timeMs;
  let total = 0;
  try {
    for (;;) {
      const leftMs = deadlineMs - performance.now();
      const isPause = pauseMs < leftMs;
      const read = reader.read();
      const { done, value } = await rejectAfter(read, isPause ? pauseMs : leftMs, isPause ? pauseMs : timeMs);
      if (done) return;
      total += value.byteLength;
      if (total > bytesMax) throw refuseTooLarge(`more than ${bytesMax}`, limits);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // a lost connection has nothing left to cancel
  }
}

/** Bytes of a body that are read in one turn of the event loop. */
const TURN_BYTES = 2 ** 17;

/**
 * Collects chunks in memory of the declared length, which the system provides page by page. A thread receives it without
 * a copy.
 */
async function collect(chunks: AsyncIterable<Uint8Array>, length: number | undefined): Promise<Uint8Array> {
  const whole = length === undefined ? undefined : allocate(length);
  const parts: Uint8Array[] = [];
  let [position, turnBytes] = [0, 0];
  for await (const chunk of chunks) {
    if (whole === undefined) parts.push(chunk);
    else whole.set(chunk, position);
    position += chunk.byteLength;
    turnBytes += chunk.byteLength;
    if (turnBytes < TURN_BYTES) continue;
    await setImmediate(); // other requests take their turn
    turnBytes = 0;
  }
  return whole?.subarray(0, position) ?? Buffer.concat(parts);
}

/**
 * Size from which the C library maps each allocation. It fills smaller ones with zeros at once if it takes them from
 * memory that was used before, which holds the event loop for 6 ms per MiB.
 */
const MAPPED_BYTES = 2 ** 25 + 2 ** 16;
const FILLED_BYTES_MAX = 2 ** 21;

/** @throws Refusal OVERLOADED if the system has no memory */
function allocate(length: number): Uint8Array {
  const capacity = length <= FILLED_BYTES_MAX ? length : Math.max(length, MAPPED_BYTES);
  try {
    return new Uint8Array(new SharedArrayBuffer(capacity));
  } catch (cause) {
    throw new Refusal('OVERLOADED', `There is no memory for a body of ${length} bytes.`, null, { cause });
  }
}

/** Waits at most `limitMs` for a part of a body. @param statedMs limit that the refusal states */
async function rejectAfter<T>(read: Promise<T>, limitMs: number, statedMs: number = limitMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const refuse = () => reject(refuseMalformed(`The body was not complete after ${statedMs / 1000} seconds.`));
    timer = setTimeout(refuse, limitMs);
  });
  try {
    return await Promise.race([read, timeout]);
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw new Refusal('MALFORMED_REQUEST', 'The connection ended before the end of the body.', null, { cause });
  } finally {
    clearTimeout(timer);
  }
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

function checkType(headers: Headers): void {
  assertPlain(headers);
  const type = headers.get('content-type');
  if (type === null) throw refuseMalformed('The body has no content type; application/json is required.');
  if (!JSON_TYPE.test(type.trim()))
    throw refuseMalformed(`The body has the content type ${formatPrintable(type)}; application/json is required.`);
}

function assertPlain(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw refuseMalformed(`The body has the content encoding ${formatPrintable(encoding)}; it must be sent plain.`);
}

const formatPrintable = (text: string) => JSON.stringify(text.slice(0, 100));
const refuseMalformed = (message: string) => new Refusal('MALFORMED_REQUEST', message);

function refuseTooLarge(size: string, { bytesMax, upload }: SizeLimit): Refusal {
  const advice =
    upload === undefined || upload.bytesMax <= bytesMax
      ? ''
      : ` Up to ${upload.bytesMax} are accepted with the content type ${upload.media.join(' or ')}: a table as a Parquet file or an Arrow stream.`;
  return new Refusal('BODY_TOO_LARGE', `The body has ${size} bytes; at most ${bytesMax} are accepted.${advice}`, {
    limit: bytesMax,
  });
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
  const weights = new Map(parseRanges(acceptEncoding).map(({ type, quality }) => [type, quality]));
  const findWeight = (coding: string): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = CODINGS.filter((coding) => findWeight(coding) > 0).toSorted((a, b) => findWeight(b) - findWeight(a));
  // The client accepts unchanged bytes unless it refuses them by name.
  return best === undefined || findWeight(best) < (weights.get('identity') ?? 0) ? null : best;
}

/** Parses `Accept` or `Accept-Encoding`. A quality is from 0 to 1, and 0 if the header states no number. */
const parseRanges = (header: string) =>
  parseAccept(header.toLowerCase()).map(({ type, params: { q = '1' } }) => ({
    type,
    quality: Math.min(1, Math.max(0, Number(q) || 0)),
  }));

/**
 * Returns the offered media type with the highest quality. If several have the same quality, returns the first of them.
 * Without `Accept`, returns the first type, or empty text if none is offered.
 * @param isStrict false if a response is sent whatever `Accept` says
 * @throws Refusal NOT_ACCEPTABLE if no type matches
 */
export function negotiate(accept: string | undefined, offeredTypes: readonly string[], isStrict = true): string {
  const [first = ''] = offeredTypes;
  if (accept === undefined || accept.trim() === '' || first === '') return first;
  const ranges = parseRanges(accept);
  /** Returns the quality of the range that matches most specifically; 0 if no range matches. */
  const computeQuality = (type: string): number => {
    const names = [type, `${type.split('/')[0]}/*`, '*/*'];
    const matches = names.map((name) => ranges.filter((range) => range.type === name));
    return Math.max(0, ...(matches.find(({ length }) => length > 0) ?? []).map(({ quality }) => quality));
  };
  const qualities = offeredTypes.map(computeQuality);
  const best = Math.max(...qualities);
  if (best > 0) return offeredTypes[qualities.indexOf(best)]!;
  if (!isStrict) return first;
  throw new Refusal(
    'NOT_ACCEPTABLE',
    `Accept ${accept.slice(0, 200)} does not match the available types: ${offeredTypes.join(', ')}.`,
    { accepted: [...offeredTypes] },
  );
}
