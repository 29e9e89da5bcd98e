import { expect, test } from 'vitest';
import { createMapTerms } from '#domain/studies/sweep.js';

test('a sweep describes a cell over fewer parameters, and the values that can be fixed', () => {
  const patches = [0.05, 0.1].flatMap((cap) =>
    ['monthly', 'quarterly'].map((frequency) => ({ '/cap': cap, '/f': frequency })),
  );
  expect(createMapTerms({ grid: null, patches }, 'sharpe_ratio')).toEqual({
    aggregation: 'first_by_rank',
    sentence:
      'If a map omits parameters, a cell shows the variant that ranks first by sharpe ratio over their values. Fix these parameters to show a single variant.',
    parameters: [
      { pointer: '/cap', values: [0.05, 0.1] },
      { pointer: '/f', values: ['monthly', 'quarterly'] },
    ],
  });
});
