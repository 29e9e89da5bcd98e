import { afterAll, beforeAll, expect } from 'vitest';
import type { OptimisationRunResult } from '#contract/optimise.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { type RunningService, runService } from '../../running-service.js';
import { createFrame } from '../../../table-frame.js';

/** Weekdays of 2023 and 2024. The service keeps those that are sessions of XNYS. */
const DAYS = Array.from({ length: 700 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
export const NAMES = Array.from({ length: 12 }, (_, i) => `N${String(i).padStart(2, '0')}`);
const SECTORS = ['Energy', 'Health', 'Tech'];

/** Returns rows of identifier, day, close, shares and volume. */
export function createMarketRows(): unknown[][] {
  const random = createCounterRandom({ seed: 11, stream: 3 });
  const levels = NAMES.map((_, i) => 20 + 10 * i);
  return DAYS.flatMap((day) => {
    const marketReturn = 0.008 * random.normal();
    const sectors = SECTORS.map(() => 0.005 * random.normal());
    return NAMES.map((name, i) => {
      levels[i] =
        Math.round(
          levels[i]! * (1 + marketReturn * (0.6 + 0.07 * i) + sectors[i % 3]! + 0.01 * random.normal()) * 1e4,
        ) / 1e4;
      return [name, day, levels[i]!, 1000 * (i + 1), 50_000 + 1000 * i];
    });
  });
}

export const parent = {
  id: 'BROAD',
  name: 'Broad',
  calendar: 'XNYS',
  base_date: '2023-03-01',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 11 } }],
    treatment: { dividends: 'price' },
    weighting: { type: 'MarketCapWeight', params: { free_float: false } },
  },
};

export let service: RunningService;

/** Starts a service for the test file that imports this function. It has the market and its parent index. */
export function useOptimisations(): void {
  beforeAll(startService);
  afterAll(() => service.close());
}

async function startService(): Promise<void> {
  service = await runService();
  const tables = {
    market: createFrame(['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING', 'VOLUME'], createMarketRows()),
    reference: createFrame(
      ['identifier', 'SECTOR', 'SCORE'],
      NAMES.map((name, i) => [name, SECTORS[i % 3], i * i]),
    ),
  };
  const importedAnswer = await service.ask('POST', '/data/import', {
    store_id: 'small',
    name: 'Small',
    adjustment: 'none',
    activate: true,
    tables,
  });
  expect(importedAnswer.status, JSON.stringify(importedAnswer.body).slice(0, 800)).toBe(201);
  expect((await service.ask('POST', '/indices', parent)).status).toBe(200);
}

export const put = async (id: string, constraints: unknown[]) => {
  const { status, body } = await service.ask('PUT', `/optimise/constraint-sets/${id}`, { id, name: id, constraints });
  expect(status, JSON.stringify(body)).toBe(200);
};

export async function runOptimisation(constraints: unknown[], rest: object = {}): Promise<JobStatus> {
  await put('probe', constraints);
  const { status, body } = await service.ask<JobStatus>('POST', '/optimise/runs', {
    index_id: 'BROAD',
    constraint_set_id: 'probe',
    ...rest,
  });
  expect(status, JSON.stringify(body)).toBe(202);
  return service.waitForJob(body.job_id);
}

export async function requireSolution(constraints: unknown[], rest: object = {}): Promise<OptimisationRunResult> {
  const job = await runOptimisation(constraints, rest);
  expect(job.error, JSON.stringify(job.error)).toBeNull();
  return job.result as OptimisationRunResult;
}
