import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { LIMITS } from '#domain/base/limits.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import {
  type CitedResult,
  rejectNumber,
  summariseText,
  type TextNumber,
  type VerifiedNumber,
  type VerifiedText,
} from '#domain/outputs/receipts.js';
import type { Jobs } from '#jobs/port/job-kind.js';

/** Query member with the first digits of the hash of a result that nothing else pins. */
export const HASH_MEMBER = 'sha256';
const HASH_DIGITS = 16;
export const shortenHash = (sha256: string): string => sha256.slice(0, HASH_DIGITS);
export const hashResult = (body: string | Uint8Array): string => shortenHash(hash('sha256', body));

/** Query member with the compressed body of a read by POST: who reads the address repeats the request. */
export const BODY_MEMBER = 'body';
/** Maximum number of bytes of a body in an address, and of its characters there: a header has limited space. */
const BODY_BYTES_MAX = 65_536;
const BODY_CHARACTERS_MAX = 6000;
/** Compresses a body for an address; undefined if it is too long. */
export function packBody(bytes: Uint8Array = new Uint8Array()): string | undefined {
  if (bytes.byteLength > BODY_BYTES_MAX) return undefined;
  const text = deflateRawSync(bytes).toString('base64url');
  return text.length > BODY_CHARACTERS_MAX ? undefined : text;
}

/** Returns undefined if the member of an address is no compressed body. */
export function unpackBody(member: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(inflateRawSync(Buffer.from(member, 'base64url'), { maxOutputLength: BODY_BYTES_MAX }));
  } catch {
    return undefined;
  }
}

/** Bytes of a cited result, or the reason why they cannot be read, with the pinned address if that is missing. */
export type ReadResult = { readonly bytes: Uint8Array } | { readonly reason: string; readonly pinned?: string };

/** Reads the result of a pinned address for the client of the request. */
type ReadSource = (address: string) => Promise<ReadResult>;

/** Verification of texts whose numbers cite results of the service. */
export interface Receipts {
  /** Verifies each number of a Markdown text. @throws Refusal VALIDATION_FAILED for a text that is too long */
  verify(text: string, readSource: ReadSource, signal: AbortSignal): Promise<VerifiedText>;
}

export interface ReceiptsDependencies {
  readonly jobs: Pick<Jobs, 'query'>;
  readonly documents: { readonly ids: (kind: 'store' | (typeof NAMED_KINDS)[number]) => Promise<readonly string[]> };
}

const NAMED_KINDS = ['index', 'strategy', 'constraint-set', 'risk-model'] as const;

/** Sources that are read at the same time, and bytes of sources that a thread receives at once. */
const READ_CONCURRENCY = 4;
const BATCH_BYTES = 2 ** 20;
const BATCH_SOURCES = 100;

export const createReceipts = ({ jobs, documents }: ReceiptsDependencies): Receipts => ({
  async verify(text, readSource, signal) {
    assertLength(text);
    const [stores = [], ...ids] = await Promise.all((['store', ...NAMED_KINDS] as const).map(documents.ids));
    const named = { ids: ids.flat().join('\n'), stores: stores.join('\n') };
    const numbers = await jobs.query('read-text', { text, ...named }, signal);
    const verify = (results: readonly CitedResult[]) => jobs.query('verify-numbers', { results }, signal);
    const verified = await verifyBySource(numbers, readSource, verify);
    return summariseText(verified.toSorted((a, b) => a.start - b.start));
  },
});

function assertLength(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= LIMITS.MAX_TEXT_BYTES) return;
  const message = `text has ${bytes} bytes; at most ${LIMITS.MAX_TEXT_BYTES} are accepted.`;
  throw refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', path: 'text', message }]);
}

/** Reads each cited result once, a few at a time, and judges the numbers that cite it in a thread. */
async function verifyBySource(
  numbers: readonly TextNumber[],
  readSource: ReadSource,
  verify: (results: readonly CitedResult[]) => Promise<readonly VerifiedNumber[]>,
): Promise<VerifiedNumber[]> {
  const verified: VerifiedNumber[] = [];
  const byAddress = new Map<string, TextNumber[]>();
  for (const number of numbers) {
    if (number.citation === null) verified.push(rejectNumber(number, 'unsourced', `${number.missing!}.`));
    else {
      const citing = byAddress.get(number.citation.address);
      if (citing === undefined) byAddress.set(number.citation.address, [number]);
      else citing.push(number);
    }
  }
  const sources = [...byAddress];
  let batch: CitedResult[] = [];
  let batchBytes = 0;
  for (let k = 0; k < sources.length; k += READ_CONCURRENCY) {
    const part = sources.slice(k, k + READ_CONCURRENCY);
    const read = await Promise.all(part.map(([address]) => readSource(address)));
    await setImmediate(); // a refused address is answered without a pause
    for (const [i, [address, citing]] of part.entries()) {
      const result = read[i]!;
      if ('bytes' in result) {
        batch.push({ address, bytes: result.bytes, numbers: citing });
        batchBytes += result.bytes.byteLength;
      } else
        verified.push(
          ...citing.map((number) => rejectNumber(number, 'unreadable', result.reason, locate(number, result.pinned))),
        );
    }
    if (batchBytes < BATCH_BYTES && batch.length < BATCH_SOURCES && k + READ_CONCURRENCY < sources.length) continue;
    if (batch.length > 0) verified.push(...(await verify(batch)));
    batch = [];
    batchBytes = 0;
  }
  return verified;
}

/** Returns the address with the pointer of a number. */
function locate({ citation }: TextNumber, pinned: string | undefined): string {
  const { address, pointer } = citation!; // only numbers with a citation have a result
  return `${pinned ?? address}${pointer === null ? '' : `#${encodeURI(pointer)}`}`;
}
