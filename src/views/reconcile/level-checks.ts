import { estimatePeriodsPerYear } from '#domain/calendars/periods-per-year.js';
import {
  computeAnnualReturns,
  computeBacktestMetrics,
  computeDrawdown,
  computeReturns,
  type BacktestMetrics,
} from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { createCheck, createFurthest, type Check } from './check.js';

/** Checks the levels, the returns and the metrics computed from them. */
export function checkLevels(columns: RunColumns, { metrics }: RunRecord): Check[] {
  const level = columns.f64('level');
  const value = columns.f64('value');
  const total = level.at(-1)! / level[0]! - 1;
  const compoundedReturn = computeReturns(level).reduce((product, r) => product * (1 + r), 1) - 1;
  const annual = computeAnnualReturns(columns.i32('days'), level).reduce((product, [, r]) => product * (1 + r), 1) - 1;
  const gross = columns.f64('gross');
  const costs = columns.f64('costs');
  const netReturn =
    value.reduce((product, after, t) => (t === 0 ? 1 : product * gross[t]! * (after / (after + costs[t]!))), 1) - 1;
  const drawdown = computeDrawdown(level);
  const trackedLevels = readIndexLevels(columns);
  const measuredMetrics = computeBacktestMetrics(level, trackedLevels, estimatePeriodsPerYear(columns.i32('days')));
  return [
    createCheck({
      name: 'returns',
      meaning: 'Period returns compound to the total return.',
      left: compoundedReturn,
      right: total,
    }),
    createCheck({
      name: 'annual returns',
      meaning: 'Annual returns compound to the total return.',
      left: annual,
      right: total,
    }),
    createCheck({
      name: 'level',
      meaning: 'The level equals the value rebased to 100.',
      left: value.at(-1)! / value[0]! - 1,
      right: total,
    }),
    createCheck({
      name: 'growth and costs',
      meaning: 'The growth of the holdings minus the costs equals the total return.',
      left: netReturn,
      right: total,
    }),
    createCheck({
      name: 'drawdown',
      meaning: 'No drawdown is above 0.',
      left: drawdown.reduce((highest, d) => Math.max(highest, d), -Infinity),
      right: 0,
    }),
    createCheck({
      name: 'metrics: total return',
      meaning: 'The reported total return equals that of the level.',
      left: total,
      right: metrics.total_return,
    }),
    createCheck({
      name: 'metrics: maximum drawdown',
      meaning: 'The reported maximum drawdown equals the lowest drawdown of the level.',
      left: drawdown.reduce((lowest, d) => Math.min(lowest, d), 0),
      right: metrics.max_drawdown,
    }),
    ...checkMetrics(measuredMetrics, metrics),
    ...checkTracking(columns, trackedLevels),
  ];
}

/** Meanings of the checks of metrics that are not checked above. A failed check prints its meaning. */
const METRIC_MEANINGS = {
  annualised_return: 'The reported annualised return equals that of the level.',
  volatility: 'The reported volatility equals that of the returns.',
  sharpe_ratio: 'The reported Sharpe ratio equals that of the returns.',
  tracking_difference: 'The reported tracking difference equals that of the level and the index.',
  tracking_error: 'The reported tracking error equals that of the returns of the level and the index.',
} as const satisfies Partial<Record<keyof BacktestMetrics, string>>;

function checkMetrics(measuredMetrics: BacktestMetrics, reportedMetrics: BacktestMetrics): Check[] {
  return (Object.keys(METRIC_MEANINGS) as (keyof typeof METRIC_MEANINGS)[]) // the object has no other keys
    .map((name) =>
      createCheck({
        name: `metrics: ${name.replaceAll('_', ' ')}`,
        meaning: METRIC_MEANINGS[name],
        left: measuredMetrics[name] ?? 0,
        right: reportedMetrics[name] ?? 0,
      }),
    );
}

/** Returns the levels of the index that the portfolio follows, on the dates of the run. */
function readIndexLevels(columns: RunColumns): Float64Array {
  const days = columns.i32('days');
  const begin = findFirstAtLeast(columns.i32('indexDays'), days[0]!);
  return columns.f64('indexLevel', begin, begin + days.length);
}

/** Checks that a portfolio without costs has exactly the return of its index. Strategies are not checked. */
function checkTracking(columns: RunColumns, trackedLevels: Float64Array): Check[] {
  const { header } = columns;
  if (header.has_costs || header.has_index_weights || header.run_id !== header.index_id) return [];
  const level = columns.f64('level');
  const furthest = createFurthest();
  for (let t = 0; t < level.length; t++) furthest.note(level[t]! / level[0]!, trackedLevels[t]! / trackedLevels[0]!);
  return [
    createCheck({
      name: 'index level',
      meaning:
        'Without costs, the level equals that of the index; the sides are those of the date with the largest difference.',
      ...furthest.sides(),
    }),
  ];
}
