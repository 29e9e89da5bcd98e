import { expect, test } from 'vitest';
import { expectNear, runIndexCase, listWeekdays } from '../index-mathematics/index-case.js';

const DAYS = listWeekdays(7);

/**
 * Runs a case in which A spins off KID at 20. Two sessions later C is acquired at its price. Purchases cost the
 * portfolio 1 %.
 */
function runSpinOff(kid: readonly (number | null)[]) {
  return runIndexCase({
    close: {
      A: [100, 80, 80, 80, 80, 80, 80],
      B: [100, 100, 100, 100, 100, 100, 100],
      C: [100, 100, 100, 100, null, null, null],
      KID: kid,
    },
    universe: ['A', 'B', 'C'],
    actions: [
      { name: 'A', type: 'SPIN_OFF', value: 1, related: 'KID', ex: DAYS[1]! },
      { name: 'C', type: 'ACQUISITION', value: 100, ex: DAYS[3]! },
    ],
    request: { transaction_cost_bps: 100 },
  });
}

const isFollowed = ({ portfolio, index }: ReturnType<typeof runSpinOff>): boolean =>
  portfolio.weights.buffer === index.book.weights.buffer;

test('a portfolio adopts the weights of its index after a spin-off that has a price, and pays for its purchases', () => {
  const run = runSpinOff([null, 20, 20, 20, 20, 20, 20]);
  expect(isFollowed(run)).toBe(true);
  // A third of the portfolio leaves. Its proceeds buy securities for 1 / 1.01 of their amount.
  const { value } = run.portfolio;
  expectNear(value[3]! / value[2]!, 1 - (1 / 3 - 1 / 3 / 1.01));
});

test('it is simulated while a spun-off security waits for its price: a payment changes its part of the value', () => {
  const run = runSpinOff([null, null, null, null, 20, 20, 20]);
  expect(isFollowed(run)).toBe(false);
  // A at 80 and B at 100 receive the 100 of C minus costs. KID enters at 20 for each share of A that was held on the
  // ex-date.
  const { value } = run.portfolio;
  const valueAfterCosts = 280 - (100 - 100 / 1.01);
  expectNear(value[3]! / value[2]!, valueAfterCosts / 280);
  expectNear(value[4]! / value[3]!, (valueAfterCosts + 20) / valueAfterCosts);
});
