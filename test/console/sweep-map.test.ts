import { expect, test } from 'vitest';
import type { SweepRow } from '#clients/typescript/divisor.js';
import { findCapacity, findShownVariant, listHiddenParameters } from '#console/pages/sweeps/variants.js';

const CAP = '/document/pipeline/weighting/cap';
const LAG = '/document/rebalance/effective_lag';
const COST = '/request/transaction_cost_bps';
const POINTERS = [CAP, LAG, COST];

/** Variants of two caps, two lags and three costs. A higher cost means a higher rank number, with one exception. */
const rows = [0.05, 0.1].flatMap((cap, i) =>
  [0, 2].flatMap((lag, j) =>
    [0, 10, 25].map((cost, k): SweepRow => {
      const variant = 6 * i + 3 * j + k;
      const rank = variant === 2 ? 1 : variant + 2;
      const patch = { [CAP]: cap, [LAG]: lag, [COST]: cost };
      return { rank, variant, patch } as unknown as SweepRow; // the map does not read the figures of a variant
    }),
  ),
);

const findFixedCells = (fixed: Record<string, string>) => {
  const axes = { across: CAP, down: LAG };
  const hiddenParameters = listHiddenParameters(rows, POINTERS, { ...axes, fixed });
  return {
    hidden: hiddenParameters,
    cell: (column: string, line: string) =>
      findShownVariant(rows, { ...axes, column, line, hidden: hiddenParameters })?.variant,
  };
};

test('a cell of a map without a parameter shows the best rank over its values', () => {
  const { hidden, cell } = findFixedCells({});
  expect(hidden).toEqual([{ pointer: COST, values: ['0', '10', '25'], fixed: null }]);
  expect([cell('0.05', '0'), cell('0.05', '2'), cell('0.1', '0')]).toEqual([2, 3, 6]);
});

test('a fixed parameter leaves one variant in each cell', () => {
  const { hidden, cell } = findFixedCells({ [COST]: '10' });
  expect(hidden[0]!.fixed).toBe('10');
  expect([cell('0.05', '0'), cell('0.05', '2'), cell('0.1', '0'), cell('0.1', '2')]).toEqual([1, 4, 7, 10]);
});

test('a value that no variant has is ignored', () => {
  expect(findFixedCells({ [COST]: '99' }).hidden[0]!.fixed).toBeNull();
});

test('the capped weight is the number of securities times the cap, if a variant sets both', () => {
  const COUNT = '/document/pipeline/selection/1/params/count';
  expect(findCapacity({ [COUNT]: 20, [CAP]: 0.03 })).toBeCloseTo(0.6, 12);
  expect([findCapacity({ [CAP]: 0.03 }), findCapacity({ [COUNT]: 20, [CAP]: null })]).toEqual([null, null]);
});
