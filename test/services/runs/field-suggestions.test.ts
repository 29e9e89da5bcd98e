import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { type RunningService, runService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';
import { createEqualIndex } from '../../equal-index.js';

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
const index = createEqualIndex('P', { base_date: DAYS[0], rebalance: { frequency: 'none' } });

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const market = DAYS.flatMap((day, t) => ['A', 'B'].map((name, i) => [name, day, 10 + t + i]));
  const tables = {
    market: createFrame(['identifier', 'date', 'CLOSE'], market),
    reference: createFrame(
      ['identifier', 'SECTOR', 'SCORE'],
      [
        ['A', 'Energy', 1],
        ['B', 'Health', 2],
      ],
    ),
  };
  const body = { store_id: 's', name: 'S', adjustment: 'none', activate: true, tables };
  expect((await service.ask('POST', '/data/import', body)).status).toBe(201);
  expect((await service.ask('POST', '/indices', index)).status).toBe(200);
  const { body: job } = await service.ask<JobStatus>('POST', '/analytics/P/backtest', {});
  expect((await service.waitForJob(job.job_id)).error).toBeNull();
});
afterAll(() => service.close());

const createFieldWeighted = (field: string) => ({
  ...index,
  pipeline: { weighting: { type: 'FieldWeight', params: { field } } },
});
const createIndexSelectedBy = (rule: object) => ({
  ...index,
  pipeline: { ...index.pipeline, selection: [{ id: 'rule', ...rule }] },
});
const createRows = (type: string, params: object) => ({ index_id: 'P', constraints: [{ id: 'row', type, params }] });
const sector = /\bsector\b.*Did you mean SECTOR\?/;
const score = /\bscore\b.*Did you mean SCORE\?/;

test.each([
  ['a weighting', 'POST', '/indices/preview', { document: createFieldWeighted('score') }, score],
  [
    'a filter',
    'POST',
    '/indices/preview',
    { document: createIndexSelectedBy({ type: 'CategoryFilter', params: { field: 'sector', include: ['Energy'] } }) },
    sector,
  ],
  [
    'a rank',
    'POST',
    '/indices/preview',
    { document: createIndexSelectedBy({ type: 'TopN', params: { field: 'score', count: 1 } }) },
    score,
  ],
  ['a group row', 'POST', '/optimise/preview', createRows('GroupBounds', { field: 'sector', upper: 0.6 }), sector],
  ['an average', 'POST', '/optimise/preview', createRows('WeightedAverage', { field: 'score', upper: 2 }), score],
  ['an exposure', 'POST', '/optimise/preview', createRows('FactorExposure', { field: 'score', upper: 2 }), score],
  [
    'budgets',
    'POST',
    '/optimise/preview',
    {
      index_id: 'P',
      objective: { type: 'risk_parity', budget_field: 'sector', budgets: { Energy: 0.5, Health: 0.5 } },
    },
    sector,
  ],
  [
    'expected returns',
    'POST',
    '/optimise/preview',
    {
      index_id: 'P',
      objective: 'max_return',
      expected_returns: { type: 'field', field: { node: 'field', name: 'score' } },
    },
    score,
  ],
  ['groups of exposures', 'GET', '/analytics/P/exposures?by=sector', undefined, sector],
  ['fields of exposures', 'GET', '/analytics/P/exposures?by=SECTOR&fields=score', undefined, score],
  ['groups of an attribution', 'GET', '/analytics/P/attribution/groups?by=sector', undefined, sector],
  ['issuers of limits', 'GET', '/analytics/P/limits?rule=UCITS_5_10_40&by=sector', undefined, sector],
  ['fields of reference data', 'GET', '/data/reference?identifiers=A&fields=sector', undefined, sector],
  [
    'the column of a benchmark',
    'POST',
    '/analytics/P/backtest',
    { benchmark: { kind: 'identifier', id: 'A', price_column: 'close' } },
    /\bclose\b.*Did you mean CLOSE\?/,
  ],
] as const)(
  '%s that is written in other letters suggests the field that there is',
  async (_, method, path, body, wanted) => {
    const { status, detail } = await service.refusal(method, path, body);
    expect(status, JSON.stringify(detail)).toBe(422);
    const { findings } = detail as { findings: { code: string; message: string }[] };
    expect(findings).toContainEqual(
      expect.objectContaining({ code: 'UNKNOWN_FIELD_NAME', message: expect.stringMatching(wanted) }),
    );
  },
);
