import {
  type BacktestRequest,
  type BacktestRunResult,
  type ConstraintSetBody,
  type DivisorClient,
  DivisorError,
  type IndexDocumentBody,
  type OptimisationRunRequest,
  type OptimisationRunResult,
  type RerunRow,
  type StudyRow,
  type SweepRequest,
  type SweepRow,
  type SweepView,
  type BatchAccount,
  type BatchRequest,
  type BatchView,
} from '#clients/typescript/divisor.js';
import { formatCount } from '#domain/base/numbers.js';
import { alignRight, formatPercentCell, formatTable, formatWhole, type TerminalCell } from '../terminal.js';
import { UsageError } from '../usage.js';
import { type FlagValues, readJsonFile } from './command-line.js';
import { EXIT, listStartFindings } from './connection.js';
import { formatFindings } from './import.js';
import {
  AS_KNOWN_FLAGS,
  BENCHMARK_FLAG,
  computeFindingsStatus,
  createOperationCommand,
  FAIL_ON_FLAGS,
  formatMetricCell,
  formatMembers,
  JOB_FLAGS,
  type JobCommand,
  parseFailingCodes,
  readAsKnownOn,
  readJobQuery,
} from './job-command.js';
import { openAsBlob } from 'node:fs';
import { extname, resolve } from 'node:path';

const backtest: JobCommand<BacktestRunResult> = {
  summary: 'Backtest a stored index, or a document that is stored first.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  flags: {
    document: { value: 'FILE', help: 'Index document that is first stored under the id; - reads standard input.' },
    start: { value: 'DATE', help: 'First date. Default: the base date.' },
    end: { value: 'DATE', help: 'Last date. Default: the last date of the data.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital. Default: 1,000,000.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK_FLAG,
    ...AS_KNOWN_FLAGS,
    ...JOB_FLAGS,
    'if-stale': {
      type: 'boolean',
      help: 'Run only if the stored run is stale; otherwise show the stored result. Omitted flags have the values of the stored run.',
    },
  },
  examples: [
    'divisor backtest CORE-100 --cost-bps 5',
    'divisor backtest CORE-100 --document core.json --start 2015-01-02 --out run.json',
    'divisor backtest CORE-100 | jq \'select(.event == "result").result.metrics\'',
  ],
  async submit(client, [index_id = ''], flags) {
    const file = flags.text('document');
    if (file !== undefined)
      await client.call('putIndex', { params: { index_id }, body: await readJsonFile<IndexDocumentBody>(file) });
    const body: BacktestRequest & { readonly if_stale: boolean } = {
      start: flags.text('start'),
      end: flags.text('end'),
      initial_capital: flags.number('capital'),
      transaction_cost_bps: flags.number('cost-bps'),
      benchmark: flags.text('benchmark'),
      ...readAsKnownOn(flags),
      if_stale: flags.isSet('if-stale') ?? false,
    };
    const query = readJobQuery(flags);
    const answer = await client.call('startBacktest', { params: { index_id }, query, body });
    return 'job_id' in answer ? { job: answer } : { result: answer };
  },
  show: ({ metrics, total_costs, index_level: level, rebalances_total: rebalances, findings }) =>
    [
      formatTable([
        ['level', `${formatEnd(level, -1)}, from ${formatEnd(level, 0)}`],
        ['rebalances', String(rebalances)],
        ...Object.entries(metrics).map(([name, value]) => [name, formatMetricCell(name, value)]),
        ['total_costs', formatWhole(total_costs)],
      ]),
      ...(findings.length === 0 ? [] : [formatFindings(findings)]),
    ].join('\n'),
};

/** Formats the first or the last level of a series with its date. */
const formatEnd = ({ index, data }: BacktestRunResult['index_level'], position: 0 | -1): string =>
  `${data.at(position)?.toFixed(2) ?? '-'} on ${index.at(position) ?? '-'}`;

interface BacktestOutcome {
  readonly index_id: string;
  readonly outcome: 'done' | 'current' | 'failed' | 'refused';
  /** Null if the index did not run. */
  readonly total_return: number | null;
  /** Reason of a failure or refusal; null otherwise. */
  readonly error: string | null;
  /** Findings of the run. Findings of its data are included if no refresh has reported them. */
  readonly findings: readonly { readonly code: string; readonly message: string }[];
}

const backtests: JobCommand<readonly BacktestOutcome[]> = {
  summary: 'Backtest many stored indices, each as a separate job.',
  notes: 'The jobs continue in the service if the command is interrupted. Exit status 1: a job failed or was refused.',
  words: [{ name: 'INDICES', help: 'Ids of stored indices and strategies, separated by commas.', isList: true }],
  flags: {
    start: { value: 'DATE', help: 'First date. Default: the base date of each index.' },
    end: { value: 'DATE', help: 'Last date. Default: the last date of the data.' },
    capital: { type: 'number', value: 'MONEY', help: 'Initial capital. Default: 1,000,000.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    ...BENCHMARK_FLAG,
    ...AS_KNOWN_FLAGS,
    ...JOB_FLAGS,
    ...FAIL_ON_FLAGS,
    'if-stale': {
      type: 'boolean',
      help: 'Run only indices with a stale run. Omitted flags (dates, capital, costs, benchmark) have the values of each stored run.',
    },
  },
  examples: ['divisor backtests CORE-100,EVEN-100 --if-stale', 'divisor backtests CORE-100,EVEN-100 --csv'],
  async submit(client, [ids = ''], flags) {
    parseFailingCodes(flags);
    const { backtests: entries } = await client.call('startBacktests', {
      query: readJobQuery(flags),
      body: {
        ids: ids.split(','),
        start: flags.text('start'),
        end: flags.text('end'),
        initial_capital: flags.number('capital'),
        benchmark: flags.text('benchmark'),
        transaction_cost_bps: flags.number('cost-bps'),
        ...readAsKnownOn(flags),
        if_stale: flags.isSet('if-stale') ?? false,
      },
    });
    const result: BacktestOutcome[] = [];
    for (const { index_id, outcome, job, error } of entries) {
      const emptyOutcome = { index_id, total_return: null, error: null, findings: [] };
      if (job !== null) result.push(await awaitBacktest(client, index_id, job));
      else if (outcome === 'current') result.push({ ...emptyOutcome, outcome });
      else result.push({ ...emptyOutcome, outcome: 'refused', error: error && `${error.code}: ${error.message}` });
    }
    if (!result.some(({ outcome }) => outcome === 'done')) return { result };
    const findings = await listStartFindings(client);
    return { result: result.map((row) => ({ ...row, findings: [...row.findings, ...findings] })) };
  },
  show: (result) => formatTable([HEADER, ...listRows(result).map((row) => row.map((cell) => String(cell ?? '-')))]),
  lines: (result) => ({ event: 'row', records: result, rest: { rows: result.length } }),
  csv: (result) => ({ header: HEADER, rows: listRows(result) }),
  exitStatus: (result, flags) =>
    result.some(({ outcome }) => outcome === 'failed' || outcome === 'refused')
      ? EXIT.jobFailed
      : computeFindingsStatus(
          result.flatMap(({ findings }) => findings),
          flags,
        ),
};

const HEADER = ['index_id', 'outcome', 'total_return', 'error'];

const listRows = (result: readonly BacktestOutcome[]) =>
  result.map(({ index_id, outcome, total_return, error }) => [index_id, outcome, total_return, error]);

type Job = Parameters<DivisorClient['waitForJob']>[0] & {
  readonly result: {
    readonly metrics: { readonly total_return: number };
    readonly findings: BacktestOutcome['findings'];
  } | null;
};

async function awaitBacktest(client: DivisorClient, index_id: string, job: Job): Promise<BacktestOutcome> {
  try {
    const { metrics, findings } = await client.waitForJob(job);
    return { index_id, outcome: 'done', total_return: metrics.total_return, error: null, findings };
  } catch (failure) {
    // A failed job has no HTTP status. Any other failure would also affect the other indices.
    if (!(failure instanceof DivisorError) || failure.status !== null) throw failure;
    return { index_id, outcome: 'failed', total_return: null, error: failure.message, findings: [] };
  }
}

const optimise: JobCommand<OptimisationRunResult> = {
  summary: 'Optimise the weights of an index under a stored constraint set.',
  words: [
    { name: 'INDEX', help: 'Id of the target index.' },
    { name: 'CONSTRAINT_SET', help: 'Id of a stored constraint set.' },
  ],
  flags: {
    ...JOB_FLAGS,
    constraints: {
      value: 'FILE',
      help: 'Constraint set document that is first stored under the id; - reads standard input.',
    },
    objective: {
      value: 'TYPE',
      help: 'Objective of the weights. Default: minimum tracking error.',
    },
    request: {
      value: 'FILE',
      help: 'Further fields of the request as JSON (objective with parameters, expected_returns, costs); - reads standard input.',
    },
    'as-of': { value: 'DATE', help: 'Rebalance whose weights are the target. Default: the latest rebalance.' },
    start: { value: 'DATE', help: 'Start of the risk window.' },
    end: { value: 'DATE', help: 'End of the risk window.' },
  },
  examples: [
    'divisor optimise CORE-100 limits',
    'divisor optimise CORE-100 limits --constraints limits.json --out weights.json',
    'divisor optimise CORE-100 limits --objective min_variance',
  ],
  async submit(client, [index = '', set = ''], flags) {
    const file = flags.text('constraints');
    if (file !== undefined)
      await client.call('putConstraintSet', {
        params: { constraint_set_id: set },
        body: await readJsonFile<ConstraintSetBody>(file),
      });
    const request = flags.text('request');
    const objective = flags.text('objective');
    const body = {
      ...(request === undefined ? {} : await readJsonFile<Partial<OptimisationRunRequest>>(request)),
      ...(objective === undefined ? {} : { objective: objective as NonNullable<OptimisationRunRequest['objective']> }), // The service validates it.
      index_id: index,
      constraint_set_id: set,
      as_of: flags.text('as-of'),
      start: flags.text('start'),
      end: flags.text('end'),
    };
    return { job: await client.call('startOptimisation', { query: readJobQuery(flags), body }) };
  },
  show: (run) =>
    formatMembers(run, [
      'run_id',
      'converged',
      'heuristic',
      'holdings',
      'iterations',
      'objective_type',
      'objective_value',
      'volatility',
      'tracking_error',
      'turnover',
      'solver_message',
    ]),
};

/** Maximum number of rows on a terminal. */
const LISTED_ROWS_MAX = 20;

const rerun = createOperationCommand({
  operation: 'startRerun',
  summary: 'Run again all indices and strategies whose stored run is stale, as one job.',
  notes:
    'Each rerun uses the settings of the stored run. Exit status 1: an index was refused, and its stored run is unchanged.',
  flags: {
    ids: {
      value: 'IDS',
      help: 'Ids, separated by commas. Default: all indices and strategies with a stored run.',
      isList: true,
      otherwise: null,
    },
    id: { value: 'ID', member: 'rerun_id', otherwise: null, help: 'Id of the rerun. Default: a generated id.' },
    ...JOB_FLAGS,
  },
  examples: ['divisor rerun', 'divisor rerun --ids CORE-100,EVEN-100 --csv'],
  show(view) {
    const changedRows = view.rows.filter(({ outcome }) => outcome !== 'current');
    const listedRows = changedRows.slice(0, LISTED_ROWS_MAX);
    const unlistedCount = view.stored + view.refused - listedRows.length;
    const countsText = `  ${formatCount(view.indices, 'index', 'indices')}: ${view.stored} run again, ${view.current} current, ${view.refused} refused\n`;
    if (listedRows.length === 0) return countsText;
    const rows = listedRows.map((row) => listCells(row).map((cell) => String(cell ?? '-')));
    return `${formatTable([RERUN_HEADER, ...rows])}${unlistedCount > 0 ? `  and ${unlistedCount} more: --json lists up to 2,000\n` : ''}${countsText}`;
  },
  lines: ({ rows, ...rest }) => ({ event: 'row', records: rows, rest }),
  csv: ({ rows }) => ({ header: RERUN_HEADER, rows: rows.map(listCells) }),
  exitStatus: ({ refused }) => (refused > 0 ? EXIT.jobFailed : EXIT.done),
});

const RERUN_HEADER = ['index_id', 'outcome', 'run_id', 'end', 'extended_from', 'error'];

const listCells = ({ index_id, outcome, run_id, end, extended_from, error }: RerunRow) => [
  index_id,
  outcome,
  run_id,
  end,
  extended_from,
  error && `${error.code}: ${error.message}`,
];

const study = createOperationCommand({
  operation: 'startStudy',
  summary: 'Run many optimisations as one job.',
  notes: 'Exit status 1: an optimisation has no result. The results of all other optimisations are stored.',
  words: [
    {
      name: 'FILE',
      help: 'Request as JSON: runs, each with index_id, constraint_set_id and so on; - reads standard input.',
      isBody: true,
    },
  ],
  flags: {
    id: { value: 'ID', member: 'study_id', help: 'Id of the study. Default: the id in the file, or a generated id.' },
    ...JOB_FLAGS,
  },
  examples: ['divisor study runs.json', 'divisor study runs.json --id aversions --csv'],
  show({ rows, runs, solved, refused }) {
    const listedRows = rows
      .slice(0, LISTED_ROWS_MAX)
      .map((row) => listStudyCells(row).map((cell) => String(cell ?? '-')));
    const unlistedCount = runs - listedRows.length;
    const omissionNote = unlistedCount > 0 ? `  and ${unlistedCount} more: --csv lists up to 2,000\n` : '';
    return `${formatTable([STUDY_HEADER, ...listedRows])}${omissionNote}  ${runs} optimisations: ${solved} solved, ${refused} refused\n`;
  },
  lines: ({ rows, ...rest }) => ({ event: 'row', records: rows, rest }),
  csv: ({ rows }) => ({ header: STUDY_HEADER, rows: rows.map(listStudyCells) }),
  exitStatus: ({ refused }) => (refused > 0 ? EXIT.jobFailed : EXIT.done),
});

const STUDY_HEADER = [
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

const listStudyCells = ({ position, index_id, constraint_set_id, run_id, figures, error }: StudyRow) => [
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

/** Metrics of a row, in addition to the metric by which the variants are ranked. */
const METRIC_COLUMNS = ['total_return', 'annualised_return', 'volatility', 'sharpe_ratio', 'max_drawdown'] as const;

const sweep: JobCommand<SweepView> = {
  summary: 'Run many variants of an index and rank them.',
  words: [{ name: 'FILE', help: 'Variants as JSON; - reads standard input.' }],
  notes: `FILE is a grid of values by JSON pointer; every combination is a variant:
    { "/document/pipeline/weighting/cap": [0.03, 0.05, 0.1], "/document/rebalance/frequency": ["monthly", "quarterly"] }
  or a list of variants: [{ "/request/transaction_cost_bps": 5 }, { "/request/transaction_cost_bps": 20 }]
  or a whole request of POST /analytics/sweeps, which the flags complete or override.`,
  flags: {
    ...JOB_FLAGS,
    index: { value: 'ID', help: 'Stored index that is varied.' },
    document: { value: 'FILE', help: 'Index document that is varied and not stored, instead of --index.' },
    id: { value: 'ID', help: 'Id of the sweep. Default: a generated id.' },
    start: { value: 'DATE', help: 'First date of the backtests.' },
    end: { value: 'DATE', help: 'Last date.' },
    'cost-bps': { type: 'number', value: 'BPS', help: 'Cost per trade in basis points of notional.' },
    'rank-by': {
      value: 'METRIC',
      help: 'sharpe_ratio, total_return, annualised_return, max_drawdown, volatility, tracking_error or tracking_difference. Default: sharpe_ratio.',
    },
    partitions: {
      type: 'number',
      value: 'N',
      help: 'Number of blocks of time for the estimate of overfitting: an even number from 2 to 16.',
    },
    folds: {
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
    formatTable([header, ...rows.slice(0, rowsMax).map((row) => listSweepCells(row, pointers, metrics))]) +
    (unlistedCount > 0 ? `  and ${unlistedCount} more: --rows ${rows.length} shows them\n` : '')
  );
}

function listSweepCells(
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
    ...metrics.map((name) => alignRight(formatMetricCell(name, figures[name]))),
    alignRight(deflated_sharpe_ratio === null ? '-' : formatPercentCell(deflated_sharpe_ratio)),
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

export const RUN_COMMANDS = {
  backtest,
  backtests,
  rerun,
  sweep,
};

export const OPTIMISATION_COMMANDS = {
  optimise,
  study,
};

const ACCOUNT_HEADER = ['date', 'value', 'cash', 'accrued_tax'] as const;

const account = createOperationCommand({
  operation: 'backtestAccount',
  summary: 'Run one account with tax lots over the history of an index, after tax.',
  words: [
    { name: 'INDEX', help: 'Index that the account follows.' },
    { name: 'FILE', help: 'Request as JSON: account, risk_model, start and so on.', isBody: true },
  ],
  flags: {
    id: {
      value: 'ID',
      member: 'backtest_id',
      help: 'Id of the backtest. Default: the id in the file, or a generated id.',
    },
  },
  examples: ['divisor account CORE-40 account.json', 'divisor account CORE-40 account.json --csv > sessions.csv'],
  show: (view) =>
    formatTable([
      ['sessions', alignRight(String(view.sessions.length))],
      ['rebalances', alignRight(String(view.rebalances.length))],
      ['annual return after tax', alignRight(formatPercentCell(view.annual_return_after_tax))],
      ['final value after tax', alignRight(view.final_value_after_tax.toFixed(2))],
      ['tax paid', alignRight(view.tax_paid.toFixed(2))],
      ['costs', alignRight(view.costs.toFixed(2))],
      ['largest gap', alignRight(view.largest_gap === null ? '-' : view.largest_gap.toExponential(1))],
    ]),
  csv: ({ sessions }) => ({
    header: ACCOUNT_HEADER,
    rows: sessions.map((session) => ACCOUNT_HEADER.map((name) => session[name])),
  }),
});

const batch: JobCommand<BatchView> = {
  summary: 'Compute the trades of many accounts with tax lots that follow an index.',
  words: [
    {
      name: 'FILE',
      help: 'Accounts: .json (a request), .ndjson (an account per line, with the terms in the first line or in --terms), .csv (a table), or .arrow (a stream) or .parquet with a row per lot or per account.',
    },
  ],
  notes: `divisor batch template [--out FILE] writes a .csv file with every column and two example accounts; with --help it describes the columns. The
rows of an account are consecutive. With a .csv, .arrow or .parquet file, --terms is the file of the terms. The member defaults of the
terms sets the fields that an account omits.`,
  flags: {
    terms: { value: 'FILE', help: 'Terms as JSON: parent, risk_model, objective and so on.' },
    id: { value: 'ID', help: 'Id of the batch. Default: a generated id.' },
  },
  examples: [
    'divisor batch template --out accounts.csv',
    'divisor batch accounts.ndjson',
    'divisor batch accounts.csv --terms terms.json --out trades.ndjson',
  ],
  ending: '.ndjson',
  submit: async (client, [file = ''], flags) => ({
    job: await submitFile(client, file, { terms: flags.text('terms'), id: flags.text('id') }),
  }),
  show: (view) =>
    `${formatTable([
      ...Object.entries(view.by_status).map(([status, count]) => [status, alignRight(String(count))]),
      [
        'tracking error, median',
        alignRight(view.tracking_error === null ? '-' : formatPercentCell(view.tracking_error['p50']!)),
      ],
      ['tax', alignRight(view.tax.toFixed(2))],
      ['tax saved', alignRight(view.tax_saved.toFixed(2))],
      ['largest gap', alignRight(view.largest_gap === null ? '-' : `${(view.largest_gap * 10_000).toFixed(2)} bp`)],
    ])}${view.refused.flatMap(({ findings }) => findings.map(({ message }) => `  ${message}\n`)).join('')}`,
  notices: ({ refused }) => refused.flatMap(({ findings }) => findings.map(({ message }) => message)),
  async *file(client, view) {
    for (let block = 0; block < view.blocks; block++)
      for (const batchAccount of await fetchBlock(client, view.batch_id, block))
        yield Buffer.from(`${JSON.stringify(batchAccount)}\n`);
  },
};

/** Reads the account results of one block. */
async function fetchBlock(client: DivisorClient, batch_id: string, block: number): Promise<readonly BatchAccount[]> {
  const { accounts } = await client.call('getBatchAccounts', { params: { batch_id }, query: { block } });
  return accounts;
}

/** Extensions of account files that can contain the terms of the batch. */
const TERMS_EXTENSIONS = ['.ndjson', '.arrow'];

const MEDIA: Readonly<Record<string, string>> = {
  '.ndjson': 'application/x-ndjson',
  '.csv': 'text/csv',
  '.arrow': 'application/vnd.apache.arrow.stream',
  '.parquet': 'application/vnd.apache.parquet',
};

interface BatchFlags {
  readonly terms: string | undefined;
  readonly id: string | undefined;
}

async function submitFile(client: DivisorClient, file: string, batchFlags: BatchFlags) {
  const kind = extname(file);
  if (kind === '.json') {
    if (batchFlags.terms !== undefined) throw new UsageError('a .json file contains its terms: --terms has no effect');
    const request = await readJsonFile<BatchRequest>(file);
    return client.call('startBatch', {
      body: { ...request, ...(batchFlags.id !== undefined && { batch_id: batchFlags.id }) },
    });
  }
  const media = MEDIA[kind];
  if (media === undefined)
    throw new UsageError(`${file}: accounts are a .json, .ndjson, .csv, .arrow or .parquet file`);
  if (batchFlags.terms === undefined && !TERMS_EXTENSIONS.includes(kind))
    throw new UsageError(`a ${kind} file requires --terms FILE`);
  const terms =
    batchFlags.terms === undefined ? undefined : JSON.stringify(await readJsonFile<object>(batchFlags.terms));
  const query = {
    ...(terms !== undefined && { terms }),
    ...(batchFlags.id !== undefined && { batch_id: batchFlags.id }),
  };
  return client.upload('startBatch', media, await openAsBlob(resolve(file)), { query });
}

export const ACCOUNT_COMMANDS = {
  batch,
  account,
};
