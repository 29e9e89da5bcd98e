import { OPERATIONS } from '#clients/typescript/contract.js';
import type { DivisorClient, DocumentVersion, VersionDifference } from '#clients/typescript/divisor.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage.js';
import type { FlagValues } from './command-line.js';
import { createViewCommand, type JobCommand } from './job-command.js';

/** Flag of commands that write versioned documents. */
export const NOTE = {
  note: { value: 'TEXT', help: 'Reason for the change, stored with the version and in the audit log.' },
} as const;

type Operation = 'listIndexVersions' | 'diffIndexVersions' | 'restoreIndexVersion' | 'deleteIndex';

/**
 * Families of versioned documents, by the name of the command line: the noun in the names of their operations, and the
 * parameter that contains the id.
 */
const FAMILIES: ReadonlyMap<string, { readonly noun: string; readonly param: string }> = new Map(
  Object.entries(OPERATIONS).flatMap(([operation, route]) => {
    const [, noun] = /^restore(\w+)Version$/.exec(operation) ?? [];
    const [, param] = /\{(\w+)\}/.exec(route) ?? [];
    if (noun === undefined || param === undefined) return [];
    return [[noun.replaceAll(/(?!^)[A-Z]/g, '-$&').toLowerCase(), { noun, param }]];
  }),
);

interface DocumentRequest {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object;
  readonly note?: string | undefined;
}

/**
 * Calls an operation for a document. The operations of different families differ only in the parameter that contains
 * the id.
 */
async function callOperation<A>(
  client: DivisorClient,
  operation: (noun: string) => string,
  [family = '', id = '']: readonly string[],
  { params, ...request }: DocumentRequest,
): Promise<A> {
  const { noun, param } = findFamily(family);
  const fullRequest = { ...request, params: { ...params, [param]: id } };
  return (await client.call(operation(noun) as Operation, fullRequest as never)) as A; // all families have the operations of indices
}

function findFamily(word: string): { readonly noun: string; readonly param: string } {
  const family = FAMILIES.get(word);
  if (family !== undefined) return family;
  throw new UsageError(`FAMILY must be one of ${[...FAMILIES.keys()].join(', ')}, not ${word}`);
}

const POSITIONAL_ARGUMENTS = [
  { name: 'FAMILY', help: [...FAMILIES.keys()].join(', ') },
  { name: 'ID', help: 'Id of the document; overlays and derived indices belong to the family index.' },
];
export const ALL_VERSIONS = { limit: 1000 };

const listVersionsCommand = createViewCommand({
  summary: 'List the versions of a document: author, time and note.',
  words: POSITIONAL_ARGUMENTS,
  examples: ['divisor versions strategy CORE-HEDGED', 'divisor versions store desk'],
  ask: (client, words): Promise<{ readonly versions: readonly DocumentVersion[] }> =>
    callOperation(client, (noun) => `list${noun}Versions`, words, { query: ALL_VERSIONS }),
  records: (result) => result.versions,
  columns: ['version', 'action', 'at', 'author', 'note'],
});

const documentDifference = createViewCommand({
  summary: 'Compare two versions of a document; for an index, also its methodology sentences.',
  words: [
    ...POSITIONAL_ARGUMENTS,
    { name: 'FROM', help: 'Number of a version.' },
    { name: 'TO', help: 'Number of another version.' },
  ],
  examples: ['divisor document diff strategy CORE-HEDGED 1 3'],
  ask: (client, words): Promise<VersionDifference> =>
    callOperation(client, (noun) => `diff${noun}Versions`, words, {
      query: { from: Number(words[2]), to: Number(words[3]) },
    }),
  records: ({ changes }) =>
    changes.map(({ path, op, before, after }) => ({
      path,
      op,
      before: op === 'add' ? null : JSON.stringify(before),
      after: op === 'remove' ? null : JSON.stringify(after),
    })),
  columns: ['path', 'op', 'before', 'after'],
  notices: ({ sentences: { removed, added } }) => [
    ...removed.map((sentence) => `no longer applies: ${sentence}`),
    ...added.map((sentence) => `new: ${sentence}`),
  ],
});

interface DocumentOutcome {
  readonly family: string;
  readonly id: string;
  readonly done: string;
}

const formatOutcome = ({ family, id, done }: DocumentOutcome): string => formatTable([[family, id, done]]);

const restoreDocument: JobCommand<DocumentOutcome> = {
  summary: 'Restore a version of a document, even after its deletion.',
  words: [...POSITIONAL_ARGUMENTS, { name: 'VERSION', help: 'Number of the version.' }],
  flags: NOTE,
  examples: ['divisor document restore strategy CORE-HEDGED 2 --note "The cap was right"'],
  async submit(client, words, flags) {
    const [family = '', id = '', version = ''] = words;
    await callOperation(client, (noun) => `restore${noun}Version`, words, {
      params: { version },
      ...createNote(flags),
    });
    return { result: { family, id, done: `restored from version ${version}` } };
  },
  show: formatOutcome,
};

const deleteDocument: JobCommand<DocumentOutcome> = {
  summary: 'Delete a document; its versions are kept and can be restored.',
  words: POSITIONAL_ARGUMENTS,
  flags: {
    ...NOTE,
    purge: { type: 'boolean', help: 'Also remove every version. This requires a key with the scope admin.' },
  },
  examples: ['divisor document delete watchlist favourites', 'divisor document delete template OLD --purge'],
  async submit(client, words, flags) {
    const [family = '', id = ''] = words;
    const isPurged = flags.isSet('purge') === true;
    await callOperation(client, (noun) => `delete${noun}`, words, { query: { purge: isPurged }, ...createNote(flags) });
    return { result: { family, id, done: isPurged ? 'deleted with its versions' : 'deleted; its versions are kept' } };
  },
  show: formatOutcome,
};

const createNote = (flags: FlagValues): Pick<DocumentRequest, 'note'> => ({ note: flags.text('note') });

export const DOCUMENT_COMMANDS = {
  versions: listVersionsCommand,
  'document diff': documentDifference,
  'document restore': restoreDocument,
  'document delete': deleteDocument,
};
