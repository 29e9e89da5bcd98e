import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { BUNDLE_MEDIA } from '#contract/route.js';
import { parseJson } from '#domain/base/json.js';
import { formatCount } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { AUDIT_KINDS, type AuditKind } from '#domain/definition/versions.js';
import { PublicKey } from '#domain/definition/publication.js';
import { type AuditTerms, verifyAudit } from '#store/history/audit.js';
import type { LogFault } from '#store/history/log-check.js';
import { verifyLog as verifySignedLog, isSigned } from '#store/history/publication-log.js';
import { formatTable, writeWhole } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';
import { type FlagValues, type Grammar, hasWords, readCommandLine } from './command-line.js';
import { CONNECTION_HELP, EXIT, runWithService } from './connection.js';
import { auditStore } from './data.js';
import { runJobCommand } from './job-command.js';

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
  const verdict = verifyEntries(parseEntries(await readInputFile(file)), (entries) =>
    verifySignedLog(entries, { keys, head: values.head?.toLowerCase() ?? null }),
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
  const read = KeyFile.safeParse(parseValue(await readInputFile(file)));
  if (!read.success) throw new UsageError(`${file} contains no keys in the form of GET .../published/keys`);
  return new Map(read.data.keys.map((key) => [key.key_id, key]));
}

/** Reads a file. @throws UsageError if it cannot be read */
export async function readInputFile(file: string): Promise<Uint8Array> {
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

const NDJSON_TYPE = 'application/x-ndjson';

export const AUDIT_GRAMMAR: Required<Grammar> = {
  words: [],
  flags: {
    start: { value: 'TIME', help: 'Only entries at or after this day or time.' },
    end: { value: 'TIME', help: 'Only entries at or before this day or time.' },
    kind: { value: 'KIND', choices: AUDIT_KINDS, help: AUDIT_KINDS.join(', ') },
    id: { value: 'ID', help: 'Id of a document.' },
    author: { value: 'NAME', help: 'Author of the write.' },
    check: { value: 'FILE', help: 'Verify the hash chain and the signatures of a complete exported log.' },
    key: { value: 'FILE', help: 'File with the public keys of the signatures, in the JSON form of GET /audit.' },
    head: { value: 'HASH', help: 'Expected hash of the last entry of the exported log.' },
  },
};

export const AUDIT_HELP = [
  'divisor audit: Export the log of document writes (author, document, time) as JSON lines, or verify an exported log.\n',
  'Usage: divisor audit [flags]',
  '       divisor audit STORE [--csv] [--json]\n',
  `With a STORE, the id of a data store: ${auditStore.summary}\n`,
  `Flags\n${formatTable([
    ...Object.entries(AUDIT_GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'File to write; it appears only when it is complete. Default: standard output.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  'Exit status 1: the log was altered; the message states the first invalid entry.\n',
  `Examples\n${formatTable([
    ['divisor audit --out audit.jsonl'],
    ['divisor audit --check audit.jsonl'],
    ['divisor audit --check audit.jsonl --key keys.json'],
    ...auditStore.examples.map((example) => [example]),
  ])}`,
].join('\n');

/**
 * Runs `divisor audit`: exports or verifies the audit log, or lists the data warnings of a store. Resolves with
 * the exit status.
 */
export async function audit(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (hasWords('audit', AUDIT_GRAMMAR, argv)) return runJobCommand('audit', auditStore, argv, environment);
  const { flags, common } = readCommandLine('audit', AUDIT_GRAMMAR, argv);
  const file = flags.text('check');
  const keys = flags.text('key');
  if (file !== undefined)
    return verifyLog(file, {
      head: flags.text('head') ?? null,
      keys: keys === undefined ? null : await readKeys(keys),
    });
  return runWithService(common, environment, async (client) => {
    const { bytes } = await client.stream('getAudit', NDJSON_TYPE, { query: readQuery(flags) });
    if (common.out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(common.out, bytes);
    return EXIT.done;
  });
}

function readQuery(flags: FlagValues) {
  const findText = (name: string): string | undefined => flags.text(name);
  return {
    start: findText('start'),
    end: findText('end'),
    kind: flags.text<AuditKind>('kind'),
    id: findText('id'),
    author: findText('author'),
  };
}

async function verifyLog(file: string, terms: Omit<AuditTerms, 'seals'>): Promise<number> {
  const { entries, seals } = parseAuditFile(await readInputFile(file));
  const verdict = verifyEntries(entries, (auditEntries) => verifyAudit(auditEntries, { ...terms, seals }));
  if ('reason' in verdict) {
    const isExtract = Number((entries[0] as { readonly seq?: unknown } | undefined)?.seq) > 1;
    const hint = isExtract ? ' The file is an extract. Verify the complete log, which contains its entries.' : '';
    process.stdout.write(`Entry ${verdict.seq}: ${verdict.reason}.${hint}\n`);
    return EXIT_DAMAGED;
  }
  const { seq, hash, sealed, unchained } = verdict;
  const unchainedNote = unchained === 0 ? '' : ` (${unchained} signatures from before signatures were chained)`;
  const signatureNote = terms.keys == null ? 'signatures not verified' : `signed up to entry ${sealed}${unchainedNote}`;
  process.stdout.write(
    `The hash chain is intact, ${signatureNote}: ${formatCount(seq, 'entry', 'entries')}, last hash ${hash}.\n`,
  );
  return EXIT.done;
}

/** Reads entries and seals from a file of JSON lines or of one JSON object. */
function parseAuditFile(bytes: Uint8Array): {
  readonly entries: readonly unknown[];
  readonly seals: readonly unknown[];
} {
  const auditFile = parseValue(bytes) as { readonly seals?: unknown } | undefined;
  const items = parseEntries(bytes);
  if (Array.isArray(auditFile?.seals)) return { entries: items, seals: auditFile.seals };
  const isSeal = (item: unknown): item is { readonly seal: unknown } =>
    typeof item === 'object' && item !== null && 'seal' in item;
  return { entries: items.filter((item) => !isSeal(item)), seals: items.filter(isSeal).map(({ seal }) => seal) };
}

const BUNDLE_GRAMMAR: Required<Grammar> = {
  words: [{ name: 'INDEX', help: 'Id of an index with published closes.' }],
  flags: {},
};

export const BUNDLE_HELP = [
  'divisor bundle: Write all inputs of the published closes of an index, for verify-bundle and the page /verify.\n',
  'Usage: divisor bundle INDEX --out FILE [flags]\n',
  `Flags\n${formatTable([
    ['--out FILE', 'File to write; it appears only when it is complete.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${formatTable([['divisor bundle CORE-100 --out core-100.tar'], ['divisor verify-bundle core-100.tar']])}`,
].join('\n');

/** Runs `divisor bundle`: writes the bundle of an index to a file. */
export async function runBundle(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, common } = readCommandLine('bundle', BUNDLE_GRAMMAR, argv);
  const { out } = common;
  if (out === undefined) throw new UsageError('bundle needs --out FILE: it writes an archive, not text');
  return runWithService(common, environment, async (client) => {
    const { bytes } = await client.stream('getPublishedBundle', BUNDLE_MEDIA, { params: { index_id: words[0]! } }); // the grammar requires one word
    await writeWhole(out, bytes);
    return EXIT.done;
  });
}

const GRAMMAR: Required<Grammar> = {
  words: [{ name: 'INDEX', help: 'Id of an index, even if the index was deleted.' }],
  flags: {
    start: { value: 'DATE', help: 'First date.' },
    end: { value: 'DATE', help: 'Last date.' },
  },
};

/** Media type of the log. Each line is one entry. */
const LOG_MEDIA = 'application/x-ndjson';

export const PUBLISHED_HELP = [
  'divisor published: Write the published log of an index, one entry per line, for verify-published.\n',
  'Usage: divisor published INDEX [flags]\n',
  `Flags\n${formatTable([
    ...Object.entries(GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'File to write; it appears only when it is complete. Default: standard output.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${formatTable([['divisor published CORE-100 --out log.ndjson'], ['divisor published CORE-100 | tail -n 1']])}`,
].join('\n');

/** Runs `divisor published`: writes the signed log of an index to a file or to standard output. */
export async function publish(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, flags, common } = readCommandLine('published', GRAMMAR, argv);
  return runWithService(common, environment, async (client) => {
    const { bytes } = await client.stream('getPublished', LOG_MEDIA, {
      params: { index_id: words[0]! }, // the grammar requires one word
      query: { start: flags.text('start'), end: flags.text('end') },
    });
    if (common.out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(common.out, bytes);
    return EXIT.done;
  });
}

export const VERIFY_BUNDLE_HELP = `divisor verify-bundle FILE [--key FILE] [--head HASH] [--json]

Recomputes every published close of a bundle from its inputs, without a service, and verifies its hashes, its log and its
signatures. FILE is what \`divisor bundle INDEX\` writes.

  --key   Response of GET /analytics/INDEX/published/keys, from a source that you trust. Default: the keys of the bundle.
  --head  Expected hash of the last entry.
  --json  Write the whole verdict as JSON.

Exit statuses: 0 every close was recomputed bit for bit; 1 a close differs, and each fault is printed with its date and security; 64 wrong
usage, or a file that cannot be read.
`;

const EXIT_DIFFERENT = 1;

/** Runs `divisor verify-bundle`: verifies a bundle with the inputs that it contains. */
export async function verifyBundleFile(argv: readonly string[]): Promise<number> {
  const { values, positionals } = readBundleArguments(argv);
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new UsageError('verify-bundle requires one FILE');
  if (values.head !== undefined && !HASH.test(values.head))
    throw new UsageError(`--head takes the hash of an entry, 64 hexadecimal digits, not ${values.head}`);
  const keys = values.key === undefined ? undefined : { keys: [...(await readKeys(values.key)).values()] };
  const { verifyBundleWith } = await import('#engine/verify-bundle.js'); // the engine is large
  const verdict = await verifyBundleWith(await readInputFile(file), {
    ...(keys !== undefined && { keys }),
    ...(values.head !== undefined && { head: values.head.toLowerCase() }),
    isSigned: async (signed, key) => isSigned(signed, key),
  });
  if (values.json === true) process.stdout.write(`${JSON.stringify(verdict)}\n`);
  else {
    for (const { message } of verdict.faults) process.stdout.write(`${message}\n`);
    const { index_id: index, closes, first, last, head, key_ids: ids } = verdict;
    if (verdict.ok)
      process.stdout.write(
        `${index}: ${formatCount(closes, 'close')} from ${first} to ${last} recomputed bit for bit; the log ends with ${head}, signed by ${ids.join(', ')}.\n`,
      );
    else if (verdict.published_by !== null && verdict.published_by !== verdict.engine)
      process.stdout.write(
        `The bundle is from version ${verdict.published_by}; this is ${verdict.engine}, whose bits may differ.\n`,
      );
  }
  return verdict.ok ? 0 : EXIT_DIFFERENT;
}

function readBundleArguments(argv: readonly string[]) {
  const options = { key: { type: 'string' }, head: { type: 'string' }, json: { type: 'boolean' } } as const;
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (thrown) {
    throw new UsageError(readFirstSentence(thrown, Object.keys(options)), { cause: thrown });
  }
}
