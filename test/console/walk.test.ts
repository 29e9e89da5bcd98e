import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runService, type RunningService } from '../services/running-service.js';
import { openBrowser, whyNone } from './browser.js';

const why = await whyNone();
if (why !== null) process.stderr.write(`The console is not walked through: ${why}\n`);

test('it can be left away', async () => {
  const service = await runService(['--console', 'off']);
  const headers = { accept: 'text/html' };
  const answers = await Promise.all(['/', '/console/jobs'].map((path) => service.download(path, { headers })));
  expect(answers.map(({ status }) => status)).toEqual([404, 404]);
  await service.close();
});

describe.skipIf(why !== null)('the console', () => {
  let service: RunningService;
  let browser: Browser;
  let page: Page;
  /** What the browser complained of: errors of scripts, and everything its policy stopped. */
  const complaints: string[] = [];

  beforeAll(async () => {
    [service, browser] = await Promise.all([runService(), openBrowser()]);
    page = await browser.newPage({ viewport: { width: 1280, height: 820 }, locale: 'en-GB' });
    page.on('pageerror', (failure) => complaints.push(String(failure)));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await service?.close();
  });

  test('an empty service offers ways to a market, and one click makes one', async () => {
    await page.goto(service.url());
    await page.getByRole('heading', { name: 'Bring a market' }).waitFor();
    expect(await page.getByRole('article').count()).toBe(3);
    await page.getByRole('button', { name: 'Generate' }).click();
    await page.getByLabel('Market served').getByText('161').waitFor();
    expect(complaints).toEqual([]);
  });

  test('an index is run by a click, and every part of it shows what the API answers', async () => {
    const index = { id: 'CORE', name: 'Core', calendar: 'XNYS', base_date: '2019-01-02' };
    const selection = [{ id: 'largest', type: 'TopN', params: { count: 30 } }];
    await service.ask('PUT', '/indices/CORE', {
      ...index,
      pipeline: { selection, weighting: { type: 'MarketCapWeight', cap: 0.05 } },
    });
    await page.goto(service.url());
    await page.getByRole('button', { name: 'Run CORE' }).click();
    await page.getByText('up to date').waitFor();
    await page.getByRole('row', { name: /CORE/ }).click();
    await page.getByRole('application', { name: /Level of CORE/ }).waitFor();
    const { body } = await service.ask<{ metrics: { total_return: number } }>('GET', '/analytics/CORE/overview');
    const shown = await page.getByLabel(/^Figures from/).textContent();
    expect(shown).toContain(`${(100 * body.metrics.total_return).toFixed(2)}%`);
    for (const [part, there] of [
      ['Constituents', 'Effective'],
      ['Weights', 'Largest names'],
      ['Attribution', 'Steps to the total'],
      ['Risk', 'Does everything add up?'],
      ['Rebalances', 'Turnover'],
      ['Methodology', 'Definition'],
    ] as const) {
      await page.getByRole('link', { name: part, exact: true }).click();
      await page.getByText(there).first().waitFor();
    }
    await page.goBack();
    await page.getByText('Turnover').waitFor();
    expect(complaints).toEqual([]);
  });
});
