import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type {
  CalendarClosures,
  EventsView,
  IdentifierSearch,
  IndexDocument,
  OverviewView,
  PreviewResponse,
  PricesResponse,
  SweepView,
} from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Tests pages about jobs, dates, reports, sweeps and optimisations. Each test starts from an address. */
describe.skipIf('why' in browserFailure)('pages of a desk', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('numbers are never truncated: their columns grow', async () => {
    const { page, service } = desk;
    // Figures that are still loading are shown as outlines instead of dashes.
    let answer = () => {};
    const release = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/analytics/summaries', (route) => release.then(() => route.continue()));
    await page.goto(service.url());
    await page.getByRole('heading', { name: 'Served market' }).waitFor();
    const row = page.getByRole('row', { name: /^CORE/ });
    await row.locator('.skeleton').first().waitFor();
    expect(await row.getByText('–').count()).toBe(0);
    answer();
    await row.getByText('store behind').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    const cut = await page
      .locator('.table-cell.right')
      .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
    expect(cut).toBe(0);
  });

  test('the form of a connection states its missing fields', async () => {
    const { page } = desk;
    await follow(page, '/console/data/connect');
    await page.getByText('Required: location, name').waitFor();
    await page.getByLabel('Location *').fill('/data/eod');
    await page.getByText('Required: name').waitFor();
    expect(await page.getByRole('button', { name: 'Connect', exact: true }).isDisabled()).toBe(true);
  });

  test('a month of events is a grid whose days list their events below it', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<EventsView>('GET', '/events?kinds=effective');
    const [first] = body.events;
    await follow(page, `/console/calendar?kinds=effective&month=${first!.date.slice(0, 7)}`);
    const sameDayEvents = body.events.filter(({ date }) => date === first!.date);
    const day = page.getByRole('button', { name: `${first!.date}: ${sameDayEvents.length} events` });
    await day.getByText(first!.index_id!, { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Month after' }).click();
    await day.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Month before' }).click();
    await day.click();
    const list = page.getByRole('table', { name: 'events of the day' });
    await pollEventually(() => list.getAttribute('aria-rowcount')).toBe(String(sameDayEvents.length + 1));
    await page.getByRole('button', { name: 'Whole month' }).click();
    await page.getByRole('table', { name: 'events of the month' }).waitFor();
  });

  test('a closure is stored only after its effect is shown', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<EventsView>('GET', '/events?kinds=effective&index_ids=CORE');
    const { date } = body.events[0]!;
    const refusedStatuses: number[] = [];
    page.on('response', (response) => void (response.status() === 422 && refusedStatuses.push(422)));
    const readClosures = async () =>
      (await service.ask<CalendarClosures>('GET', '/calendars/XNYS/closures')).body.changes;
    await follow(page, '/console/calendar');
    await page.getByRole('link', { name: 'Recorded closures' }).click();
    await page.getByRole('table', { name: 'holidays of XNYS' }).getByText('Christmas').first().waitFor();
    await page.getByRole('button', { name: 'Add a change' }).click();
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await page.getByLabel('Date *').fill(date);
    expect(await save.isDisabled()).toBe(true);
    expect(await page.getByLabel('Opens').count()).toBe(0); // a closed day has no opening time
    await page.getByLabel('Session *').selectOption('open');
    await page.getByLabel('Closes').fill('13:00');
    await page.getByLabel('Session *').selectOption('closed');
    await page.getByLabel('Reason *').fill('Storm; notice of the exchange.');
    const effect = page.getByRole('region', { name: 'Effect' });
    // The change takes effect after the end of the run.
    await effect.getByRole('row', { name: new RegExp(`^CORE stays current ${date} → `) }).waitFor();
    expect(refusedStatuses).toEqual([]);
    expect(await readClosures()).toEqual([]);
    // The saved version loads slowly. A change that is made while it loads must be kept.
    await page.route('**/calendars/XNYS/closures', async (route) => {
      if (route.request().method() === 'GET') await new Promise((resolve) => setTimeout(resolve, 500));
      await route.continue();
    });
    await save.click();
    await page.getByText('The changes of XNYS are saved and apply at once.').waitFor();
    await pollEventually(() => page.evaluate('document.activeElement.tagName')).toBe('H1'); // the pressed button is now disabled
    await pollEventually(readClosures).toEqual([{ date, session: 'closed', reason: 'Storm; notice of the exchange.' }]);
    const changes = page.getByRole('table', { name: 'recorded changes' });
    await changes.getByRole('row', { name: /closed – Storm; notice of the exchange/ }).waitFor();
    await pollEventually(() => page.getByLabel('Date *').count()).toBe(0); // the form is collapsed
    await page.getByRole('button', { name: 'Remove change 1' }).click();
    await save.click();
    await pollEventually(readClosures).toEqual([]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('securities are listed with sector and last close, the largest first', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=1000');
    const [largest] = body.identifiers.toSorted((a, b) => (b.market_cap ?? 0) - (a.market_cap ?? 0));
    await follow(page, '/console/names');
    const first = page.getByRole('grid', { name: 'names' }).getByRole('row').nth(1);
    await pollEventually(async () => (await first.textContent())?.startsWith(largest!.identifier)).toBe(true);
    for (const part of [largest!.sector!, `${largest!.close!.toFixed(2)} USD`])
      await pollEventually(() => first.textContent()).toContain(part);
    // To sort by the return of the last year, the service reads the prices of all securities. The column fits into a
    // narrow window.
    await page.setViewportSize({ width: 1024, height: 820 });
    await page.getByRole('columnheader', { name: '1-year chart' }).getByRole('button').click();
    const cells = page.getByRole('grid', { name: 'names' }).locator('.name-year');
    const readReturns = async () =>
      (await cells.allTextContents()).map((year) => Number.parseFloat(year.replace('\u2212', '-')));
    const pricedReturns = await Promise.all(
      body.identifiers.map(async ({ identifier, end }) => {
        const yearAgo = `${Number(end!.slice(0, 4)) - 1}${end!.slice(4)}`;
        const windowQuery = `end=${end}&columns=CLOSE&adjust=total`;
        const { body: all } = await service.ask<PricesResponse>('GET', `/data/prices/${identifier}?${windowQuery}`);
        const { index, data } = all.prices;
        const [from] = data[index.findLastIndex((date) => String(date) <= yearAgo)] ?? [];
        return from === undefined ? -Infinity : 100 * (Number(data.at(-1)![0]) / Number(from) - 1);
      }),
    );
    await pollEventually(async () => (await readReturns())[0]).toBeCloseTo(Math.max(...pricedReturns), 1);
    const shownReturns = await readReturns();
    expect(shownReturns).toEqual(shownReturns.toSorted((a, b) => b - a));
    await page.setViewportSize({ width: 1280, height: 820 });
  });

  test('a query is completed, answered with its rows and a chart by date, and kept in a history; an error is marked', async () => {
    const { page } = desk;
    await follow(page, '/console/data/sql');
    await page.getByRole('button', { name: 'Run: Latest levels' }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('2 rows of 4 columns', { exact: false }).waitFor();
    const query = page.getByRole('textbox', { name: 'Query' });
    const write = async (text: string) => {
      await query.press('Control+a');
      await page.keyboard.press('Delete');
      await page.keyboard.insertText(text);
    };
    await page.getByText('rebalances', { exact: true }).waitFor(); // the columns of the views have loaded
    const processor = await page.context().newCDPSession(page);
    await processor.send('Emulation.setCPUThrottlingRate', { rate: 15 }); // slows rendering so that typing overtakes it
    await write('FROM levels SELECT index_le');
    await page.getByRole('option', { name: /^index_level/ }).waitFor();
    await processor.send('Emulation.setCPUThrottlingRate', { rate: 1 });
    await page.keyboard.press('Escape');
    const sql = "SELECT date, total FROM levels WHERE index_id = 'CORE' ORDER BY date";
    await write(sql);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('application', { name: 'Numbers of the result by date' }).waitFor();
    const result = page.getByRole('grid', { name: 'result' });
    await result.getByRole('row', { name: /^2015-01-02 1,000\.00$/ }).click();
    const wholeRow = page.getByRole('complementary', { name: 'Row 1' });
    await pollEventually(() => wholeRow.locator('dd').allTextContents()).toEqual(['2015-01-02', '1000']);
    await page.keyboard.press('Escape');
    await write('SELECT levl FROM levels');
    await query.press('Control+Enter');
    await page.getByText('Referenced column "levl" not found', { exact: false }).waitFor();
    await pollEventually(() => query.locator('.cm-lintRange-error').allTextContents()).toEqual(['levl']);
    await page.getByLabel('History of queries').click();
    await page.getByRole('button', { name: /^SELECT date, total .* rows in / }).click();
    await pollEventually(() => query.textContent()).toBe(sql);
  });

  test('blocks of a report are dragged to another position', async () => {
    const { page } = desk;
    await follow(page, '/console/reports/templates/new?from=FACTSHEET-A4&index=CORE');
    const readKinds = () => page.locator('.row > header strong').allTextContents();
    await pollEventually(async () => (await readKinds()).length).toBeGreaterThan(2);
    const before = await readKinds();
    await page.locator('.row-handle').first().dragTo(page.locator('.row').nth(1).locator('header'));
    await pollEventually(async () => (await readKinds())[1]?.slice(3)).toBe(before[0]!.slice(3));
  });

  test('a cell of a sweep opens its variant, which is saved as an index and run with its terms; a fan chart shows all levels', async () => {
    const { page, service } = desk;
    const [COUNT, CAP] = ['/document/pipeline/selection/0/params/count', '/document/pipeline/weighting/cap'] as const;
    const grid = { [COUNT]: [10, 20], [CAP]: [0.1, 0.2] };
    const { body: job } = await service.ask<{ job_id: string }>('POST', '/analytics/sweeps', {
      index_id: 'CORE',
      request: { transaction_cost_bps: 5 },
      grid,
    });
    const { result } = await service.waitForJob(job.job_id);
    const { rows, fan, overfitting } = result as SweepView;
    expect(fan!.variants).toBe(4);
    await follow(page, `/console/sweeps/${job.job_id.slice('sweep:'.length)}`);
    await page.getByRole('application', { name: /^Levels of the variants/ }).waitFor();
    const count = rows.find(({ rank }) => rank === 1)!.patch['/document/pipeline/selection/0/params/count'];
    await page.getByText(`First by rank: ${count} securities, `).first().waitFor();
    await page.getByRole('img', { name: /^Colours from/ }).waitFor();
    // The run of the index has other costs, which the name of its line states.
    await page.getByText('CORE, other terms: transaction cost 10 bp').first().waitFor();
    await page.getByText(/^\d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d · Transaction cost 5 bp$/).waitFor();
    const [last] = rows.slice(-1);
    const { [COUNT]: lastCount, [CAP]: lastCap } = last!.patch as Readonly<Record<string, number>>;
    const lastName = `${lastCount} securities, ${100 * lastCap!}%`;
    await page.getByRole('button', { name: `${lastName}: ` }).click();
    const panel = page.getByRole('complementary', { name: lastName });
    await panel.getByLabel('Id of the index').fill('FROM-SWEEP');
    await panel.getByRole('button', { name: 'Save as an index' }).click();
    await page.waitForURL('**/console/indices/FROM-SWEEP');
    await pollEventually(async () => (await service.waitForJob('backtest:FROM-SWEEP')).status).toBe('succeeded');
    const { body: overview } = await service.ask<OverviewView>('GET', '/analytics/FROM-SWEEP/overview');
    expect(overview.metrics.total_return).toBe(last!.metrics!.total_return);
    const { body: saved } = await service.ask<IndexDocument>('GET', '/indices/FROM-SWEEP');
    expect(saved.description).toBe(
      `Variant of CORE. Count · Best by a field: ${lastCount} securities. Cap of weights: ${100 * lastCap!}%.`,
    );
    await service.ask('DELETE', '/indices/FROM-SWEEP');
    // The panel of the job shows its settings in their units, and the best variant.
    await follow(page, `/console/jobs?job=${job.job_id}`);
    const settings = page.getByRole('region', { name: 'Request' });
    await settings.getByText('10 securities, 20 securities').waitFor();
    await settings.getByText('10%, 20%').waitFor();
    await settings.getByText('1,000,000 USD').waitFor();
    await page.getByRole('region', { name: 'Result' }).getByText(`${count} securities, Cap of weights`).waitFor();
    // The list of sweeps shows the verdict, the best variant of each, and the median of all.
    const ratios = rows.map(({ metrics }) => metrics!.sharpe_ratio!).toSorted((a, b) => a - b);
    await follow(page, '/console/sweeps');
    const listedSweep = page.getByRole('grid', { name: 'sweeps' }).getByRole('row', { name: /^CORE / });
    const { patch } = rows.find(({ rank }) => rank === 1)!;
    await listedSweep.getByText(`${Object.values(patch)[0]} securities, Cap of weights`).waitFor();
    // Only a sweep without a result has a state.
    expect(await listedSweep.getByText('succeeded').count()).toBe(0);
    const write = (value: number) => value.toFixed(3).replace('-', '\u2212');
    const text = await listedSweep.textContent();
    expect(text).toContain(`${write(ratios.at(-1)!)}${write((ratios[1]! + ratios[2]!) / 2)}`);
    // A random choice among four variants is at or below their median in half of the splits.
    const rating = overfitting!.rating!.replaceAll('_', ' ');
    expect(text).toContain(`${(100 * overfitting!.probability).toFixed(1)}% ${rating}chance 50.0%`);
    const { start, end } = rows[0]!;
    expect(text).toContain(`${start} to ${end}, 5 bp`);
  });

  test('the list of sweeps keeps its ratings on a phone', async () => {
    const { page } = desk;
    const size = page.viewportSize()!;
    await follow(page, '/console/sweeps');
    await page.setViewportSize({ width: 390, height: 844 });
    const below = page.locator('[data-below="overfitting"]').first();
    await below.getByText(/^(better than chance|near chance|overfit)$/).waitFor();
    await below.getByText(/Overfitting \d+\.\d%, chance 50\.0%/).waitFor();
    await page.setViewportSize(size);
  });

  test('an optimisation is shown with its figures and those of the index', async () => {
    const { page, service } = desk;
    // If the address of the page contains no constraints, the page shows an example. Without it the solution would be
    // the index itself.
    await follow(page, '/console/optimise?index=CORE');
    const solution = page.getByRole('complementary', { name: 'Live solution' });
    await solution.getByText('Forecast tracking error', { exact: true }).waitFor();
    await solution.getByText('objective', { exact: true }).waitFor();
    await solution.getByLabel('difference to the index weights').getByText('%').first().waitFor();
    await page.getByLabel('Begin with').selectOption({ label: 'no constraints' });
    await solution.getByText('The weights equal those of the index').waitFor();
    const rows = [{ id: 'most', type: 'PositionBounds', params: { upper: 0.06 } }];
    const address = `/console/optimise?index=CORE&rows=${encodeURIComponent(JSON.stringify(rows))}`;
    await follow(page, address);
    const figures = page.getByLabel('Figures of the solution');
    const body = { index_id: 'CORE', constraints: rows };
    const { body: preview } = await service.ask<PreviewResponse>('POST', '/optimise/preview', body);
    const { before, after } = preview.solve!;
    expect(before.turnover).toBe(0);
    const write = (value: number) => `${(100 * value).toFixed(2)}%`;
    await figures.getByText(`index ${write(before.volatility)}`).waitFor();
    // The earlier solution remains visible until the new one arrives.
    await pollEventually(() => figures.textContent()).toContain(`Forecast volatility${write(after.volatility)}`);
    await pollEventually(() => figures.textContent()).toContain(`Turnover${write(after.turnover)}one way`);
    expect(await figures.textContent()).not.toContain('index 0.00%'); // tracking error and turnover of the index itself
  });

  test('limits are described without addresses of requests, and a security is found by its kind', async () => {
    const { page, service } = desk;
    await follow(page, '/console/health');
    const limits = page.getByRole('region', { name: 'Limits' });
    await limits.getByText(/^All \d+ limits$/).click();
    await limits.getByText('Plug-ins in one index document.').waitFor();
    await limits.getByRole('searchbox').fill('comparison');
    await limits.getByText('Runs in one comparison.').waitFor();
    await limits.getByRole('searchbox').fill('POST /');
    await limits.getByText('Body of an import').waitFor({ state: 'detached' });
    await pollEventually(() => limits.locator('[data-at]').count()).toBe(0);
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=1');
    await page.keyboard.press('Control+k');
    const [first] = body.identifiers;
    await page.getByRole('combobox', { name: 'Page, document, security or action' }).fill(first!.identifier);
    await page.getByRole('option', { name: new RegExp(`^${first!.identifier} .*security$`) }).waitFor();
    await page.keyboard.press('Escape');
  });
});
