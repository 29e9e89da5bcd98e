import { describe, expect, test } from 'vitest';
import { applyChanges, createPlantedCase, explainCase, measureErrors, scoreCase } from './planted-differences.js';

const CASES = Number(process.env['PLANTED_CASES'] ?? 12);

describe('an outside level with 1 to 4 causes', () => {
  test.each([
    ['of an index with a list of constituents', false],
    ['of an index with constituents by date and dividends reinvested at the previous close', true],
  ])(
    '%s is explained: at least 19 of 20 causes are named, no other cause is, and the changes reproduce it',
    (_, isDated) => {
      const total = { planted: 0, named: 0, wrong: 0, reproduced: 0 };
      for (let seed = 1; seed <= CASES; seed++) {
        const planted = createPlantedCase(seed, isDated);
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
