import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { navPath } from '#kernels/simulation/nav-path.js';

/** Computes the index recursion as defined by the contract: weights drift, the value compounds. */
function byRecursion(prices: number[][], rebalances: number[], weights: number[][]): number[] {
  let held = weights[0]!;
  let cash = 1 - held.reduce((a, b) => a + b, 0);
  const path = [1];
  for (let t = 1; t < prices.length; t++) {
    const grown = held.map((w, i) => (w * prices[t]![i]!) / prices[t - 1]![i]!);
    const growth = grown.reduce((a, b) => a + b, cash);
    path.push(path[t - 1]! * growth);
    held = grown.map((w) => w / growth);
    cash /= growth;
    const r = rebalances.indexOf(t);
    if (r >= 0) {
      held = weights[r]!;
      cash = 1 - held.reduce((a, b) => a + b, 0);
    }
  }
  return path;
}

const cases = fc.integer({ min: 1, max: 4 }).chain((assets) =>
  fc.integer({ min: 2, max: 20 }).chain((sessions) =>
    fc.record({
      prices: fc.array(
        fc.array(fc.double({ min: 1, max: 100, noNaN: true }), { minLength: assets, maxLength: assets }),
        { minLength: sessions, maxLength: sessions },
      ),
      cuts: fc
        .uniqueArray(fc.integer({ min: 1, max: sessions - 1 }), { maxLength: 3 })
        .map((rows) => [0, ...rows.toSorted((a, b) => a - b)]),
      weights: fc.array(
        fc.array(fc.double({ min: 0, max: 1 / assets, noNaN: true }), { minLength: assets, maxLength: assets }),
        { minLength: 4, maxLength: 4 },
      ),
    }),
  ),
);

const pathOf = (prices: number[][], rebalances: number[], weights: number[][]) => {
  const out = new Float64Array(prices.length);
  navPath(
    {
      prices: Float64Array.from(prices.flat()),
      assets: prices[0]!.length,
      rebalances: Int32Array.from(rebalances),
      weights: Float64Array.from(weights.flat()),
    },
    out,
  );
  return out;
};

describe('navPath', () => {
  test('is the index recursion', () => {
    fc.assert(
      fc.property(cases, ({ prices, cuts, weights }) => {
        const used = weights.slice(0, cuts.length);
        const expected = byRecursion(prices, cuts, used);
        pathOf(prices, cuts, used).forEach((value, t) =>
          expect(Math.abs(value / expected[t]! - 1)).toBeLessThanOrEqual(1e-12),
        );
      }),
    );
  });

  test('lets weights drift by hand', () => {
    // Half and half; the first security doubles, the second is constant: 1.5. After a rebalance, the second one
    // doubles.
    expect([
      ...pathOf(
        [
          [1, 1],
          [2, 1],
          [2, 2],
        ],
        [0, 1],
        [
          [0.5, 0.5],
          [0.5, 0.5],
        ],
      ),
    ]).toEqual([1, 1.5, 2.25]);
    expect([
      ...pathOf(
        [
          [1, 1],
          [2, 1],
          [2, 2],
        ],
        [0],
        [[0.5, 0.5]],
      ),
    ]).toEqual([1, 1.5, 2]);
  });

  test('keeps what is not invested in cash', () => {
    expect([...pathOf([[4], [2]], [0], [[0.5]])]).toEqual([1, 0.75]);
  });

  test('refuses rebalances out of order and weights of another shape', () => {
    expect(() => pathOf([[1], [1], [1]], [0, 2, 1], [[1], [1], [1]])).toThrow(KernelFault);
    expect(() => pathOf([[1], [1]], [1], [[1]])).toThrow(KernelFault);
    expect(() => pathOf([[1], [1]], [0], [[1], [1]])).toThrow(KernelFault);
  });
});
