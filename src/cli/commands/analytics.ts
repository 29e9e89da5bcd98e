import { basename } from 'node:path';
import {
  DECIMAL_WORDS,
  hasUsualNames,
  openLevelFile,
  ORDER_WORDS,
  proposeLevelMapping,
  readLevelFile,
} from '#base/level-file.js';
import type {
  ActionsView,
  DifferenceCause,
  DifferenceStep,
  DifferencesRequest,
  DifferencesView,
  RebalancePackRequest,
  RenderJobStatus,
  TotalRiskDecomposition,
} from '#clients/typescript/divisor.js';
import type { Route } from '#contract/route.js';
import { formatTable } from '../terminal.js';
import { formatDay } from '#domain/base/time.js';
import { EVENT_KINDS, type EventKind } from '#domain/definition/index-schedule.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { FACTOR_ESTIMATORS } from '#domain/risk/model-terms.js';
import { UsageError } from '../usage.js';
import { readJsonFile, readTextFile } from './command-line.js';
import { EXIT } from './connection.js';
import {
  BENCHMARK_FLAG,
  createOperationCommand,
  createOperationView,
  createViewCommand,
  formatMembers,
  JOB_FLAGS,
  type JobCommand,
  readJobQuery,
} from './job-command.js';

const INDEX = { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' };
const RANGE = {
  start: { value: 'DATE', help: 'First date. Default: the first date of the run.' },
  end: { value: 'DATE', help: 'Last date. Default: the last date of the run.' },
} as const;

export const RUN = {
  'run-id': { value: 'RUN', help: 'Id of an earlier run, as listed by divisor runs. Default: the newest run.' },
} as const;

interface DataVersion {
  readonly as_known_on?: string | number;
  readonly as_known?: string;
}

const runs = createOperationView({
  operation: 'listRuns',
  summary: 'List the stored runs of an index or strategy, newest first.',
  words: [INDEX],
  examples: [
    'divisor runs CORE-100',
    'divisor levels CORE-100 --run-id $(divisor runs CORE-100 | jq -rs ".[1].run_id")',
  ],
  records: (view) =>
    view.runs.map((run) => {
      const { as_known_on: version, as_known: knownTime } = run.request as DataVersion;
      return { ...run, known: version ?? knownTime ?? null };
    }),
  columns: ['run_id', 'run_at', 'start', 'end', 'index_version', 'store_id', 'store_version', 'known', 'published'],
});

const levels = createOperationView({
  operation: 'getLevels',
  summary: 'Print the levels of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    ...RANGE,
    variant: {
      value: 'price|total|net',
      choices: ['price', 'total', 'net'],
      help: 'Return variant. Default: the variant of the index.',
    },
  },
  examples: ['divisor levels CORE-100 --start 2024-01-01', 'divisor levels CORE-100 --csv > levels.csv'],
  notes:
    'The column of the level is its variant (price, total or net). Levels are in points from the base value of the index.',
  records: ({ levels: { index, data }, divisor, variant }, flags) =>
    index.map((date, t) => ({
      date,
      [variant]: data[t] ?? null,
      [flags.text('variant') === undefined ? 'divisor' : `divisor_${variant}`]: divisor.data[t] ?? null,
    })),
});

const weights = createOperationView({
  operation: 'getWeights',
  summary: 'Print the holdings of a stored run and their weights.',
  words: [INDEX],
  flags: { ...RUN, 'as-of': { value: 'DATE', help: 'Date. Default: the last date of the run.' } },
  examples: ['divisor weights CORE-100', 'divisor weights CORE-100 --as-of 2024-06-28 --csv'],
  records: (view) => view.weights,
});

const verifyText = createViewCommand({
  summary: 'Compare each number of a Markdown text with the result that its footnote cites.',
  words: [{ name: 'FILE', help: 'Markdown text; - reads it from standard input.' }],
  examples: ['divisor verify-text report.md', 'divisor performance CORE-100 --sources'],
  notes:
    'A footnote contains an address that --sources writes, a # and a JSON pointer. The exit status is 1 unless every number is proven.',
  ask: async (client, [file = '']) => client.call('verifyText', { body: { text: await readTextFile(file) } }),
  records: (view) => view.numbers,
  columns: ['start', 'text', 'status', 'reason', 'stated', 'true', 'rounding', 'source'],
  notices: ({ proven, different, unsourced, unreadable }) => [
    `${proven} proven, ${different} different, ${unsourced} without a source, ${unreadable} unreadable`,
  ],
  exitStatus: ({ numbers, proven }) => (proven === numbers.length ? EXIT.done : EXIT.jobFailed),
});

const compare = createOperationView({
  operation: 'compareRuns',
  summary: 'Compare stored runs on their common dates: figures, and correlations of their returns.',
  words: [
    { name: 'INDICES', help: 'Ids, separated by commas. For an earlier run, use ID@RUN.', isList: true, member: 'ids' },
  ],
  flags: {
    ...RANGE,
    benchmark: { ...BENCHMARK_FLAG.benchmark, help: `In addition: ${BENCHMARK_FLAG.benchmark.help}` },
  },
  examples: [
    'divisor compare CORE-100,EVEN-100',
    'divisor compare CORE-100 --benchmark identifier:SPX --start 2024-01-02',
  ],
  records: ({ index_ids: names, entries, correlations }) =>
    entries.map(({ stale, level: _through, ...figures }, k) => ({
      ...figures,
      is_stale: stale !== null,
      ...Object.fromEntries(names.map((name, j) => [`correlation_${name}`, correlations[k]![j] ?? null])),
    })),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});

const attribution = createViewCommand({
  summary: 'Print the contribution of each security, or of each group, to the return of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    ...RANGE,
    by: { value: 'COLUMN', help: 'Group securities by a column of the reference data, for example SECTOR.' },
    benchmark: {
      ...BENCHMARK_FLAG.benchmark,
      help: `With --by, for allocation, selection and interaction: ${BENCHMARK_FLAG.benchmark.help}`,
    },
  },
  examples: [
    'divisor attribution CORE-100 --start 2024-01-01',
    'divisor attribution CORE-100 --by SECTOR --benchmark EVEN-100',
  ],
  async ask(client, [index_id = ''], flags) {
    const query = { run_id: flags.text('run-id'), start: flags.text('start'), end: flags.text('end') };
    const [by, benchmark] = [flags.text('by'), flags.text('benchmark')];
    if (by === undefined && benchmark === undefined)
      return (await client.call('getAttribution', { params: { index_id }, query })).contributions;
    return (await client.call('getGroupAttribution', { params: { index_id }, query: { ...query, by, benchmark } }))
      .groups;
  },
  records: (rows: readonly object[]): readonly object[] =>
    rows.map((row) => {
      if (!('asset_id' in row)) return row;
      const { asset_id: identifier, ...figures } = row;
      return { identifier, ...figures };
    }),
});

const rolling = createOperationView({
  operation: 'getRollingRisk',
  summary: 'Print rolling volatility, tracking error, beta and correlation of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    window: { type: 'number', value: 'N', help: 'Returns per window. Default: 63.' },
    'half-life': { type: 'number', value: 'SESSIONS', help: 'Half-life of exponential weights, instead of a window.' },
    against: {
      value: 'index|benchmark',
      choices: ['index', 'benchmark'],
      help: 'Series of the comparison: the tracked index, or the benchmark of the run. Default: index.',
    },
    benchmark: { ...BENCHMARK_FLAG.benchmark, help: `Instead of --against: ${BENCHMARK_FLAG.benchmark.help}` },
  },
  examples: [
    'divisor rolling CORE-100 --against benchmark --csv',
    'divisor rolling CORE-100 --benchmark identifier:SPX',
  ],
  records: ({ risk: { index, columns, data } }) =>
    index.map((date, t) => ({ date, ...Object.fromEntries(columns.map((name, c) => [name, data[t]?.[c] ?? null])) })),
});

const performance = createOperationView({
  operation: 'getPerformance',
  summary: 'Print the figures of a stored run over a window, some relative to the tracked index or the benchmark.',
  words: [INDEX],
  flags: RANGE,
  examples: ['divisor performance CORE-100', 'divisor performance CORE-100 --start 2020-01-02 --csv'],
  records({ index_id: index, metrics, statistics, benchmark, benchmark_statistics: benchmarkStatistics }) {
    const { tracking_difference, tracking_error, ...own } = metrics;
    const listFigures = (figures: Readonly<Record<string, number | null>>, reference: string | null) =>
      Object.entries(figures).map(([figure, value]) => ({ figure, value, against: reference }));
    return [
      ...listFigures({ ...own, ...statistics }, null),
      ...listFigures({ tracking_difference, tracking_error }, index),
      ...listFigures({ ...benchmarkStatistics }, benchmark),
    ];
  },
});

const rebalances = createOperationView({
  operation: 'listRebalances',
  summary: 'List the rebalances of a stored run.',
  words: [INDEX],
  flags: RUN,
  examples: ['divisor rebalances CORE-100'],
  records: (view) => view.rebalances,
});

/** Returns the GET operations of the views of a stored run, by name. The routes are loaded when this is called. */
async function listOperations(): Promise<ReadonlyMap<string, string>> {
  const { API } = await import('#contract/api.js');
  return new Map(
    Object.entries<Route>(API).flatMap(([operation, { view, method }]) =>
      view !== undefined && method === 'GET' ? [[view.name, operation] as const] : [],
    ),
  );
}

/** Shows any view of a stored run, with the parameters of its route. A new view therefore needs no separate command. */
const view = createViewCommand({
  summary: 'Print any view of a stored run, by its name and the parameters of its route.',
  words: [
    {
      name: 'VIEW',
      help: 'Name of the view, such as levels or dividend-points. For a list of all views, enter an unknown name.',
    },
    { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' },
  ],
  flags: {
    ...RUN,
    with: {
      value: 'NAME=VALUE,...',
      help: 'Parameters of the route, separated by commas, such as start=2024-01-02,by=SECTOR.',
    },
  },
  examples: [
    'divisor view dividend-points CORE-100 --with start=2024-01-02',
    'divisor view exposures CORE-100 --with by=SECTOR,interval=monthly --out exposures.json',
  ],
  notes: 'The command shows the rows of the first table of the response. --out writes the whole response as JSON.',
  async ask(client, [name = '', index_id = ''], flags) {
    const operations = await listOperations();
    const operation = operations.get(name);
    if (operation === undefined)
      throw new UsageError(`Unknown view ${name}; the views are ${[...operations.keys()].toSorted().join(', ')}.`);
    const parameterValues = parseParameters(flags.text('with') ?? '');
    const { date, identifier, ...query } = parameterValues;
    const params = {
      index_id,
      ...(date === undefined ? {} : { date }),
      ...(identifier === undefined ? {} : { identifier }),
    };
    const call = client.call as unknown as SendOperation; // The operation is unknown at compile time.
    return call(operation, { params, query: { run_id: flags.text('run-id'), ...query } });
  },
  records: listRows,
});

type SendOperation = (operation: string, request: object) => Promise<Readonly<Record<string, unknown>>>;

function parseParameters(text: string): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const separator = part.indexOf('=');
      if (separator < 1)
        throw new UsageError(`--with takes NAME=VALUE pairs, separated by commas; ${part} has no name.`);
      return [part.slice(0, separator), part.slice(separator + 1)];
    }),
  );
}

interface Frame {
  readonly index: readonly string[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

const isFrame = (value: unknown): value is Frame =>
  typeof value === 'object' && value !== null && 'index' in value && 'columns' in value && 'data' in value;

const isRows = (value: unknown): value is readonly object[] =>
  Array.isArray(value) && value.length > 0 && value.every((row) => typeof row === 'object' && row !== null);

/**
 * Returns the rows of the first table of a response: a table by date, or a list of objects. If there is no table,
 * returns the members of the response.
 */
function listRows(answer: Readonly<Record<string, unknown>>): readonly object[] {
  const members = Object.values(answer);
  const frame = members.find(isFrame);
  if (frame !== undefined)
    return frame.index.map((date, t) => ({
      date,
      ...Object.fromEntries(frame.columns.map((column, c) => [column, frame.data[t]?.[c] ?? null])),
    }));
  return members.find(isRows) ?? [answer];
}

const DESK_INDEX = { name: 'INDEX', help: 'Id of a stored index.' };
const KINDS = Object.keys(EVENT_KINDS) as EventKind[]; // Object.keys returns plain strings.

const events = createOperationView({
  operation: 'listEvents',
  summary:
    'List dated events: announcements, effective dates, expiries, holidays, early closes and recorded closures. --out FILE.ics writes a calendar.',
  flags: {
    from: { value: 'DATE', help: 'First day. Default: today.' },
    to: { value: 'DATE', help: 'Last day. Default: 366 days after the first.' },
    index: {
      value: 'IDS',
      help: 'Ids of indices, separated by commas. Default: all.',
      isList: true,
      member: 'index_ids',
    },
    kinds: {
      value: 'KINDS',
      help: `Any of ${KINDS.join(', ')}, separated by commas.`,
      isList: true,
    },
  },
  examples: ['divisor events --kinds announcement,effective', 'divisor events --index CORE-100 --out core.ics'],
  records: (view) => view.events,
  notices: ({ from, to, covered_from: coveredFrom, covered_to: coveredTo }) => [
    ...(coveredFrom !== null && coveredFrom > from
      ? [`Calendars begin on ${coveredFrom}. Earlier events are missing.`]
      : []),
    ...(coveredTo !== null && coveredTo < to ? [`Calendars end on ${coveredTo}. Later events are missing.`] : []),
  ],
  media: { '.ics': 'text/calendar' },
});

const actions = createOperationView({
  operation: 'getIndexActions',
  summary: 'List past and coming effects of corporate actions on a run of an index: weight, shares, divisor.',
  words: [DESK_INDEX],
  flags: {
    ...RUN,
    from: { value: 'DATE', help: 'First ex-date. Default: the first date of the run.' },
    to: { value: 'DATE', help: 'Last ex-date.' },
    choices: {
      type: 'boolean',
      member: null,
      help: 'Print a pro forma row for each choice of each action that awaits a decision.',
    },
  },
  examples: ['divisor actions CORE-100 --from 2024-12-01', 'divisor actions CORE-100 --choices'],
  records: (view, flags) => (flags.isSet('choices') === true ? listChoices(view) : view.actions),
});

/** Lists the result of each choice for a security, one per row. */
const listChoices = ({ actions: indexActions }: ActionsView) =>
  indexActions
    .filter(({ awaits_decision: awaits }) => awaits)
    .flatMap((action) =>
      action.choices.map(({ received, ...choice }) => ({
        ex_date: action.ex_date,
        identifier: action.identifier,
        type: action.type,
        election_date: action.election_date,
        election_default: action.election_default,
        weight_before: action.weight_before,
        shares_before: action.shares_before,
        ...choice,
        received: received?.identifier ?? null,
        received_ratio: received?.ratio ?? null,
      })),
    );

const rebalancePack = createViewCommand({
  summary: 'List the orders that align accounts with an index, one per row. --out FILE.json writes the whole pack.',
  words: [DESK_INDEX],
  flags: {
    request: { value: 'FILE', help: 'Accounts, lots and costs as JSON; - reads standard input.' },
    aum: {
      type: 'number',
      value: 'MONEY',
      help: 'Amount of cash of an account that is added to the accounts of the file.',
    },
    'as-of': { value: 'DATE', help: 'Date. Default: the latest date.' },
  },
  examples: ['divisor rebalance-pack CORE-100 --aum 1e6', 'divisor rebalance-pack CORE-100 --request accounts.json'],
  async ask(client, [index_id = ''], flags) {
    const [file, aum, asOf] = [flags.text('request'), flags.number('aum'), flags.text('as-of')];
    const body: RebalancePackRequest = file === undefined ? {} : await readJsonFile<RebalancePackRequest>(file);
    return client.call('packRebalance', {
      params: { index_id },
      body: { ...body, ...(aum === undefined ? {} : { aum }), ...(asOf === undefined ? {} : { as_of: asOf }) },
    });
  },
  records: ({ accounts }) =>
    accounts.flatMap(({ name, trades }) => trades.map((trade) => ({ account: name, ...trade }))),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});

const RULES = ['UCITS_5_10_40', 'UCITS_20_35', 'RIC_25_5_50', 'SEC_75_5_10'] as const;
const MODELS = ['market_sector', ...FACTOR_ESTIMATORS] as const;

const limits = createOperationView({
  operation: 'getLimits',
  summary: 'Check a concentration rule on every session of a stored run, and print breaches and the smallest headroom.',
  words: [INDEX],
  flags: {
    ...RUN,
    rule: {
      value: 'RULE',
      choices: RULES,
      help: `${RULES.join(', ')}; default: the rule of the index, or the first of these.`,
    },
    by: { value: 'COLUMN', help: 'Reference column of the issuer. Default: ISSUER.' },
  },
  examples: ['divisor limits CORE-100', 'divisor limits CORE-100 --rule RIC_25_5_50'],
  records: ({ rule, rows }) => rows.map(({ least, ...row }) => ({ rule, ...row, ...least })),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});

const FACTOR_FLAGS = {
  model: { value: MODELS.join('|'), choices: MODELS, help: 'Model of the factors. Default: market_sector.' },
  'risk-model': { value: 'ID', help: 'Stored risk model whose factors replace --model.' },
  factors: {
    type: 'number',
    value: 'N',
    help: 'Number of principal components for the model statistical. Default: 5.',
  },
  'as-of': { value: 'DATE', help: 'Date. Default: the last date of the run.' },
} as const;

/** Members that both decompositions have. */
type FactorSplit = Omit<TotalRiskDecomposition, 'volatility'>;

/** Rows and notices of a variance that is split by factors. */
const SPLIT_TABLE = {
  records: ({ contributions, factor_share: factorShare, total_variance: total }: FactorSplit) => [
    ...Object.entries(contributions).map(([factor, share]) => createRow(factor, share * factorShare, total)),
    createRow('specific', 1 - factorShare, total),
  ],
  notices: ({ findings }: FactorSplit) => findings.map(({ code, message }) => `${code}: ${message}`),
};

const createRow = (factor: string, share: number, total: number) => ({ factor, share, variance: share * total });

const factorRisk = createOperationView({
  operation: 'getFactorRisk',
  summary: 'Split the active variance of a stored run against a benchmark into factors and specific risk.',
  words: [INDEX],
  flags: {
    ...RUN,
    benchmark: { ...BENCHMARK_FLAG.benchmark, isRequired: true, help: `Required: ${BENCHMARK_FLAG.benchmark.help}` },
    ...FACTOR_FLAGS,
  },
  examples: ['divisor factor-risk CORE-100 --benchmark EVEN-100 --model styles'],
  ...SPLIT_TABLE,
});

const totalRisk = createOperationView({
  operation: 'getTotalRisk',
  summary: 'Split the total variance of a stored run into factors and specific risk.',
  words: [INDEX],
  flags: { ...RUN, ...FACTOR_FLAGS },
  examples: ['divisor total-risk CORE-100', 'divisor total-risk CORE-100 --model styles'],
  ...SPLIT_TABLE,
});

const termStructure = createViewCommand({
  summary: 'Print fair values of futures on an index by expiry.',
  words: [INDEX, { name: 'EXPIRIES', help: 'Dates, separated by commas.', isList: true }],
  flags: {
    'as-of': { value: 'DATE', help: 'Date of the spot level. Default: the last date of the run.' },
    rate: { type: 'number', value: 'R', help: 'Annual risk-free rate, as a fraction. Default: 0.' },
    yield: { type: 'number', value: 'Y', help: 'Annual dividend yield, as a fraction. Default: 0.' },
    borrow: { type: 'number', value: 'B', help: 'Annual borrow rate, as a fraction. Default: 0.' },
    dividends: {
      value: 'LIST',
      help: 'Dividends instead of a yield: announced, or EX_DATE:POINTS pairs, separated by commas.',
    },
  },
  examples: ['divisor term-structure CORE-100 2025-03-21,2025-06-20 --rate 0.03'],
  ask: (client, [index_id = '', expiries = ''], flags) =>
    client.call('getTermStructure', {
      params: { index_id },
      query: {
        expiries: expiries.split(','),
        as_of: flags.text('as-of'),
        risk_free_rate: flags.number('rate'),
        dividend_yield: flags.number('yield'),
        borrow_rate: flags.number('borrow'),
        ...parseDividends(flags.text('dividends')),
      },
    }),
  records: ({ points }) => points,
  columns: ['expiry', 'days', 'year_fraction', 'fair_value', 'basis', 'annualised_carry', 'dividend_points'],
});

const parseDividends = (text: string | undefined) =>
  text === undefined || text === 'announced'
    ? { dividend_source: text === undefined ? undefined : ('announced' as const) }
    : { dividends: text.split(',') };

/** Mapping of a file of levels, and its members that the user stated. */
interface StatedMapping {
  readonly mapping: Mapping;
  readonly stated: ReadonlySet<string>;
}

/**
 * Reads levels from a CSV file. Columns, dates and numbers that the mapping does not state are found from the file, as
 * in the console.
 * @throws UsageError for a file that can be read in several ways, or a cell that is not a date or a level
 */
async function readLevelsFile(
  file: string,
  { mapping, stated }: StatedMapping,
): Promise<{ readonly date: string; readonly value: number }[]> {
  const { createDayReader, createNumberReader } = await import('#market/mapping/written-values.js');
  const { columns, skip_rows: skipped, date_format: format, decimal } = mapping;
  const levels = openLevelFile(await readTextFile(file), skipped);
  const find = (column: string | undefined): number | undefined => {
    const at = column === undefined ? undefined : levels.columns.indexOf(column);
    if (at !== -1) return at;
    throw new UsageError(`${file} has no column ${column}; its columns are ${levels.columns.join(', ')}`);
  };
  const [date, value] = [find(columns['date']), find(columns['value'] ?? columns['CLOSE'])];
  const [readDay, readNumber] = [createDayReader(format), createNumberReader(mapping, 'CLOSE')];
  const isOfStatedNumbers = ['decimal', 'thousands', 'units'].some((name) => stated.has(name));
  const { mapping: found, unsure } = proposeLevelMapping(levels, {
    ...(date === undefined ? {} : { date }),
    ...(value === undefined ? {} : { value }),
    ...(format === null ? {} : { order: 'YMD' }),
    ...(isOfStatedNumbers ? { decimal } : {}),
  });
  if (unsure.length > 0)
    throw new UsageError(
      `${file} can be read in several ways. ${unsure.map(({ question }) => question).join(' ')} --mapping names a JSON file that states it, such as ${MAPPING_EXAMPLE}`,
    );
  const read = readLevelFile(levels, found, {
    readDate:
      format === null
        ? undefined
        : (cell) => {
            const day = readDay(cell);
            return day == null ? null : formatDay(day);
          },
    readNumber: isOfStatedNumbers ? (cell) => readNumber(cell) ?? Number.NaN : undefined,
  });
  if ('problem' in read)
    throw new UsageError(
      `${file}: ${read.problem.replace(/\.$/, '')}; --mapping states other columns, dates or numbers, such as ${MAPPING_EXAMPLE}`,
    );
  const isNamed = date !== undefined && value !== undefined;
  const notes = [
    isNamed || hasUsualNames(levels, found)
      ? []
      : `dates are read from the column ${levels.columns[found.date]}, levels from ${levels.columns[found.value]}`,
    format !== null || found.order === 'YMD' ? [] : `dates are read as ${ORDER_WORDS[found.order]}`,
    isOfStatedNumbers || found.decimal === '.' ? [] : `numbers are read with a ${DECIMAL_WORDS[found.decimal]}`,
  ].flat();
  if (notes.length > 0) process.stderr.write(`warning: ${file}: ${notes.join('; ')}\n`);
  return [...read.levels];
}

const MAPPING_EXAMPLE = '{"columns":{"date":"Date","value":"Close"},"date_format":"DD.MM.YYYY","decimal":","}';

/** Reads the mapping of a file of levels: the output of `inspect --out`, or a mapping only. */
async function readLevelsMapping(file: string | undefined): Promise<StatedMapping> {
  const { Mapping: schema } = await import('#domain/definition/mapping.js');
  if (file === undefined) return { mapping: schema.parse({}), stated: new Set() };
  const read = await readJsonFile<Partial<Record<'mapping', object>>>(file);
  const own = read.mapping ?? read;
  const { data, error } = schema.safeParse(own);
  if (data === undefined)
    throw new UsageError(`${file} is not a mapping such as ${MAPPING_EXAMPLE}: ${error.issues[0]?.message}`);
  return { mapping: data, stated: new Set(Object.keys(own)) };
}

/** Significant digits of an effect in a printed table. */
const EFFECT_DIGITS = 4;

const STEP_HEADER = ['date', 'subject', 'manner', 'identifier', 'value', 'sessions', 'effect_bps', 'ties'];

/** Returns the cells of a step. Causes that only together explain a session have one row with their joint effect. */
function listStepCells({ causes, sessions, effect_bps: effect }: ListedStep): string[] {
  const join = (read: (cause: DifferenceCause) => string | number | null): string =>
    [...new Set(causes.map((cause) => String(read(cause) ?? '-')))].join(',');
  return [
    join(({ date }) => date),
    join(({ subject }) => subject),
    join(({ manner }) => manner),
    join(({ identifier }) => identifier),
    join(({ value }) => value),
    String(sessions),
    String(Number(effect.toPrecision(EFFECT_DIGITS))),
    String(causes.reduce((count, { ties }) => count + ties.length, 0)),
  ];
}

interface ListedStep extends Omit<DifferenceStep, 'causes'> {
  readonly causes: readonly DifferenceCause[];
}

const listOwnSteps = ({ causes, steps }: DifferencesView): ListedStep[] =>
  steps.map((step) => ({ ...step, causes: step.causes.map((k) => causes[k]!) }));

const CSV_HEADER = [
  'date',
  'through',
  'subject',
  'manner',
  'identifier',
  'value',
  'sessions',
  'effect_bps',
  'ties',
  'step',
  'difference_bps',
  'sentence',
];

/** Returns the rows of a file: the causes, each with the number of its step, then the sessions without an explanation. */
function listCsvRows(view: DifferencesView): (string | number | null)[][] {
  const causes = listOwnSteps(view).flatMap((step, k) =>
    step.causes.map(({ date, through, subject, manner, identifier, value, sessions, effect_bps, ties, sentence }) => [
      date,
      through,
      subject,
      manner,
      identifier,
      value,
      sessions,
      effect_bps,
      ties.length,
      k + 1,
      null,
      sentence,
    ]),
  );
  const unexplained = view.sessions.unexplained.map(({ date, difference_bps: size, sentence = null }) => [
    date,
    date,
    'unexplained',
    null,
    null,
    null,
    null,
    null,
    null,
    null,
    size,
    sentence,
  ]);
  return [...causes, ...unexplained];
}

/** Maximum number of characters of the name of levels. */
const NAME_MAX = 200;

const explainDifference: JobCommand<DifferencesView> = {
  summary: 'Explain why levels from a file differ from those of a stored run.',
  notes: 'Exit status 1: sessions remain unexplained. Ties explain the same sessions equally well.',
  words: [
    INDEX,
    {
      name: 'FILE',
      help: 'CSV file with dates and levels. Columns, dates such as 28.6.2024 and decimal commas are found from the file.',
    },
  ],
  flags: {
    ...RUN,
    ...RANGE,
    variant: {
      value: 'price|total|net',
      choices: ['price', 'total', 'net'],
      help: 'Return variant of the levels. Default: the variant with which the most sessions agree.',
    },
    currency: { value: 'CODE', help: 'Currency of the levels. Default: found from the levels.' },
    decimals: { value: 'N', help: 'Decimals of the levels. Default: found from the levels.' },
    mapping: {
      value: 'FILE',
      help: 'JSON file with the columns (date and value), date_format, decimal, thousands and skip_rows of FILE, as for import. Needed only if FILE can be read in several ways.',
    },
    known: { value: 'LIST', help: 'Subjects that are known to agree, separated by commas.' },
    compositions: {
      value: 'FILE',
      help: 'JSON file with the weights or index shares of the outside level on some dates. The difference is then divided into parts.',
    },
    'causes-max': { type: 'number', value: 'N', help: 'Maximum number of causes. Default: 12.' },
    ...JOB_FLAGS,
  },
  examples: [
    'divisor explain-difference CORE-100 published.csv',
    'divisor explain-difference CORE-100 published.csv --json',
    'divisor explain-difference CORE-100 vendor.csv --mapping mapping.json --decimals 2 --known rebalance,shares',
  ],
  async submit(client, [index_id = '', file = ''], flags) {
    const compositions = flags.text('compositions');
    const body = {
      name: basename(file).slice(0, NAME_MAX),
      levels: await readLevelsFile(file, await readLevelsMapping(flags.text('mapping'))),
      variant: flags.text<'price' | 'total' | 'net'>('variant') ?? null,
      currency: flags.text('currency') ?? null,
      decimals: flags.number('decimals') ?? null,
      start: flags.text('start') ?? null,
      end: flags.text('end') ?? null,
      causes_max: flags.number('causes-max'),
      known: flags.text('known')?.split(',') as DifferencesRequest['known'], // the service checks the subjects
      ...(compositions === undefined
        ? {}
        : { compositions: await readJsonFile<NonNullable<DifferencesRequest['compositions']>>(compositions) }),
    };
    const query = { ...readJobQuery(flags), run_id: flags.text('run-id') };
    return { job: await client.call('explainDifference', { params: { index_id }, query, body }) };
  },
  show(view) {
    const { sessions, variant, returns, mean_absolute_bps: mean } = view;
    const steps = listOwnSteps(view);
    const table = formatTable([STEP_HEADER, ...steps.map(listStepCells)]);
    const sentences = steps.map(({ sentence, causes }) => {
      const ties = causes.reduce((count, cause) => count + cause.ties.length, 0);
      return `  ${sentence}${ties === 0 ? '' : ` Ties: ${ties}.`}\n`;
    });
    const rest = sessions.unexplained.map(
      ({ date, difference_bps: size, sentence = '' }) =>
        `  ${date} is not explained (${size.toFixed(4)} basis points). ${sentence}`.trimEnd() + '\n',
    );
    const unmatched =
      (sessions.unmatched ?? 0) > 0 ? `  ${sessions.unmatched} levels of the file are on no session of the run.\n` : '';
    const other = returns?.sentence === undefined ? '' : `  ${returns.sentence}\n`;
    return `${table}${sentences.join('')}${rest.join('')}${unmatched}${other}  ${sessions.common} common sessions of the ${variant} return: ${sessions.equal} equal, ${sessions.explained} explained; mean absolute difference ${mean.toFixed(4)} basis points\n`;
  },
  csv: (view) => ({ header: CSV_HEADER, rows: listCsvRows(view) }),
  exitStatus: ({ complete }) => (complete ? EXIT.done : EXIT.jobFailed),
};

const runDifference = createOperationCommand({
  operation: 'diffRuns',
  summary:
    'Explain the differences between two stored runs of an index, and the effect of each cause on the total return.',
  words: [
    { name: 'INDEX', help: 'Id of an index or strategy.' },
    { name: 'FROM', help: 'Id of the earlier run, as listed by divisor runs.', member: 'from' },
    { name: 'TO', help: 'Id of the later run.', member: 'to' },
  ],
  examples: ['divisor run diff CORE-100 0123456789abcdef fedcba9876543210'],
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
});

const report: JobCommand<NonNullable<RenderJobStatus['result']>> = {
  summary: 'Render a PDF report.',
  words: [{ name: 'TEMPLATE', help: 'Id of a stored template, or of a built-in template such as FACTSHEET-A4.' }],
  flags: {
    index: {
      value: 'ID',
      help: 'Index of the blocks without an index (all blocks of a built-in template). For several indices in one document, separate the ids by commas.',
    },
    'run-id': { value: 'RUN', help: 'With --index, the id of an earlier run. Default: the newest run.' },
  },
  examples: [
    'divisor report FACTSHEET-A4 --index CORE-100 --out factsheet.pdf',
    'divisor report FACTSHEET-A4 --index CORE-100,EVEN-100 --out watched.pdf',
  ],
  async submit(client, [template_id = ''], flags) {
    const [index, run] = [flags.text('index'), flags.text('run-id')];
    if (run !== undefined && index === undefined) throw new UsageError('--run-id requires --index ID');
    const ids = index?.split(',') ?? [];
    if (ids.length > 1 && run !== undefined) throw new UsageError('--run-id requires --index with one ID');
    const subject = ids.length > 1 ? { index_ids: ids } : { index_id: index };
    const runs = index === undefined || run === undefined ? {} : { run_ids: { [index]: run } };
    return { job: await client.call('renderReport', { body: { template_id, ...subject, ...runs } }) };
  },
  show: (render) => formatMembers(render, ['render_id', 'template_id', 'name', 'blocks', 'bytes', 'rendered_at']),
  ending: '.pdf',
  file: (client, { render_id }) => client.call('getRender', { params: { render_id } }),
};

export const REPORT_COMMANDS = {
  'explain-difference': explainDifference,
  report,
  'verify-text': verifyText,
};

export const VIEW_COMMANDS = {
  runs,
  'run diff': runDifference,
  levels,
  weights,
  rebalances,
  attribution,
  rolling,
  performance,
  view,
};

export const ANALYSIS_COMMANDS = {
  compare,
  limits,
  'factor-risk': factorRisk,
  'total-risk': totalRisk,
  'term-structure': termStructure,
  events,
  actions,
  'rebalance-pack': rebalancePack,
};
