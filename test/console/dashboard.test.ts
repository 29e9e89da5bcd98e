import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Health, IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';
import { listNameViolations } from './violations.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('a dashboard', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
  });
  afterAll(() => desk?.close());

  test('a dashboard without pins compares the newest runs until it is arranged or cleared', async () => {
    const page = await desk.newPage({ viewport: { width: 1280, height: 820 } });
    await page.goto(`${desk.service.url()}/console/dashboard`);
    const order = () => page.locator('.dashboard-pin h2 a').allTextContents();
    const restTitles = ['Indices', 'Levels compared', 'Rolling volatility', 'Returns by calendar year'];
    await pollEventually(order).toEqual(restTitles.toSpliced(2, 0, 'Drawdowns compared'));
    // Two charts fill a row in halves and are equally high.
    const readBox = async (name: string) => {
      const part = page.locator('.dashboard-pin', { hasText: name });
      await part.locator('iframe[aria-busy=false]').waitFor();
      const { y, width, height } = (await part.boundingBox())!;
      return { y, width, height: Math.round(height) };
    };
    const readBoxes = () => Promise.all(['Rolling volatility', 'Drawdowns compared'].map(readBox));
    await pollEventually(async () => new Set((await readBoxes()).map((box) => JSON.stringify(box))).size).toBe(1);
    await page.getByText('over 1 year, after costs').waitFor();
    // A part has the state of its runs, in the words of the table of indices. The market ends long before today.
    const { body: health } = await desk.service.ask<Health>('GET', '/health');
    const { sessions_behind: behind } = health.freshness.find(({ store_id: id }) => id === 'market')!;
    expect(behind).toBeGreaterThan(0);
    const mark = page.locator('.dashboard-pin h2', { hasText: 'Levels compared' }).locator('.badge');
    expect(await mark.textContent()).toBe('store behind');
    const lagText = `up to date with the store, which is ${behind} sessions behind`;
    expect((await mark.getAttribute('title'))!.split('\n').toSorted()).toEqual([
      `BROAD: ${lagText}`,
      `CORE: ${lagText}`,
    ]);
    // One range is that of all parts, and the parts stay loaded.
    const listFirstDates = () =>
      Promise.all(
        ['Levels', 'Drawdowns'].map((name) =>
          page
            .frameLocator(`iframe[title^="${name} compared"]`)
            .locator('[data-way=end] .unseen tbody th')
            .first()
            .textContent(),
        ),
      );
    await page.getByRole('button', { name: '1Y', exact: true }).click();
    await pollEventually(() => new URL(page.url()).searchParams.has('from')).toBe(true);
    const from = new URL(page.url()).searchParams.get('from')!;
    await pollEventually(async () => (await listFirstDates()).map((text) => text!.slice(0, 7))).toEqual([
      from.slice(0, 7),
      from.slice(0, 7),
    ]);
    await page.getByRole('button', { name: 'Remove Drawdowns compared' }).click();
    await pollEventually(order).toEqual(restTitles);
    await page.reload();
    await pollEventually(order).toEqual(restTitles);
    await page.getByRole('button', { name: 'Full width: Levels compared' }).click();
    await page.getByRole('button', { name: 'Width 1/3: Levels compared' }).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByText('Nothing is pinned yet').waitFor();
    await page.close();
  });

  test('parts far below the window are loaded, so that a printout contains them', async () => {
    const page = await desk.newPage({ viewport: { width: 390, height: 300 } });
    const parts = Array.from({ length: 16 }, (_, k) => ({
      id: `part-${k}`,
      address: '/console/indices/CORE',
      part: 'Drawdown',
      page: 'CORE',
      width: 1,
    }));
    await page.addInitScript(`localStorage.setItem('divisor.dashboard', ${JSON.stringify(JSON.stringify(parts))})`);
    await page.goto(`${desk.service.url()}/console/dashboard`);
    const last = page.locator('.dashboard-pin').last();
    await pollEventually(() => last.locator('iframe').getAttribute('aria-busy')).toBe('false');
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.close();
  });

  test('parts that were opened while the service was unavailable appear when it is back', async () => {
    const page = await desk.newPage({ viewport: { width: 1280, height: 820 } });
    await page.route('**/console/indices/**', (route) =>
      route.request().isNavigationRequest() ? route.abort('connectionrefused') : route.continue(),
    );
    const pin = {
      id: 'away',
      address: '/console/indices/CORE',
      part: 'Drawdown',
      page: 'CORE',
      width: 3,
    };
    await page.addInitScript(`localStorage.setItem('divisor.dashboard', ${JSON.stringify(JSON.stringify([pin]))})`);
    const failedRequest = page.waitForEvent('requestfailed');
    await page.goto(`${desk.service.url()}/console/dashboard`);
    expect((await failedRequest).url()).toContain('/console/indices/CORE');
    await page.locator('.dashboard-pin h2', { hasText: 'Drawdown' }).waitFor();
    expect(await page.getByText('replaceState').count()).toBe(0);
    await page.unroute('**/console/indices/**');
    await page.locator('iframe[aria-busy=false]').waitFor();
    await page.frameLocator('iframe').locator('[data-way=end] canvas').first().waitFor();
    await page.close();
  });

  test('a printout has all rows of a part that scrolls, and the drawing of a chart', async () => {
    const page = await desk.newPage({ viewport: { width: 1280, height: 820 } });
    const parts = [
      {
        id: 'a',
        address: '/console/indices/BROAD?tab=constituents',
        part: 'constituents of BROAD',
        page: '',
        width: 2,
      },
      { id: 'b', address: '/console/indices/CORE', part: 'Drawdown', page: 'CORE', width: 1 },
    ];
    await page.addInitScript(`localStorage.setItem('divisor.dashboard', ${JSON.stringify(JSON.stringify(parts))})`);
    await page.goto(`${desk.service.url()}/console/dashboard`);
    const frames = page.locator('.dashboard-pin iframe');
    for (const k of parts.keys()) await pollEventually(() => frames.nth(k).getAttribute('aria-busy')).toBe('false');
    await page.frameLocator('iframe[title^="constituents"]').locator('[data-at="0"]').waitFor();
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    await page.emulateMedia({ media: 'print' });
    const rows = page.locator('.dashboard [data-at]');
    expect(await rows.count()).toBe(50);
    expect(await rows.last().isVisible()).toBe(true);
    expect(await frames.filter({ visible: true }).count()).toBe(0);
    const colours = await page.evaluate<number>(
      `(({ width, height }, drawing) => new Set(drawing.getImageData(0, 0, width, height).data).size)(
        ...[document.querySelector('.dashboard canvas')].flatMap((canvas) => [canvas, canvas.getContext('2d')]))`,
    );
    expect(colours).toBeGreaterThan(1);
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
    await page.emulateMedia({ media: 'screen' });
    expect(await rows.count()).toBe(0);
    await page.close();
  });

  test('parts keep their ranges as pinned until a range is chosen for all of them', async () => {
    const page = await desk.newPage({ viewport: { width: 1280, height: 820 } });
    await page.goto(`${desk.service.url()}/console/indices/CORE?from=2020-12-31&to=2021-12-31`);
    await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    await page.getByRole('button', { name: 'Views', exact: true }).click();
    await page.getByLabel('Part of the page').selectOption('Level of CORE');
    await page.getByRole('button', { name: 'Pin to the dashboard' }).click();
    await page.goto(`${desk.service.url()}/console/dashboard`);
    const ranges = page.getByRole('group', { name: 'Range of dates' }).first();
    const listPressed = () => ranges.locator('[aria-pressed=true]').allTextContents();
    await pollEventually(listPressed).toEqual(['As pinned']);
    // The dates of the bar are empty because each part has its own.
    expect(await ranges.getByLabel('From').inputValue()).toBe('');
    const part = page.frameLocator('iframe[title^="Level of CORE"]');
    await part.getByText('Since 2020-12-31').waitFor();
    await ranges.getByRole('button', { name: 'All', exact: true }).click();
    await pollEventually(listPressed).toEqual(['All']);
    await part.getByText('Since 2020-12-31').waitFor({ state: 'detached' });
    await ranges.getByRole('button', { name: 'As pinned' }).click();
    await part.getByText('Since 2020-12-31').waitFor();
    await page.close();
  });

  test('the choice of compared runs is named by its text', async () => {
    const { service, page } = desk;
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/OTHER', { ...body, id: 'OTHER', name: 'Other' });
    await service.ask('POST', '/analytics/OTHER/backtest', {});
    await service.waitForJob('backtest:OTHER');
    await page.goto(`${service.url()}/console/dashboard`);
    await page.getByRole('button', { name: 'Runs compared: 3 of 3 runs' }).waitFor();
    expect(await listNameViolations(page)).toEqual([]);
    // A change of the definition of one run marks the parts that contain the run.
    await service.ask('PUT', '/indices/OTHER', { ...body, id: 'OTHER', name: 'Other', base_value: 100 });
    await page.reload();
    const mark = page.locator('.dashboard-pin h2', { hasText: 'Levels compared' }).locator('.badge');
    await pollEventually(() => mark.textContent()).toBe('definition changed');
  });
});
