import { expect, test } from 'vitest';
import { isNearChance, isOverfit } from '#console/pages/sweeps/chance.js';
import { isWithoutResult } from '#console/words/jobs.js';

const createSweep = (probability: number, combinations: number, trials = 12) => ({
  selection: { trials } as Parameters<typeof isNearChance>[0]['selection'],
  overfitting: { probability, combinations } as Parameters<typeof isNearChance>[0]['overfitting'],
});

test('a ranking is near chance within one standard deviation of a random choice', () => {
  // The standard deviation of 100 splits is 5 percentage points.
  expect([0.44, 0.46, 0.5, 0.51].map((probability) => isNearChance(createSweep(probability, 100)))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([0.5, 0.51].map((probability) => isOverfit(createSweep(probability, 100)))).toEqual([false, true]);
  expect(isNearChance({ overfitting: null, selection: null })).toBe(false);
  // The middle one of three variants is their median: a random choice is there or below in two thirds.
  expect([0.6, 0.67].map((probability) => isOverfit(createSweep(probability, 100, 3)))).toEqual([false, true]);
});

test('only a study without any result has no result', () => {
  const createJob = (solved: string) => ({ kind: 'study' as const, message: `Done. ${solved} have no result.` });
  expect(isWithoutResult(createJob('3 of 3 optimisations'))).toBe(true);
  expect(isWithoutResult(createJob('3 of 13 optimisations'))).toBe(false);
  expect(isWithoutResult(createJob('3 of 30 optimisations'))).toBe(false);
  expect(isWithoutResult({ kind: 'sweep', message: '3 of 3 optimisations have no result.' })).toBe(false);
});
