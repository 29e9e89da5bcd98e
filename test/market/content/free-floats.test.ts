import { expect, test } from 'vitest';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';

function listWarnings(floats: Record<string, (number | null)[]>) {
  const close = Object.fromEntries(Object.keys(floats).map((name) => [name, [10, 10]]));
  const problems = createProblems();
  warnOfMarket(
    buildMarket({ dates: ['2024-01-02', '2024-01-03'], close, fields: { FREE_FLOAT: floats } }),
    'none',
    problems,
  );
  return problems.findings();
}

test('free floats above 1 are one warning, with the first value and their number', () => {
  expect(listWarnings({ A: [0.8, 80], B: [1 + 1e-12, 90] })).toMatchObject([
    {
      severity: 'warning',
      code: 'OUT_OF_RANGE',
      path: 'market[A 2024-01-03].FREE_FLOAT',
      message: 'FREE_FLOAT of A is 80 on 2024-01-03; it must be a fraction of at most 1. 2 values are above 1.',
      value: 80,
    },
  ]);
  expect(listWarnings({ A: [1, null], B: [0, 0.5] })).toEqual([]);
});
