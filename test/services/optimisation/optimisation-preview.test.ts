import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { OptimisationRunResult } from '#contract/optimise.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { type RunningService, runService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/** Weekdays of three years. The service keeps those that are sessions. */
const DAYS = Array.from({ length: 1095 }, (_, i) => new Date(Date.UTC(2022, 0, 3 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
const NAMES = ['A', 'B', 'C', 'D', 'LATE'];
/**
 * First day of LATE. It has prices on 450 sessions. They are 89 % of the last 504 sessions, which a derived index uses,
 * and 60 % of all sessions.
 */
const LISTED_FROM = DAYS.length - 470;

function listRows(): unknown[][] {
  const random = createCounterRandom({ seed: 3, stream: 1 });
  const levels = NAMES.map((_, i) => 20 + 10 * i);
  return DAYS.flatMap((day, t) =>
    NAMES.flatMap((name, i) => {
      levels[i]! *= 1 + 0.01 * random.normal();
      return name === 'LATE' && t < LISTED_FROM ? [] : [[name, day, Math.round(levels[i]! * 1e4) / 1e4]];
    }),
  );
}

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const data = listRows();
  const market = createFrame(['identifier', 'date', 'CLOSE'], data);
  const body = { store_id: 's', name: 'S', adjustment: 'none', activate: true, tables: { market } };
  expect((await service.ask('POST', '/data/import', body)).status).toBe(201);
  const pipeline = { weighting: { type: 'FieldWeight', params: { field: 'CLOSE' } } };
  const index = { id: 'P', name: 'P', calendar: 'XNYS', base_date: '2022-03-01', rebalance: { frequency: 'monthly' } };
  expect((await service.ask('POST', '/indices', { ...index, pipeline })).status).toBe(200);
});
afterAll(() => service.close());

async function runOf(constraints: object[], terms: object): Promise<OptimisationRunResult> {
  const constraintSet = { id: 'rows', name: 'rows', constraints };
  expect((await service.ask('PUT', '/optimise/constraint-sets/rows', constraintSet)).status).toBe(200);
  const request = { index_id: 'P', constraint_set_id: 'rows', ...terms };
  const { status, body } = await service.ask<JobStatus>('POST', '/optimise/runs', request);
  expect(status, JSON.stringify(body)).toBe(202);
  const { result, error } = await service.waitForJob(body.job_id);
  expect(error, JSON.stringify(error)).toBeNull();
  return result as OptimisationRunResult;
}

const requestPreview = (constraints: object[], terms: object) =>
  service.ask<PreviewResponse>('POST', '/optimise/preview', { index_id: 'P', constraints, ...terms });

const readWeights = ({ weights }: OptimisationRunResult) =>
  Object.fromEntries(
    weights.filter(({ weight }) => weight !== 0).map(({ identifier, weight }) => [identifier, weight]),
  );
const listSentences = (findings: readonly { readonly message: string }[]) => findings.map(({ message }) => message);

describe('a preview of an optimisation', () => {
  const boundRows = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.3 } }];

  test.each([
    ['of the least variance', { objective: 'min_variance' }],
    ['near the index', {}],
    ['over a window', { objective: 'min_variance', start: '2023-06-01', end: '2024-03-28' }],
    ['at an earlier rebalance', { objective: 'min_variance', as_of: '2024-02-14' }],
    ['among the universe', { objective: 'min_variance', candidates: 'universe' }],
  ])('%s has the weights and the findings of its run', async (_, terms) => {
    const { status, body } = await requestPreview(boundRows, terms);
    expect(status, JSON.stringify(body)).toBe(200);
    const run = await runOf(boundRows, terms);
    expect(body.weights).toEqual(readWeights(run));
    expect(body.solve!.rebalance_date).toBe(run.rebalance_date);
    expect(listSentences(run.findings)).toEqual(expect.arrayContaining(listSentences(body.findings)));
  });

  test('omits securities that the window of its run does not cover, and both report them', async () => {
    const { body } = await requestPreview(boundRows, { objective: 'min_variance' });
    const run = await runOf(boundRows, { objective: 'min_variance' });
    expect(body.weights['LATE']).toBeUndefined();
    for (const sentences of [listSentences(body.findings), listSentences(run.findings)])
      expect(sentences).toContainEqual(
        expect.stringMatching(
          /^1 of 5 securities \(\d+\.\d\d% of the index\) have no risk estimate: LATE \(.*\)\. They are excluded\. .*\.$/,
        ),
      );
    // LATE has enough prices in the last 504 sessions. A derived index uses these sessions.
    const derivedBody = { id: 'D', name: 'D', objective: { type: 'min_variance' }, constraints: boundRows };
    expect((await service.ask('POST', '/indices/P/optimise', derivedBody)).status).toBe(200);
    const { body: later } = await service.ask<PreviewResponse>('POST', '/indices/D/preview', { as_of: DAYS.at(-1) });
    expect(later.weights['LATE']).toBeGreaterThan(0);
  });

  test('and its run list the soft bounds that the weights violate', async () => {
    // Five securities of at most 10 % cannot add up to 100 %.
    const soft = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.1, soft: 1 } }];
    const { body } = await requestPreview(soft, {});
    const run = await runOf(soft, {});
    const largeWeights = Object.entries(body.weights).filter(([, weight]) => weight > 0.1 + 1e-6);
    expect(largeWeights.length).toBeGreaterThan(0);
    expect(Object.fromEntries(body.solve!.exceeded.map(({ label, value }) => [label, value]))).toEqual(
      Object.fromEntries(
        largeWeights.map(([identifier, weight]) => [`PositionBounds[pos]:upper:${identifier}`, weight]),
      ),
    );
    expect(body.solve!.exceeded[0]).toMatchObject({
      id: 'pos',
      type: 'PositionBounds',
      side: 'upper',
      unit: 'fraction',
      limit: 0.1,
    });
    expect(run.exceeded).toEqual(body.solve!.exceeded);
    expect((await requestPreview(boundRows, {})).body.solve!.exceeded).toEqual([]);
  });

  test('refuses the requests that its run refuses', async () => {
    const infeasible = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.1 } }];
    expect(
      await service.refusal('POST', '/optimise/preview', { index_id: 'P', constraints: infeasible }),
    ).toMatchObject({
      status: 422,
      code: 'INFEASIBLE',
      detail: { conflict: [{ id: 'pos' }, { type: 'FullInvestment' }] },
    });
    const unknownRows = [{ type: 'PositionBound', params: {} }];
    expect(
      await service.refusal('POST', '/optimise/preview', { index_id: 'P', constraints: unknownRows }),
    ).toMatchObject({
      status: 422,
      detail: { findings: [{ code: 'UNKNOWN_TYPE', path: 'constraints[0].type' }] },
    });
    expect((await service.refusal('POST', '/optimise/preview', { index_id: 'NONE' })).code).toBe('INDEX_NOT_FOUND');
  });
});
