import type { Body } from '#contract/route.js';
import { LIMITS } from '#domain/limits.js';
import { parseJson, type ParsedJson } from '#domain/parse-json.js';
import { Refusal } from '#domain/refusal.js';

/** Time a whole body may take to arrive; one with a limit of its own is a large upload. */
const ARRIVAL_MS = 30_000;
const ARRIVAL_LARGE_MS = 300_000;

/**
 * Reads and parses the body of a request.
 * @throws Refusal BODY_TOO_LARGE, MALFORMED_REQUEST
 */
export async function readBody(request: Request, body: Body): Promise<ParsedJson> {
  const bytes = await readBytes(request, body.bytesMax ?? LIMITS.MAX_BODY_BYTES);
  if (bytes.byteLength === 0) {
    if (body.optional === true) return { value: undefined, overflows: false };
    throw malformed('The body is empty; this route needs a JSON body.');
  }
  checkType(request.headers);
  if (body.raw === true) return { value: bytes, overflows: false };
  const { value, overflows } = parseJson(bytes);
  return { value: value === null && body.optional === true ? undefined : value, overflows };
}

async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  const length = declared === null ? undefined : Number(declared);
  if (length !== undefined && length > bytesMax) throw tooLarge(String(length), bytesMax);
  const arrivalMs = bytesMax > LIMITS.MAX_BODY_BYTES ? ARRIVAL_LARGE_MS : ARRIVAL_MS;
  // The parser of HTTP holds a body to its declared length, so that only a chunked one has to be counted here.
  const read =
    length === undefined
      ? countedBytes(request, bytesMax)
      : request.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  return within(read, arrivalMs);
}

async function countedBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const { body } = request;
  if (body === null) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total > bytesMax) throw tooLarge(`more than ${bytesMax}`, bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

async function within(read: Promise<Uint8Array>, arrivalMs: number): Promise<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(malformed(`The body did not arrive whole within ${arrivalMs / 1000} seconds.`)),
      arrivalMs,
    );
  });
  try {
    return await Promise.race([read, late]);
  } catch (failure) {
    if (failure instanceof Refusal) throw failure;
    throw new Refusal('MALFORMED_REQUEST', 'The connection ended before the body was whole.', null, { cause: failure });
  } finally {
    clearTimeout(timer);
  }
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?$/i;

function checkType(headers: Headers): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw malformed(`The body has the content encoding ${printable(encoding)}; it must be sent plain.`);
  }
  const type = headers.get('content-type');
  if (type === null) throw malformed('The body has no content type; application/json is needed.');
  if (!JSON_TYPE.test(type.trim()))
    throw malformed(`The body has the content type ${printable(type)}; application/json is needed.`);
}

const printable = (text: string) => JSON.stringify(text.slice(0, 100));
const malformed = (message: string) => new Refusal('MALFORMED_REQUEST', message);

function tooLarge(came: string, bytesMax: number): Refusal {
  return new Refusal('BODY_TOO_LARGE', `The body has ${came} bytes; at most ${bytesMax} are accepted.`, {
    limit: bytesMax,
  });
}
