import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { formatPercentFigure, formatRatio } from '#views/report/figures.js';
import { readPdf } from '../../views/report/read-pdf.js';
import { runService, type RunningService } from '../running-service.js';
import { describeTemplatePreviews } from './template-previews.js';

interface Result {
  readonly render_id: string;
  readonly template_id: string;
  readonly name: string;
  readonly index_id: string | null;
  readonly as_of?: string;
  readonly blocks: number;
  readonly bytes: number;
  readonly rendered_at: string;
  readonly pages: number;
}

const createIndexBody = (id: string) => ({
  id,
  name: `Index ${id}`,
  calendar: 'XNYS',
  base_date: '2021-01-04',
  currency: 'USD',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 12 } }],
    treatment: { dividends: 'total' },
    weighting: { type: 'MarketCapWeight', params: {}, cap: 0.15 },
  },
});

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const result = await service.ask<JobStatus>('POST', '/data/synthetic', {
    assets: 24,
    start: '2021-01-04',
    end: '2022-12-30',
    seed: 3,
  });
  expect((await service.waitForJob(result.body.job_id)).status).toBe('succeeded');
  for (const id of ['RUN', 'BARE', 'GONE'])
    expect((await service.ask('PUT', `/indices/${id}`, createIndexBody(id))).status).toBe(200);
  for (const id of ['RUN', 'GONE']) {
    await service.ask('POST', `/analytics/${id}/backtest`, { transaction_cost_bps: 5 });
    expect((await service.waitForJob(`backtest:${id}`)).status).toBe('succeeded');
  }
});
afterAll(() => service.close());

const blocks = [
  { kind: 'header', index_id: 'RUN' },
  { kind: 'stat_grid', index_id: 'RUN' },
];
const createTemplate = (id: string, rest: object = {}) => ({ template_id: id, name: 'Monthly', blocks, ...rest });
const put = (id: string, body: object = createTemplate(id), headers: Record<string, string> = {}) =>
  service.ask('PUT', `/reports/templates/${id}`, body, headers);

async function renderToEnd(request: object): Promise<Result> {
  const { status, body } = await service.ask<JobStatus>('POST', '/reports/render', request);
  expect(status, JSON.stringify(body)).toBe(202);
  const job = await service.waitForJob(body.job_id);
  expect(job.error).toBeNull();
  return job.result as Result;
}

describe('templates', () => {
  test('are stored with their defaults, read back as PUT accepts them, listed by id and removed', async () => {
    const savedTemplate = await put('MINE');
    expect(savedTemplate.status).toBe(200);
    expect(savedTemplate.body).toEqual({
      ...createTemplate('MINE'),
      page: { size: 'A4', orientation: 'portrait', margin: 36 },
      blocks: [
        { kind: 'header', title: null, index_id: 'RUN', width: 'full', subtitle: null, stamp: true },
        { kind: 'stat_grid', title: null, index_id: 'RUN', width: 'full', stats: null, columns: 4, values: null },
      ],
    });
    const read = await service.ask('GET', '/reports/templates/MINE');
    expect(read).toEqual(savedTemplate);
    expect(await put('MINE', read.body)).toEqual(savedTemplate);
    await put('ALSO', createTemplate('ALSO', { blocks: [] }));
    const listing = (
      await service.ask<{ templates: { template_id: string }[]; built_in: string[]; skipped: number }>(
        'GET',
        '/reports/templates',
      )
    ).body;
    expect(listing.templates.map(({ template_id }) => template_id)).toEqual(['ALSO', 'MINE']);
    expect(listing).toMatchObject({
      built_in: ['FACTSHEET-A4', 'FACTSHEET-LETTER', 'REBALANCE-A4', 'TEARSHEET-A4'],
      skipped: 0,
      skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 },
    });
    expect((await service.ask('DELETE', '/reports/templates/ALSO')).status).toBe(204);
    const refusal = { status: 404, code: 'TEMPLATE_NOT_FOUND' };
    expect(await service.refusal('GET', '/reports/templates/ALSO')).toMatchObject(refusal);
    expect(await service.refusal('DELETE', '/reports/templates/ALSO')).toMatchObject(refusal);
  });

  test('are changed only under the etag with which they were read', async () => {
    const { etag } = await put('TAGGED');
    expect((await service.download('/reports/templates/TAGGED', { headers: { 'if-none-match': etag! } })).status).toBe(
      304,
    );
    expect((await put('TAGGED', createTemplate('TAGGED', { name: 'Other' }), { 'if-match': '"nothing"' })).status).toBe(
      412,
    );
    expect((await put('TAGGED', createTemplate('TAGGED', { name: 'Other' }), { 'if-match': etag! })).status).toBe(200);
    expect((await service.ask('DELETE', '/reports/templates/TAGGED', undefined, { 'if-match': etag! })).status).toBe(
      412,
    );
  });

  test('with errors are refused with findings at their paths; warnings come with the answer', async () => {
    const refusal = await service.refusal(
      'PUT',
      '/reports/templates/BAD',
      createTemplate('BAD', { blocks: [{ kind: 'pie' }, { kind: 'text' }] }),
    );
    expect(refusal).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
    expect(
      (refusal.detail!['findings'] as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`),
    ).toEqual(['UNKNOWN_BLOCK_KIND blocks[0].kind', 'REQUIRED blocks[1].text']);
    expect((await put('WARNED', createTemplate('WARNED', { author: 'me' }))).body).toMatchObject({
      findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD', path: 'author' }],
    });
    expect((await service.ask('GET', '/reports/templates/WARNED')).body).not.toHaveProperty('findings');
    expect(await service.refusal('PUT', '/reports/templates/OTHER', createTemplate('MINE'))).toMatchObject({
      status: 422,
      code: 'ID_MISMATCH',
    });
  });

  test('that are built in can be read and copied, but not changed', async () => {
    const { status, body } = await service.ask<{ blocks: { index_id: unknown }[] }>(
      'GET',
      '/reports/templates/FACTSHEET-A4',
    );
    expect(status).toBe(200);
    expect(body.blocks.every(({ index_id }) => index_id === null)).toBe(true);
    expect((await put('OWN', { ...body, template_id: 'OWN' })).body).toEqual({ ...body, template_id: 'OWN' });
    expect(await service.refusal('PUT', '/reports/templates/FACTSHEET-A4', body)).toMatchObject({
      status: 422,
      code: 'TEMPLATE_BUILT_IN',
    });
    expect(await service.refusal('DELETE', '/reports/templates/TEARSHEET-A4')).toMatchObject({
      status: 422,
      code: 'TEMPLATE_BUILT_IN',
    });
  });
});

describeTemplatePreviews(() => service);

describe('an invalid render is refused before a job is created', () => {
  const requestRefusal = (body: object) => service.refusal('POST', '/reports/render', body);

  test('an unknown template, a built-in without an index, an index without a run', async () => {
    expect(await requestRefusal({ template_id: 'NONE' })).toMatchObject({ status: 404, code: 'TEMPLATE_NOT_FOUND' });
    expect(await requestRefusal({ template_id: 'FACTSHEET-A4' })).toMatchObject({
      status: 422,
      code: 'INDEX_REQUIRED',
    });
    expect(await requestRefusal({ template_id: 'FACTSHEET-A4', index_id: null })).toMatchObject({
      status: 422,
      code: 'INDEX_REQUIRED',
    });
    expect(await requestRefusal({ template_id: 'FACTSHEET-A4', index_id: 'NONE' })).toMatchObject({
      status: 404,
      code: 'INDEX_NOT_FOUND',
    });
    expect(await requestRefusal({ template_id: 'FACTSHEET-A4', index_id: 'BARE' })).toMatchObject({
      status: 404,
      code: 'RUN_NOT_FOUND',
    });
  });

  test('a stored template without blocks, with unbound ones, bound to an index without a run', async () => {
    await put('EMPTY', createTemplate('EMPTY', { blocks: [] }));
    expect(await requestRefusal({ template_id: 'EMPTY', index_id: 'RUN' })).toMatchObject({
      status: 409,
      code: 'TEMPLATE_EMPTY',
    });
    await put('UNBOUND', createTemplate('UNBOUND', { blocks: [{ kind: 'text', text: 'x' }, { kind: 'chart' }] }));
    const unbound = await requestRefusal({ template_id: 'UNBOUND' });
    expect(unbound).toMatchObject({ status: 422, code: 'INDEX_REQUIRED' });
    expect(unbound.detail!['findings']).toMatchObject([{ code: 'REQUIRED', path: 'blocks[1].index_id' }]);
    await put('UNRUN', createTemplate('UNRUN', { blocks: [...blocks, { kind: 'chart', index_id: 'BARE' }] }));
    expect(await requestRefusal({ template_id: 'UNRUN' })).toMatchObject({ status: 404, code: 'RUN_NOT_FOUND' });
  });

  test('a body with unknown fields', async () => {
    const refusal = await requestRefusal({ template_id: 'FACTSHEET-A4', index_id: 'RUN', format: 'docx' });
    expect(refusal).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
    expect(refusal.detail!['findings']).toMatchObject([{ code: 'UNKNOWN_FIELD', path: 'format' }]);
  });
});

describe('renders', () => {
  test('of a built-in template state their index and print the numbers of the service', async () => {
    const postedAnswer = await service.download('/reports/render', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ template_id: 'TEARSHEET-A4', index_id: 'RUN' }),
    });
    const { job_id } = (await postedAnswer.json()) as JobStatus;
    expect(postedAnswer.status).toBe(202);
    expect(postedAnswer.headers.get('location')).toBe(`/jobs/${job_id}`);
    expect(job_id).toMatch(/^render:\d{8}T\d{6}-[0-9a-f]{8}$/);
    const result = (await service.waitForJob(job_id)).result as Result;
    expect(result).toMatchObject({ template_id: 'TEARSHEET-A4', name: 'Tear sheet', index_id: 'RUN' });
    expect(`render:${result.render_id}`).toBe(job_id);
    expect(result.rendered_at).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}\+00:00$/);

    const response = await service.download(`/reports/renders/${result.render_id}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/pdf');
    expect(response.headers.get('content-length')).toBe(String(result.bytes));
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(bytes.length).toBe(result.bytes);
    const etag = response.headers.get('etag')!;
    expect(
      (await service.download(`/reports/renders/${result.render_id}`, { headers: { 'if-none-match': etag } })).status,
    ).toBe(304);

    const { text, pages } = readPdf(bytes);
    expect(pages.length).toBe(result.pages);
    const overview = (
      await service.ask<{ metrics: Record<string, number>; end: string }>('GET', '/analytics/RUN/overview')
    ).body;
    for (const name of ['total_return', 'annualised_return', 'volatility', 'max_drawdown'])
      expect(text).toContain(formatPercentFigure(overview.metrics[name]!));
    expect(text).toContain(formatRatio(overview.metrics['sharpe_ratio']!));
    expect(text).toContain(`As of ${overview.end}`);
    expect(result).toMatchObject({ index_ids: ['RUN'], as_of: overview.end });
    expect(response.headers.get('content-disposition')).toBe(`inline; filename="TEARSHEET-A4-RUN-${overview.end}.pdf"`);
    const attribution = (
      await service.ask<{ contributions: { average_weight: number; total_return: number; contribution: number }[] }>(
        'GET',
        '/analytics/RUN/attribution',
      )
    ).body;
    for (const row of attribution.contributions.slice(0, 15))
      expect(text).toContain(
        [row.average_weight, row.total_return, row.contribution].map(formatPercentFigure).join(' '),
      );
    const weights = (
      await service.ask<{
        weights: { identifier: string; weight: number; risk_contribution: number }[];
        risk: { volatility: number };
      }>('GET', '/analytics/RUN/weights?risk=true')
    ).body;
    for (const { identifier, weight, risk_contribution } of weights.weights)
      expect(text).toMatch(
        new RegExp(`^${identifier} .*${formatPercentFigure(weight)} ${formatPercentFigure(risk_contribution)} `, 'm'),
      );
    expect(text).toContain(`${formatPercentFigure(weights.risk.volatility)} 100.00%`);
  });

  test('of a stored template bind their blocks themselves', async () => {
    await put('BOUND');
    expect(await renderToEnd({ template_id: 'BOUND' })).toMatchObject({
      template_id: 'BOUND',
      name: 'Monthly',
      index_id: null,
      blocks: 2,
      pages: 1,
    });
  });

  test('of a copy of a built-in template equal those of the built-in', async () => {
    const { body } = await service.ask('GET', '/reports/templates/FACTSHEET-LETTER');
    await put('COPY', { ...body, template_id: 'COPY' });
    const renderText = async (request: object) => {
      const { render_id: id, index_id } = await renderToEnd(request);
      const bytes = await (await service.download(`/reports/renders/${id}`)).arrayBuffer();
      return { index_id, text: readPdf(new Uint8Array(bytes)).text.replaceAll(/Rendered .*/g, '') };
    };
    const copy = await renderText({ template_id: 'COPY', index_id: 'RUN' });
    expect(copy.index_id).toBe('RUN');
    expect(copy.text).toBe((await renderText({ template_id: 'FACTSHEET-LETTER', index_id: 'RUN' })).text);
    const twoIndices = { index_ids: ['RUN', 'GONE'] };
    expect((await renderText({ template_id: 'COPY', ...twoIndices })).text).toBe(
      (await renderText({ template_id: 'FACTSHEET-LETTER', ...twoIndices })).text,
    );
  });

  test('are listed newest first, by index and template, page by page', async () => {
    const results = [];
    for (let i = 0; i < 3; i++) results.push(await renderToEnd({ template_id: 'REBALANCE-A4', index_id: 'RUN' }));
    type Page = { readonly renders: readonly Result[]; readonly total: number };
    const listRenders = async (query: string) => (await service.ask<Page>('GET', `/reports/renders?${query}`)).body;
    const ids = results.map(({ render_id: id }) => id).toSorted();
    const first = await listRenders('template_id=REBALANCE-A4&limit=2');
    expect(first.total).toBe(3);
    expect(first.renders.map(({ render_id: id }) => id)).toEqual([ids[2], ids[1]]);
    expect(results).toContainEqual({ ...first.renders[0], file_name: undefined });
    const { renders } = await listRenders(`template_id=REBALANCE-A4&limit=2&before=${ids[1]}`);
    expect(renders.map(({ render_id: id }) => id)).toEqual([ids[0]]);
    // A stored template is not specific to an index.
    expect((await listRenders('index_id=RUN')).renders.map(({ template_id: id }) => id)).not.toContain('BOUND');
    expect(await listRenders('index_id=BARE')).toMatchObject({ renders: [], total: 0 });
  });

  test('are kept over a restart, until they are removed', async () => {
    const { render_id } = await renderToEnd({ template_id: 'REBALANCE-A4', index_id: 'RUN' });
    await service.restart();
    const path = `/reports/renders/${render_id}`;
    const { status, headers } = await service.download(path);
    expect(status).toBe(200);
    expect((await service.ask('DELETE', path, undefined, { 'if-match': '"nothing"' })).status).toBe(412);
    expect((await service.ask('DELETE', path, undefined, { 'if-match': headers.get('etag')! })).status).toBe(204);
    expect(await service.refusal('GET', path)).toMatchObject({ status: 404, code: 'RENDER_NOT_FOUND' });
    expect(await service.refusal('DELETE', path)).toMatchObject({ status: 404, code: 'RENDER_NOT_FOUND' });
  });

  test('that are cancelled leave no files', async () => {
    const submittedJobs = await Promise.all(
      Array.from({ length: 3 }, () =>
        service.ask<JobStatus>('POST', '/reports/render', { template_id: 'TEARSHEET-A4', index_id: 'RUN' }),
      ),
    );
    const lastJobId = submittedJobs.at(-1)!.body.job_id;
    const { status } = (await service.ask<JobStatus>('DELETE', `/jobs/${lastJobId}`)).body;
    expect(status).toBe('cancelled');
    for (const { body } of submittedJobs.slice(0, -1))
      expect((await service.waitForJob(body.job_id)).status).toBe('succeeded');
    expect(await service.refusal('GET', `/reports/renders/${lastJobId.slice('render:'.length)}`)).toMatchObject({
      status: 404,
      code: 'RENDER_NOT_FOUND',
    });
  });

  test('whose index is deleted meanwhile either complete or fail with its name', async () => {
    const submittedJobs = await Promise.all(
      Array.from({ length: 5 }, () =>
        service.ask<JobStatus>('POST', '/reports/render', { template_id: 'TEARSHEET-A4', index_id: 'GONE' }),
      ),
    );
    expect((await service.ask('DELETE', '/indices/GONE')).status).toBe(200);
    for (const { body } of submittedJobs) {
      const { status, error } = await service.waitForJob(body.job_id);
      expect([`${status} undefined`, 'failed INDEX_DELETED']).toContain(`${status} ${error?.code}`);
      expect(['succeeded', 'failed']).toContain(status);
    }
  });
});
