import type { Day } from '#domain/time/days.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';
import type { SyntheticSpec } from './spec.js';

/**
 * Fraction of securities that pay dividends. Their yields are chosen so that the mean yield of all securities is the
 * requested yield.
 */
const PAYER_PROBABILITY = 0.7;
/** Weight of the current price in the next quarterly dividend. With this weight, dividends follow prices over years. */
export const DIVIDEND_SMOOTHING = 0.1;

export interface DividendPolicy {
  readonly isPayer: boolean;
  readonly quarterlyYield: number;
  readonly perShare: number;
  /** Position of the ex-date: the month within the quarter, 0 to 2, and the session of that month. */
  readonly month: number;
  readonly session: number;
  readonly payDays: number;
}

export function drawDividendPolicy(
  { dividend_yield }: SyntheticSpec,
  random: CounterRandom,
  price: number,
): DividendPolicy {
  const isPayer = random.uniform() < PAYER_PROBABILITY && dividend_yield > 0;
  const quarterlyYield = ((dividend_yield / PAYER_PROBABILITY) * (0.5 + random.uniform())) / 4;
  return {
    isPayer,
    quarterlyYield,
    perShare: quarterlyYield * price,
    month: random.integer(3),
    session: 3 + random.integer(12),
    payDays: 14 + random.integer(15),
  };
}

/**
 * Returns the dates and status of a dividend. It is announced three weeks before the ex-date. It is paid if the payment
 * date is within the window.
 */
export function createDividend(exDay: Day, payDays: number, sessions: Int32Array): Partial<CorporateAction> {
  const payDay = exDay + payDays;
  return { payDay, announcedDay: exDay - 21, status: payDay <= sessions.at(-1)! ? 'paid' : 'announced' };
}
