import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { BacktestRunResult, IndexDocument, JobStatus } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the page of jobs', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('the panel of a backtest has its period, its return after costs and its rebalances', async () => {
    const { page, service } = desk;
    const { body: job } = await service.ask<JobStatus>('GET', '/jobs/backtest:CORE');
    const { level, rebalances_total: rebalances, findings } = job.result as BacktestRunResult;
    const { index: dates, data } = level;
    const change = (100 * (data.at(-1)! / data[0]! - 1)).toFixed(2);
    const warnings = findings.filter(({ severity }) => severity !== 'info');
    expect(rebalances).toBeGreaterThan(10);
    await follow(page, '/console/jobs?job=backtest:CORE');
    const result = page
      .getByRole('complementary', { name: 'Backtest CORE' })
      .getByRole('region', { name: 'Result', exact: true });
    const readFacts = async () => {
      const [terms, values] = await Promise.all(['dt', 'dd'].map((part) => result.locator(part).allTextContents()));
      return Object.fromEntries(terms!.map((term, k) => [term, values![k]]));
    };
    await pollEventually(readFacts).toMatchObject({
      Period: `${dates[0]} to ${dates.at(-1)}, ${dates.length.toLocaleString('en')} sessions`,
      'Total return after costs': change.startsWith('-') ? change.replace('-', '\u2212') + '%' : `+${change}%`,
      Rebalances: String(rebalances),
      Warnings: String(warnings.length),
    });
    await follow(page, '/console/jobs?job=generate:market');
    await page
      .getByRole('complementary', { name: /market/ })
      .getByRole('region', { name: 'Log' })
      .waitFor();
    expect(await result.count()).toBe(0); // other jobs have no result of a backtest
    await page.keyboard.press('Escape');
  });

  test('the list of jobs states its period, and names the index of a report that its template names', async () => {
    const { page, service } = desk;
    const template = { template_id: 'MONTH', name: 'Month', blocks: [{ kind: 'header', index_id: 'CORE' }] };
    expect((await service.ask('PUT', '/reports/templates/MONTH', template)).status).toBe(200);
    const { body } = await service.ask<JobStatus>('POST', '/reports/render', { template_id: 'MONTH' });
    await service.waitForJob(body.job_id);
    await follow(page, '/console/jobs');
    await page.getByRole('row', { name: /^Report CORE, MONTH / }).waitFor();
    await page.getByText(/^\d+ jobs since \d{4}-\d\d-\d\d \d\d:\d\d /).waitFor();
    // A report is scheduled from its template. The page lists the schedules that render it.
    await follow(page, '/console/reports/templates/MONTH');
    await page.getByText('No schedule renders this report.').waitFor();
    await page.getByRole('link', { name: 'Schedule this report' }).click();
    await page.getByLabel('Id *').fill('month-end');
    await page.getByLabel('Name *').fill('Month end');
    await pollEventually(() => page.getByLabel('Template *').inputValue()).toBe('MONTH');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Month end' }).waitFor();
    const { body: plan } = await service.ask('GET', '/schedules/month-end');
    expect(plan).toMatchObject({ indices: ['CORE'], steps: [{ type: 'run' }, { type: 'checks' }, { type: 'render' }] });
    await follow(page, '/console/schedules'); // the overview reads the same schedules with their days
    await page
      .getByRole('row', { name: /Month end/ })
      .first()
      .waitFor();
    await follow(page, '/console/reports/templates/MONTH');
    await page.getByRole('list', { name: 'Schedules of this report' }).getByText('Month end').waitFor();
    await service.ask('DELETE', '/schedules/month-end');
    await service.ask('DELETE', '/reports/templates/MONTH');
  });

  test('a failed job is retried from its row, and its panel shows the log of both attempts', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const pipeline = {
      selection: [{ id: 'expensive', type: 'PriceFilter', params: { minimum: 1e9 } }],
      weighting: { type: 'EqualWeight' },
    };
    await service.ask('PUT', '/indices/EMPTY', { ...core, id: 'EMPTY', pipeline });
    await service.ask('POST', '/analytics/EMPTY/backtest', {});
    const readAttempts = async () =>
      (await service.ask<{ status: string; attempt: number }>('GET', '/jobs/backtest:EMPTY')).body;
    await pollEventually(readAttempts).toMatchObject({ status: 'failed', attempt: 1 });
    await follow(page, '/console/jobs?state=failed');
    await page.getByRole('columnheader', { name: 'Cancel or retry' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Retry Backtest EMPTY' }).click();
    await pollEventually(readAttempts).toMatchObject({ status: 'failed', attempt: 2 });
    await follow(page, '/console/jobs?job=backtest:EMPTY');
    const log = page.getByRole('region', { name: 'Log' });
    await log
      .getByText(/^Attempt 1 failed/)
      .or(log.getByText(/Attempt 1 failed/))
      .first()
      .waitFor();
    await log.getByText(/Attempt 2 started/).waitFor();
    const panel = page.getByRole('complementary', { name: 'Backtest EMPTY' });
    await pollEventually(() => panel.locator('dt').allTextContents()).toEqual(
      expect.arrayContaining(['Submitted', 'Started', 'Duration']),
    );
    const { body: failedJob } = await service.ask<JobStatus>('GET', '/jobs/backtest:EMPTY');
    const detail = failedJob.error!.detail as { as_of: string; steps: readonly { remaining: number }[] };
    expect(detail.as_of <= core.base_date).toBe(true);
    expect(detail.steps.map(({ remaining }) => remaining)).toEqual([expect.any(Number), 0]);
    const selection = panel.getByRole('region', { name: 'Selection of constituents' });
    await selection.getByText(`on ${detail.as_of}`).waitFor();
    const universe = detail.steps[0]!.remaining;
    expect(universe).toBeGreaterThan(20);
    await selection.getByRole('button', { name: new RegExp(`^Price filter expensive 0 \u2212${universe}$`) }).waitFor();
    const link = panel.getByRole('link', { name: 'Edit the rule expensive' });
    expect(await link.getAttribute('href')).toContain('/console/indices/EMPTY/edit?at=pipeline.selection');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Backtest EMPTY' }).waitFor(); // failed jobs are above the list
    await follow(page, '/console/health');
    const endedJobs = page.getByRole('region', { name: 'Ended jobs' });
    await endedJobs.getByRole('link', { name: 'Backtest EMPTY' }).click();
    await panel.waitFor();
    await service.ask('DELETE', '/indices/EMPTY');
  });
});
