import { expect, test } from 'vitest';
import { solveOutcome } from '#domain/personal/account-result.js';
import { AS_OF, createLot, createSmallBatch } from './small-batch.js';

const commonBatch = createSmallBatch([0.5, 0.5, 0]);

test('the lots after the trades are the lots of the account less sales, then purchases', () => {
  const account = {
    account_id: 'X',
    lots: [createLot('A', 60, 100), createLot('A', 30, 120), createLot('C', 10, 100)],
    exclusions: ['C'],
  };
  const outcome = solveOutcome(commonBatch, account, 'accounts[0]');
  if (outcome.status === 'refused') throw new Error(JSON.stringify(outcome.findings));
  const lots = outcome.lots_after!;
  const sum = (name: string) => lots.reduce((all, lot) => (lot.identifier === name ? all + lot.shares * 100 : all), 0);
  expect(lots.some(({ identifier }) => identifier === 'C')).toBe(false);
  for (const name of ['A', 'B']) expect(sum(name) / outcome.value).toBeCloseTo(outcome.weights[name]!, 9);
  const boughtLots = lots.filter(({ lot }) => lot === null);
  expect(boughtLots).toEqual([
    { lot: null, identifier: 'B', shares: expect.any(Number), cost: 100, acquired: AS_OF, unrealised_gain: 0 },
  ]);
  const [kept] = lots;
  expect(kept!.unrealised_gain).toBeCloseTo(kept!.shares * (100 - kept!.cost), 9);
});

test('the lots after the trades are omitted above 500 lots', () => {
  const account = { account_id: 'X', lots: Array.from({ length: 501 }, () => createLot('A', 1, 100)) };
  expect(solveOutcome(commonBatch, account, 'accounts[0]')).toMatchObject({ lots_after: null });
});
