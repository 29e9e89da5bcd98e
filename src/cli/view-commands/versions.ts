import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { DataDifference, DataVersions, IndexDeletion, RunsDifference } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

const STORE = { name: 'STORE', help: 'Id of a data store.' };
const ALL_VERSIONS = { limit: 1000 };

export const dataVersions = createViewCommand({
  summary: 'List the versions of a data store: time, author and changed rows.',
  words: [STORE],
  flags: {},
  examples: ['divisor data versions desk'],
  ask: (client, [store_id = '']) => client.call('listDataVersions', { params: { store_id }, query: ALL_VERSIONS }),
  records: (result) => result.versions,
  columns: [
    'version',
    'known_at',
    'source',
    'rows_added',
    'rows_changed',
    'rows_removed',
    'author',
    'note',
    'readable',
  ],
  notices: ({ copy }: DataVersions) => (copy === null || copy === 'made' ? [] : [COPIES[copy]]),
});

const COPIES = {
  pending: 'the copy of the latest data is pending; until it exists, only the source can restore the data',
  missing: 'there is no copy of the latest data; only the source can restore it',
} as const;

export const dataDifference = createViewCommand({
  summary: 'List the values that differ between two versions of the data.',
  words: [STORE, { name: 'FROM', help: 'Number of a version.' }, { name: 'TO', help: 'Number of another version.' }],
  flags: {
    appended: { type: 'boolean', help: 'Also list bars after the last session of FROM.' },
    limit: { type: 'number', value: 'N', help: 'Maximum number of values. Default: 100.' },
  },
  examples: ['divisor data diff desk 2 3', 'divisor data diff desk 2 3 --appended'],
  ask: (client, [store_id = '', from = '', to = ''], flags) =>
    client.call('diffDataVersions', {
      params: { store_id },
      query: {
        from: Number(from),
        to: Number(to),
        appended: flags.isSet('appended'),
        limit: flags.number('limit') ?? 100,
      },
    }),
  records: (result) => result.changes,
  columns: ['table', 'identifier', 'date', 'field', 'before', 'after'],
  notices: ({ cells, appended }: DataDifference) => [
    `${cells} values of earlier rows differ`,
    ...(appended === null
      ? []
      : [
          `${formatCount(appended.rows, 'bar')} of ${formatCount(appended.sessions, 'session')} appended, ${appended.start} to ${appended.end}`,
        ]),
  ],
});

export const runDifference: JobCommand<RunsDifference> = {
  summary:
    'Explain the differences between two stored runs of an index, and the effect of each cause on the total return.',
  words: [
    { name: 'INDEX', help: 'Id of an index or strategy.' },
    { name: 'FROM', help: 'Id of the earlier run, as listed by divisor runs.' },
    { name: 'TO', help: 'Id of the later run.' },
  ],
  flags: {},
  examples: ['divisor run diff CORE-100 0123456789abcdef fedcba9876543210'],
  submit: async (client, [index_id = '', from = '', to = '']) => ({
    job: await client.call('diffRuns', { params: { index_id }, body: { from, to } }),
  }),
  show: ({
    same_levels: hasSameLevels,
    first_difference: firstDifference,
    data,
    effects,
    effects_reason: reason,
    ...rest
  }) =>
    formatTable([
      ['levels', hasSameLevels ? 'the same' : `differ since ${firstDifference ?? '-'}`],
      ['definition', `${rest.definition.length} fields`],
      ['request', `${rest.request.length} fields`],
      ['data', data.cells === null ? `not compared: ${data.reason}` : `${data.cells} values`],
      ['engine', rest.engine.from === rest.engine.to ? 'the same' : `${rest.engine.from} and ${rest.engine.to}`],
      ...(effects ?? []).map((effect) => [`by ${effect.cause}`, String(effect.total_return)]),
      ...(reason === null ? [] : [['by cause', `unknown: ${reason}`]]),
      ['total return', String(rest.total_return)],
    ]),
};

export const removeIndex: JobCommand<IndexDeletion> = {
  summary: 'Delete an index and its results. Its versions are kept and can be restored.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  flags: {
    ...NOTE,
    purge: { type: 'boolean', help: 'Also remove every version. This requires a key with the scope admin.' },
  },
  examples: ['divisor index delete OLD-100 --note "Replaced by CORE-100"', 'divisor index delete TRY --purge'],
  submit: async (client, [index_id = ''], flags) => ({
    result: await client.call('deleteIndex', {
      params: { index_id },
      query: { purge: flags.isSet('purge') },
      note: flags.text('note'),
    }),
  }),
  show: ({ deleted }) => formatTable([['deleted', deleted.join(' ') || 'its versions']]),
};
