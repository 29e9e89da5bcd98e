import type { Body } from '#contract/route.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { parseJson, type ParsedJson } from '#domain/json/parse-json.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { Upload } from './handler.js';

/** Maximum time in ms in which a body must arrive. A body of a route with a higher size limit has more time. */
const ARRIVAL_MS = 30_000;
const ARRIVAL_LARGE_MS = 300_000;

/**
 * Reads and parses the body of a request.
 * @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST
 */
export async function readBody(request: Request, body: Body): Promise<ParsedJson> {
  const bytes = await readBytes(request, body);
  if (bytes.byteLength === 0) {
    if (body.optional === true) return { value: undefined, overflows: false };
    throw refuseMalformed('The body is empty; this route requires a JSON body.');
  }
  checkType(request.headers);
  if (body.raw === true) return { value: bytes, overflows: false };
  const { value, overflows } = parseJson(bytes);
  return { value: value === null && body.optional === true ? undefined : value, overflows };
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
  // The HTTP parser enforces a declared length. Only a body without a declared length must be counted here.
  const read =
    length === undefined
      ? limitBytes(request, bytesMax, upload)
      : request.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  return rejectAfter(read, arrivalMs);
}

async function limitBytes(request: Request, bytesMax: number, upload: Body['upload']): Promise<Uint8Array> {
  const { body } = request;
  if (body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) throw refuseTooLarge(`more than ${bytesMax}`, bytesMax, upload);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
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
