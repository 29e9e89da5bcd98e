import { describe, expect, test } from 'vitest';
import { RebalanceSpec } from '#domain/documents/rebalance-spec.js';
import { validateRebalance } from '#domain/schedule/validate-rebalance.js';

const pathsOf = (spec: Partial<RebalanceSpec>) =>
  validateRebalance(RebalanceSpec.parse(spec), 'rebalance').map(({ code, path }) => `${code} ${path}`);

describe('the check of a cadence', () => {
  test('finds nothing wrong with the defaults or with a complete anchor', () => {
    expect(pathsOf({})).toEqual([]);
    expect(pathsOf({ anchor: 'nth_weekday', nth: 5, weekday: 0 })).toEqual([]);
    expect(pathsOf({ anchor: 'day_of_month', day: 31 })).toEqual([]);
    expect(pathsOf({ anchor: 'third_friday' })).toEqual([]);
  });

  test('misses the parameters of an anchor', () => {
    expect(pathsOf({ anchor: 'nth_weekday' })).toEqual([
      'MISSING_PARAMETER rebalance.nth',
      'MISSING_PARAMETER rebalance.weekday',
    ]);
    expect(pathsOf({ anchor: 'nth_weekday', nth: 1 })).toEqual(['MISSING_PARAMETER rebalance.weekday']);
    expect(pathsOf({ frequency: 'annual', anchor: 'day_of_month' })).toEqual(['MISSING_PARAMETER rebalance.day']);
  });

  test('asks nothing of an anchor that the frequency does not read', () => {
    for (const frequency of ['none', 'daily', 'weekly'] as const)
      expect(pathsOf({ frequency, anchor: 'day_of_month' })).toEqual([]);
  });

  test('misses the dates of a custom cadence', () => {
    expect(pathsOf({ frequency: 'custom' })).toEqual(['MISSING_PARAMETER rebalance.dates']);
    expect(pathsOf({ frequency: 'custom', dates: ['2024-01-02'] })).toEqual([]);
  });
});
