import { describe, expect, test } from 'vitest';
import { checkWeighting } from '#domain/definition/index-checks.js';

const check = (params: object) => checkWeighting({ type: 'FixedWeight', params }, 'pipeline.weighting');

describe('fixed weights', () => {
  test('that do not sum to 1 are reported with their sum', () => {
    expect(check({ weights: { A: 0.5, B: 0.4 } })).toMatchObject([
      {
        severity: 'warning',
        code: 'WEIGHTS_NOT_ONE',
        path: 'pipeline.weighting.params.weights',
        message: expect.stringContaining('sum to 0.9. They are scaled to a sum of 1.'),
      },
    ]);
    expect(check({ weights: { A: 0.1, B: 0.2, C: 0.3, D: 0.3 } })[0]!.message).toContain('sum to 0.9.');
  });

  test('that sum to 1 up to rounding are not reported', () => {
    expect(check({ weights: { A: 0.1, B: 0.2, C: 0.7 } })).toEqual([]);
    expect(check({ weights: { A: 0.5, B: 0.4 }, renormalise: false })).toEqual([]);
    expect(check({ weights: { A: -0.5, B: 0.4 } })).toEqual([]);
  });
});
