import type { LevelsView } from '#contract/analytics.js';
import type { BlockName, RunColumns } from '#domain/backtest/run-columns.js';
import { dayFrom, formatDay } from '#domain/days.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';

export interface LevelsQuery {
  readonly variant: ReturnVariant | null;
  readonly start: string | null;
  readonly end: string | null;
}

const BLOCKS_OF: Record<ReturnVariant, { readonly level: BlockName; readonly divisor: BlockName }> = {
  price: { level: 'levelPrice', divisor: 'divisorPrice' },
  total: { level: 'levelTotal', divisor: 'divisorTotal' },
  net: { level: 'levelNet', divisor: 'divisorNet' },
};

/** Index points of a stored run from its base value on, cut to a window. */
export function levelsView(columns: RunColumns, { variant, start, end }: LevelsQuery): LevelsView {
  const days = columns.i32('indexDays');
  const from = start === null ? 0 : firstAtLeast(days, dayFrom(start));
  const to = Math.max(from, end === null ? days.length : lastAtMost(days, dayFrom(end)) + 1);
  const chosen = variant ?? columns.header.variant;
  const index = Array.from(days.subarray(from, to), formatDay);
  const { level, divisor } = BLOCKS_OF[chosen];
  return {
    index_id: columns.header.run_id,
    variant: chosen,
    levels: { index, data: [...columns.f64(level, from, to)], name: 'level' },
    divisor: { index, data: [...columns.f64(divisor, from, to)], name: 'divisor' },
  };
}
