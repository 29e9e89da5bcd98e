import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { eventually, follow, WAIT_MS, type Desk } from './desk.js';
import { importPrices, openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const tried = await tryBrowser();

/** What somebody at a desk does in a day; each test begins at an address. */
describe.skipIf('why' in tried)('at a desk', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in tried)) return;
    desk = await openStockedDesk(tried.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('the way back leads from a range of dates to the one before, and not off the page', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    const from = page.getByLabel('From', { exact: true });
    await from.waitFor();
    const whole = await from.inputValue();
    await page.getByRole('button', { name: '3Y' }).click();
    await eventually(() => from.inputValue()).not.toBe(whole);
    const three = await from.inputValue();
    await page.getByRole('button', { name: '1Y', exact: true }).click();
    await eventually(() => from.inputValue()).not.toBe(three);
    await page.goBack();
    await eventually(() => from.inputValue()).toBe(three);
    await page.goBack();
    await eventually(() => from.inputValue()).toBe(whole);
    expect(new URL(page.url()).pathname).toBe('/console/indices/CORE');
  });

  test('on paper a page has its content, all rows of its tables and white ground, and nothing to click', async () => {
    const page = await desk.newPage({ colorScheme: 'dark' });
    await page.goto(`${desk.service.url()}/console/indices/CORE?tab=rebalances`);
    const rows = page.getByRole('grid').locator('[data-at]');
    await rows.first().waitFor();
    const all = Number(await page.getByRole('grid').getAttribute('aria-rowcount')) - 1;
    expect(await rows.count()).toBeLessThan(all + 1);
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    await page.emulateMedia({ media: 'print' });
    expect(await rows.count()).toBe(all);
    expect(await page.locator('html').getAttribute('data-theme')).toBe('light');
    const table = page.getByRole('grid');
    expect(await table.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThanOrEqual(1);
    for (const hidden of ['.rail', '.top-bar', '.page-actions', '.tabs a:not([aria-current])'])
      expect(await page.locator(hidden).first().isVisible()).toBe(false);
    await page.getByText(/Divisor · market to .* printed/).waitFor();
    await page.emulateMedia({ media: 'screen' });
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.close();
  });

  test('parts of a page that have no room are in a menu, with the open one in sight', async () => {
    const page = await desk.newPage({ viewport: { width: 390, height: 800 } });
    await page.goto(`${desk.service.url()}/console/indices/CORE?tab=runs`);
    const tabs = page.getByRole('navigation', { name: 'Parts of CORE' });
    await tabs.getByRole('link', { name: 'Runs', exact: true }).waitFor();
    for (const part of await tabs.locator(':scope > *').all()) {
      const box = await part.boundingBox();
      expect(box!.x + box!.width).toBeLessThanOrEqual(390);
    }
    await tabs.getByText('More').click();
    await tabs.getByRole('link', { name: 'Risk', exact: true }).click();
    await page.getByText('Identities').first().waitFor();
    expect(await tabs.getByRole('link', { name: 'Risk', exact: true }).isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await page.close();
  });

  test('an index is no benchmark of itself, and each tracking error says which one it is', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    await page.getByLabel(/^Figures from/).getByText('Realised tracking error to BROAD').waitFor();
    await page.getByText('change', { exact: true }).click();
    const list = await page.getByRole('combobox', { name: 'Benchmark' }).getAttribute('list');
    const options = await page.locator(`datalist[id="${list}"] option`).evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    expect(options).toContain('index:BROAD');
    expect(options).not.toContain('index:CORE');
  });

  test('a field that nobody edited yet is not wrong; a datapoint takes the case of the store, and the nearest one is offered', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/new');
    await page.getByLabel('Add a rule').selectOption('TopN');
    await page.getByText('to fill in', { exact: true }).waitFor();
    const count = page.getByLabel('Count *');
    expect(await count.getAttribute('aria-invalid')).toBe('false');
    await count.focus();
    await count.blur();
    await eventually(() => count.getAttribute('aria-invalid')).toBe('true');
    await count.fill('10');
    const field = page.getByLabel('Field', { exact: true });
    await field.fill('rank(close) * momentum');
    await field.blur();
    await eventually(() => field.inputValue()).toBe('rank(CLOSE) * MOMENTUM');
    await field.fill('MARKETCP');
    await page.getByRole('button', { name: 'MARKET_CAP', exact: true }).click();
    await eventually(() => field.inputValue()).toBe('MARKET_CAP');
    await page.getByRole('button', { name: 'Discard changes' }).click();
  });

  test('a run of an optimisation is of the date of its preview', async () => {
    const { page } = desk;
    await follow(page, '/console/optimise?index=CORE&on=2020-06-30');
    await page.getByLabel('Figures of the solution').waitFor();
    const [request] = await Promise.all([
      page.waitForRequest('**/optimise/runs'),
      page.getByRole('button', { name: 'Run', exact: true }).click(),
    ]);
    expect(request.postDataJSON()).toMatchObject({ index_id: 'CORE', as_of: '2020-06-30' });
    await page.waitForURL('**/console/optimise/runs/*');
  });

  test('numbers are never cut: their columns grow', async () => {
    const { page } = desk;
    await follow(page, '/');
    await page.getByRole('heading', { name: 'Served market' }).waitFor();
    await page.getByRole('row', { name: /^CORE/ }).waitFor();
    const cut = await page
      .locator('.table-cell.right')
      .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
    expect(cut).toBe(0);
  });

  test('a store of closes alone makes a valid first index, shown by securities; the run of another store says what it needs', async () => {
    const { page, service, complaints } = desk;
    await importPrices(desk, true);
    await page.goto(`${service.url()}/console/indices/new`);
    await page.getByLabel('Figures of the preview').waitFor();
    await page.getByRole('button', { name: 'Save the index' }).click();
    await page.getByRole('button', { name: /^Run INDEX-1/ }).click();
    await page.getByRole('application', { name: /Level of INDEX-1/ }).waitFor();
    const { body } = await service.ask<IndexDocument>('GET', '/indices/INDEX-1');
    expect(body.pipeline?.weighting.type).toBe('EqualWeight');
    await page.getByRole('link', { name: 'Weights', exact: true }).click();
    await page.getByRole('heading', { name: 'No column to group by' }).waitFor();
    await page.getByRole('application', { name: 'Largest constituents of INDEX-1' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await follow(page, '/console/indices/CORE?tab=weights');
    await page.getByRole('application', { name: 'Largest constituents of CORE' }).waitFor();
    await page.getByRole('button', { name: 'Serve market' }).first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
