import type { MarketData } from '#domain/market/market-data.js';

/** Sessions between the first and the last price of a security on which it has no price. */
export interface PriceGaps {
  readonly identifier: string;
  /** Positions of the first and of the last price in the dates of the market. */
  readonly start: number;
  readonly end: number;
  /** Number of sessions without a price. */
  readonly missing: number;
  /** Largest number of consecutive sessions without a price. */
  readonly longest: number;
  /** Positions of the first and of the last session without a price. */
  readonly first: number;
  readonly last: number;
  /** Positions of the latest sessions without a price, ascending. At most `SESSIONS_MAX`. */
  readonly sessions: readonly number[];
}

export interface CoverageHistory {
  /** Number of securities with a price on each date, [T]. */
  readonly priced: Int32Array;
  /**
   * Number of securities that should have a price on each date, [T]. A security should have one from its first to its
   * last price.
   */
  readonly expected: Int32Array;
  /** Gaps of the securities with the most missing prices. At most `GAPS_MAX`. */
  readonly gaps: readonly PriceGaps[];
  /** Number of securities with missing prices. */
  readonly incomplete: number;
}

/** Maximum number of listed securities with gaps, so that the answer about a store with many gaps is below 1 MB. */
export const GAPS_MAX = 1000;

/** Maximum number of listed sessions of a security, the latest ones. */
export const SESSIONS_MAX = 50;

type Prices = Pick<MarketData, 'dates' | 'identifiers' | 'fields'>;

/**
 * Counts the securities with a price on each date of a market and the securities expected to have one, and finds the
 * missing prices of each security.
 * @cost one read of the panel CLOSE, and one of the column of each listed security
 */
export function countCoverage(market: Prices): CoverageHistory {
  const { dates, identifiers } = market;
  const closes = market.fields.get('CLOSE')!; // every market has this field
  const n = identifiers.length;
  const first = new Int32Array(n).fill(-1);
  const last = new Int32Array(n).fill(-1);
  const prices = new Int32Array(n);
  const pricedCounts = new Int32Array(dates.length);
  for (let t = 0, cell = 0; t < dates.length; t++)
    for (let i = 0; i < n; i++, cell++) {
      if (Number.isNaN(closes[cell]!)) continue;
      pricedCounts[t]!++;
      prices[i]!++;
      if (first[i] === -1) first[i] = t;
      last[i] = t;
    }
  const expectedCounts = new Int32Array(dates.length);
  for (let i = 0; i < n; i++) {
    if (first[i] === -1) continue;
    expectedCounts[first[i]!]!++;
    if (last[i]! + 1 < dates.length) expectedCounts[last[i]! + 1]!--;
  }
  for (let t = 1; t < dates.length; t++) expectedCounts[t]! += expectedCounts[t - 1]!;
  const incomplete = identifiers
    .map((identifier, i) => ({ identifier, column: i, start: first[i]!, end: last[i]! }))
    .filter(({ column, start, end }) => start !== -1 && end - start + 1 > prices[column]!);
  return { priced: pricedCounts, expected: expectedCounts, ...listGaps(market, incomplete, prices) };
}

/** Security with missing prices. */
interface IncompleteSecurity extends Pick<PriceGaps, 'identifier' | 'start' | 'end'> {
  readonly column: number;
}

/** Returns the gaps of the securities with the most missing prices, and the number of all securities with gaps. */
function listGaps(
  market: Prices,
  incomplete: readonly IncompleteSecurity[],
  prices: Int32Array,
): Pick<CoverageHistory, 'gaps' | 'incomplete'> {
  const countMissing = ({ column, start, end }: IncompleteSecurity) => end - start + 1 - prices[column]!;
  const gaps = incomplete
    .toSorted((a, b) => countMissing(b) - countMissing(a))
    .slice(0, GAPS_MAX)
    .map((security) => readGaps(market, security));
  return { gaps, incomplete: incomplete.length };
}

/** Reads the gaps of a security with at least one missing price. */
function readGaps({ identifiers, fields }: Prices, { identifier, column, start, end }: IncompleteSecurity): PriceGaps {
  const closes = fields.get('CLOSE')!; // every market has this field
  const missing: number[] = [];
  let longest = 0;
  let length = 0;
  for (let t = start; t <= end; t++) {
    const isMissing = Number.isNaN(closes[t * identifiers.length + column]!);
    if (isMissing) missing.push(t);
    length = isMissing ? length + 1 : 0;
    longest = Math.max(longest, length);
  }
  return {
    identifier,
    start,
    end,
    missing: missing.length,
    longest,
    first: missing[0]!,
    last: missing.at(-1)!,
    sessions: missing.slice(-SESSIONS_MAX),
  };
}
