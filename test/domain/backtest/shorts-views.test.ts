import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { createAssetView } from '#views/asset.js';
import { createAttributionView, createGroupsView } from '#views/attribution.js';
import { createWeightsView, readPositiveWeights } from '#views/weights.js';
import { simulateSigned, WEEK } from './signed-case.js';
import { readHeldOn, repeatPrice } from './shorts-case.js';
import { runOverviewJson } from './run-texts.js';
import { createColumns } from './random-run.js';

describe('views of a run with a short position', () => {
  const run = simulateSigned({
    close: { A: [100, 101, 102, 100, 99, 103], B: [50, 51, 50, 52, 53, 50], C: [10, 10, 11, 10, 9, 10] },
    weights: { A: 0.8, B: 0.4, C: -0.3 },
    request: { transaction_cost_bps: 20 },
  });
  const columns = createColumns(run);

  test('the overview has the exposures of the last rebalance, and a long run has none', () => {
    const listOverview = (found: Run) =>
      JSON.parse(new TextDecoder().decode(runOverviewJson(found))) as Record<string, unknown>;
    expect(listOverview(run)['exposure']).toEqual({
      long: expect.closeTo(1.2, 12),
      short: -0.3,
      gross: expect.closeTo(1.5, 12),
      net: expect.closeTo(0.9, 12),
    });
    expect(listOverview(run)['concentration']).toMatchObject({
      constituents: 2,
      gross_constituents: 3,
      largest: 0.8,
      herfindahl: expect.closeTo(0.64 + 0.16 + 0.09, 12),
      top_weights: { 1: 0.8, 5: expect.closeTo(1.2, 12) },
      effective_assets: expect.closeTo(1 / 0.89, 12),
      gross_effective_assets: expect.closeTo(2.25 / 0.89, 12),
    });
    expect(listOverview(simulateSigned({ close: { A: repeatPrice(100) }, weights: { A: 1 } }))).not.toHaveProperty(
      'exposure',
    );
  });

  test('weights have its row, last, with the redistributed weight', () => {
    const view = createWeightsView({
      runId: 'X',
      requestedAsOf: null,
      weights: readPositiveWeights(columns, null),
      benchmark: new Map([['C', 0.1]]),
      findShares: () => null,
      risk: null,
      activeRisk: null,
    });
    expect(view.weights.map(({ identifier }) => identifier)).toEqual(['A', 'B', 'C']);
    const heldWeight = readHeldOn(run.portfolio, 5)['C']!;
    expect(view.weights[2]).toMatchObject({
      weight: heldWeight,
      active_weight: heldWeight - 0.1,
      delta_since_rebalance: heldWeight + 0.3,
    });
    expect(view.exposure!.short).toBe(heldWeight);
  });

  test('its contribution is its return in the portfolio, and all contributions add up with it', () => {
    const view = createAttributionView(columns, { start: null, end: null });
    const shortRow = view.contributions.find(({ asset_id: id }) => id === 'C')!;
    expect(view.reconciles).toBe(true);
    expect(view.contributions).toHaveLength(3);
    expect(shortRow.average_weight).toBeLessThan(0);
    expect(shortRow.total_return).toBeCloseTo(0, 12);
    const groups = createGroupsView(columns, {
      window: { start: null, end: null },
      by: 'SIDE',
      findGroup: (name) => (name === 'C' ? 'short' : 'long'),
      benchmark: null,
    });
    expect(groups.groups.map(({ group }) => group)).toEqual(['long', 'short', 'CASH']);
    expect(groups.groups[1]!.contribution).toBeCloseTo(shortRow.contribution, 12);
    expect(groups.groups[1]!.average_weight).toBeCloseTo(shortRow.average_weight, 12);
    expect(groups.reconciles).toBe(true);
  });

  test('groups have the returns of their unchanged holdings, and cash has none', () => {
    const { groups } = createGroupsView(columns, {
      window: { start: null, end: null },
      by: 'SIDE',
      findGroup: (name) => (name === 'C' ? 'short' : 'long'),
      benchmark: null,
    });
    // A rises from 100 to 103, B and C end at their first price: (0.8 x 1.03 + 0.4) / 1.2 = 1.02.
    expect(groups.map(({ total_return: value }) => value)).toEqual([
      expect.closeTo(0.02, 12),
      expect.closeTo(0, 12),
      expect.closeTo(0, 12),
    ]);
    expect(groups.map(({ benchmark_return: value }) => value)).toEqual([null, null, null]);
  });

  test('the asset is held, at a negative weight', () => {
    expect(createAssetView(columns, 'C')).toMatchObject({
      rebalances_held: 1,
      weight_history: { [WEEK[0]!]: -0.3 },
      raw_weight_history: { [WEEK[0]!]: -0.3 },
    });
  });
});
