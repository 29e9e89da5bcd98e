import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SweepView } from '#contract/sweeps.js';
import { INDEX, MARKET } from '../../cli/even-index.js';
import { runService, type RunningService } from '../running-service.js';

type Row = SweepView['rows'][number];
interface Block {
  readonly count: number;
  readonly blocks: number;
  readonly rows: readonly Row[];
}

const COSTS = 510;
/**
 * Four combinations of dates times a number of costs. In one combination the end is before the start. There are more
 * variants than the service checks first.
 */
const GRID = {
  '/request/start': ['2024-01-02', '2024-05-01'],
  '/request/end': ['2024-06-28', '2024-03-01'],
  '/request/transaction_cost_bps': Array.from({ length: COSTS }, (_, i) => i / 10),
};
const COUNT = 2 * 2 * COSTS;
const LATE_START = COUNT / 2;

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  await service.ask('POST', '/data/synthetic', MARKET);
  await service.waitForJob('generate:market');
});
afterAll(() => service?.close());

async function readView(body: object): Promise<SweepView> {
  const { body: job } = await service.ask<{ job_id: string }>('POST', '/analytics/sweeps', body);
  const { status, error, result } = await service.waitForJob(job.job_id);
  expect([status, error]).toEqual(['succeeded', null]);
  return result as SweepView;
}

async function readRows(sweepId: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let block = 0, blocks = 1; block < blocks; block++) {
    const { body } = await service.ask<Block>('GET', `/analytics/sweeps/${sweepId}/rows?block=${block}`);
    expect(body.count).toBe(COUNT);
    blocks = body.blocks;
    rows.push(...body.rows);
  }
  return rows;
}

describe('a sweep of more variants than are checked first', () => {
  let view: SweepView;
  let rows: Row[];
  beforeAll(async () => {
    view = await readView({ sweep_id: 'large', document: INDEX, grid: GRID, partitions: 4 });
    rows = await readRows('large');
  });

  test('has the first rows in its result and all rows in blocks, each variant once', () => {
    expect([view.variants, view.refused, view.rows.length]).toEqual([COUNT, COSTS, 2000]);
    expect(rows.slice(0, 2000)).toEqual(view.rows);
    expect(rows.map(({ variant }) => variant).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: COUNT }, (_, i) => i),
    );
    const ranks = rows.flatMap(({ rank }) => rank ?? []);
    expect(ranks).toEqual(Array.from({ length: COUNT - COSTS }, (_, i) => i + 1));
  });

  test('refuses the combinations that are not valid, each in its row', () => {
    const refusals = rows.filter(({ error }) => error !== null);
    expect(refusals.map(({ variant }) => variant)).toEqual(
      Array.from({ length: COSTS }, (_, i) => LATE_START + COSTS + i),
    );
    expect(refusals[0]!.error).toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: { findings: [{ path: '/request.start', message: 'start 2024-05-01 is after end 2024-03-01.' }] },
    });
  });

  test('gives each variant the result of a small sweep', async () => {
    const variants = [0, COSTS - 1, COSTS, LATE_START + 7];
    const patches = variants.map((variant) => rows.find((row) => row.variant === variant)!.patch);
    const fewView = await readView({ sweep_id: 'few', document: INDEX, patches, partitions: 4 });
    for (const row of fewView.rows) {
      const sameRow = rows.find(({ variant }) => variant === variants[row.variant])!;
      const { metrics, total_costs, start, end, observations } = sameRow;
      expect(row).toMatchObject({ metrics, total_costs, start, end, observations });
    }
  });

  test('is refused before it is queued if a value is invalid by itself', async () => {
    const { status, detail } = await service.refusal('POST', '/analytics/sweeps', {
      document: INDEX,
      grid: { ...GRID, '/request/end': ['2024-06-28', '2023-01-03'] },
    });
    expect(status).toBe(422);
    expect(detail).toMatchObject({
      variants: [COSTS],
      findings: [{ code: 'INVALID_RANGE', path: `grid[${COSTS}]/request.start` }],
    });
  });
});

test('a missing block, and an unknown sweep, are refused by name', async () => {
  const beyondRefusal = await service.refusal('GET', '/analytics/sweeps/large/rows?block=3');
  expect(beyondRefusal).toMatchObject({ status: 422, detail: { findings: [{ path: 'block', value: 3 }] } });
  expect(await service.refusal('GET', '/analytics/sweeps/none/rows')).toMatchObject({
    status: 404,
    code: 'JOB_NOT_FOUND',
  });
});

test('a sweep beyond its limits is refused with both numbers', async () => {
  const listValues = (count: number) => Array.from({ length: count }, (_, i) => i);
  const grid = { '/request/transaction_cost_bps': listValues(1000), '/request/initial_capital': listValues(101) };
  const { status, detail } = await service.refusal('POST', '/analytics/sweeps', { document: INDEX, grid });
  expect(status).toBe(422);
  expect(detail).toMatchObject({
    findings: [{ path: 'grid', message: 'The sweep has 101000 variants; the maximum is 100000.' }],
  });
});
