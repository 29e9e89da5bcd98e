import { expect, test } from 'vitest';
import { simulateCluster, type ClusterReport } from './cluster-simulation.js';

/**
 * Number of events per seed. `SEED=n` repeats the test of one seed. `SIMULATIONS=n` tests this number of seeds, from
 * `SEED_FROM` on.
 */
const EVENTS = 1500;
const count = Number(process.env['SIMULATIONS'] ?? 20);
const firstSeed = Number(process.env['SEED'] ?? process.env['SEED_FROM'] ?? 1);
const seeds = process.env['SEED'] === undefined ? count : 1;

test(`the guarantees of jobs on several nodes hold in ${seeds} random worlds`, { timeout: 3_600_000 }, async () => {
  const total: Record<string, number> = {};
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const report = await simulateCluster({ seed, events: EVENTS });
    for (const [name, value] of Object.entries(report)) total[name] = (total[name] ?? 0) + value;
  }
  console.log(`${seeds} seeds from ${firstSeed}: ${JSON.stringify(total)}`);
  // If nothing happened in a simulation, it would satisfy every invariant.
  const outcomes = [
    'succeeded',
    'failed',
    'cancelled',
    'ends',
    'cuts',
    'pauses',
    'outages',
    'stale',
  ] as const satisfies readonly (keyof ClusterReport)[];
  if (seeds >= 20) for (const name of outcomes) expect(total[name]).toBeGreaterThan(seeds / 4);
});

test('an outage of the database, longer than a lease or not, counts as no crash', { timeout: 3_600_000 }, async () => {
  const total = { outages: 0, succeeded: 0 };
  for (let seed = firstSeed; seed < firstSeed + seeds / 4; seed++) {
    const report = await simulateCluster({ seed, events: EVENTS, isOutagesAlone: true });
    total.outages += report.outages;
    total.succeeded += report.succeeded;
  }
  console.log(JSON.stringify(total));
  if (seeds >= 20) for (const count of Object.values(total)) expect(count).toBeGreaterThan(seeds / 4);
});

test('a seed determines the course of events of all nodes', async () => {
  const simulateOnce = () => simulateCluster({ seed: 7, events: EVENTS });
  expect(await simulateOnce()).toEqual(await simulateOnce());
});
