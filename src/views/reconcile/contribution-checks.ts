import { linkContributions } from '#domain/analytics/attribution.js';
import { returnsOf } from '#domain/analytics/series.js';
import type { RunColumns } from '#domain/backtest/run-columns.js';
import { formatDay } from '#domain/days.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { readWindow, type Span } from '../run-window.js';
import { check, type Check } from './check.js';

/** Windows drawn beside the whole run; the same for the same run. */
const WINDOWS = 5;
/** Longest of them, in sessions. */
const WINDOW_SESSIONS_MAX = 504;

/** Linked contributions of all names over the whole run and over some windows of it. */
export function contributionChecks(columns: RunColumns): Check[] {
  const level = columns.f64('level');
  const days = columns.i32('days');
  const last = level.length - 1;
  if (last < 1) return [];
  return [
    ...over(columns, level, { from: 0, to: last }, 'contributions'),
    ...drawnWindows(last).flatMap((span) => over(columns, level, span, `contributions ${formatDay(days[span.from]!)} to ${formatDay(days[span.to]!)}`)),
  ];
}

function drawnWindows(last: number): Span[] {
  const random = counterRandom({ seed: last, stream: 0 });
  return Array.from({ length: WINDOWS }, () => {
    const from = Math.min(last - 1, Math.floor(random.uniform() * last));
    const longest = Math.min(WINDOW_SESSIONS_MAX, last - from);
    return { from, to: from + 1 + Math.min(longest - 1, Math.floor(random.uniform() * longest)) };
  });
}

/** A window with a total loss cannot be linked. */
function over(columns: RunColumns, level: Float64Array, span: Span, name: string): Check[] {
  const returns = returnsOf(level.subarray(span.from, span.to + 1));
  if (returns.some((r) => !(r > -1))) return [];
  const window = readWindow(columns, span);
  const { totalReturn, residual } = linkContributions({
    names: columns.header.names.length,
    returns,
    days: columns.i32('days').subarray(span.from + 1, span.to + 1),
    weightsBefore: (period) => window.weightsAt(period),
    contributionsOf: (period) => window.contributionsOf(period),
    costOf: (period) => window.costOf(period),
    hasCosts: columns.header.has_costs,
  });
  return [check({ name, meaning: 'Linked contributions of all names add up to the total return.', left: totalReturn - residual, right: totalReturn })];
}
