import type { ActionType } from '#domain/market/market-data.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';
import { SESSIONS_PER_YEAR, type SyntheticSpec } from './spec.js';
import { SPIN_OFF_SHARE } from './spin-off.js';

/** Annual number of special dividends of a security that pays dividends. */
const SPECIALS_PER_YEAR = 0.01;

/** Price above which a split becomes more probable. Few companies let their share price rise further. */
const HIGH_PRICE = 250;
const HIGH_PRICE_SPLITS = 9;

/** Event with its probability per session. The probability is an interval of (0, 1). */
export interface Hazard {
  readonly event: 'split' | 'ending' | 'spin-off' | 'special';
  /** End of the interval. */
  readonly below: number;
}

export function listHazards({ splits_per_year, delistings_per_year, listings_per_year }: SyntheticSpec): Hazard[] {
  const perYear = [
    ['split', splits_per_year],
    ['ending', delistings_per_year],
    ['spin-off', SPIN_OFF_SHARE * listings_per_year],
    ['special', SPECIALS_PER_YEAR],
  ] as const;
  let cumulativeRate = 0;
  return perYear.map(([event, rate]) => {
    cumulativeRate += rate / SESSIONS_PER_YEAR;
    return { event, below: cumulativeRate };
  });
}

export function drawEvent(uniform: number, hazards: readonly Hazard[], price: number): Hazard['event'] | undefined {
  const last = hazards.at(-1)!.below;
  if (uniform < last) return hazards.find(({ below }) => uniform < below)!.event;
  return price > HIGH_PRICE && uniform < last + HIGH_PRICE_SPLITS * hazards[0]!.below ? 'split' : undefined;
}

/**
 * Returns a split for an expensive share and a consolidation for a cheap share. For other shares, returns a split,
 * stock dividend or bonus issue.
 */
export function drawSplit(price: number, random: CounterRandom): { readonly type: ActionType; readonly ratio: number } {
  const choice = random.integer(4);
  if (price < 4) return { type: 'SPLIT', ratio: choice < 2 ? 0.1 : 0.2 };
  if (price > 40) return { type: 'SPLIT', ratio: [2, 2, 3, 4][choice]! };
  if (choice === 0) return { type: 'STOCK_DIVIDEND', ratio: 1.05 };
  return choice === 1 ? { type: 'BONUS_ISSUE', ratio: 1.1 } : { type: 'SPLIT', ratio: 1.5 };
}
