import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { PublicKey } from '#domain/documents/publication-document.js';
import { parseJson } from '#domain/json/parse-json.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { LogFault } from '#store/publication/log-check.js';
import { verifyLog } from '#store/publication/verify-log.js';
import { readFirstSentence } from './flag-words.js';
import { UsageError } from './usage-error.js';

export const VERIFY_PUBLISHED_HELP = `divisor verify-published FILE [--key FILE] [--head HASH]

Verifies the hash chain and the signatures of a published log, without a service. FILE is the response of
GET /analytics/INDEX/published, as JSON lines or as one object.

  --key   Response of GET /analytics/INDEX/published/keys. Default: signatures are not verified.
  --head  Expected hash of the last entry, which proves that no entry is missing at the end.

Exit statuses: 0 the log is intact; 1 it was altered or has no entries, and the first bad entry is named; 64 wrong usage, or a
file that cannot be read.
`;

const EXIT_DAMAGED = 1;

/** A SHA-256 in hexadecimal digits, in either case. */
export const HASH = /^[0-9a-f]{64}$/i;

const KeyFile = z.object({ keys: z.array(PublicKey) });

/** Runs `divisor verify-published`: verifies the hash chain and the signatures of a log. */
export async function verifyPublished(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(argv);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError('verify-published requires one FILE');
  if (values.head !== undefined && !HASH.test(values.head))
    throw new UsageError(`--head takes the hash of an entry, 64 hexadecimal digits, not ${values.head}`);
  const keys = values.key === undefined ? null : await readKeys(values.key);
  const verdict = verifyEntries(parseEntries(await readBytes(file)), (entries) =>
    verifyLog(entries, { keys, head: values.head?.toLowerCase() ?? null }),
  );
  if ('reason' in verdict) {
    process.stdout.write(`Entry ${verdict.seq}: ${verdict.reason}.\n`);
    return EXIT_DAMAGED;
  }
  const extent =
    keys === null
      ? 'The hash chain is intact; signatures not verified'
      : 'The hash chain and the signatures are intact';
  process.stdout.write(`${extent}: ${formatCount(verdict.entries, 'entry', 'entries')}, last hash ${verdict.head}.\n`);
  return 0;
}

/** Verifies the entries of a file. A file without entries fails, because it proves nothing. */
export function verifyEntries<V>(
  entries: readonly unknown[],
  verify: (entries: readonly unknown[]) => V,
): V | LogFault {
  return entries.length === 0 ? { seq: 1, reason: 'it is missing: the file has no entries' } : verify(entries);
}

function readArguments(argv: readonly string[]) {
  const options = { key: { type: 'string' }, head: { type: 'string' } } as const;
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (thrown) {
    throw new UsageError(readFirstSentence(thrown, Object.keys(options)), { cause: thrown });
  }
}

/** Reads public keys from a file, by id. @throws UsageError */
export async function readKeys(file: string): Promise<ReadonlyMap<string, PublicKey>> {
  const read = KeyFile.safeParse(parseValue(await readBytes(file)));
  if (!read.success) throw new UsageError(`${file} contains no keys in the form of GET .../published/keys`);
  return new Map(read.data.keys.map((key) => [key.key_id, key]));
}

/** Reads a file. @throws UsageError if it cannot be read */
export async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new UsageError(`${file} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? String(cause)}`, {
      cause,
    });
  }
}

/** Parses the entries of a file. A line is an invalid entry if it is not JSON or contains a key twice. */
export function parseEntries(bytes: Uint8Array): unknown[] {
  const parsedFile = parseValue(bytes);
  if (
    typeof parsedFile === 'object' &&
    parsedFile !== null &&
    'entries' in parsedFile &&
    Array.isArray(parsedFile.entries)
  )
    return parsedFile.entries;
  const lines = new TextDecoder().decode(bytes).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => parseValue(new TextEncoder().encode(line)));
}

/** Parses a file as JSON; undefined if it is not JSON. */
export function parseValue(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes).value;
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}
