import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { RerunRow, RerunView } from '#clients/typescript/divisor.js';
import { EXIT } from '../connection.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { JOB_FLAGS, readJobQuery } from './fields.js';

/** Maximum number of rows on a terminal. */
const LISTED_ROWS_MAX = 20;

export const rerun: JobCommand<RerunView> = {
  summary: 'Run again all indices and strategies whose stored run is stale, as one job.',
  notes:
    'Each rerun uses the settings of the stored run. Exit status 1: an index was refused, and its stored run is unchanged.',
  words: [],
  flags: {
    ids: {
      type: 'string',
      value: 'IDS',
      help: 'Ids, separated by commas. Default: all indices and strategies with a stored run.',
    },
    id: { type: 'string', value: 'ID', help: 'Id of the rerun. Default: a generated id.' },
    ...JOB_FLAGS,
  },
  examples: ['divisor rerun', 'divisor rerun --ids CORE-100,EVEN-100 --csv'],
  submit: async (client, _, flags) => ({
    job: await client.call('startRerun', {
      query: readJobQuery(flags),
      body: { rerun_id: flags.text('id') ?? null, ids: flags.text('ids')?.split(',') ?? null },
    }),
  }),
  show(view) {
    const changedRows = view.rows.filter(({ outcome }) => outcome !== 'current');
    const listedRows = changedRows.slice(0, LISTED_ROWS_MAX);
    const unlistedCount = view.stored + view.refused - listedRows.length;
    const countsText = `  ${formatCount(view.indices, 'index', 'indices')}: ${view.stored} run again, ${view.current} current, ${view.refused} refused\n`;
    if (listedRows.length === 0) return countsText;
    const rows = listedRows.map((row) => listCells(row).map((cell) => String(cell ?? '-')));
    return `${formatTable([HEADER, ...rows])}${unlistedCount > 0 ? `  and ${unlistedCount} more: --json lists up to 2,000\n` : ''}${countsText}`;
  },
  lines: ({ rows, ...rest }) => ({ event: 'row', records: rows, rest }),
  csv: ({ rows }) => ({ header: HEADER, rows: rows.map(listCells) }),
  exitStatus: ({ refused }) => (refused > 0 ? EXIT.jobFailed : EXIT.done),
};

const HEADER = ['index_id', 'outcome', 'run_id', 'end', 'extended_from', 'error'];

const listCells = ({ index_id, outcome, run_id, end, extended_from, error }: RerunRow) => [
  index_id,
  outcome,
  run_id,
  end,
  extended_from,
  error && `${error.code}: ${error.message}`,
];
