import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RenderCollection, RenderResult } from '#contract/reports.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with an index that was run, and two reports of it. */
let service: RunningService;
const renders: RenderResult[] = [];

beforeAll(async () => {
  service = await runService();
  await service.ask('POST', '/data/synthetic', { store_id: 'm', assets: 5, start: '2020-01-02', end: '2020-12-31' });
  expect((await service.waitForJob('generate:m')).error).toBeNull();
  const index = { id: 'RUN', name: 'Run', calendar: 'XNYS', base_date: '2020-01-02' };
  await service.ask('PUT', '/indices/RUN', { ...index, pipeline: { weighting: { type: 'EqualWeight' } } });
  await service.ask('POST', '/analytics/RUN/backtest', {});
  expect((await service.waitForJob('backtest:RUN')).error).toBeNull();
  for (let i = 0; i < 2; i++) {
    const request = { template_id: 'FACTSHEET-A4', index_id: 'RUN' };
    const { body } = await service.ask<{ job_id: string }>('POST', '/reports/render', request);
    renders.push((await service.waitForJob(body.job_id)).result as RenderResult);
  }
});
afterAll(() => service.close());

test('a file is named by template, index and date, and by the render if an earlier one has the name', async () => {
  const [first, second] = renders as [RenderResult, RenderResult];
  const names = ['FACTSHEET-A4-RUN-2020-12-31.pdf', `FACTSHEET-A4-RUN-2020-12-31-${second.render_id}.pdf`];
  const { body } = await service.ask<RenderCollection>('GET', '/reports/renders');
  const nameOf = ({ render_id: id }: RenderResult) => body.renders.find((one) => one.render_id === id)?.file_name;
  expect([first, second].map(nameOf)).toEqual(names);
  for (const [i, { render_id: id }] of renders.entries())
    expect((await service.download(`/reports/renders/${id}`)).headers.get('content-disposition')).toBe(
      `inline; filename="${names[i]}"`,
    );
});

test('a PDF and a template are sent whatever Accept says, and an unknown render is not found', async () => {
  for (const accept of ['application/json', 'text/html', 'application/pdf;q=0', 'image/png, */*;q=0']) {
    const headers = { accept };
    const { status, headers: sent } = await service.download(`/reports/renders/${renders[0]!.render_id}`, { headers });
    expect([status, sent.get('content-type')]).toEqual([200, 'application/pdf']);
    expect((await service.ask('GET', '/reports/renders/none', undefined, headers)).status).toBe(404);
    for (const format of ['', '?format=xlsx', '?format=csv'])
      expect((await service.download(`/data/import/template${format}`, { headers })).status).toBe(200);
  }
});
