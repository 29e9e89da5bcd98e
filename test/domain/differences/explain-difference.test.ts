import { describe, expect, test } from 'vitest';
import { createPlantedCase, explainCase, scoreCase } from './planted-differences.js';

const CASES = Number(process.env['PLANTED_CASES'] ?? 12);

describe('an outside level with 1 to 4 causes', () => {
  test('is explained: at least 95 % of the causes are named, and no other cause', () => {
    const total = { planted: 0, named: 0, wrong: 0 };
    for (let seed = 1; seed <= CASES; seed++) {
      const planted = createPlantedCase(seed);
      if (planted === null) continue;
      const score = scoreCase(planted, explainCase(planted));
      total.planted += score.planted;
      total.named += score.named;
      total.wrong += score.wrong;
    }
    expect(total.wrong).toBe(0);
    expect(total.named / total.planted).toBeGreaterThanOrEqual(0.95);
  });
});
