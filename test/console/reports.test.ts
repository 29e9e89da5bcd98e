import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JobStatus, RenderResult } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Tests the states and the pages of reports. */
describe.skipIf('why' in browserFailure)('reports', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('reports are compared with the latest run of each index, and rendered from the list', async () => {
    const { page, service } = desk;
    await follow(page, '/console/reports');
    const table = page.getByRole('table', { name: 'reports by index' });
    await table.getByRole('row', { name: /^CORE none/ }).waitFor();
    await page.getByRole('button', { name: 'Render CORE', exact: true }).click();
    // The report has its own page, without the other reports.
    await page.getByRole('heading', { name: /^Factsheet of CORE/, level: 1 }).waitFor();
    expect(await page.getByRole('heading', { name: 'Rendered', exact: true }).count()).toBe(0);
    await page.getByRole('navigation').getByRole('link', { name: 'Reports', exact: true }).first().click();
    await table.getByRole('row', { name: /^CORE current/ }).waitFor();
    // The card has the same state, and a picture of the first page.
    const card = page.getByRole('list', { name: 'Rendered reports' }).getByRole('listitem').first();
    await card.getByText('current', { exact: true }).waitFor();
    await card.locator('[data-state=drawn]').waitFor();
    await table.getByRole('row', { name: /^BROAD none/ }).waitFor();
    // Indices with a report come first.
    expect(await table.getByRole('row').nth(1).textContent()).toMatch(/^CORE/);
    // After another run, the report is out of date, and its page renders it again.
    await service.ask('POST', '/analytics/CORE/backtest', {
      transaction_cost_bps: 10,
      benchmark: { kind: 'index', id: 'BROAD' },
    });
    await service.waitForJob('backtest:CORE');
    await card.getByText('out of date', { exact: true }).waitFor();
    await table.getByRole('row', { name: /^CORE out of date/ }).waitFor();
    await card.getByRole('link', { name: /^Open / }).click();
    await page.getByText('It is older than the latest run of CORE.').waitFor();
    await page.getByRole('button', { name: 'Render again' }).click();
    await page.getByText('This report is out of date').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: /^Factsheet of CORE/, level: 1 }).waitFor();
  });

  test('one button runs an index whose definition changed, then renders its report', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<{ readonly updated_at: string }>('GET', '/indices/CORE');
    const { created_at: _created, updated_at: _updated, ...document } = core as Record<string, unknown>;
    const { body } = await service.ask<JobStatus>('POST', '/reports/render', {
      template_id: 'FACTSHEET-A4',
      index_id: 'CORE',
    });
    const { render_id: id } = (await service.waitForJob(body.job_id)).result as RenderResult;
    expect((await service.ask('PUT', '/indices/CORE', { ...document, base_value: 500 })).status).toBe(200);
    await follow(page, `/console/reports?render=${id}`);
    await page.getByText('The latest run of CORE is out of date.', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Run and render again' }).click();
    await page.waitForURL((url) => !url.search.includes(id));
    await page.getByText('Template FACTSHEET-A4').waitFor();
    await pollEventually(() => page.getByText('This report is out of date').count()).toBe(0);
  });

  test('a card of a report states its template and dates, and a template is rendered from its card', async () => {
    const { page } = desk;
    await follow(page, '/console/reports');
    const card = page.getByRole('list', { name: 'Rendered reports' }).getByRole('listitem').first();
    await card.getByText('CORE, FACTSHEET-A4', { exact: true }).waitFor();
    await card.getByText(/^Data to \d{4}-/).waitFor();
    await card.getByText(/^Rendered \d{4}-/).waitFor();
    await page.getByLabel('Figures of the reports').getByText('Indices out of date').waitFor();
    await page.getByRole('link', { name: 'Edit a copy of TEARSHEET-A4' }).waitFor();
    await page.getByRole('button', { name: /^Render TEARSHEET-A4 of / }).click();
    await page.getByText('Template TEARSHEET-A4').waitFor();
  });

  test('an open report states its index and date, and draws its pages near the window without a PDF viewer', async () => {
    const { page, service, complaints } = desk;
    const { body } = await service.ask<JobStatus>('POST', '/reports/render', {
      template_id: 'FACTSHEET-A4',
      index_ids: ['CORE', 'BROAD'],
    });
    const result = (await service.waitForJob(body.job_id)).result as RenderResult;
    const { body: overview } = await service.ask<{ readonly end: string }>('GET', '/analytics/CORE/overview');
    const { headers } = await service.download(`/reports/renders/${result.render_id}`);
    expect(headers.get('content-disposition')).toContain(`"FACTSHEET-A4-CORE-and-1-more-${overview.end}.pdf"`);
    await follow(page, `/console/reports?render=${result.render_id}`);
    await page.getByRole('heading', { name: `Factsheet of CORE and BROAD, ${overview.end}`, level: 1 }).waitFor();
    await page
      .getByRole('status')
      .filter({ hasText: `Page 1 of ${result.pages}` })
      .waitFor();
    const first = page.getByRole('listitem', { name: `Page 1 of ${result.pages}` });
    const canvas = first.locator('canvas[data-drawn=true]');
    await canvas.waitFor();
    await pollEventually(() => first.getAttribute('aria-busy')).toBe('false');
    const inkShare = await page.evaluate<number>(`(() => {
      const canvas = document.querySelector('main canvas[data-drawn=true]');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let dark = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] + data[i + 1] + data[i + 2] < 192) dark++;
      return (4 * dark) / data.length;
    })()`);
    // Text and lines cover a small part of the page.
    expect([inkShare > 0.002, inkShare < 0.5]).toEqual([true, true]);
    await first.getByText(`As of ${overview.end}`).waitFor();
    // The first page begins in the upper third of the window, and the last page is drawn only after scrolling.
    expect((await canvas.boundingBox())!.y).toBeLessThan(820 / 3);
    expect(result.pages).toBeGreaterThan(2);
    const last = page.getByRole('listitem', { name: `Page ${result.pages} of ${result.pages}` });
    expect(await last.locator('canvas').count()).toBe(0);
    expect(await last.getAttribute('aria-busy')).toBe('false');
    await last.scrollIntoViewIfNeeded();
    await last.locator('canvas[data-drawn=true]').waitFor();
    expect(complaints).toEqual([]);
  });
});
