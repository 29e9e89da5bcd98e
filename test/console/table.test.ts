import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DataVersions, IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('tables', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    const { service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/FUND-1', { ...core, id: 'FUND-1', tags: ['pilot', 'equity'] });
    await service.ask('PUT', '/indices/FUND-2', { ...core, id: 'FUND-2', tags: ['pilot', 'income'] });
    await service.ask('PUT', '/indices/BROAD', { ...core, id: 'BROAD', name: 'Broad' });
    await desk.page.goto(service.url());
  });
  afterAll(() => desk?.close());

  const groupBy = async (table: string, column: string) => {
    const { page } = desk;
    await page.getByRole('button', { name: `Columns of ${table}` }).click();
    await page.getByLabel('Group by').selectOption(column);
    await page.keyboard.press('Escape');
  };

  test('an index is listed below each of its tags, and an index without tags below the group No tags', async () => {
    const { page } = desk;
    await follow(page, '/');
    await groupBy('indices', 'Tags');
    const listRows = async () =>
      (await page.locator('.table-rows .table-row').allTextContents()).map(
        (text) => /(pilot|equity|income|No tags) \d+ rows?|CORE|BROAD|FUND-\d/.exec(text)?.[0],
      );
    await pollEventually(listRows).toEqual([
      'pilot 2 rows',
      'FUND-1',
      'FUND-2',
      'equity 1 row',
      'FUND-1',
      'income 1 row',
      'FUND-2',
      'No tags 2 rows',
      'BROAD',
      'CORE',
    ]);
    // Each index is one row of the list.
    await page.getByRole('status').filter({ hasText: '4 rows' }).waitFor();
    await groupBy('indices', 'nothing');
  });

  test('the checkbox of the header is mixed until all rows are selected', async () => {
    const { page } = desk;
    await follow(page, '/');
    const all = page.getByRole('checkbox', { name: 'Select all indices' });
    const readState = () =>
      all.evaluate((box: { checked: boolean; indeterminate: boolean }) =>
        box.indeterminate ? 'mixed' : String(box.checked),
      );
    await page.getByRole('checkbox', { name: 'CORE', exact: true }).check();
    await pollEventually(readState).toBe('mixed');
    await all.click();
    await pollEventually(readState).toBe('true');
    expect(await page.getByRole('checkbox', { name: 'FUND-2', exact: true }).isChecked()).toBe(true);
    // A search that finds only selected rows shows all of them as selected.
    await page.getByRole('checkbox', { name: 'FUND-2', exact: true }).uncheck();
    await pollEventually(readState).toBe('mixed');
    await page.getByRole('searchbox', { name: 'Search indices' }).fill('broad');
    await pollEventually(readState).toBe('true');
    await page.getByRole('searchbox', { name: 'Search indices' }).fill('');
    await pollEventually(readState).toBe('mixed');
    await all.click();
    await pollEventually(readState).toBe('true');
    await all.click();
    await pollEventually(readState).toBe('false');
  });

  test('the values below a table name their row', async () => {
    const page = await desk.newPage({ viewport: { width: 1000, height: 820 } });
    await page.goto(desk.service.url());
    await page.getByRole('row', { name: /^CORE/ }).focus();
    const details = page.getByLabel('Details of CORE, a row of indices');
    await details.getByRole('link', { name: 'CORE', exact: true }).waitFor();
    await page.close();
  });

  test('the button of the list states the indices that it runs by reason', async () => {
    const { page } = desk;
    await follow(page, '/');
    // The definition of BROAD changed, which is also the benchmark of CORE.
    const button = page.getByRole('button', { name: 'Run 2 stale and 2 new indices' });
    await button.waitFor();
    expect(await button.getAttribute('title')).toBe('Stale: BROAD, CORE. New: FUND-1, FUND-2');
    await page.getByRole('checkbox', { name: 'FUND-1', exact: true }).check();
    await page.getByRole('checkbox', { name: 'BROAD', exact: true }).check();
    await page.getByRole('button', { name: 'Run 1 stale and 1 new index' }).waitFor();
  });

  test('the title of a group ends where the first sum begins, also if the column of the sum is first', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?tab=constituents');
    await groupBy('constituents of CORE', 'Sector');
    const group = page.locator('.table-row.is-group').first();
    const measure = async () => {
      const title = (await group.locator('.table-group').boundingBox())!;
      const sum = (await group.locator('[data-column=weight]').boundingBox())!;
      return { gap: sum.x - title.x - title.width, isFirst: sum.x + sum.width <= title.x };
    };
    await pollEventually(async () => (await measure()).gap).toBeGreaterThanOrEqual(0);
    await page.getByRole('button', { name: 'Columns of constituents of CORE' }).click();
    await page.getByRole('button', { name: 'Pin Weight' }).click();
    await page.keyboard.press('Escape');
    await pollEventually(async () => (await measure()).isFirst).toBe(true);
    expect(await group.locator('[data-column=weight]').textContent()).toMatch(/^\d+\.\d+%$/);
  });

  test('names of securities and terms of a run have an outline until they are read', async () => {
    const { page, service } = desk;
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isDelayed = ({ pathname }: URL) => pathname.startsWith('/data/reference') || pathname.endsWith('/runs');
    await page.route(isDelayed, (route) => gate.then(() => route.continue()));
    await page.goto(`${service.url()}/console/indices/CORE?tab=constituents`);
    await page.locator('.run-settings .skeleton').waitFor();
    const outlines = page.getByRole('grid', { name: 'constituents of CORE' }).locator('.skeleton');
    await outlines.first().waitFor();
    release();
    await pollEventually(() => outlines.count()).toBe(0);
    await page.locator('details.run-settings').getByText('change', { exact: true }).waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('the reason of a version of the data is shown in full', async () => {
    const { service } = desk;
    const page = await desk.newPage({ viewport: { width: 1440, height: 900 } });
    const note =
      'Override by local: the vendor confirmed a wrong close of the opening auction and sent a correction of it to all of its subscribers';
    await page.route('**/data/stores/market/versions*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as DataVersions;
      await route.fulfill({ json: { ...body, versions: body.versions.map((version) => ({ ...version, note })) } });
    });
    await page.goto(`${service.url()}/console/data/stores/market?tab=versions`);
    const reason = page.getByRole('gridcell', { name: note });
    await reason.waitFor();
    await pollEventually(() => reason.evaluate((cell) => cell.scrollHeight - cell.clientHeight)).toBe(0);
    await page.close();
  });
});
