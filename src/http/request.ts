import { setImmediate } from 'node:timers/promises';
import { type Body, type CheckedBody, checkBody, readBodyText } from '#contract/route.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { type AcceptedRange, parseRanges } from './answers.js';
import type { Upload } from './handler.js';

/** Maximum time in ms in which a body must arrive. A body of a route with a higher size limit has more time. */
const ARRIVAL_MS = 30_000;
const ARRIVAL_LARGE_MS = 300_000;

/** Parses and checks the bytes of a body outside the event loop. @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST */
export type CheckApart = (bytes: Uint8Array) => Promise<CheckedBody>;

/** Reads the parts of a body for the handler. @throws Refusal VALIDATION_FAILED */
export interface BodyReader {
  (): unknown;
  /** Entries of the member `lines` of the route as lines of JSON; absent for a small body. */
  readonly lines?: Uint8Array | undefined;
  /** The JSON as it was sent; absent without a body. */
  readonly bytes?: Uint8Array | undefined;
}

const NO_TEXT = { text: 'null', overflows: false, values: 1 };

/**
 * Reads the body of a request. A body that is too large for the event loop is checked by `checkApart`.
 * @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST
 */
export async function readBody(request: Request, body: Body, checkApart?: CheckApart): Promise<BodyReader> {
  const bytes = await readBytes(request, body);
  if (bytes.byteLength === 0) {
    if (body.optional === true) return () => getValue(checkBody(body, NO_TEXT, false));
    throw refuseMalformed('The body is empty; this route requires a JSON body.');
  }
  checkType(request.headers);
  if (body.raw === true) return () => bytes;
  if (checkApart !== undefined && bytes.byteLength > LIMITS.MAX_DIRECT_BYTES)
    return createReader(await checkApart(bytes), bytes);
  const scannedText = readBodyText(body, bytes);
  if (checkApart !== undefined && scannedText.values > LIMITS.MAX_DIRECT_VALUES)
    return createReader(await checkApart(bytes), bytes);
  const read = () => getValue(checkBody(body, scannedText, scannedText.values > LIMITS.MAX_DIRECT_VALUES));
  return Object.assign(read, { bytes });
}

const createReader = (checkedBody: CheckedBody, bytes: Uint8Array): BodyReader =>
  Object.assign(() => getValue(checkedBody), { bytes, lines: 'lines' in checkedBody ? checkedBody.lines : undefined });

function getValue(checkedBody: CheckedBody): unknown {
  if ('refusal' in checkedBody) throw checkedBody.refusal;
  return checkedBody.value;
}

/** Maximum pause in ms between two parts of an upload, and maximum time in ms for the whole upload. */
const PAUSE_MS = 30_000;
export const UPLOAD_MS = 3_600_000;

/** Streams the body of a request if its media type is one of the upload types. */
export function openUpload(request: Request, { upload }: Body): Upload | undefined {
  const media = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
  return upload?.media.includes(media) === true ? { media, bytes: readUpload(request, upload.bytesMax) } : undefined;
}

async function* readUpload(request: Request, bytesMax: number): AsyncGenerator<Uint8Array> {
  const { headers, body } = request;
  const declaredLength = headers.get('content-length');
  if (declaredLength !== null && Number(declaredLength) > bytesMax) throw refuseTooLarge(declaredLength, bytesMax);
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') throw refuseEncoding(encoding);
  if (body === null) throw refuseMalformed('The body is empty.');
  const reader = body.getReader();
  const deadlineMs = performance.now() + UPLOAD_MS;
  let total = 0;
  try {
    for (;;) {
      const { done, value } = await rejectAfter(reader.read(), Math.min(PAUSE_MS, deadlineMs - performance.now()));
      if (done) break;
      total += value.byteLength;
      if (total > bytesMax) throw refuseTooLarge(`more than ${bytesMax}`, bytesMax);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // a lost connection has nothing left to cancel
  }
  if (total === 0) throw refuseMalformed('The body is empty.');
}

async function readBytes(request: Request, { bytesMax = LIMITS.MAX_BODY_BYTES, upload }: Body): Promise<Uint8Array> {
  const declaredLength = request.headers.get('content-length');
  const length = declaredLength === null ? undefined : Number(declaredLength);
  if (length !== undefined && length > bytesMax) throw refuseTooLarge(String(length), bytesMax, upload);
  const arrivalMs = bytesMax > LIMITS.MAX_BODY_BYTES ? ARRIVAL_LARGE_MS : ARRIVAL_MS;
  // The HTTP parser enforces a declared length. Only a body without a declared length must be counted. A large body is
  // copied as its parts arrive, because the adapter would copy all of them at once.
  const read =
    length === undefined || length > LIMITS.MAX_DIRECT_BYTES
      ? limitBytes(request, { bytesMax, length, upload })
      : request.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  return rejectAfter(read, arrivalMs);
}

/** Bytes of a body that are read in one turn of the event loop. */
const TURN_BYTES = 2 ** 17;

interface ExpectedBytes {
  readonly bytesMax: number;
  /** Declared length; undefined if the body is sent in chunks without it. */
  readonly length: number | undefined;
  readonly upload: Body['upload'];
}

async function limitBytes(request: Request, { bytesMax, length, upload }: ExpectedBytes): Promise<Uint8Array> {
  const { body } = request;
  if (body === null) return new Uint8Array(0);
  const collector = length === undefined ? createPartCollector() : createWholeCollector(length);
  let total = 0;
  let turnBytes = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) throw refuseTooLarge(`more than ${bytesMax}`, bytesMax, upload);
    collector.add(chunk);
    turnBytes += chunk.byteLength;
    if (turnBytes < TURN_BYTES) continue;
    await setImmediate(); // other requests take their turn
    turnBytes = 0;
  }
  return collector.end();
}

interface Collector {
  add(part: Uint8Array): void;
  end(): Uint8Array;
}

function createPartCollector(): Collector {
  const parts: Uint8Array[] = [];
  return { add: (part) => void parts.push(part), end: () => Buffer.concat(parts) };
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

/**
 * Collects parts in memory of the declared length, which the system provides page by page. A thread receives it without
 * a copy.
 */
function createWholeCollector(length: number): Collector {
  const bytes = allocate(length);
  let position = 0;
  return {
    add(part) {
      bytes.set(part, position);
      position += part.byteLength;
    },
    end: () => bytes.subarray(0, position),
  };
}

async function rejectAfter<T>(read: Promise<T>, arrivalMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(refuseMalformed(`The body was not complete after ${arrivalMs / 1000} seconds.`)),
      arrivalMs,
    );
  });
  try {
    return await Promise.race([read, timeout]);
  } catch (failure) {
    if (failure instanceof Refusal) throw failure;
    throw new Refusal('MALFORMED_REQUEST', 'The connection ended before the end of the body.', null, {
      cause: failure,
    });
  } finally {
    clearTimeout(timer);
  }
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

function checkType(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') throw refuseEncoding(encoding);
  const type = headers.get('content-type');
  if (type === null) throw refuseMalformed('The body has no content type; application/json is required.');
  if (!JSON_TYPE.test(type.trim()))
    throw refuseMalformed(`The body has the content type ${formatPrintable(type)}; application/json is required.`);
}

const refuseEncoding = (encoding: string) =>
  refuseMalformed(`The body has the content encoding ${formatPrintable(encoding)}; it must be sent plain.`);
const formatPrintable = (text: string) => JSON.stringify(text.slice(0, 100));
const refuseMalformed = (message: string) => new Refusal('MALFORMED_REQUEST', message);

/** @param upload limits of the route for larger bodies */
function refuseTooLarge(size: string, bytesMax: number, upload?: Body['upload']): Refusal {
  const advice =
    upload === undefined || upload.bytesMax <= bytesMax
      ? ''
      : ` Up to ${upload.bytesMax} are accepted with the content type ${upload.media.join(' or ')}: a table as a Parquet file or an Arrow stream.`;
  return new Refusal('BODY_TOO_LARGE', `The body has ${size} bytes; at most ${bytesMax} are accepted.${advice}`, {
    limit: bytesMax,
  });
}

/**
 * Returns the offered media type with the highest quality. If several have the same quality, returns the first of them.
 * Without `Accept`, returns the first type.
 * @throws Refusal NOT_ACCEPTABLE if no type matches
 */
export function negotiate<T extends string>(accept: string | undefined, offeredTypes: readonly T[]): T {
  const acceptedType = findAccepted(accept, offeredTypes);
  if (acceptedType !== undefined) return acceptedType;
  throw new Refusal(
    'NOT_ACCEPTABLE',
    `Accept ${accept!.slice(0, 200)} does not match the available types: ${offeredTypes.join(', ')}.`,
    {
      accepted: [...offeredTypes],
    },
  );
}

/**
 * Returns the media type of a response; empty if none is offered. A response without a form in JSON is sent whatever
 * `Accept` says. @throws Refusal NOT_ACCEPTABLE
 */
export function selectMedia(accept: string | undefined, offeredTypes: readonly string[], hasJson: boolean): string {
  if (offeredTypes.length === 0) return '';
  return hasJson ? negotiate(accept, offeredTypes) : (findAccepted(accept, offeredTypes) ?? offeredTypes[0]!);
}

/** Returns the same type as `negotiate`; undefined if no type matches. */
function findAccepted<T extends string>(accept: string | undefined, offeredTypes: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === '') return offeredTypes[0];
  const ranges = parseRanges(accept);
  const ratedTypes = offeredTypes.map((type) => ({ type, quality: computeQuality(type, ranges) }));
  const best = ratedTypes.reduce((bestSoFar, candidate) =>
    candidate.quality > bestSoFar.quality ? candidate : bestSoFar,
  );
  return best.quality > 0 ? best.type : undefined;
}

/** Returns the quality of the range that matches most specifically; 0 if no range matches. */
function computeQuality(type: string, ranges: readonly AcceptedRange[]): number {
  const [kind] = type.split('/');
  for (const name of [type, `${kind}/*`, '*/*']) {
    const matchingRanges = ranges.filter((range) => range.type === name);
    if (matchingRanges.length > 0) return Math.max(...matchingRanges.map(({ quality }) => quality));
  }
  return 0;
}
