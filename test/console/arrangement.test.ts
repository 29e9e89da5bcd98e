import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IndexDocument, WeightsView } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/**
 * Returns a script that counts the pixels of a colour in the first chart. Pixels at edges are mixed with the background
 * and do not count.
 */
const formatPixelScript = (...colour: readonly number[]): string => `(() => {
  const canvas = document.querySelector('.chart canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const wanted = ${JSON.stringify(colour)};
  let found = 0;
  for (let k = 0; k < data.length; k += 4)
    if (wanted.every((value, n) => Math.abs(data[k + n] - value) < 24) && data[k + 3] > 200) found++;
  return found;
})()`;

/** Tests what a user can arrange: columns, ranges, views, a dashboard. Each test starts from an address. */
describe.skipIf('why' in browserFailure)('an arranged console', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  const createTitles = () => desk.page.getByRole('grid', { name: 'constituents of CORE' }).getByRole('columnheader');

  test('columns are hidden, moved, pinned and resized, and stay so after a reload', async () => {
    const { page, service } = desk;
    const address = '/console/indices/CORE?tab=constituents';
    await follow(page, address);
    await page.getByRole('button', { name: 'Columns of constituents of CORE' }).click();
    await page.getByRole('checkbox', { name: 'Company' }).uncheck();
    await page.getByRole('button', { name: 'Pin Weight' }).click();
    await page.getByRole('button', { name: 'Move Sector left' }).click();
    await page.keyboard.press('Escape');
    const order = ['Weight', 'Sector', 'Security', 'At rebalance', 'Drift'];
    const listTitles = async () =>
      (await createTitles().allTextContents()).map((text) => text.replace(/[↑↓]/, '')).slice(0, 5);
    await pollEventually(listTitles).toEqual(order);
    // The column title has the focus; Shift with an arrow key widens the column.
    const sector = createTitles().filter({ hasText: 'Sector' });
    const readWidth = async () => (await sector.boundingBox())!.width;
    const before = await readWidth();
    await sector.getByRole('button').focus();
    await page.keyboard.press('Shift+ArrowRight');
    await pollEventually(readWidth).toBeCloseTo(before + 16, 0);
    await sector.hover(); // waits until the table has stopped moving
    const edge = (await sector.boundingBox())!;
    await page.mouse.move(edge.x + edge.width - 3, edge.y + 10);
    await page.mouse.down();
    await page.mouse.move(edge.x + edge.width + 37, edge.y + 10, { steps: 4 });
    await page.mouse.up();
    await pollEventually(readWidth).toBeCloseTo(before + 56, 0);
    await page.goto(service.url() + address);
    await pollEventually(listTitles).toEqual(order);
    await pollEventually(readWidth).toBeCloseTo(before + 56, 0);
  });

  test('rows are grouped with the sums of their weights, and a group is folded by Enter', async () => {
    const { page, service } = desk;
    await follow(page, '/console/indices/CORE?tab=constituents');
    await page.getByRole('button', { name: 'Columns of constituents of CORE' }).click();
    await page.getByLabel('Group by').selectOption('Sector');
    await page.keyboard.press('Escape');
    const { body } = await service.ask<WeightsView>('GET', '/analytics/CORE/weights');
    const groups = page.locator('.table-row.is-group');
    await groups.first().waitFor();
    expect(await groups.count()).toBeGreaterThan(1);
    // The pinned weight column comes first. The sum is in the column of decided weights.
    const decidedCells = await groups.locator('[data-column=decided]').allTextContents();
    const total = decidedCells.map((text) => Number(text.replace('%', ''))).reduce((sum, value) => sum + value, 0);
    const expectedSum = body.weights.reduce((sum, { decided_weight: weight }) => sum + 100 * (weight ?? 0), 0);
    expect(total).toBeCloseTo(expectedSum, 1);
    const rows = page.getByRole('grid', { name: 'constituents of CORE' });
    const count = async () => Number(await rows.getAttribute('aria-rowcount'));
    const before = await count();
    await groups.first().focus();
    await page.keyboard.press('Enter');
    await pollEventually(count).toBeLessThan(before);
    expect(await groups.first().getAttribute('aria-expanded')).toBe('false');
    await page.getByRole('button', { name: 'Columns of constituents of CORE' }).click();
    await page.getByRole('button', { name: 'Reset the columns' }).click();
    await page.keyboard.press('Escape');
    await groups.first().waitFor({ state: 'detached' });
  });

  test('a column is filtered by a comparison, which the address keeps', async () => {
    const { page, service } = desk;
    await follow(page, '/console/indices/CORE?tab=constituents');
    const { body } = await service.ask<WeightsView>('GET', '/analytics/CORE/weights');
    const heavy = body.weights.filter(({ weight }) => weight > 0.05).length;
    await page.getByRole('button', { name: 'Columns of constituents of CORE' }).click();
    await page.getByRole('checkbox', { name: 'Filter by column' }).check();
    await page.keyboard.press('Escape');
    await page.getByLabel('Filter Weight of constituents of CORE').fill('> 5%');
    const rows = page.getByRole('grid', { name: 'constituents of CORE' });
    await pollEventually(() => rows.getAttribute('aria-rowcount')).toBe(String(heavy + 2));
    await page.reload();
    await pollEventually(() => rows.getAttribute('aria-rowcount')).toBe(String(heavy + 2));
    const filter = page.getByLabel('Filter Weight of constituents of CORE');
    await filter.fill('abc');
    await page.getByText('The filter “abc” of Weight is ignored: write 5, > 5, <= 5 or 2..5.').waitFor();
    expect(await filter.getAttribute('aria-invalid')).toBe('true');
    await filter.fill('');
  });

  test('indices are selected by the space key and compared, stale indices are run together, and all are grouped by tag', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    for (const id of ['TAGGED-1', 'TAGGED-2'])
      await service.ask('PUT', `/indices/${id}`, { ...core, id, tags: ['pilot'] });
    await follow(page, '/');
    await page.getByRole('button', { name: 'Run 2 new indices' }).click();
    for (const id of ['TAGGED-1', 'TAGGED-2'])
      await pollEventually(async () => (await service.waitForJob(`backtest:${id}`)).status).toBe('succeeded');
    await page.getByRole('button', { name: 'Columns of indices' }).click();
    await page.getByLabel('Group by').selectOption('Tags');
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: /pilot 2 rows/ }).waitFor();
    await page.getByRole('button', { name: 'Columns of indices' }).click();
    await page.getByRole('button', { name: 'Reset the columns' }).click();
    await page.keyboard.press('Escape');
    for (const id of ['TAGGED-1', 'TAGGED-2']) await service.ask('DELETE', `/indices/${id}`);
    await follow(page, '/');
    await page.getByRole('row', { name: /^CORE/ }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('checkbox', { name: 'BROAD', exact: true }).check();
    await page.getByRole('link', { name: 'Compare 2' }).click();
    await page.waitForURL('**/console/compare?ids=*');
    expect(new URL(page.url()).searchParams.get('ids')?.split(',').toSorted()).toEqual(['BROAD', 'CORE']);
  });

  test('the line after costs is drawn over that of the index', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    // The line of the index is visible between the dashes of the benchmark line.
    await pollEventually(() => page.evaluate<number>(formatPixelScript(217, 115, 13))).toBeGreaterThan(100);
    await pollEventually(() => page.evaluate<number>(formatPixelScript(42, 99, 224))).toBeGreaterThan(100);
  });

  test('a list on a phone has its other columns in a second line, and an index its actions in a menu', async () => {
    const page = await desk.newPage({ viewport: { width: 390, height: 800 } });
    await page.goto(`${desk.service.url()}/console/jobs`);
    const jobs = page.getByRole('grid', { name: 'jobs' });
    await jobs
      .getByRole('row')
      .filter({ hasText: /Backtest.* UTC/ })
      .first()
      .waitFor();
    await jobs.getByRole('columnheader', { name: /Kind, Submitted, Duration/ }).waitFor();
    expect(await jobs.evaluate((table) => table.scrollWidth - table.clientWidth)).toBe(0);
    await page.goto(`${desk.service.url()}/console/indices/CORE`);
    const tabs = page.getByRole('navigation', { name: 'Parts of CORE' });
    await page.getByLabel(/^Figures from/).waitFor();
    expect((await tabs.boundingBox())!.y).toBeLessThan(200);
    await page.getByLabel('Other actions on CORE').click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.waitForURL('**/console/indices/CORE/edit');
    await page.close();
  });

  test('conflicting constraints on a phone show a relaxation in the bar, and a click applies it', async () => {
    const page = await desk.newPage({ viewport: { width: 390, height: 844 } });
    const rows = [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.01 } }];
    await page.goto(
      `${desk.service.url()}/console/optimise?index=CORE&rows=${encodeURIComponent(JSON.stringify(rows))}`,
    );
    const solution = page.getByRole('complementary', { name: 'Live solution' });
    await solution
      .getByText(/^Position bounds, upper from 1% to [\d.]+%$/)
      .filter({ visible: true })
      .waitFor();
    await solution.getByRole('button', { name: 'Why: Show the solution' }).click();
    await solution.getByText('Position bounds and full investment contradict each other.').waitFor();
    await solution.getByRole('button', { name: 'Hide the solution' }).click();
    await solution.getByRole('button', { name: 'Apply' }).click();
    await solution.getByText(/^Forecast tracking error [\d.]+%$/).waitFor();
    expect(Number.parseFloat(await page.getByLabel('Upper').inputValue())).toBeGreaterThan(1);
    await page.close();
  });

  test('a chart of large growth is logarithmic by default, and its marks have no numbers on a phone', async () => {
    const page = await desk.newPage({ viewport: { width: 390, height: 844 } });
    await page.addInitScript(`globalThis.written = [];
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        written.push(String(text));
        return write.call(this, text, ...rest);
      };`);
    await page.route('**/analytics/CORE/levels*', async (route) => {
      const answer = await route.fetch();
      const view = (await answer.json()) as { levels: { data: number[] } };
      view.levels.data = view.levels.data.map((value, t) => value * Math.exp(t / 500));
      await route.fulfill({ response: answer, json: view });
    });
    await page.goto(`${desk.service.url()}/console/indices/CORE`);
    await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    const log = page.getByRole('radio', { name: 'Log' });
    const options = page.getByRole('button', { name: 'Options of the chart' });
    await options.click();
    await pollEventually(() => log.isChecked()).toBe(true);
    await pollEventually(() => page.evaluate<number>('written.length')).toBeGreaterThan(0);
    const listMarks = () => page.evaluate<readonly string[]>('written.filter((text) => /^[2-9]$/.test(text))');
    expect(await listMarks()).toEqual([]);
    await page.getByRole('button', { name: '1Y', exact: true }).click();
    await log.waitFor({ state: 'detached' });
    await options.click();
    await pollEventually(() => log.isChecked()).toBe(false);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.close();
  });

  test('a range is selected with the brush by keys and with the mouse, and an earlier range again', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    const from = page.getByRole('slider', { name: /^First date of Level of CORE/ });
    await from.focus();
    await page.keyboard.press('Control+ArrowRight');
    await pollEventually(() => new URL(page.url()).searchParams.get('from')).toBeTruthy();
    const first = new URL(page.url()).searchParams.get('from');
    await from.hover(); // waits until the chart has stopped moving
    const box = (await from.boundingBox())!;
    await page.mouse.move(box.x + 4, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 204, box.y + 8, { steps: 5 });
    await page.mouse.up();
    await pollEventually(() => new URL(page.url()).searchParams.get('from')! > first!).toBe(true);
    await page.getByLabel('Earlier ranges').selectOption({ index: 1 });
    await pollEventually(() => new URL(page.url()).searchParams.get('from')).toBe(first);
  });

  test('values at the cursor have their changes and the differences of these; a pane has the ratio of two lines', async () => {
    const { page, service } = desk;
    await follow(page, '/console/indices/CORE?from=2020-12-31&to=2021-12-31');
    const table = page.getByRole('table', { name: 'Level of CORE at the cursor' });
    const chart = page.getByRole('application', { name: /^Level of CORE/ });
    await chart.focus();
    await page.keyboard.press('End');
    const fetchEarnedLevels = async (id: string) => {
      const { body } = await service.ask<{ levels: { index: string[]; data: number[] } }>(
        'GET',
        `/analytics/${id}/levels`,
      );
      const readLevelAt = (date: string) => body.levels.data[body.levels.index.indexOf(date)]!;
      return readLevelAt('2021-12-31') / readLevelAt('2020-12-31') - 1;
    };
    const [core, broad] = [await fetchEarnedLevels('CORE'), await fetchEarnedLevels('BROAD')];
    const formatText = (value: number) => `${value < 0 ? '\u2212' : '+'}${Math.abs(100 * value).toFixed(2)}`;
    const row = table.getByRole('row', { name: /Benchmark BROAD/ });
    await pollEventually(() => row.textContent()).toContain(`${formatText(broad)}%`);
    // Differences are relative to the benchmark, as in the key figures of the page.
    const totalReturnRow = table.getByRole('row', { name: /^CORE/ });
    // The return variant that all lines share is stated once, next to the date.
    await table.getByRole('columnheader', { name: '2021-12-31, total return' }).waitFor();
    await pollEventually(() => totalReturnRow.textContent()).toContain(`${formatText(core - broad)} pp`);
    await page.getByLabel('Relative to').selectOption({ label: 'Relative to Benchmark BROAD, total return' });
    await page.getByRole('application', { name: /^Level relative to Benchmark BROAD/ }).waitFor();
    const ratio = page.getByRole('figure').filter({ hasText: /CORE, total return \/ Benchmark/ });
    await pollEventually(() => ratio.first().textContent()).toContain(((100 * (1 + core)) / (1 + broad)).toFixed(2));
    // An added index is removed in its row of the legend.
    await follow(page, '/console/indices/CORE?with=BROAD');
    await table.getByRole('button', { name: 'Remove BROAD' }).click();
    await pollEventually(() => new URL(page.url()).searchParams.get('with')).toBe('none');
  });

  test('a view is saved under a name and found in the palette; the dashboard shows a chart and a table of two pages', async () => {
    const { page, complaints } = desk;
    await follow(page, '/console/indices/CORE?from=2020-12-31&to=2021-12-31');
    await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    await page.getByRole('button', { name: 'Views', exact: true }).click();
    await page.getByLabel('Name of the view').fill('Core in 2021');
    await page.getByRole('button', { name: 'Save the view' }).click();
    await page.getByLabel('Part of the page').selectOption('Level of CORE');
    await page.getByRole('button', { name: 'Pin to the dashboard' }).click();
    await page.keyboard.press('Escape');
    await follow(page, '/console/indices/BROAD?tab=constituents');
    await page.getByRole('grid', { name: 'constituents of BROAD' }).waitFor();
    await page.getByLabel('Columns of constituents of BROAD').click();
    await page.getByRole('button', { name: 'Pin to the dashboard' }).click();
    await page.getByText('constituents of BROAD was pinned to the dashboard.').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    // If the palette had not loaded yet, keys would reach the page.
    await page.getByRole('combobox', { name: 'Page, document, security or action' }).fill('core in 2021');
    await page.getByRole('option', { name: 'Core in 2021 view', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/indices/CORE?from=2020-12-31&to=2021-12-31');
    await page.getByRole('link', { name: 'Dashboard', exact: true }).click();
    const level = page.frameLocator('iframe[title^="Level of CORE"]');
    await level.getByRole('application', { name: /^Level of CORE/ }).waitFor();
    await pollEventually(() => level.getByText('Since 2020-12-31').count()).toBe(1);
    await pollEventually(() => level.getByRole('heading', { name: 'CORE', exact: true }).count()).toBe(0);
    const weightsFrame = page.frameLocator('iframe[title^="constituents of BROAD"]');
    await weightsFrame.getByRole('grid', { name: 'constituents of BROAD' }).waitFor();
    const listPinOrder = () => page.locator('.dashboard-pin h2 a').allTextContents();
    await pollEventually(listPinOrder).toEqual(['Level of CORE', 'Constituents of BROAD']);
    await page.getByRole('button', { name: 'Move constituents of BROAD back' }).click();
    await pollEventually(listPinOrder).toEqual(['Constituents of BROAD', 'Level of CORE']);
    await page.getByRole('button', { name: 'Remove Level of CORE' }).click();
    await pollEventually(listPinOrder).toEqual(['Constituents of BROAD']);
    // A part of a page can also be added without opening that page.
    await page.getByLabel('Add to the dashboard').selectOption({ label: 'CORE: Drawdown' });
    await pollEventually(listPinOrder).toEqual(['Constituents of BROAD', 'Drawdown']);
    for (const part of ['constituents of BROAD', 'Drawdown'])
      await page.getByRole('button', { name: `Remove ${part}`, exact: true }).click();
    await page.getByLabel('Start with an index').selectOption('CORE');
    await pollEventually(listPinOrder).toEqual(['Level of CORE', 'Figures', 'Constituents of CORE', 'Drawdown']);
    for (const part of ['Level of CORE', 'Figures from … to …', 'constituents of CORE', 'Drawdown'])
      await page.getByRole('button', { name: `Remove ${part}`, exact: true }).click();
    await page.getByRole('button', { name: 'Start with an overview' }).click();
    await page
      .frameLocator('iframe[title="indices, Indices"]')
      .getByRole('row', { name: /^CORE / })
      .waitFor();
    await page
      .frameLocator('iframe[title="Levels compared, after costs"]')
      .getByRole('application', { name: 'Levels compared' })
      .waitFor();
    expect(complaints).toEqual([]);
  });
});
