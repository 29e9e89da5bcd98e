import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AUDIT_KINDS, type AuditKind } from '#domain/documents/audit-document.js';
import { verifyAudit, type AuditTerms } from '#store/audit/verify-audit.js';
import { hasWords, readCommandLine, type FlagValues, type Grammar } from './command-line.js';
import { runWithService, CONNECTION_HELP, EXIT } from './connection.js';
import { runJobCommand } from './job-command.js';
import { formatTable } from './terminal.js';
import { readBytes, parseEntries, verifyEntries, readKeys, parseValue } from './verify-published.js';
import { auditStore } from './view-commands/data.js';
import { writeWhole } from './write-whole.js';

const NDJSON_TYPE = 'application/x-ndjson';

export const AUDIT_GRAMMAR: Grammar = {
  words: [],
  flags: {
    start: { type: 'string', value: 'TIME', help: 'Only entries at or after this day or time.' },
    end: { type: 'string', value: 'TIME', help: 'Only entries at or before this day or time.' },
    kind: { type: 'string', value: 'KIND', choices: AUDIT_KINDS, help: AUDIT_KINDS.join(', ') },
    id: { type: 'string', value: 'ID', help: 'Id of a document.' },
    author: { type: 'string', value: 'NAME', help: 'Author of the write.' },
    check: {
      type: 'string',
      value: 'FILE',
      help: 'Verify the hash chain and the signatures of a complete exported log.',
    },
    key: {
      type: 'string',
      value: 'FILE',
      help: 'File with the public keys of the signatures, in the JSON form of GET /audit.',
    },
    head: { type: 'string', value: 'HASH', help: 'Expected hash of the last entry of the exported log.' },
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

const EXIT_DAMAGED = 1;

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
  const { entries, seals } = parseAuditFile(await readBytes(file));
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
