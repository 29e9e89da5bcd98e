import type { MethodologyTemplateDetail, SavedIndex } from '#clients/typescript/divisor.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

export const templates = createViewCommand({
  summary: 'List the templates of published methodologies, and whether the served store can run them.',
  words: [],
  flags: {},
  examples: ['divisor index templates'],
  ask: (client) => client.call('listMethodologyTemplates', {}),
  records: (result) =>
    result.templates.map(({ id, title, can_run, needs }) => ({
      id,
      title,
      can_run,
      missing: needs
        .filter(({ missing }) => missing)
        .map(({ name }) => name)
        .join(' '),
    })),
});

export const create: JobCommand<{
  readonly saved: readonly SavedIndex[];
  /** Reasons why the template cannot run on the served store. */
  readonly findings: MethodologyTemplateDetail['findings'];
}> = {
  summary: 'Create an index from a published methodology, with the indices that it needs.',
  words: [],
  flags: {
    from: { type: 'string', value: 'NAME', help: 'Id of a template, as listed by divisor index templates.' },
    id: {
      type: 'string',
      value: 'ID',
      help: 'Id of the index, and prefix of the ids of its other documents. Default: the ids of the template.',
    },
    'base-date': {
      type: 'string',
      value: 'DATE',
      help: 'Base date. Default: the first date, at least one year after the start of the served store, on which the rules have their data.',
    },
    ...NOTE,
  },
  examples: ['divisor index new --from low-volatility', 'divisor index new --from low-volatility --id CALM-100'],
  async submit(client, _words, flags) {
    const from = flags.text('from');
    if (from === undefined) throw new UsageError('--from NAME is required; divisor index templates lists the names');
    const { documents, findings } = await client.call('getMethodologyTemplate', {
      params: { methodology_id: from },
      query: { index_id: flags.text('id'), base_date: flags.text('base-date') },
    });
    const usedIds = new Set((await client.call('listIndices', {})).indices.map(({ id }) => id));
    const usedTemplateIds = documents.map(({ id }) => String(id)).filter((id) => usedIds.has(id));
    if (usedTemplateIds.length > 0)
      throw new UsageError(`already stored: ${usedTemplateIds.join(', ')}; choose another id with --id`);
    const savedIndices: SavedIndex[] = [];
    for (const body of documents)
      savedIndices.push(await client.call('createIndex', { body: body as never, note: flags.text('note') })); // The service wrote the document.
    return { result: { saved: savedIndices, findings } };
  },
  show: ({ saved, findings: templateFindings }) =>
    formatTable([
      ...saved.flatMap(({ index, findings }) => [['stored', index.id], ...findings.map(formatFinding)]),
      ...templateFindings.map(formatFinding),
    ]),
};

const formatFinding = ({ severity, code, path, message }: MethodologyTemplateDetail['findings'][number]): string[] => [
  severity,
  `${code} ${path}: ${message}`,
];
