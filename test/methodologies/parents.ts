import { runIndex, type Anchor, type Members, type PlainRun, type Terms } from './index-run.js';
import type { Market } from './market.js';
import {
  selectBuffered,
  computeProportional,
  rankSecurities,
  sampleDeviation,
  type Weights,
} from './plain-functions.js';

/** Runs by the suffix of their ids. The empty suffix stands for an id without a suffix. */
export type Runs = Readonly<Record<string, PlainRun>>;

/** Rules of a published methodology, computed from raw data. */
export type Rulebook = (market: Market, baseDate: string) => Runs;

export const QUARTERLY = [3, 6, 9, 12];
export const THIRD_FRIDAY: Anchor = { day: 'weekday', weekday: 5, nth: 3 };
export const LAST_FRIDAY: Anchor = { day: 'weekday', weekday: 5, nth: 5 };
export const EVERY_QUARTER = { months: QUARTERLY, anchor: THIRD_FRIDAY };

export type Schedule = Pick<Terms, 'months' | 'anchor' | 'lag' | 'reference' | 'dividends'>;

/** Returns the last session of the month before the month of a session. */
export const findMonthBefore = (dates: readonly string[], t: number): number =>
  dates.findLastIndex((date) => date < dates[t]!.slice(0, 7));

/** Weights the largest securities by free-float market capitalisation. The rank buffer is a fifth. */
export const weightLargest =
  (
    market: Market,
    count: number,
    { enter = 0.8 * count, exit = 1.2 * count } = {},
  ): ((t: number, members: Members) => Weights) =>
  (t, members) => {
    const computeFloatCap = (i: number) => market.floatCap(i, t);
    return computeProportional(
      selectBuffered(rankSecurities(market.listed(t), computeFloatCap), members, { count, enter, exit }),
      computeFloatCap,
    );
  };

export interface ParentReviewTerms {
  readonly market: Market;
  readonly baseDate: string;
  readonly schedule: Schedule;
  readonly count: number;
  decide(securities: number[], t: number, members: Members, parent: Weights): Weights;
}

/**
 * Runs a parent index of the largest securities and a second index. On the same days, the members of the second are
 * decided from the members of the parent.
 */
export function runOnParent({ market, baseDate, schedule, count, decide }: ParentReviewTerms): Runs {
  const parentOn = new Map<number, Weights>();
  const parentRule = weightLargest(market, count);
  const PARENT = runIndex(market, baseDate, {
    ...schedule,
    dividends: 'price',
    decide(t, members) {
      const weights = parentRule(t, members);
      parentOn.set(t, weights);
      return weights;
    },
  });
  const run = runIndex(market, baseDate, {
    ...schedule,
    decide(t, members) {
      const parent = parentOn.get(t)!;
      const securities = [...parent.keys()].toSorted((a, b) => a - b);
      return decide(securities, t, members, parent);
    },
  });
  return { '-PARENT': PARENT, '': run };
}

export const hasBars = (market: Market, t: number, sessions: number) => (i: number) =>
  market.store.close[i]!.subarray(t - sessions + 1, t + 1).every((close) => !Number.isNaN(close));

/** Returns the standard deviation of the returns that exist. Returns NaN if fewer than half exist. */
export function computeDeviation(returns: readonly number[]): number {
  const knownReturns = returns.filter((value) => !Number.isNaN(value));
  return knownReturns.length < returns.length / 2 ? NaN : sampleDeviation(knownReturns);
}

export function computeMomentum(
  market: Market,
  i: number,
  { t, sessions }: { readonly t: number; readonly sessions: number },
): number {
  const growths = market.returns(i, t, sessions).filter((value) => !Number.isNaN(value));
  return growths.length < sessions / 2 ? NaN : growths.reduce((product, value) => product * (1 + value), 1) - 1;
}

/** Runs an index of the assets of one class with dividends. It is weighted by free-float market capitalisation. */
export const runAssetClass = (market: Market, baseDate: string, name: string): PlainRun =>
  runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    dividends: 'total',
    decide: (t) =>
      computeProportional(
        market.listed(t).filter((i) => market.text(i, t, 'ASSET_CLASS') === name),
        (i) => market.floatCap(i, t),
      ),
  });

/** Returns the asset classes of the blend. */
export const createBlendParts = (market: Market, baseDate: string) => ({
  '-EQUITY': runAssetClass(market, baseDate, 'Equity'),
  '-BONDS': runAssetClass(market, baseDate, 'Bond'),
});

/** Runs an index of large securities with dividends. Overlays use it as their underlying index. */
export const runTotalReturnParent = (market: Market, baseDate: string, count: number): PlainRun =>
  runIndex(market, baseDate, { ...EVERY_QUARTER, dividends: 'total', decide: weightLargest(market, count) });
