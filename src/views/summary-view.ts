import type { RunFigures } from '#contract/analytics/summaries.js';
import { computeAnnualReturns, computeDeviation, computeDrawdown, computeReturns } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { addMonths, formatDay } from '#domain/time/days.js';
import { estimatePeriodsPerYear } from '#domain/calendars/periods-per-year.js';
import { readIndexOn } from './performance-view.js';
import { roundOnDay } from './rounded.js';
import { findStoredDate } from './weights-view.js';

/** Number of sessions between two dates in the trace of a row. The trace covers the last year. */
const TRACE_STEP = 4;

/**
 * Returns the figures of a stored run for a row of a list.
 * @cost reads the levels
 */
export function createSummaryView(columns: RunColumns): RunFigures {
  const { header } = columns;
  const days = columns.i32('days');
  const level = columns.f64('level');
  const isIndex = header.run_id === header.index_id;
  return {
    index_id: header.run_id,
    end: formatDay(days.at(-1)!),
    level: isIndex ? roundOnDay(columns, 'level', days.at(-1)!)(columns.f64('indexLevel').at(-1)!) : level.at(-1)!,
    return_variant: header.variant,
    ...computeMoves(days, level),
    index: isIndex ? computeMoves(days, readIndexOn(columns, days)) : null,
    last_rebalance: formatDay(findStoredDate(header.rebalances.at(-1)!, days, days.at(-1)!)),
  };
}

/** Returns the return and risk figures of a level. */
function computeMoves(days: Int32Array, level: Float64Array): NonNullable<RunFigures['index']> {
  const year = estimatePeriodsPerYear(days);
  const returns = computeReturns(level);
  return {
    day_return: returns.at(-1) ?? null,
    year_to_date: computeAnnualReturns(days, level).at(-1)?.[1] ?? 0,
    volatility: computeDeviation(returns.subarray(Math.max(0, returns.length - year))) * Math.sqrt(year),
    total_return: level.at(-1)! / level[0]! - 1,
    max_drawdown: computeDrawdown(level).reduce((lowest, value) => Math.min(lowest, value), 0),
    trace: sampleTrace(days, level),
  };
}

/** Samples the levels from the last date on or before the same day one year earlier. */
function sampleTrace(days: Int32Array, level: Float64Array): RunFigures['trace'] {
  const last = level.length - 1;
  const first = Math.max(0, findLastAtMost(days, addMonths(days[last]!, -12)));
  const shownPositions = Array.from(
    { length: Math.ceil((last - first) / TRACE_STEP) },
    (_, k) => first + k * TRACE_STEP,
  );
  shownPositions.push(last);
  return {
    index: shownPositions.map((t) => formatDay(days[t]!)),
    data: shownPositions.map((t) => level[t]!),
    name: 'level',
  };
}
