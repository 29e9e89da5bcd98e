import { describe, expect, test } from 'vitest';
import { IS_SOAK } from '../../../soak.js';
import { DEFINITION, service, cutMarket, put, startBacktest, runWhole, readText, formatNumbers } from './set-up.js';

const DEFINITIONS = {
  '/strategies/TILT': {
    id: 'TILT',
    name: 'Tilt',
    index_id: 'GROWS',
    exposure: 0.9,
    drift_tolerance: 0.001,
    transaction_cost_bps: 5,
  },
  '/strategies/MONTHS': { id: 'MONTHS', name: 'Months', index_id: 'GROWS', rebalance: { frequency: 'monthly' } },
  '/indices/CHILD': {
    ...DEFINITION,
    id: 'CHILD',
    name: 'Child',
    derivation: {
      source_index_id: 'GROWS',
      objective: 'min_tracking_error',
      constraints: [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.08 } }],
    },
  },
};

/** Number of sessions each time the store has grown. */
const STEPS = IS_SOAK ? [401, 413, 437] : [413, 437];

export function describeStrategies(): void {
  describe('strategies and a derived index', () => {
    test('are extended, a strategy also over its separate rebalances', async () => {
      await put(cutMarket(400), { full: true });
      for (const [path, body] of Object.entries(DEFINITIONS))
        expect((await service.ask('PUT', path, body)).status, path).toBe(200);
      const ids = ['TILT', 'MONTHS', 'CHILD'] as const;
      const seenViews: Record<(typeof ids)[number], unknown[]> = { TILT: [], MONTHS: [], CHILD: [] };
      for (const id of ids) await runWhole(id, {});
      for (const rows of STEPS) {
        await put(cutMarket(rows));
        for (const id of ids) {
          const result = await startBacktest(id, {});
          const shownRecord = await readText(`/analytics/${id}/record`);
          seenViews[id].push(result.full_run_reason);
          const wholeRun = await runWhole(id, {});
          expect(formatNumbers(JSON.stringify(result))).toBe(formatNumbers(JSON.stringify(wholeRun)));
          expect(formatNumbers(shownRecord)).toBe(formatNumbers(await readText(`/analytics/${id}/record`)));
        }
      }
      const extendedSteps = STEPS.map(() => null);
      expect(seenViews.MONTHS).toEqual(extendedSteps);
      expect(seenViews.CHILD).toEqual(extendedSteps); // one of the steps contains a quarterly rebalance
      expect(seenViews.TILT.filter((reason) => reason === null).length).toBeGreaterThan(IS_SOAK ? 1 : 0);
    });
  });
}
