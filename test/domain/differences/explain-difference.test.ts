import { describe, expect, test } from 'vitest';
import { createWideCase } from './wide-differences.js';
import { applyChanges, createPlantedCase, explainCase, measureErrors, scoreCase } from './planted-differences.js';

const CASES = Number(process.env['PLANTED_CASES'] ?? 12);

describe('an outside level with 1 to 4 causes', () => {
  test.each([
    ['of an index with a list of constituents', (seed: number) => createPlantedCase(seed)],
    [
      'of an index with constituents by date and dividends reinvested at the previous close',
      (seed: number) => createPlantedCase(seed, true),
    ],
    ['of any kind, of an index of any of the supported kinds', createWideCase],
  ])(
    '%s is explained: at least 19 of 20 causes are named, no other cause is, and the changes reproduce it',
    (_, createCase) => {
      const total = { planted: 0, named: 0, wrong: 0, reproduced: 0 };
      for (let seed = 1; seed <= CASES; seed++) {
        const planted = createCase(seed);
        if (planted === null) continue;
        const found = explainCase(planted);
        const score = scoreCase(planted, found);
        const isOfRun = found.causes.every(
          ({ change: { rounding } }) => rounding === null || Object.keys(rounding).every((name) => name === 'variant'),
        );
        if (found.reproduced && isOfRun) {
          total.reproduced++;
          const changed = applyChanges(planted.terms, found.causes);
          expect(measureErrors(planted, changed), `largest error of the case ${seed}`).toBeLessThanOrEqual(1.01);
        }
        total.planted += score.planted;
        total.named += score.named;
        total.wrong += score.wrong;
      }
      expect(total.wrong).toBe(0);
      expect(total.reproduced).toBeGreaterThan(CASES / 2);
      expect(total.named / total.planted).toBeGreaterThanOrEqual(0.95);
    },
  );
});

test('the progress is between 0 and 1 and names sessions, and an error of its report ends the search', () => {
  const planted = createPlantedCase(1)!;
  const reports: (readonly [number, string])[] = [];
  explainCase(planted, (fraction, message) => void reports.push([fraction, message]));
  expect(reports.every(([fraction]) => fraction >= 0 && fraction <= 1)).toBe(true);
  expect(reports.some(([, message]) => /^explaining the session \d{4}-\d{2}-\d{2}$/.test(message))).toBe(true);
  for (const count of [2, Math.floor(reports.length / 2), reports.length]) {
    let calls = 0;
    const cancel = (): void => {
      if (++calls === count) throw new Error('cancelled');
    };
    expect(() => explainCase(planted, cancel)).toThrow('cancelled');
    expect(calls).toBe(count);
  }
});
