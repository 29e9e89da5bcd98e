import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DataAudit } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('state of a data store', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('the first page states that the store is behind, and its figures share a line', async () => {
    const { page } = desk;
    await follow(page, '/');
    // The market ends long before the current day: a run is up to date only with its store.
    const badge = page.getByRole('row', { name: /^CORE/ }).getByText('store behind', { exact: true });
    await badge.and(page.locator('.badge.warning')).waitFor();
    expect(await badge.getAttribute('title')).toMatch(/^up to date with the store, which is \d+ sessions behind$/);
    const paddings = await badge.evaluate((element) => {
      const { paddingLeft, paddingRight } = element.ownerDocument.defaultView!.getComputedStyle(element);
      return [paddingLeft, paddingRight];
    });
    expect(paddings).toEqual(['6px', '6px']);
    const served = page.getByRole('region', { name: 'Served market' });
    await served.getByText(/^\d+ sessions behind$/).waitFor();
    await page.setViewportSize({ width: 1440, height: 900 });
    const findTextCentre = (selector: string) =>
      page.evaluate<number>(`(() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector('${selector}'));
        const { top, bottom } = range.getBoundingClientRect();
        return (top + bottom) / 2;
      })()`);
    await served.locator('summary').first().waitFor();
    const readDistance = async () => (await findTextCentre('.served summary')) - (await findTextCentre('.served dt'));
    await pollEventually(async () => Math.abs(await readDistance())).toBeLessThan(1);
  });

  test('the address /console/ is the first page, and another unknown address leads to it', async () => {
    const { page, service } = desk;
    await page.goto(`${service.url()}/console/`);
    await page.getByRole('heading', { name: 'Indices', exact: true }).first().waitFor();
    await follow(page, '/console/nowhere');
    await page.getByRole('heading', { name: '/console/nowhere' }).waitFor();
    await page.getByRole('link', { name: 'All indices' }).click();
    await pollEventually(() => new URL(page.url()).pathname).toBe('/');
  });

  test('the page of a store counts the warnings of its audit and of its last read as its tables do', async () => {
    const { page, complaints } = desk;
    await follow(page, '/console/data/stores/market');
    const read = page.getByRole('region', { name: 'Warnings of the last read' });
    const rows = read.getByText('warning', { exact: true });
    await rows.first().waitFor();
    const count = await rows.count();
    const tile = page.getByLabel('Contents of the store').locator('div', { hasText: 'Audit warnings' });
    await tile.getByText(`${count} warnings of the last read, below`).waitFor();
    await read.getByText(`${count} warnings, read`, { exact: false }).waitFor();
    // Warnings about securities that the audit does not list are marked.
    const { doubts: listed } = (await desk.service.ask<DataAudit>('GET', '/data/stores/market/audit')).body;
    const securities = await read.locator('tbody td:nth-child(3)').allTextContents();
    const dismissed = securities.filter((row) => !listed.some(({ identifier }) => row.startsWith(`${identifier} `)));
    await pollEventually(() => read.getByText('Dismissed by the audit.').count()).toBe(dismissed.length);
    const audited = await tile.getByRole('link').textContent();
    for (const name of ['Refresh all values', 'Add later dates']) await page.getByRole('button', { name }).waitFor();
    await tile.getByRole('link').click();
    await page.getByText(`${audited} warnings, `, { exact: false }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('the chart of a warning names the day that it marks and links to the prices around it', async () => {
    const { page, service } = desk;
    await follow(page, '/console/data/stores/market?tab=doubts');
    const link = page.getByRole('link', { name: /^Open \w+ around this day$/ });
    await link.waitFor();
    await page.getByRole('heading', { name: /^\w+ on \d{4}-\d\d-\d\d$/ }).waitFor();
    await page.getByRole('link', { name: 'Import the correct price' }).waitFor();
    await page.getByText(/The last read reported \d+ large changes? of a close; the audit keeps/).waitFor();
    const { body } = await service.ask<DataAudit>('GET', '/data/stores/market/audit');
    const address = new URL((await link.getAttribute('href'))!, service.url());
    const [from, to] = ['from', 'to'].map((name) => address.searchParams.get(name)!);
    const marked = body.doubts.filter(
      ({ identifier, date }) => address.pathname === `/console/names/${identifier}` && from! < date && date < to!,
    );
    expect(marked.length).toBeGreaterThan(0);
    await link.click();
    await pollEventually(() => new URL(page.url()).searchParams.get('from')).toBe(from);
  });
});
