import { expect, test } from 'vitest';
import { priceOptions, type OptionProblem } from '#kernels/optimisation/choices/price-options.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';

const LIMITS = 3;

/**
 * Returns items with three options and three kinds of limits. The first option of each item has no cost and no amounts.
 */
function createRandomProblem(items: number, seed: number): OptionProblem {
  const random = createCounterRandom({ seed, stream: 3 });
  const starts = Int32Array.from({ length: items + 1 }, (_, i) => 3 * i);
  const costs = Float64Array.from({ length: 3 * items }, (_, o) => (o % 3 === 0 ? 0 : -random.uniform()));
  const amounts = Float64Array.from({ length: 3 * items * LIMITS }, (_, e) =>
    Math.floor(e / LIMITS) % 3 === 0 ? 0 : random.uniform(),
  );
  // The limits are a maximum, a minimum, and a narrow range around zero for the third amount.
  for (let o = 0; o < 3 * items; o++) amounts[o * LIMITS + 2]! -= o % 3 === 0 ? 0 : 0.5;
  const lower = Float64Array.of(Number.NEGATIVE_INFINITY, items / 8, -0.02 * items);
  const upper = Float64Array.of(items / 4, Infinity, 0.02 * items);
  return { starts, costs, amounts, lower, upper };
}

function enumerate({ starts, costs, amounts, lower, upper }: OptionProblem): number {
  const items = starts.length - 1;
  let lowest = Infinity;
  for (let code = 0; code < 3 ** items; code++) {
    const sums = new Float64Array(LIMITS);
    let cost = 0;
    for (let i = 0, remainder = code; i < items; i++, remainder = Math.floor(remainder / 3)) {
      const option = 3 * i + (remainder % 3);
      cost += costs[option]!;
      for (let r = 0; r < LIMITS; r++) sums[r]! += amounts[option * LIMITS + r]!;
    }
    if (sums.every((sum, r) => sum >= lower[r]! && sum <= upper[r]!)) lowest = Math.min(lowest, cost);
  }
  return lowest;
}

test.each([1, 2, 3, 4])('the bound is below every choice, and near the best choice, seed %i', (seed) => {
  const problem = createRandomProblem(8, seed);
  const leastCost = enumerate(problem);
  const { bound } = priceOptions(problem);
  expect(leastCost).toBeLessThan(0);
  expect(bound).toBeLessThanOrEqual(leastCost);
  // Without the limits, the bound would be the sum of the best options.
  expect(bound).toBeGreaterThan(leastCost - 0.6);
});

test('the prices leave almost no gain between the two best options of a few items', () => {
  const problem = createRandomProblem(200, 5);
  const { priced } = priceOptions(problem);
  const gaps = Array.from({ length: 200 }, (_, i) => {
    const [best, second] = [...priced.subarray(3 * i, 3 * i + 3)].toSorted((a, b) => a - b);
    return second! - best!;
  }).toSorted((a, b) => a - b);
  // The number of split items equals the number of binding limits.
  expect(gaps[0]).toBeLessThan(1e-6);
  expect(gaps[LIMITS]).toBeGreaterThan(1e-6);
});
