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
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (failure) => complaints.push(String(failure)));
    page.on('console', (message) => {
      // A refusal of the service is told in the page, and by the browser too.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text());
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

  test('an index is designed in forms: findings at their field, weights beside it, saved by a click', async () => {
    await page.getByRole('link', { name: 'New index' }).first().click();
    await page.getByLabel('Id *', { exact: true }).fill('CORE index');
    await page.getByText('it is "CORE index"').first().waitFor();
    expect(await page.getByLabel('Id *', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Id *', { exact: true }).fill('CORE');
    await page.getByLabel('Add a rule').selectOption('TopN');
    await page.getByText('The parameter count is required.').first().waitFor();
    await page.getByLabel('Count *').fill('30');
    await page.getByLabel('Add a rule').selectOption('HistoryFilter');
    const funnel = page.getByLabel('What the definition comes to').getByRole('button', { name: /history-filter/ });
    await funnel.waitFor();
    await page.getByRole('button', { name: 'Move history-filter up' }).click();
    await page.getByRole('button', { name: /^top-n TopN 30/ }).waitFor();
    await page.getByRole('radio', { name: 'JSON' }).check();
    const json = page.getByLabel('Definition as JSON');
    const document = JSON.parse(await json.inputValue()) as { pipeline: { selection: { type: string }[] } };
    expect(document.pipeline.selection.map(({ type }) => type)).toEqual(['HistoryFilter', 'TopN']);
    await json.fill(JSON.stringify({ ...document, name: 'Core' }));
    await expect.poll(() => page.getByLabel('Name *').inputValue()).toBe('Core');
    await page.getByRole('button', { name: 'Save the index' }).click();
    await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
    const stored = await service.ask<{ name: string }>('GET', '/indices/CORE');
    expect([stored.status, stored.body.name]).toEqual([200, 'Core']);
    expect(complaints).toEqual([]);
  });

  test('of two editors of one index the second is shown what the first has saved', async () => {
    const other = await browser.newPage({ locale: 'en-GB' });
    for (const editor of [page, other]) {
      await editor.goto(`${service.url()}/console/indices/CORE/edit`);
      await editor.getByLabel('Name *').waitFor();
    }
    await other.getByLabel('Base value').fill('500');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByRole('heading', { name: 'Not run yet' }).waitFor();
    await page.getByLabel('Name *').fill('Mine');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Another version was saved').waitFor();
    expect(await page.getByRole('row', { name: /base_value 500 1000 them/ }).count()).toBe(1);
    expect(await page.getByRole('row', { name: /name Core Mine you/ }).count()).toBe(1);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await expect.poll(() => page.getByLabel('Base value').inputValue()).toBe('500');
    await other.close();
    expect(complaints).toEqual([]);
  });

  test('an index is run by a click, and every part of it shows what the API answers', async () => {
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
    await page.getByRole('columnheader', { name: 'Turnover' }).waitFor();
    await page.getByRole('row').nth(1).click();
    await page.getByRole('heading', { name: 'Before and after' }).waitFor();
    const path = new URL(page.url()).pathname.replace('/console/indices/CORE', '');
    const rebalance = await service.ask<{ constituents: number }>('GET', `/analytics/CORE${path}`);
    expect(await page.getByLabel('Figures of the rebalance').textContent()).toContain(
      `Constituents${rebalance.body.constituents}`,
    );
    await page.getByRole('button', { name: /^Universe/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('rows that cannot hold together are told with what mends them, and a click does; then an index is derived', async () => {
    await page.getByRole('link', { name: 'Optimise' }).first().click();
    await page.getByLabel('Add a constraint').selectOption('PositionBounds');
    await page.getByLabel('Upper').fill('0.01');
    await page.getByText('cannot hold together').waitFor();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByLabel('Figures of the solution').waitFor();
    expect(Number(await page.getByLabel('Upper').inputValue())).toBeGreaterThan(0.01);
    await page.getByRole('button', { name: 'Derive' }).click();
    await page.getByRole('button', { name: 'Run CORE-OPT' }).click();
    await page.getByLabel(/^Figures from/).waitFor();
    await page.goBack();
    await page.getByLabel('Add a constraint').selectOption('PositionBounds');
    await page.getByLabel('Upper').fill('0.05');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('heading', { name: 'Efficient frontier' }).waitFor();
    await page.getByRole('button', { name: /^Point 3:/ }).press('Enter');
    await page.getByRole('heading', { name: 'Point 3 of' }).waitFor();
    const run = page.url().split('/').at(-1);
    const { body } = await service.ask<{ tracking_error: number }>('GET', `/optimise/runs/${run}`);
    expect(await page.getByLabel('Figures of the optimisation').textContent()).toContain(
      `${(100 * body.tracking_error).toFixed(2)}%`,
    );
    expect(complaints).toEqual([]);
  });

  test('runs are compared on their common dates, and variants swept over a parameter', async () => {
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByRole('row', { name: /^CORE-OPT/ }).waitFor();
    await page.getByRole('link', { name: 'Sweeps' }).click();
    await page.getByLabel('Vary a parameter').selectOption('/document/pipeline/weighting/cap');
    await page.getByRole('textbox', { name: 'weighting: cap' }).fill('0.05, 0.1, 1');
    await page.getByRole('button', { name: 'Run 3 variants' }).click();
    await page.getByRole('heading', { name: 'Ranking' }).waitFor();
    const id = page.url().split('/').at(-1);
    const { body } = await service.ask<{ result: { rows: { patch: object }[] } }>('GET', `/jobs/sweep:${id}`);
    const best = Object.values(body.result.rows[0]!.patch)[0];
    await page.getByRole('row', { name: new RegExp(`^1 ${best} `) }).waitFor();
    expect(complaints).toEqual([]);
  });
});
