import type { StudyRequest, StudyRow, StudyView } from '#clients/typescript/divisor.js';
import { readJsonFile } from '../command-line.js';
import { EXIT } from '../connection.js';
import type { JobCommand } from '../job-command.js';
import { formatTable } from '../terminal.js';
import { JOB_FLAGS, readJobQuery } from './fields.js';

/** Maximum number of rows on a terminal. */
const LISTED_ROWS_MAX = 20;

export const study: JobCommand<StudyView> = {
  summary: 'Run many optimisations as one job.',
  notes: 'Exit status 1: an optimisation has no result. The results of all other optimisations are stored.',
  words: [
    {
      name: 'FILE',
      help: 'Request as JSON: runs, each with index_id, constraint_set_id and so on; - reads standard input.',
    },
  ],
  flags: {
    id: { type: 'string', value: 'ID', help: 'Id of the study. Default: the id in the file, or a generated id.' },
    ...JOB_FLAGS,
  },
  examples: ['divisor study runs.json', 'divisor study runs.json --id aversions --csv'],
  async submit(client, [file = ''], flags) {
    const request = await readJsonFile<StudyRequest>(file);
    const id = flags.text('id');
    const body = id === undefined ? request : { ...request, study_id: id };
    return { job: await client.call('startStudy', { query: readJobQuery(flags), body }) };
  },
  show({ rows, runs, solved, refused }) {
    const listedRows = rows.slice(0, LISTED_ROWS_MAX).map((row) => listCells(row).map((cell) => String(cell ?? '-')));
    const unlistedCount = runs - listedRows.length;
    const omissionNote = unlistedCount > 0 ? `  and ${unlistedCount} more: --csv lists up to 2,000\n` : '';
    return `${formatTable([HEADER, ...listedRows])}${omissionNote}  ${runs} optimisations: ${solved} solved, ${refused} refused\n`;
  },
  lines: ({ rows, ...rest }) => ({ event: 'row', records: rows, rest }),
  csv: ({ rows }) => ({ header: HEADER, rows: rows.map(listCells) }),
  exitStatus: ({ refused }) => (refused > 0 ? EXIT.jobFailed : EXIT.done),
};

const HEADER = [
  'position',
  'index_id',
  'constraint_set_id',
  'run_id',
  'rebalance_date',
  'objective_value',
  'tracking_error',
  'turnover',
  'error',
];

const listCells = ({ position, index_id, constraint_set_id, run_id, figures, error }: StudyRow) => [
  position,
  index_id,
  constraint_set_id,
  run_id,
  figures && figures.rebalance_date,
  figures && figures.objective_value,
  figures && figures.tracking_error,
  figures && figures.turnover,
  error && `${error.code}: ${error.message}`,
];
