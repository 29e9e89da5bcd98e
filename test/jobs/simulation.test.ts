import { expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { simulate, type SimulationReport } from './simulation.js';

/**
 * Number of events per seed. `SEED=n` repeats the test of one seed. `SIMULATIONS=n` tests this number of seeds, from
 * `SEED_FROM` on. 10,000 seeds take about a minute. An ordinary test always uses the same few seeds.
 */
const EVENTS = 200;
const count = Number(process.env['SIMULATIONS'] ?? 25);
const firstSeed = Number(process.env['SEED'] ?? process.env['SEED_FROM'] ?? 1);
const seeds = process.env['SEED'] === undefined ? count : 1;

test(`the guarantees of the job system hold in ${seeds} random worlds`, { timeout: 600_000 }, async () => {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const report = await simulate({ seed, events: EVENTS });
    for (const [name, value] of Object.entries(report)) total[name] = (total[name] ?? 0) + value;
  }
  console.log(`${seeds} seeds from ${firstSeed}: ${JSON.stringify(total)}`);
  // If nothing happened in a simulation, it would satisfy every invariant.
  if (seeds >= 25) {
    for (const outcome of ['succeeded', 'failed', 'cancelled', 'restarts'] satisfies (keyof SimulationReport)[]) {
      expect(total[outcome]).toBeGreaterThan(seeds / 2);
    }
  }
});

test('a seed determines the course of events', async () => {
  expect(await simulate({ seed: 7, events: EVENTS })).toEqual(await simulate({ seed: 7, events: EVENTS }));
});

const FAULT_KINDS = ['refuse', 'crash-before', 'crash-after'] as const;

/** Each call fails in one way, and the ways alternate. In the soak each call fails in every way. */
test.each(FAULT_KINDS)(
  'every job has exactly one outcome if any call to the store or the artifacts fails (%s)',
  { timeout: 120_000 },
  async (manner) => {
    for (const seed of IS_SOAK ? [3, 5, 8] : [3]) {
      const { calls } = await simulate({ seed, events: EVENTS, fault: { call: 0, manner } });
      expect(calls).toBeGreaterThan(20);
      const [first, step] = IS_SOAK ? [1, 1] : [1 + FAULT_KINDS.indexOf(manner), FAULT_KINDS.length];
      for (let call = first; call <= calls; call += step)
        await simulate({ seed, events: EVENTS, fault: { call, manner } });
    }
  },
);
