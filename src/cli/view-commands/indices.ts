import type { IndexDocument, IndexDocumentBody, IndexExplanation, SavedIndex } from '#clients/typescript/divisor.js';
import type { DocumentChange } from '#domain/documents/document-changes.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { AS_KNOWN_FLAGS, readAsKnownOn } from '../job-commands/fields.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of a stored index.' };
const AS_OF = { 'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the latest date.' } } as const;

export const list = createViewCommand({
  summary: 'List the stored indices.',
  words: [],
  flags: {},
  examples: ['divisor index list'],
  ask: (client) => client.call('listIndices', {}),
  records: (result) => result.indices,
});

export const show: JobCommand<IndexDocument> = {
  summary: 'Print the definition of an index as JSON.',
  words: [INDEX],
  flags: {},
  examples: ['divisor index show CORE-100 --out core.json'],
  submit: async (client, [index_id = '']) => ({ result: await client.call('getIndex', { params: { index_id } }) }),
  show: (document) => `${JSON.stringify(document, null, 2)}\n`,
};

export const put: JobCommand<SavedIndex> = {
  summary: 'Store the definition of an index under its id.',
  words: [{ name: 'FILE', help: 'Index document as JSON; - reads standard input.' }],
  flags: NOTE,
  examples: ['divisor index put core.json', 'divisor index put core.json --note "Cap lowered to 5%"'],
  async submit(client, [file = ''], flags) {
    const body = await readJsonFile<IndexDocumentBody>(file);
    const request = { params: { index_id: String(body.id) }, body, note: flags.text('note') };
    return { result: await client.call('putIndex', request) };
  },
  show: formatSavedText,
};

export function formatSavedText({ index, findings }: SavedIndex): string {
  return formatTable([
    ['stored', index.id],
    ...findings.map(({ severity, code, path, message }) => [severity, `${code} ${path}: ${message}`]),
  ]);
}

export const diff = createViewCommand({
  summary: 'Compare the stored definition of an index with a definition in a file.',
  words: [INDEX, { name: 'FILE', help: 'Index document as JSON; - reads standard input.' }],
  flags: {},
  examples: ['divisor index diff CORE-100 core.json'],
  async ask(client, [index_id = '', file = '']) {
    const [stored, written, { parseAcceptedIndex: parseIndex }, { listChanges: listDocumentChanges }] =
      await Promise.all([
        client.call('getIndex', { params: { index_id } }),
        readJsonFile<unknown>(file),
        // This module imports every class of rules. No other command needs it.
        import('#domain/checks/validate-index.js'),
        import('#domain/documents/document-changes.js'),
      ]);
    const document = parseIndex(written);
    if (document === undefined)
      throw new UsageError(`${file} is not an index document; divisor index put reports its errors`);
    return listDocumentChanges(stored, document).map(formatChange);
  },
  records: (changes) => changes,
  columns: ['path', 'stored', 'file'],
});

/** Formats both sides of a change as JSON. A side that lacks the member is null. */
const formatChange = ({ path, op, before, after }: DocumentChange) => ({
  path,
  stored: op === 'add' ? null : JSON.stringify(before),
  file: op === 'remove' ? null : JSON.stringify(after),
});

export const preview = createViewCommand({
  summary: 'Print the constituents and weights of an index on a date.',
  words: [INDEX],
  flags: { ...AS_OF, 'as-known-on': AS_KNOWN_FLAGS['as-known-on'] },
  examples: [
    'divisor index preview CORE-100 --as-of 2024-06-28',
    'divisor index preview CORE-100 --as-of 2024-06-28 --as-known-on 2024-07-01',
  ],
  ask: (client, [index_id = ''], flags) =>
    client.call('previewIndex', {
      params: { index_id },
      body: { as_of: flags.text('as-of') ?? null, ...readAsKnownOn(flags) },
    }),
  records: ({ assets, weights }) =>
    Object.entries(weights).map(([identifier, weight]) => ({
      identifier,
      weight,
      ...selectScalars(assets.find((asset) => asset.identifier === identifier) ?? {}),
    })),
  /** Returns only findings about a date that the data does not reach. A run reports all other findings. */
  notices: ({ findings }) =>
    findings.filter(({ path }) => path === 'as_of').map(({ code, path, message }) => `${code} ${path}: ${message}`),
});

export const versions = createViewCommand({
  summary: 'List the versions of an index definition: author, time and note.',
  words: [INDEX],
  flags: {},
  examples: ['divisor index versions CORE-100'],
  ask: (client, [index_id = '']) => client.call('listIndexVersions', { params: { index_id }, query: { limit: 1000 } }),
  records: (result) => result.versions,
  columns: ['version', 'action', 'at', 'author', 'note'],
});

export const restore: JobCommand<SavedIndex> = {
  summary: 'Restore a version of the definition of an index.',
  words: [INDEX, { name: 'VERSION', help: 'Number of the version.' }],
  flags: NOTE,
  examples: ['divisor index restore CORE-100 3'],
  submit: async (client, [index_id = '', version = ''], flags) => ({
    result: await client.call('restoreIndexVersion', { params: { index_id, version }, note: flags.text('note') }),
  }),
  show: formatSavedText,
};

/** Returns the members with scalar values. */
const selectScalars = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value === null || typeof value !== 'object'));

export const explain: JobCommand<IndexExplanation> = {
  summary: 'Explain why an index contains or excludes a security.',
  words: [INDEX, { name: 'NAME', help: 'Identifier of the security.' }],
  flags: AS_OF,
  examples: ['divisor index explain CORE-100 AAPL'],
  submit: async (client, [index_id = '', identifier = ''], flags) => ({
    result: await client.call('explainName', {
      params: { index_id, identifier },
      query: { as_of: flags.text('as-of') },
    }),
  }),
  show: ({ rules, datapoints, ...explained }) =>
    formatTable([
      ...Object.entries(selectScalars(explained)).map(([name, value]) => [name, String(value ?? '-')]),
      ...datapoints.map(({ field, value, known_from: knownFrom }) => [
        field,
        `${value ?? '-'}${knownFrom === null ? '' : `, known since ${knownFrom}`}`,
      ]),
      ...rules.map((rule) => Object.values(selectScalars(rule)).map((value) => String(value ?? '-'))),
    ]),
};

export const methodology = createViewCommand({
  summary: 'Print the methodology of an index in numbered sentences.',
  words: [INDEX],
  flags: {},
  examples: ['divisor index methodology CORE-100'],
  ask: (client, [index_id = '']) => client.call('getMethodology', { params: { index_id } }),
  records: ({ sentences }) => sentences,
  columns: ['number', 'text'],
});
