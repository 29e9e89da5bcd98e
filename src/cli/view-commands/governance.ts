import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { Procedure, ProcedureDocument } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of a stored index.' };

export const statement = createViewCommand({
  summary: 'Print the benchmark statement of an index. --out FILE.md writes the text for publication.',
  words: [INDEX],
  flags: {},
  examples: ['divisor index statement CORE-100 --out core-100.md'],
  ask: (client, [index_id = '']) => client.call('getStatement', { params: { index_id } }),
  records: ({ methodology, limitations, inputs }) => [
    ...methodology.map((sentence) => ({ part: 'methodology', sentence })),
    ...inputs.hierarchy.map((sentence) => ({ part: 'inputs', sentence })),
    ...limitations.map((sentence) => ({ part: 'limitations', sentence })),
  ],
  notices: ({ procedures, errors, discretion }) => [
    `${formatCount(procedures.length, 'procedure')}, ${formatCount(errors.length, 'error')}, ${formatCount(discretion.judgements.length, 'judgement')}; --out writes them.`,
  ],
  file: (client, { index_id }, { out }) =>
    out.toLowerCase().endsWith('.md')
      ? client.download('getStatement', 'text/markdown', { params: { index_id } })
      : undefined,
});

export const methodologyChanges = createViewCommand({
  summary: 'List the changes of a methodology: versions with their sentences, and dated amendments.',
  words: [INDEX],
  flags: { limit: { type: 'number', value: 'N', help: 'Maximum number of changes. Default: 50.' } },
  examples: ['divisor index changes CORE-100'],
  ask: (client, [index_id = ''], flags) =>
    client.call('listMethodologyChanges', { params: { index_id }, query: { limit: flags.number('limit') } }),
  records: ({ changes }) =>
    changes.map(({ removed, added, ...change }) => ({ ...change, removed: removed.length, added: added.length })),
  notices: ({ changes, amendments }) => [
    ...amendments.map(({ effective_from: from, reason }) => `amendment from ${from}: ${reason ?? 'no reason stated'}`),
    ...changes.flatMap(({ version, removed, added }) => [
      ...removed.map((sentence) => `version ${version}, removed: ${sentence}`),
      ...added.map((sentence) => `version ${version}, added: ${sentence}`),
    ]),
  ],
});

export const publishedErrors = createViewCommand({
  summary: 'List the register of errors in published closes of an index.',
  words: [INDEX],
  flags: {},
  examples: ['divisor publication errors CORE-100'],
  ask: (client, [index_id = '']) =>
    client.call('listPublishedErrors', { params: { index_id }, query: { limit: 1000 } }),
  records: ({ errors }) => errors,
  columns: ['seq', 'at', 'author', 'decision', 'first', 'last', 'dates', 'restated', 'notice'],
});

export const procedures = createViewCommand({
  summary: 'List the procedures of the administrator.',
  words: [],
  flags: {},
  examples: ['divisor procedure list'],
  ask: (client) => client.call('listProcedures', {}),
  records: (answer) => answer.procedures,
  columns: ['procedure_id', 'kind', 'name', 'version', 'review_by', 'updated_at'],
});

export const showProcedure: JobCommand<Procedure> = {
  summary: 'Print a procedure of the administrator as JSON.',
  words: [{ name: 'ID', help: 'Id of a procedure.' }],
  flags: {},
  examples: ['divisor procedure show cessation --out cessation.json'],
  submit: async (client, [procedure_id = '']) => ({
    result: await client.call('getProcedure', { params: { procedure_id } }),
  }),
  show: (procedure) => `${JSON.stringify(procedure, null, 2)}\n`,
};

export const putProcedure = createViewCommand({
  summary: 'Store a procedure of the administrator.',
  words: [
    { name: 'ID', help: 'Id of the procedure.' },
    { name: 'FILE', help: 'Procedure as JSON; - reads standard input.' },
  ],
  flags: NOTE,
  examples: ['divisor procedure put cessation cessation.json --note "Approved by the oversight committee"'],
  async ask(client, [procedure_id = '', file = ''], flags) {
    const body = await readJsonFile<ProcedureDocument>(file);
    return client.call('putProcedure', { params: { procedure_id }, body, note: flags.text('note') });
  },
  records: (procedure) => [procedure],
  columns: ['procedure_id', 'kind', 'name', 'version', 'review_by'],
});
