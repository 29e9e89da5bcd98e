import { expect, test } from 'vitest';
import type { OverviewView, PerformanceView } from '#clients/typescript/divisor.js';
import {
  createBenchmarkFigures,
  createParentFigures,
  listMainFigures,
  createStatistics,
  formatRelation,
  formatSubject,
} from '#console/pages/index/figures.js';
import { formatActionValue, formatStatus } from '#console/words/actions.js';
import { addReturn } from '#console/words/labels.js';

const RELATIVE = {
  observations: 100,
  benchmark_return: 0.05,
  excess_return: 0.02,
  tracking_error: 0.0576,
  information_ratio: null,
  up_capture: 1.1,
  down_capture: 0.9,
};

/** Creates a response with only the members that the figures read. */
const createView = (changes: Partial<PerformanceView>): PerformanceView =>
  ({
    index_id: 'CORE',
    of: 'index',
    return_variant: 'price',
    end: '2024-03-15',
    end_level: 1234.567,
    level: { name: 'level', index: ['2024-03-14', '2024-03-15'], data: [100, 98.4] },
    day_return: -0.016,
    benchmark: null,
    benchmark_statistics: null,
    metrics: {
      annualised_return: 0.03,
      max_drawdown: -0.2,
      sharpe_ratio: 0.5,
      total_return: 0.07,
      tracking_difference: null,
      tracking_error: null,
      volatility: 0.18,
    },
    statistics: {
      downside_volatility: 0.12,
      sortino_ratio: null,
      cvar_95: 0.025,
      skewness: -0.3,
      hit_rate: 0.53,
      best_return: 0.04,
      worst_return: -0.05,
    },
    ...changes,
  }) as PerformanceView; // only the members that the figures read

const listTerms = (metrics: readonly { readonly term: string }[]) => metrics.map(({ term }) => term);

test('figures state their basis: a price index has no total return, and tracks nothing', () => {
  expect(formatSubject(createView({}), 'CORE')).toBe('Index CORE, price return, before costs of the run');
  const figures = listMainFigures(createView({}), 'CORE');
  expect(figures.find(({ term }) => term === 'Annualised return')?.note).toBe('252 sessions a year');
  expect(figures[0]).toMatchObject({ term: 'Level', value: '1,234.57', note: '−1.60% on 2024-03-15' });
  expect(listTerms(figures)).toEqual([
    'Level',
    'Price return',
    'Annualised return',
    'Realised volatility',
    'Sharpe ratio',
    'Max drawdown',
  ]);
  expect(listTerms(listMainFigures(createView({ return_variant: 'net' }), 'CORE'))[1]).toBe('Net total return');
});

test('a tracking error states its reference: the index of the portfolio, or the benchmark of the run', () => {
  const metrics = { ...createView({}).metrics, tracking_error: 0.0005, tracking_difference: -0.013 };
  const portfolio = createView({ of: 'portfolio', metrics, benchmark: 'EQ', benchmark_statistics: RELATIVE });
  expect(formatSubject(portfolio, 'CORE')).toBe('Portfolio after costs, price return');
  const shownFigures = listMainFigures(portfolio, 'CORE').map(({ term, value }) => `${term}: ${String(value)}`);
  const notes = listMainFigures(portfolio, 'CORE').map(({ note }) => note);
  expect(shownFigures.slice(6)).toEqual([
    'Realised tracking error: 0.05%',
    'Tracking difference: −1.30 pp',
    'Realised tracking error: 5.76%',
    'Excess return: +2.00 pp',
  ]);
  expect(notes.slice(6)).toEqual(['to its index', 'to its index, cumulative', 'to EQ', 'to EQ, cumulative']);
  // The exposure of a risk control replaces the figures relative to the benchmark.
  const control = { target: 0.1, maxExposure: 1.5, exposure: 0.433, volatility: 0.231 };
  const controlledFigures = listMainFigures(
    createView({ benchmark: 'EQ', benchmark_statistics: RELATIVE }),
    'CORE',
    control,
  );
  expect(controlledFigures.slice(6).map(({ term, value }) => `${term}: ${value}`)).toEqual([
    'Exposure: 43.3%',
    'Volatility estimate: 23.10%',
  ]);
  expect(controlledFigures.find(({ term }) => term === 'Realised volatility')!.note).toBe('target 10.00%');
  // A benchmark that is the index of the portfolio would repeat the same figures.
  expect(listMainFigures(portfolio, 'EQ').filter(({ note }) => note?.includes('EQ'))).toEqual([]);
  expect(createBenchmarkFigures(portfolio).find(({ term }) => term === 'Information ratio')!.value).toBe('–');
  expect(createBenchmarkFigures(createView({}))).toEqual([]);
  expect(addReturn('Benchmark EQ', 'price')).toBe('Benchmark EQ, price return');
  expect(addReturn('Benchmark EQ', null)).toBe('Benchmark EQ');
});

test('the line below a level states the tracking error to the index of a strategy, otherwise to the benchmark', () => {
  const metrics = { ...createView({}).metrics, tracking_error: 0.0005, tracking_difference: -0.013 };
  const compared = { metrics, benchmark: 'EQ', benchmark_statistics: RELATIVE };
  const strategy = createView({ ...compared, index_id: 'FUND', of: 'portfolio' });
  expect(formatRelation(strategy, 'CORE')).toBe('Realised tracking error 0.05% · −1.30 pp to CORE');
  expect(formatRelation(createView(compared), 'CORE')).toBe('Realised tracking error 5.76% · +2.00 pp to EQ');
  expect(formatRelation(createView({ metrics }), 'CORE')).toBeNull();
});

test('a derived index shows the tracking error to its parent and the forecast', () => {
  const parent = {
    index_id: 'CORE',
    observations: 500,
    total_return: 0.1,
    tracking_difference: 0.01,
    tracking_error: 0.022,
    forecast: { tracking_error: 0.0204, bias: 1.05, bias_low: 0.9, bias_high: 1.1 },
  };
  const figures = createParentFigures({ parent } as unknown as OverviewView); // only the members that the comparison reads
  expect(figures.map(({ term, value }) => [term, value])).toEqual([
    ['Return of CORE', '+10.00%'],
    ['Tracking difference', '+1.00 pp'],
    ['Realised tracking error', '2.20%'],
    ['Forecast tracking error', '2.04%'],
    ['Realised over forecast', '1.05'],
  ]);
  expect(createParentFigures({} as OverviewView)).toEqual([]);
});

test('statistics of daily returns have their unit, and a dash for a missing value', () => {
  const shownFigures = createStatistics(createView({})).map(({ term, value }) => `${term}: ${String(value)}`);
  expect(shownFigures).toEqual([
    'Sortino ratio: –',
    'Downside volatility: 12.00%',
    'CVaR 95%, one day: 2.50%',
    'Skewness: −0.30',
    'Hit rate: 53.00%',
    'Best day: +4.00%',
    'Worst day: −5.00%',
  ]);
});

test('a dividend is money per share, a split is new shares per share', () => {
  const actions = [
    ['DIVIDEND', 0.7008],
    ['SPLIT', 2],
    ['RIGHTS_ISSUE', 0.25],
    ['SPIN_OFF', 0.25],
  ] as const;
  expect(actions.map(([type, value]) => formatActionValue(type, value))).toEqual([
    '0.7008 a share',
    '2 for 1',
    '0.25 new for 1',
    '0.25 shares for 1',
  ]);
  expect(formatActionValue('SILENT_DELISTING', 77.4, 'EUR')).toBe('77.4000 EUR a share');
  expect(formatActionValue('ACQUISITION', 12.5)).toBe('12.5000 a share');
});

test('cash amounts of a list have four decimals, or all decimals of the data', () => {
  const amounts = [3.7, 0.2195, 0.123456];
  expect(amounts.map((value) => formatActionValue('DIVIDEND', value, 'USD'))).toEqual([
    '3.7000 USD a share',
    '0.2195 USD a share',
    '0.123456 USD a share',
  ]);
  expect([formatActionValue('SPLIT', 2), formatActionValue('DIVIDEND', null)]).toEqual(['2 for 1', '–']);
});

test('an action without cash is in effect instead of paid', () => {
  expect(formatStatus({ type: 'SPLIT', status: 'paid' })).toBe('in effect');
  expect(formatStatus({ type: 'DELISTING', status: 'paid' })).toBe('in effect');
  expect(formatStatus({ type: 'SPLIT', status: 'announced' })).toBe('announced');
  expect(formatStatus({ type: 'DIVIDEND', status: 'paid' })).toBe('paid');
});
