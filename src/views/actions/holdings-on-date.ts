import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { readRunGrowthTerms } from '#domain/backtest/run-file/settings.js';
import { readCarriedClose } from '#domain/index-mathematics/growth.js';
import { readLevels } from '../dividends/dividend-points-view.js';
import { readDivisors } from '../exports/tables/events.js';
import type { ActionsInput } from './actions-input.js';
import type { IndexHoldings, HeldSecurity } from './pro-forma-rows.js';

/**
 * Returns the holdings of the index at the last close of a run.
 * @cost reads [H] weights
 */
export function readHoldingsAtEnd(
  columns: RunColumns,
  { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>,
): IndexHoldings {
  const { names } = columns.header;
  const days = columns.i32('days');
  const last = days.length - 1;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const heldSecurities = names.flatMap((identifier, position): HeldSecurity[] => {
    const weight = weightAt(last, position);
    const column = sm.columnOf(identifier);
    return weight === 0 || column < 0 ? [] : [{ identifier, weight, shares: sharesAt(last, column, weight) }];
  });
  return { holdings: heldSecurities, sharesStay: columns.has('dividendPoints') };
}

/** Returns readers of the weights and index shares of a run by session. */
export function readHoldingsOn(
  columns: RunColumns,
  days: Int32Array,
  { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>,
) {
  const { names, has_index_weights: hasOwn } = columns.header;
  const block = hasOwn ? 'indexWeights' : 'weights';
  const level = computeMarketValues(columns, days);
  const growth = readRunGrowthTerms(columns.header, columns.header.variant);
  return {
    weightAt: (t: number, position: number): number =>
      columns.f64(block, t * names.length + position, t * names.length + position + 1)[0]!,
    sharesAt(t: number, column: number, weight: number): number {
      const session = sm.sessionAt(days[t]!);
      const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
      return weight === 0 ? 0 : (weight * level[t]!) / (readCarriedClose(sm, growth, session, column) * rate);
    },
  };
}

/**
 * Returns the market value on which index shares are based. It is the level, multiplied by the divisor if all return
 * variants share both index shares and divisor.
 */
export function computeMarketValues(columns: RunColumns, days: Int32Array): Float64Array {
  const level = readLevels(columns);
  if (!columns.has('dividendPoints')) return level;
  const divisor = readDivisors(columns, days);
  return level.map((points, t) => points * divisor[t]!);
}
