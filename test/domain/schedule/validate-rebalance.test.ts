import { describe, expect, test } from 'vitest';
import { RebalanceSpec, validateRebalance } from '#domain/definition/schedule.js';

const listPaths = (spec: Partial<RebalanceSpec>) =>
  validateRebalance(RebalanceSpec.parse(spec), 'rebalance').map(({ code, path }) => `${code} ${path}`);

describe('the check of a cadence', () => {
  test('accepts the defaults and a complete anchor', () => {
    expect(listPaths({})).toEqual([]);
    expect(listPaths({ anchor: 'nth_weekday', nth: 5, weekday: 0 })).toEqual([]);
    expect(listPaths({ anchor: 'day_of_month', day: 31 })).toEqual([]);
    expect(listPaths({ anchor: 'third_friday' })).toEqual([]);
  });

  test('reports missing parameters of an anchor', () => {
    expect(listPaths({ anchor: 'nth_weekday' })).toEqual([
      'MISSING_PARAMETER rebalance.nth',
      'MISSING_PARAMETER rebalance.weekday',
    ]);
    expect(listPaths({ anchor: 'nth_weekday', nth: 1 })).toEqual(['MISSING_PARAMETER rebalance.weekday']);
    expect(listPaths({ frequency: 'annual', anchor: 'day_of_month' })).toEqual(['MISSING_PARAMETER rebalance.day']);
    expect(listPaths({ frequency: 'monthly', anchor: 'nth_session' })).toEqual(['MISSING_PARAMETER rebalance.session']);
    expect(listPaths({ frequency: 'weekly', offset: 2, weekday: 1 })).toEqual(['NO_EFFECT rebalance.offset']);
    expect(listPaths({ anchor: 'third_friday', session: 2 })).toEqual(['NO_EFFECT rebalance.session']);
    expect(listPaths({ reference: { rule: 'nth_session' } })).toEqual([
      'MISSING_PARAMETER rebalance.reference.session',
    ]);
    expect(listPaths({ reference: { rule: 'sessions_before', sessions: 2, offset: 1 } })).toEqual([
      'NO_EFFECT rebalance.reference.offset',
    ]);
  });

  test('requires nothing of an anchor that the frequency does not read, and reports it', () => {
    for (const frequency of ['none', 'daily', 'weekly'] as const)
      expect(listPaths({ frequency, anchor: 'day_of_month' })).toEqual(['NO_EFFECT rebalance.anchor']);
  });

  test('reports settings that the frequency or the anchor does not read', () => {
    const listMessages = (spec: Partial<RebalanceSpec>) =>
      validateRebalance(RebalanceSpec.parse(spec), 'rebalance').map(
        ({ severity, message }) => `${severity}: ${message}`,
      );
    expect(listMessages({ frequency: 'weekly', weekday: 2, months: [3], roll: 'preceding' })).toEqual([
      'warning: rebalance.months has no effect if frequency is weekly.',
    ]);
    expect(
      listMessages({ frequency: 'quarterly', anchor: 'third_friday', weekday: 2, nth: 1, effective_lag: 2 }),
    ).toEqual([
      'warning: rebalance.weekday has no effect if anchor is third_friday.',
      'warning: rebalance.nth has no effect if anchor is third_friday.',
    ]);
    expect(listPaths({ frequency: 'daily', day: 3, roll: 'unadjusted' })).toEqual([
      'NO_EFFECT rebalance.day',
      'NO_EFFECT rebalance.roll',
    ]);
    expect(listPaths({ frequency: 'monthly', anchor: 'nth_weekday', weekday: 2, nth: 1, months: [1, 7] })).toEqual([]);
  });

  test('reports missing dates of a custom cadence', () => {
    expect(listPaths({ frequency: 'custom' })).toEqual(['MISSING_PARAMETER rebalance.dates']);
    expect(listPaths({ frequency: 'custom', dates: ['2024-01-02'] })).toEqual([]);
  });
});
