import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IndexDocument, StoredRuns } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the terms of a run', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('a benchmark is shown and typed in words, and the run gets its reference', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    const field = page.getByRole('combobox', { name: 'Benchmark' });
    await page.getByText('change', { exact: true }).click();
    await pollEventually(() => field.inputValue()).toBe('Index BROAD');
    const readTerm = () => JSON.parse(new URL(page.url()).searchParams.get('run') ?? '{}').benchmark;
    for (const [typed, reference] of [
      ['Security SPX', 'identifier:SPX'],
      ['index other', 'index:other'],
      ['SPX', 'SPX'],
    ] as const) {
      await field.fill(typed);
      await pollEventually(readTerm).toBe(reference);
    }
    // The id of a suggestion is enough.
    await field.fill('BROAD');
    await pollEventually(() => new URL(page.url()).searchParams.get('run')).toBe(null);
    const { body } = await desk.service.ask<IndexDocument>('GET', '/indices/CORE');
    await desk.service.ask('PUT', '/indices/FRESH', { ...body, id: 'FRESH' });
    const run = encodeURIComponent(JSON.stringify({ benchmark: 'index:BROAD' }));
    await follow(page, `/console/indices/FRESH?run=${run}`);
    await page.locator('.run-settings > summary').getByText('Benchmark BROAD').waitFor();
    await desk.service.ask('DELETE', '/indices/FRESH');
  });

  test('a series is suggested and shown as a series', async () => {
    const { page, service } = desk;
    // The synthetic market has no series.
    await page.route('**/data/series', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), series: [{ identifier: 'RATE' }] } });
    });
    const run = encodeURIComponent(JSON.stringify({ benchmark: 'identifier:RATE' }));
    await page.goto(`${service.url()}/console/indices/CORE?run=${run}`);
    const field = page.getByRole('combobox', { name: 'Benchmark' });
    await pollEventually(() => field.inputValue()).toBe('Series RATE');
    const suggestions = page.locator(`datalist#${await field.getAttribute('list')} option`);
    await pollEventually(() =>
      suggestions.evaluateAll((options) => options.map((option) => option.getAttribute('value'))),
    ).toEqual(['Index BROAD', 'Series RATE']);
    await field.fill('Index BROAD');
    await field.fill('series RATE');
    await pollEventually(() => new URL(page.url()).searchParams.get('run')).toContain('identifier:RATE');
  });

  test('the form states the latest and the next run, has its own button, and folds the rare terms', async () => {
    const { page, service } = desk;
    const terms = { benchmark: 'index:BROAD', transaction_cost_bps: 30, as_known: 'decision' };
    await page.goto(`${service.url()}/console/indices/CORE?run=${encodeURIComponent(JSON.stringify(terms))}`);
    const settings = page.locator('details.run-settings');
    await settings.getByText(/^Latest run: .*Transaction cost 10 bp/).waitFor();
    await settings
      .getByText(/^Next run: .*Transaction cost 30 bp · Data of each rebalance as known on its decision date/)
      .waitFor();
    await settings.getByText('Until then, all figures of this page are of the latest run.').waitFor();
    // A rare term with a value is visible.
    await settings.getByLabel('Data of each rebalance').waitFor();
    await settings.getByRole('button', { name: 'Discard' }).click();
    await pollEventually(() => new URL(page.url()).searchParams.get('run')).toBe(null);
    await settings.getByText('change', { exact: true }).click();
    const cost = settings.getByLabel('Transaction cost');
    await pollEventually(() => cost.inputValue()).toBe('10');
    await pollEventually(() => settings.getByLabel('Data version').isVisible()).toBe(false);
    await cost.fill('20');
    await settings.getByRole('button', { name: 'Run with these terms' }).click();
    await page.getByText('Benchmark BROAD · Transaction cost 20 bp').waitFor();
    await pollEventually(() => new URL(page.url()).searchParams.has('run')).toBe(false);
  });

  test('two of the runs are ticked and compared, by default the last two', async () => {
    const { page, service } = desk;
    const run = async (costBps: number) => {
      await service.ask('POST', '/analytics/BROAD/backtest', { transaction_cost_bps: costBps });
      await service.waitForJob('backtest:BROAD');
    };
    await run(5);
    await run(10);
    await follow(page, '/console/indices/BROAD?tab=runs');
    const grid = page.getByRole('grid', { name: 'runs of BROAD' });
    const boxes = grid.getByRole('row').getByRole('checkbox');
    const listTicks = async () => Promise.all((await boxes.all()).map((box) => box.isChecked()));
    await pollEventually(listTicks).toEqual([true, true, false]);
    const sides = grid.locator('[data-column="compared"]').filter({ hasText: /earlier|later/ });
    await pollEventually(async () => (await sides.allTextContents()).map((text) => text.split(' ')[0])).toEqual([
      'later',
      'earlier',
    ]);
    // A third tick replaces the first of the two.
    await boxes.nth(2).click();
    await pollEventually(listTicks).toEqual([true, false, true]);
    const figures = page.getByLabel('Figures of the compared runs');
    const { body } = await service.ask<StoredRuns>('GET', '/analytics/BROAD/runs');
    const returns = [2, 0].map((at) => `${(100 * body.runs[at]!.metrics!.total_return!).toFixed(2)}%`);
    await figures.getByText(returns.join(' → ')).waitFor();
    await boxes.nth(0).click();
    await page.getByText('Tick a second run in the table above.').waitFor();
    expect(await listTicks()).toEqual([false, false, true]);
  });
});
