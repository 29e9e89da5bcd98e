import { expect, test } from 'vitest';
import { BOTH_DIRECTIONS, relaxTrades, sortSales } from '#kernels/lots/relaxation.js';
import { createRandomAccount } from './random-account.js';

const base = createRandomAccount({ seed: 1, n: 1, k: 1, lotsPerSecurity: 1 });
/**
 * One security with four lots of equal size. Their gains are 0.3 short-term, 0.2 long-term, 0.1 short-term and 0.2
 * long-term.
 */
const program = {
  ...base,
  lotStart: Int32Array.of(0, 4),
  lotSize: Float64Array.of(0.1, 0.1, 0.1, 0.1),
  lotShort: Float64Array.of(0.3, 0, 0.1, 0),
  lotLong: Float64Array.of(0, 0.2, 0, 0.2),
};
const orderedProgram = { ...program, isOrdered: Uint8Array.of(1) };

test('lots are sold by ascending tax, equal ones in their order', () => {
  expect([...sortSales(program, 0, { short: 0.4, long: 0.2 })]).toEqual([1, 2, 3, 0]);
  expect([...sortSales(program, 0, { short: 0.1, long: 0.3 })]).toEqual([2, 0, 1, 3]);
  expect([...sortSales(orderedProgram, 0, { short: 0.1, long: 0.3 })]).toEqual([0, 1, 2, 3]);
});

test('ordered lots are traded together where the next one is cheaper', () => {
  const { start, firstLot, endLot } = relaxTrades(
    orderedProgram,
    { short: 0.4, long: 0.2 },
    Int8Array.of(BOTH_DIRECTIONS),
  );
  const sales = Array.from({ length: start[1]! }, (_, j) => [firstLot[j], endLot[j]]).filter(([first]) => first! >= 0);
  // The taxes per unit are 0.12, 0.04, 0.04 and 0.04, so the first lot has the highest tax.
  expect(sales).toEqual([[0, 4]]);
});
