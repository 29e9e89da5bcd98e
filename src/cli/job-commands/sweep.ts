import type { SweepRequest, SweepRow, SweepView } from '#clients/typescript/divisor.js';
import { readJsonFile, type FlagValues } from '../command-line.js';
import type { JobCommand } from '../job-command.js';
import { formatPercent, alignRight, formatTable, type TerminalCell } from '../terminal.js';
import { UsageError } from '../usage-error.js';
import { formatFigure, JOB_FLAGS, readJobQuery } from './fields.js';

/** Metrics of a row, in addition to the metric by which the variants are ranked. */
const METRIC_COLUMNS = ['total_return', 'annualised_return', 'volatility', 'sharpe_ratio', 'max_drawdown'] as const;
const LISTED_ROWS_MAX = 20;

export const sweep: JobCommand<SweepView> = {
  summary: 'Run many variants of an index and rank them.',
  words: [{ name: 'FILE', help: 'Variants as JSON; - reads standard input.' }],
  notes: `FILE is a grid of values by JSON pointer; every combination is a variant:
    { "/document/pipeline/weighting/cap": [0.03, 0.05, 0.1], "/document/rebalance/frequency": ["monthly", "quarterly"] }
  or a list of variants: [{ "/request/transaction_cost_bps": 5 }, { "/request/transaction_cost_bps": 20 }]
  or a whole request of POST /analytics/sweeps, which the flags complete or override.`,
  flags: {
    ...JOB_FLAGS,
    index: { type: 'string', value: 'ID', help: 'Stored index that is varied.' },
    document: {
      type: 'string',
      value: 'FILE',
      help: 'Index document that is varied and not stored, instead of --index.',
    },
    id: { type: 'string', value: 'ID', help: 'Id of the sweep. Default: a generated id.' },
    start: { type: 'string', value: 'DATE', help: 'First date of the backtests.' },
    end: { type: 'string', value: 'DATE', help: 'Last date.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    'rank-by': {
      type: 'string',
      value: 'METRIC',
      help: 'sharpe_ratio, total_return, annualised_return, max_drawdown, volatility, tracking_error or tracking_difference. Default: sharpe_ratio.',
    },
    partitions: {
      type: 'number',
      value: 'N',
      help: 'Number of blocks of time for the estimate of overfitting: an even number from 2 to 16.',
    },
    folds: {
      type: 'string',
      value: 'METHOD',
      help: 'Test the selection of a variant out of sample: combinatorial or walk_forward. FILE contains the parameters.',
    },
    rows: {
      type: 'number',
      value: 'N',
      help: `Rows shown on a terminal. Default: ${LISTED_ROWS_MAX}. A pipe gets up to 2,000; GET /analytics/sweeps/{sweep_id}/rows returns all.`,
    },
  },
  examples: [
    'divisor sweep grid.json --index CORE-100 --cost-bps 10',
    'divisor sweep grid.json --index CORE-100 | jq -r \'select(.event == "row") | [.rank, .metrics.sharpe_ratio] | @tsv\'',
  ],
  submit: async (client, [file = ''], flags) => ({
    job: await client.call('startSweep', { query: readJobQuery(flags), body: await readSweepRequest(file, flags) }),
  }),
  show: (view, flags) => `${formatRanking(view, flags.number('rows') ?? LISTED_ROWS_MAX)}\n${formatVerdict(view)}`,
  lines: ({ rows, ...rest }) => ({ event: 'row', records: rows, rest }),
};

async function readSweepRequest(file: string, flags: FlagValues): Promise<SweepRequest> {
  const sweepRequest = convertToRequest(file, await readJsonFile<unknown>(file));
  const document = flags.text('document');
  const [index, start, end, id, rankBy] = [
    flags.text('index'),
    flags.text('start'),
    flags.text('end'),
    flags.text('id'),
    flags.text('rank-by'),
  ];
  const folds = flags.text('folds');
  const [cost, partitions] = [flags.number('cost-bps'), flags.number('partitions')];
  const terms = {
    ...sweepRequest.request,
    ...(start !== undefined && { start }),
    ...(end !== undefined && { end }),
    ...(cost !== undefined && { transaction_cost_bps: cost }),
  };
  return {
    ...sweepRequest,
    request: terms,
    ...(index !== undefined && { index_id: index, document: null }),
    ...(document !== undefined && { document: await readJsonFile<SweepRequest['document']>(document), index_id: null }),
    ...(id !== undefined && { sweep_id: id }),
    // The service validates the metric.
    ...(rankBy !== undefined && { rank_by: rankBy as NonNullable<SweepRequest['rank_by']> }),
    ...(partitions !== undefined && { partitions }),
    // The parameters in the file are valid only for the method that the file names.
    ...(folds !== undefined &&
      folds !== sweepRequest.folds?.method && { folds: { method: folds } as SweepRequest['folds'] }),
  };
}

/**
 * Converts the content of a file to a request. A grid or a list of variants is recognised by its keys: pointers start
 * with a slash, fields of a request do not.
 */
function convertToRequest(file: string, value: unknown): SweepRequest {
  if (Array.isArray(value)) return { patches: value };
  if (typeof value !== 'object' || value === null)
    throw new UsageError(`${file} must contain a grid, a list of variants or a request, not ${JSON.stringify(value)}`);
  const keys = Object.keys(value);
  const isGrid = keys.length > 0 && keys.every((key) => key.startsWith('/'));
  return isGrid ? { grid: value as NonNullable<SweepRequest['grid']> } : (value as SweepRequest); // The service validates the grid or request.
}

function formatRanking({ rows, rank_by }: SweepView, rowsMax: number): string {
  const pointers = [...new Set(rows.flatMap(({ patch }) => Object.keys(patch)))];
  const metrics = [rank_by, ...METRIC_COLUMNS.filter((name) => name !== rank_by)];
  const header = [
    alignRight('rank'),
    ...shortenPointers(pointers),
    ...metrics.map((name) => alignRight(name.replaceAll('_', ' '))),
    alignRight('deflated'),
  ];
  const unlistedCount = rows.length - rowsMax;
  return (
    formatTable([header, ...rows.slice(0, rowsMax).map((row) => listCells(row, pointers, metrics))]) +
    (unlistedCount > 0 ? `  and ${unlistedCount} more: --rows ${rows.length} shows them\n` : '')
  );
}

function listCells(
  { rank, patch, metrics: figures, deflated_sharpe_ratio, error }: SweepRow,
  pointers: readonly string[],
  metrics: readonly SweepView['rank_by'][],
): (string | TerminalCell)[] {
  const changes = pointers.map((pointer) => (pointer in patch ? formatText(patch[pointer]) : ''));
  if (figures === null)
    return [alignRight('-'), ...changes, error === null ? 'refused' : `${error.code}: ${error.message}`];
  return [
    alignRight(String(rank)),
    ...changes,
    ...metrics.map((name) => alignRight(formatFigure(name, figures[name]))),
    alignRight(deflated_sharpe_ratio === null ? '-' : formatPercent(deflated_sharpe_ratio)),
  ];
}

const formatText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns the end of each pointer: its last segment, or as many segments as make it unique. */
function shortenPointers(pointers: readonly string[]): string[] {
  return pointers.map((pointer) => {
    const pathSegments = pointer.split('/');
    for (let count = 1; count < pathSegments.length; count++) {
      const name = pathSegments.slice(-count).join('/');
      if (pointers.every((other) => other === pointer || !other.endsWith(`/${name}`))) return name;
    }
    return pointer;
  });
}

/** Formats the number of variants and the sentences about overfitting. */
function formatVerdict({ variants, refused, verdict: sentences = [] }: SweepView): string {
  const lines = [`${variants} variants${refused === 0 ? '' : `, ${refused} refused`}`, ...sentences];
  return lines.map((line) => `  ${line}\n`).join('');
}
