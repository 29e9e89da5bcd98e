import { expect, test } from 'vitest';
import {
  computeBetas,
  computeEqualWeightedReturns,
  createMarketReturns,
  type WindowReader,
} from '#domain/datapoints/windows.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

const NAMES = 11;
const SESSIONS = 60;
const LENGTH = 20;
const random = createCounterRandom({ seed: 5, stream: 0 });
/** Return of each security on each session, [securities x sessions]. The third and the last security have gaps. */
const cells = Float64Array.from({ length: NAMES * SESSIONS }, () => 0.02 * random.normal());
for (const [name, session] of [
  [2, 15],
  [2, 16],
  [10, 30],
  [10, 44],
] as const)
  cells[name * SESSIONS + session] = NaN;
const returns: WindowReader = {
  windows: (from, _end, columns, visit) =>
    visit({ cells, starts: columns.map((column) => column * SESSIONS + from), first: 0 }),
};
const allColumns = Int32Array.from({ length: NAMES }, (_, column) => column);
const someColumns = Int32Array.of(0, 2, 3, 7, 10);

/**
 * Computes beta by definition. It is the covariance with the mean return of the universe, divided by the variance of
 * this mean, over the sessions on which both have returns.
 */
function computeByDefinition(
  column: number,
  universe: Int32Array,
  { from, end }: { from: number; end: number },
): number {
  const pairs: [number, number][] = [];
  for (let session = from; session <= end; session++) {
    const universeReturns = [...universe]
      .map((name) => cells[name * SESSIONS + session]!)
      .filter((value) => !Number.isNaN(value));
    const ownReturn = cells[column * SESSIONS + session]!;
    if (!Number.isNaN(ownReturn))
      pairs.push([ownReturn, universeReturns.reduce((sum, value) => sum + value, 0) / universeReturns.length]);
  }
  const computeMean = (k: 0 | 1): number => pairs.reduce((sum, pair) => sum + pair[k], 0) / pairs.length;
  const [ownMean, marketMean] = [computeMean(0), computeMean(1)];
  const covariance = pairs.reduce((sum, [r, m]) => sum + (r - ownMean) * (m - marketMean), 0);
  return covariance / pairs.reduce((sum, [, m]) => sum + (m - marketMean) ** 2, 0);
}

test('the slope of each security is its covariance with the market over the variance of the market', () => {
  const window = { returns, from: 10, end: 10 + LENGTH - 1 };
  const market = computeEqualWeightedReturns(window, someColumns);
  const slopes = computeBetas(window, { market, length: LENGTH, columns: allColumns });
  for (const column of allColumns)
    expect(slopes[column]).toBeCloseTo(computeByDefinition(column, someColumns, window), 12);
});

test('the market of a universe is bit-identical, whichever windows and universes were read before', () => {
  const readCachedReturns = createMarketReturns();
  const ends = [20, 21, 22, 25, 25, 24, 40, 41, 59];
  ends.forEach((end, k) => {
    const universe = k % 4 === 3 ? someColumns : Int32Array.from(allColumns);
    const window = { returns, from: Math.max(0, end - LENGTH + 1), end };
    expect(readCachedReturns(window, universe)).toEqual(computeEqualWeightedReturns(window, universe));
  });
});

test('four securities computed together are bit-identical to each computed alone', () => {
  const window = { returns, from: 20, end: 20 + LENGTH - 1 };
  const market = computeEqualWeightedReturns(window, allColumns);
  const slopes = computeBetas(window, { market, length: LENGTH, columns: allColumns });
  for (const column of allColumns)
    expect(computeBetas(window, { market, length: LENGTH, columns: Int32Array.of(column) })[0]).toBe(slopes[column]);
});
