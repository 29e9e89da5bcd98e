import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPdf } from '../../views/report/read-pdf.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex, writeWalks } from './random-walks.js';

let service: RunningService;

beforeAll(async () => {
  service = await runService();
  const location = writeWalks(join(service.root, 'prices'), { names: ['A', 'B', 'C', 'X', 'Y'] });
  expect(
    (
      await service.ask('POST', '/data/stores', {
        store_id: 'desk',
        name: 'desk',
        kind: 'folder',
        location,
        activate: true,
      })
    ).status,
  ).toBe(201);
  for (const [id, names] of [
    ['LEFT', ['A', 'B', 'C']],
    ['STAYED', ['X', 'Y']],
  ] as const) {
    await service.ask('POST', '/indices', createEqualIndex(id, names));
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    expect(await service.waitForJob(`backtest:${id}`)).toMatchObject({ status: 'succeeded' });
  }
});
afterAll(() => service.close());

const RISKS = [
  'weights?risk=true',
  'weights?risk=true&benchmark=STAYED',
  'factor-risk?benchmark=STAYED',
  'factor-risk?benchmark=STAYED&model=statistical',
  'total-risk',
  'rolling',
];

describe('a run none of whose securities has a price any more', () => {
  test('has risk while its securities have prices', async () => {
    for (const view of RISKS)
      expect([view, (await service.ask('GET', `/analytics/LEFT/${view}`)).status]).toEqual([view, 200]);
  });

  test('is refused in every view of risk, with the missing securities', async () => {
    writeWalks(join(service.root, 'prices'), { names: ['X', 'Y'] });
    expect((await service.ask('POST', '/data/stores/desk/refresh', { full: true })).status).toBe(202);
    expect(await service.waitForJob('refresh:desk')).toMatchObject({ status: 'succeeded' });
    for (const view of RISKS) {
      const { status, code, message, detail } = await service.refusal('GET', `/analytics/LEFT/${view}`);
      expect([view, status, code], message).toEqual([view, 422, 'RISK_INSUFFICIENT_DATA']);
      expect(message).toMatch(
        /^0 of 3 securities are covered; at least 1 security is required\. Excluded: A \(.*\), B \(.*\), C \(.*\)\.$/,
      );
      expect(detail).toMatchObject({ assets: 0, observations: 0 });
    }
    for (const view of RISKS)
      expect([view, (await service.ask('GET', `/analytics/STAYED/${view}`)).status]).toEqual([view, 200]);
  });

  test('has no simulation by a factor model, for the same reason', async () => {
    await service.ask('POST', '/analytics/LEFT/simulate', { method: 'gaussian_factor', horizon: 20, paths: 100 });
    expect(await service.waitForJob('simulate:LEFT')).toMatchObject({
      status: 'failed',
      error: {
        code: 'RISK_INSUFFICIENT_DATA',
        message: expect.stringMatching(/^0 of 3 securities are covered;.* A \(/),
      },
    });
  });

  test('has a report that states why there is no risk', async () => {
    expect(
      (await service.ask('POST', '/reports/render', { template_id: 'TEARSHEET-A4', index_id: 'LEFT' })).status,
    ).toBe(202);
    const { jobs } = (await service.ask<{ jobs: { job_id: string }[] }>('GET', '/jobs?kind=render')).body;
    const { result } = await service.waitForJob(jobs[0]!.job_id);
    const pdf = await service.download(`/reports/renders/${(result as { render_id: string }).render_id}`);
    expect(readPdf(new Uint8Array(await pdf.arrayBuffer())).text.replaceAll('\n', ' ')).toContain(
      '0 of 3 securities are covered; at least 1 security is required.',
    );
  });

  test('has its other views', async () => {
    for (const view of ['overview', 'record', 'levels', 'attribution', 'weights', 'reconcile', 'assets/A']) {
      expect([view, (await service.ask('GET', `/analytics/LEFT/${view}`)).status]).toEqual([view, 200]);
    }
  });
});

test('without a column SECTOR all securities are one group, unless that column is requested', async () => {
  const data = ['2024-01-02', '2024-01-03'].flatMap((date) => [
    ['A', date, 10],
    ['B', date, 20],
  ]);
  const market = { index: data.map((_, row) => row), columns: ['identifier', 'date', 'CLOSE'], data };
  await service.ask('POST', '/data/import', { store_id: 'bare', name: 'Bare', tables: { market }, activate: true });
  await service.ask('POST', '/indices', { ...createEqualIndex('BARE', ['A', 'B']), base_date: '2024-01-02' });
  await service.ask('POST', '/analytics/BARE/backtest', {});
  expect(await service.waitForJob('backtest:BARE')).toMatchObject({ status: 'succeeded' });
  type Groups = { by: string; groups: { group: string; weights: number[] }[]; fields: { mean: number[] }[] };
  const { status, body } = await service.ask<Groups>('GET', '/analytics/BARE/exposures?fields=CLOSE');
  expect([status, body.by, body.groups]).toMatchObject([200, 'SECTOR', [{ group: 'UNCLASSIFIED', weights: [1, 1] }]]);
  // half in each of two securities at 10 and 20
  expect(body.fields[0]!.mean).toEqual([15, 15]);
  const { detail } = await service.refusal('GET', '/analytics/BARE/exposures?by=SECTOR&fields=CLOSE');
  expect(detail).toMatchObject({ findings: [{ code: 'UNKNOWN_FIELD_NAME', path: 'by' }] });
});
