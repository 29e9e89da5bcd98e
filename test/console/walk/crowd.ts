import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { pollEventually, follow, type Desk } from '../desk.js';

const NAMES = 3000;
/** Number of tabs. It is more than the six connections that browsers open to a host. */
const TABS = 7;
const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
const HOSTILE = '<img src=x onerror=alert(1)>';
const FORMULA = '=HYPERLINK("http://example.org","x")';

/**
 * Identifiers of three thousand securities. The first identifier is a script. The name of the first security is a
 * formula.
 */
const identifiers = [HOSTILE, ...Array.from({ length: NAMES - 1 }, (_, n) => `N${String(n).padStart(4, '0')}`)];

const tables = {
  market: {
    index: Array.from({ length: NAMES * DAYS.length }, (_, i) => i),
    columns: ['identifier', 'date', 'CLOSE'],
    data: DAYS.flatMap((day, t) => identifiers.map((name, n) => [name, day, 10 + (n % 50) + 0.01 * t * (n % 7)])),
  },
  reference: {
    index: [0],
    columns: ['identifier', 'NAME', 'SECTOR'],
    data: [[HOSTILE, FORMULA, '<b onmouseover=alert(2)>bold</b>']],
  },
};

const index = {
  id: 'CROWD',
  name: '<script>alert(3)</script>',
  description: '"><svg onload=alert(4)>',
  calendar: 'XNYS',
  base_date: DAYS[0],
  pipeline: { weighting: { type: 'EqualWeight' } },
};

/** Tests pages with three thousand securities and with texts that must be escaped. */
export function describeCrowd(desk: () => Desk): void {
  test('three thousand securities are a table that renders only the visible rows', async () => {
    const { page, service, complaints } = desk();
    const request = { store_id: 'crowd', name: '<i>crowd</i>', activate: true, tables };
    expect((await service.ask('POST', '/data/import', request)).status).toBe(201);
    expect((await service.ask('PUT', '/indices/CROWD', index)).status).toBe(200);
    await service.ask('POST', '/analytics/CROWD/backtest', {});
    const run: JobStatus = await service.waitForJob('backtest:CROWD');
    expect(run.status).toBe('succeeded');
    await follow(page, '/console/indices/CROWD?tab=constituents&held.sort=identifier:asc');
    const grid = page.getByRole('grid', { name: 'constituents of CROWD' });
    await grid.getByRole('row').nth(2).waitFor();
    expect(await grid.getAttribute('aria-rowcount')).toBe(String(NAMES + 1));
    expect(await grid.getByRole('row').count()).toBeLessThan(80);
    await page.locator('[role=row][tabindex="0"]').focus();
    await page.keyboard.press('End');
    await grid.getByRole('row', { name: /^N2998/ }).waitFor();
    expect(await grid.getByRole('row').count()).toBeLessThan(80);
    await page.getByLabel('Search constituents').fill('N1234');
    await pollEventually(() => grid.getAttribute('aria-rowcount')).toBe('2');
    expect(complaints).toEqual([]);
  });

  test('texts of documents and data are never markup', async () => {
    const { page, complaints } = desk();
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const expectText = async (address: string, text: string) => {
      await follow(page, address);
      await page.getByText(text, { exact: false }).first().waitFor();
    };
    await expectText('/', index.name);
    await expectText('/', '<i>crowd</i>');
    await expectText('/console/indices/CROWD', index.description);
    await expectText(
      `/console/indices/CROWD?tab=constituents&held.sort=identifier:asc&name=${encodeURIComponent(HOSTILE)}`,
      FORMULA,
    );
    await expectText(`/console/names/${encodeURIComponent(HOSTILE)}`, FORMULA);
    await expectText('/console/data/stores/crowd?tab=names&names.q=img', HOSTILE);
    await expectText('/console/indices/CROWD?tab=methodology', '<script>');
    await expectText('/console/jobs?jobs.q=%3Cimg%20src%3Dx%3E', 'No rows match the search');
    expect(await page.locator('img, main script, main svg[onload], main b, main i').count()).toBe(0);
    expect([dialogs, complaints]).toEqual([[], []]);
  });

  test('more tabs load than a browser opens connections to a host, and each receives the events of a job', async () => {
    const { page, service } = desk();
    const context = await page.context().browser()!.newContext(); // pages created by a browser always have one
    const tabs = await Promise.all(Array.from({ length: TABS }, () => context.newPage()));
    const openHealth = async (tab: Page) => {
      await tab.goto(`${service.url()}/console/health`);
      await tab.locator('dl', { hasText: 'Updates' }).getByText('as jobs change', { exact: true }).waitFor();
      await follow(tab, '/console/jobs');
      await tab.getByRole('grid', { name: 'jobs' }).waitFor();
    };
    await Promise.all(tabs.map(openHealth));
    const checkNotification = async (id: string, hearing: readonly Page[], listen = () => {}) => {
      await service.ask('PUT', `/indices/${id}`, { ...index, id });
      await service.ask('POST', `/analytics/${id}/backtest`, {});
      await service.waitForJob(`backtest:${id}`);
      listen();
      for (const tab of hearing)
        await tab
          .getByRole('row', { name: new RegExp(id) })
          .getByText('succeeded')
          .waitFor();
      await service.ask('DELETE', `/indices/${id}`);
    };
    await checkNotification('TABS-ALL', tabs);
    // The first tab received the events for all tabs. After it closes, the next tab begins to listen only when the job
    // has ended.
    let listen = () => {};
    const listening = new Promise<void>((resolve) => {
      listen = resolve;
    });
    await context.route('**/jobs/events*', async (route) => {
      await listening;
      await route.continue();
    });
    await tabs[0]!.close();
    await checkNotification('TABS-LEFT', tabs.slice(1), listen);
    await context.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
}
