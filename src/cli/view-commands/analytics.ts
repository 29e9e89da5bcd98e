import { BENCHMARK_FLAG } from '../job-commands/fields.js';
import { createViewCommand } from './view-command.js';

const INDEX = { name: 'INDEX', help: 'Id of an index or strategy with a stored run.' };
const RANGE = {
  start: { type: 'string', value: 'DATE', help: 'First date. Default: the first date of the run.' },
  end: { type: 'string', value: 'DATE', help: 'Last date. Default: the last date of the run.' },
} as const;

/** Flag that selects a run of an index. */
export const RUN = {
  'run-id': {
    type: 'string',
    value: 'RUN',
    help: 'Id of an earlier run, as listed by divisor runs. Default: the newest run.',
  },
} as const;

/** Data version that a run used. */
interface DataVersion {
  readonly as_known_on?: string | number;
  readonly as_known?: string;
}

export const runs = createViewCommand({
  summary: 'List the stored runs of an index or strategy, newest first.',
  words: [INDEX],
  flags: {},
  examples: [
    'divisor runs CORE-100',
    'divisor levels CORE-100 --run-id $(divisor runs CORE-100 | jq -rs ".[1].run_id")',
  ],
  ask: (client, [index_id = '']) => client.call('listRuns', { params: { index_id } }),
  records: (view) =>
    view.runs.map((run) => {
      const { as_known_on: version, as_known: knownTime } = run.request as DataVersion;
      return { ...run, known: version ?? knownTime ?? null };
    }),
  columns: ['run_id', 'run_at', 'start', 'end', 'index_version', 'store_id', 'store_version', 'known', 'published'],
});

export const levels = createViewCommand({
  summary: 'Print the levels of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    ...RANGE,
    variant: {
      type: 'string',
      value: 'price|total|net',
      choices: ['price', 'total', 'net'],
      help: 'Return variant. Default: the variant of the index.',
    },
  },
  examples: ['divisor levels CORE-100 --start 2024-01-01', 'divisor levels CORE-100 --csv > levels.csv'],
  async ask(client, [index_id = ''], flags) {
    const variant = flags.text<'price' | 'total' | 'net'>('variant');
    const query = { run_id: flags.text('run-id'), start: flags.text('start'), end: flags.text('end'), variant };
    return { ...(await client.call('getLevels', { params: { index_id }, query })), isOwn: variant === undefined };
  },
  notes:
    'The column of the level is its variant (price, total or net). Levels are in points from the base value of the index.',
  records: ({ levels: { index, data }, divisor, variant, isOwn }) =>
    index.map((date, t) => ({
      date,
      [variant]: data[t] ?? null,
      [isOwn ? 'divisor' : `divisor_${variant}`]: divisor.data[t] ?? null,
    })),
});

export const weights = createViewCommand({
  summary: 'Print the holdings of a stored run and their weights.',
  words: [INDEX],
  flags: { ...RUN, 'as-of': { type: 'string', value: 'DATE', help: 'Date. Default: the last date of the run.' } },
  examples: ['divisor weights CORE-100', 'divisor weights CORE-100 --as-of 2024-06-28 --csv'],
  ask: (client, [index_id = ''], flags) =>
    client.call('getWeights', {
      params: { index_id },
      query: { run_id: flags.text('run-id'), as_of: flags.text('as-of') },
    }),
  records: (view) => view.weights,
});

export const compare = createViewCommand({
  summary: 'Compare stored runs on their common dates: figures, and correlations of their returns.',
  words: [{ name: 'INDICES', help: 'Ids, separated by commas. For an earlier run, use ID@RUN.', isList: true }],
  flags: {
    ...RANGE,
    benchmark: { ...BENCHMARK_FLAG.benchmark, help: `In addition: ${BENCHMARK_FLAG.benchmark.help}` },
  },
  examples: [
    'divisor compare CORE-100,EVEN-100',
    'divisor compare CORE-100 --benchmark identifier:SPX --start 2024-01-02',
  ],
  ask: (client, [ids = ''], flags) =>
    client.call('compareRuns', {
      query: {
        ids: ids.split(','),
        benchmark: flags.text('benchmark'),
        start: flags.text('start'),
        end: flags.text('end'),
      },
    }),
  records: ({ index_ids: names, entries, correlations }) =>
    entries.map(({ stale, level: _through, ...figures }, k) => ({
      ...figures,
      is_stale: stale !== null,
      ...Object.fromEntries(names.map((name, j) => [`correlation_${name}`, correlations[k]![j] ?? null])),
    })),
  notices: ({ findings }) => findings.map(({ code, message }) => `${code}: ${message}`),
});

export const attribution = createViewCommand({
  summary: 'Print the contribution of each security, or of each group, to the return of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    ...RANGE,
    by: {
      type: 'string',
      value: 'COLUMN',
      help: 'Group securities by a column of the reference data, for example SECTOR.',
    },
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

export const rolling = createViewCommand({
  summary: 'Print rolling volatility, tracking error, beta and correlation of a stored run.',
  words: [INDEX],
  flags: {
    ...RUN,
    window: { type: 'number', value: 'N', help: 'Returns per window. Default: 63.' },
    'half-life': { type: 'number', value: 'SESSIONS', help: 'Half-life of exponential weights, instead of a window.' },
    against: {
      type: 'string',
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
  ask: (client, [index_id = ''], flags) =>
    client.call('getRollingRisk', {
      params: { index_id },
      query: {
        run_id: flags.text('run-id'),
        window: flags.number('window'),
        half_life: flags.number('half-life'),
        against: flags.text<'index' | 'benchmark'>('against'),
        benchmark: flags.text('benchmark'),
      },
    }),
  records: ({ risk: { index, columns, data } }) =>
    index.map((date, t) => ({ date, ...Object.fromEntries(columns.map((name, c) => [name, data[t]?.[c] ?? null])) })),
});

export const performance = createViewCommand({
  summary: 'Print the figures of a stored run over a window, some relative to the tracked index or the benchmark.',
  words: [INDEX],
  flags: RANGE,
  examples: ['divisor performance CORE-100', 'divisor performance CORE-100 --start 2020-01-02 --csv'],
  ask: (client, [index_id = ''], flags) =>
    client.call('getPerformance', {
      params: { index_id },
      query: { start: flags.text('start'), end: flags.text('end') },
    }),
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

export const rebalances = createViewCommand({
  summary: 'List the rebalances of a stored run.',
  words: [INDEX],
  flags: RUN,
  examples: ['divisor rebalances CORE-100'],
  ask: (client, [index_id = ''], flags) =>
    client.call('listRebalances', { params: { index_id }, query: { run_id: flags.text('run-id') } }),
  records: (view) => view.rebalances,
});
