import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { importPrices, openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Tests that errors appear where their cause is: at a file, at a field, or once for a whole page. */
describe.skipIf('why' in browserFailure)('errors at their cause', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('an import states for each file why it contains no prices', async () => {
    const { page } = desk;
    await follow(page, '/console/data/import');
    const createFile = (name: string, content: string | Buffer) => ({
      name,
      mimeType: 'text/csv',
      buffer: Buffer.from(content),
    });
    await page
      .locator('input[type=file]')
      .setInputFiles([
        createFile('vendor.csv', 'foo,bar\n1,2\n'),
        createFile('empty.csv', ''),
        createFile('picture.csv', Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 0x1a, 10, 0, 0, 0, 13])),
      ]);
    const chosenFiles = page.getByRole('list', { name: 'Files to import' }).getByRole('listitem');
    const findReason = (file: string, reason: string) => chosenFiles.filter({ hasText: file }).getByText(reason);
    await findReason('vendor.csv', 'The columns are foo and bar. Columns with the date, the identifier and').waitFor();
    await findReason('empty.csv', 'The file is empty.').waitFor();
    await findReason('picture.csv', 'The file is not text.').waitFor();
  });

  test('a refused run shows the reason at the field, and the field for the store suggests the registered stores', async () => {
    const { page } = desk;
    for (const [terms, member, reason] of [
      [{ benchmark: 'identifier:NOPE' }, 'Benchmark', 'Benchmark: The data contains no identifier NOPE.'],
      [{ store_id: 'nope' }, 'Store', 'No data store is registered under the id nope.'],
      [{ start: '2050-01-01' }, 'Start', 'Start: The calendar XNYS covers'],
    ] as const) {
      await follow(page, '/console/indices');
      await follow(page, `/console/indices/CORE?run=${encodeURIComponent(JSON.stringify(terms))}`);
      const settings = page.locator('details.run-settings');
      await settings.getByLabel(member, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Run with these terms' }).click();
      const field = settings.locator('.field').filter({ has: page.getByLabel(member, { exact: true }) });
      await field.locator('.field-findings').getByText(reason).waitFor();
      // The reason is at the field only, and the button refers to it.
      await page.getByText('See the marked field.').waitFor();
      expect(await page.getByText(reason.replace(`${member}: `, '')).count()).toBe(1);
      await page.getByRole('button', { name: `Go to ${member}` }).click();
      await pollEventually(() =>
        field.getByLabel(member, { exact: true }).evaluate((input) => input === input.ownerDocument.activeElement),
      ).toBe(true);
    }
    const store = page.locator('details.run-settings').getByLabel('Store', { exact: true });
    const list = await store.getAttribute('list');
    await pollEventually(() => page.locator(`[id="${list}"] option`).count()).toBeGreaterThan(0);
  });

  test('a security of another store is reported once, with a link to that store', async () => {
    const { page } = desk;
    await importPrices(desk);
    await follow(page, '/console/names/A');
    await page.getByRole('link', { name: 'closes', exact: true }).waitFor();
    expect(await page.getByText(/does not hold A\./).count()).toBe(1);
    await page.getByRole('link', { name: 'closes', exact: true }).click();
    await page.getByRole('heading', { name: 'Prices' }).waitFor();
    expect(new URL(page.url()).searchParams.get('store')).toBe('closes');
  });

  test('data that the store of a template lacks is reported once in the list and once at each field', async () => {
    const { page, service } = desk;
    await importPrices(desk);
    await service.ask('POST', '/data/stores/closes/activate');
    await service.waitForJob('load:closes');
    await follow(page, '/console/indices/new?template=commodity-roll&id=ROLL-1');
    const preview = page.getByRole('complementary', { name: 'Preview' });
    await preview.getByText('The findings above prevent a preview.').waitFor();
    const lack = 'The store has no PRODUCTION_WEIGHT.';
    expect(await preview.getByText(lack).count()).toBe(1);
    await page.goto(`${service.url()}/console/indices/new?template=fixed-count-600&id=LARGE-1`);
    const field = page.locator('.field').filter({ has: page.getByLabel('Field', { exact: true }) });
    await field.locator('mark').waitFor();
    await pollEventually(() => field.getByText('The store has no MARKET_CAP').count()).toBe(1);
    await service.ask('POST', '/data/stores/market/activate');
    await service.waitForJob('load:market');
  });

  test('a new index with the id of a stored index has an error at its id, and only there', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/new');
    const id = page.getByLabel('Id *');
    await id.fill('CORE');
    const reason = page.getByText('An index is already stored under the id CORE; a new index needs a different id.');
    await reason.waitFor();
    expect(await reason.count()).toBe(1);
    await pollEventually(() => page.getByRole('button', { name: 'Save the index' }).isDisabled()).toBe(true);
    await id.fill('CORE-2');
    await reason.waitFor({ state: 'detached' });
    await pollEventually(() => page.getByRole('button', { name: 'Save the index' }).isDisabled()).toBe(false);
  });

  test('indices whose data store is missing state this and are not offered to run', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const synthetic = { store_id: 'gone', name: 'Gone', seed: 7, assets: 30, start: '2014-01-01', activate: false };
    await service.ask('POST', '/data/synthetic', synthetic);
    await service.waitForJob('generate:gone');
    for (const id of ['LOST-A', 'LOST-B']) {
      await service.ask('PUT', `/indices/${id}`, { ...core, id, store_id: 'gone' });
      await service.ask('POST', `/analytics/${id}/backtest`, {});
      await service.waitForJob(`backtest:${id}`);
    }
    await service.ask('DELETE', '/data/stores/gone');
    await page.goto(`${service.url()}/`);
    const grid = page.getByRole('grid', { name: 'indices' });
    const badge = grid.getByText('store missing');
    await badge.first().waitFor();
    await pollEventually(() => badge.count()).toBe(2);
    expect(await badge.first().getAttribute('title')).toContain('The store gone of the index');
    await grid.getByRole('row', { name: /BROAD/ }).waitFor();
    expect(await page.getByRole('button', { name: /^Run \d+ stale/ }).count()).toBe(0);
  });
});
