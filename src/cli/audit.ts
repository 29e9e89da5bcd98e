import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AUDITED_KINDS, type AuditedKind } from '#domain/documents/audit-document.js';
import { verifyAudit } from '#store/audit/verify-audit.js';
import { readCommandLine, type FlagValues, type Grammar } from './command-line.js';
import { connected, CONNECTION_HELP, EXIT } from './connection.js';
import { table } from './terminal.js';
import { entriesOf } from './verify-published.js';
import { writeWhole } from './write-whole.js';

const LINES = 'application/x-ndjson';

const GRAMMAR: Grammar = {
  words: [],
  flags: {
    start: { type: 'string', value: 'TIME', help: 'Entries of this day or time and after it.' },
    end: { type: 'string', value: 'TIME', help: 'Entries of this day or time and before it.' },
    kind: { type: 'string', value: 'KIND', choices: AUDITED_KINDS, help: AUDITED_KINDS.join(', ') },
    id: { type: 'string', value: 'ID', help: 'Id of a document.' },
    author: { type: 'string', value: 'NAME', help: 'Who wrote.' },
    check: { type: 'string', value: 'FILE', help: 'Hold a whole log that was written before to its chain of hashes.' },
    head: { type: 'string', value: 'HASH', help: 'Hash that the last entry of that log must have.' },
  },
};

export const AUDIT_HELP = [
  'divisor audit: Write who wrote which document and when, a line of JSON each; or check such a log.\n',
  'Usage: divisor audit [flags]\n',
  `Flags\n${table([
    ...Object.entries(GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'Write to a file, which is there when it is whole; to standard output otherwise.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  'Exit status 1 of a log that is not as it was written; its first bad entry is named.\n',
  `Examples\n${table([['divisor audit --out audit.jsonl'], ['divisor audit --check audit.jsonl']])}`,
].join('\n');

const EXIT_DAMAGED = 1;

/** `divisor audit`: the log of writes, from the service or from a file. Resolves with the exit status. */
export async function audit(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { flags, common } = readCommandLine('audit', GRAMMAR, argv);
  const file = flags.text('check');
  if (file !== undefined) return checked(file, flags.text('head') ?? null);
  return connected(common, environment, async (client) => {
    const { bytes } = await client.stream('getAudit', LINES, { query: queryOf(flags) });
    if (common.out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(common.out, bytes);
    return EXIT.done;
  });
}

function queryOf(flags: FlagValues) {
  const text = (name: string): string | undefined => flags.text(name);
  return {
    start: text('start'),
    end: text('end'),
    kind: flags.text<AuditedKind>('kind'),
    id: text('id'),
    author: text('author'),
  };
}

async function checked(file: string, head: string | null): Promise<number> {
  const verdict = verifyAudit(entriesOf(await readFile(file)), head);
  const isSound = !('reason' in verdict);
  process.stdout.write(
    isSound
      ? `The chain of hashes holds: ${verdict.seq} entries, the last ${verdict.hash}.\n`
      : `Entry ${verdict.seq}: ${verdict.reason}.\n`,
  );
  return isSound ? EXIT.done : EXIT_DAMAGED;
}
