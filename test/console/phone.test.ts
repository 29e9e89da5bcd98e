import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import type {
  IdentifierSearch,
  IndexDocument,
  OptimisationRunResult,
  RunSummaryCollection,
} from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('pages on a phone', () => {
  let desk: Desk;
  let page: Page;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    page = await desk.newPage({ viewport: { width: 390, height: 844 } });
    await page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('a long name does not push the return of the day out of the row of an index', async () => {
    const { service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/CORE', { ...core, name: 'Largest companies, weighted by size with a cap' });
    await page.reload(); // the page may have read the name before the change and connected to the events after it
    const row = page.getByRole('row', { name: /^(?:Select )?CORE/ });
    await row.locator('[data-below=end]').getByText('Largest companies', { exact: false }).waitFor();
    await row.locator('[data-below=day]').getByText('%').waitFor();
    const readRoom = async () => {
      const [line, day] = [await readBox(row.locator('.table-below')), await readBox(row.locator('[data-below=day]'))];
      return Math.min(line.y + line.height + 1 - day.y - day.height, line.x + line.width - day.x - day.width);
    };
    await pollEventually(readRoom).toBeGreaterThanOrEqual(0);
    await service.ask('PUT', '/indices/CORE', core);
  });

  test('the row of an index has its as-of date and its state without a cut', async () => {
    const { service } = desk;
    const { body } = await service.ask<RunSummaryCollection>('GET', '/analytics/summaries');
    const { end } = body.summaries.find(({ index_id: id }) => id === 'CORE')!;
    await page.reload();
    const row = page.getByRole('row', { name: /^(?:Select )?CORE/ });
    await row.locator('[data-below=end]').getByText(`${end} · Core`).waitFor();
    const state = row.locator('[data-below=state]');
    await pollEventually(() => state.textContent()).toBe('State store behind');
    await pollEventually(() => row.locator('.home-dot').getAttribute('class')).toBe('dot home-dot warning');
    expect(await state.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
  });

  test('the securities of a watchlist have their companies and begin in the upper two thirds of the screen', async () => {
    const { service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=3');
    const [first] = body.identifiers;
    const identifiers = body.identifiers.map(({ identifier }) => identifier);
    expect((await service.ask('PUT', '/data/watchlists/three', { name: 'Three', identifiers })).status).toBe(200);
    await follow(page, '/console/watchlists/three');
    const row = page
      .getByRole('grid', { name: 'names' })
      .getByRole('row', { name: new RegExp(`^${first!.identifier}`) });
    await row.getByText(first!.name!).waitFor();
    // The first line has the close, the return of the day and that since the start of the year, as the figures have.
    const columns = page.getByRole('grid', { name: 'names' }).getByRole('columnheader');
    expect((await columns.allTextContents()).slice(0, 4)).toEqual(['Security', 'Last close', '1 day', 'YTD']);
    expect(await row.textContent()).not.toContain('month');
    expect((await readBox(row)).y).toBeLessThan((2 / 3) * 844);
    // The reason is asked for after the first change.
    const reason = page.getByLabel('Reason for the change');
    expect(await reason.count()).toBe(0);
    await page.getByRole('button', { name: `Remove ${first!.identifier} from the list` }).click();
    await reason.fill('Sold');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await pollEventually(() => reason.count()).toBe(0);
    await service.ask('DELETE', '/data/watchlists/three');
  });

  test('the folded preview of an overlay states its return', async () => {
    await follow(page, '/console/indices/new?beneath=CORE');
    const preview = page.getByRole('complementary', { name: 'Preview' });
    await preview.getByText(/^[+\u2212]?\d+\.\d\d% in 3 years$/).waitFor();
  });

  test('the initial problem of an optimisation is shown in full', async () => {
    await follow(page, '/console/optimise?index=CORE');
    const select = page.getByLabel('Begin with');
    await select.waitFor();
    // Its label is above it, so that its longest choices fit.
    expect((await readBox(select)).width).toBeGreaterThan(340);
  });

  test('the largest active weights of an optimisation are bars of their lengths within the screen', async () => {
    const run = await optimise(desk, 'bars');
    await follow(page, `/console/optimise/runs/${run.run_id}`);
    // A bar has the length of its active weight, on the side of its sign.
    const bars = page.getByRole('table', { name: 'Largest active weights' });
    const shown = await readBars(bars);
    const round = (weight: number) => Math.round(1e5 * weight) / 1e5;
    const active = new Map(run.weights.map((row) => [row.identifier, round(row.weight) - round(row.index_weight)]));
    const largest = [...active.values()].map(Math.abs).toSorted((a, b) => b - a);
    expect(shown.length).toBe(Math.min(10, largest.filter((weight) => weight >= 5e-5).length));
    const longest = Math.max(...shown.map(({ width }) => width));
    for (const { label, text, width, isLeft, right } of shown) {
      const weight = active.get(label.replace(' (at limit)', ''))!;
      expect(text).toBe(`${weight < 0 ? '\u2212' : '+'}${(100 * Math.abs(weight)).toFixed(3)} pp`);
      expect(Math.abs(width / longest - Math.abs(weight) / largest[0]!)).toBeLessThan(0.03);
      expect(isLeft).toBe(weight < 0);
      expect(right).toBeLessThanOrEqual(390);
    }
    expect(shown.map(({ label }) => label.endsWith(' (at limit)'))).toEqual(
      shown.map(({ label }) =>
        run.weights.some(({ identifier, at_bound: bound }) => bound !== null && label.startsWith(`${identifier} `)),
      ),
    );
  });

  test('the first line of a constraint of an optimisation has its headroom and its cost', async () => {
    const run = await optimise(desk, 'constraints');
    await follow(page, `/console/optimise/runs/${run.run_id}`);
    const rows = page.getByRole('table', { name: 'constraints of the optimisation' }).locator('[data-at]');
    const turnover = run.constraints!.find(({ type }) => type === 'Turnover')!;
    const atCap = run.binding.filter(
      (bound) => bound!['type'] === 'PositionBounds' && bound!['side'] === 'upper',
    ).length;
    const root = (objective: number) => 1e4 * Math.sqrt(objective);
    const cost = root(run.objective_value) - root(run.constraint_costs![0]!.objective_without!);
    const percent = (value: number) => `${(100 * value).toFixed(2)}%`;
    const readCells = (at: number, columns: readonly string[], attribute: string) =>
      Promise.all(columns.map((column) => rows.nth(at).locator(`[${attribute}=${column}]`).textContent()));
    const firstLine = ['label', 'headroom', 'cost'];
    expect(atCap).toBeGreaterThan(1);
    expect(await readCells(0, firstLine, 'data-column')).toEqual([
      'Position bounds, upper',
      `${atCap} binding`,
      cost.toFixed(2),
    ]);
    expect(await readCells(1, firstLine, 'data-column')).toEqual([
      'Turnover, upper',
      percent(turnover.limit - run.turnover),
      '0.00',
    ]);
    expect(await readCells(1, ['limit', 'value'], 'data-below')).toEqual([
      'Bound 90.00%',
      `Value ${percent(run.turnover)}`,
    ]);
    for (const row of await rows.all()) {
      const { x, width } = await readBox(row);
      expect(x + width).toBeLessThanOrEqual(390);
    }
  });

  test('names of early closes are shown in full', async () => {
    await follow(page, '/console/calendar/closures/XNYS');
    const events = page.getByRole('table', { name: 'holidays of XNYS' }).locator('[data-below=summary]');
    await events.filter({ hasText: 'Thanksgiving' }).first().waitFor();
    const countCut = () =>
      events.evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
    await pollEventually(countCut).toBe(0);
  });

  test('tools of securities share a line, as do the actions of the data page', async () => {
    await follow(page, '/console/names');
    const sector = page.getByLabel('Sector');
    const readCentre = async (tool: Locator) => {
      const { y, height } = await readBox(tool);
      return y + height / 2;
    };
    const copy = page.getByRole('button', { name: 'Copy names' });
    await pollEventually(async () => Math.abs((await readCentre(sector)) - (await readCentre(copy)))).toBeLessThan(6);
    await pollEventually(async () => (await readBox(sector)).width).toBeGreaterThan(120);
    await follow(page, '/console/data');
    const [importLink, connectLink] = ['Import', 'Connect'].map((name) =>
      page.getByRole('link', { name, exact: true }),
    );
    await pollEventually(async () => (await readBox(importLink!)).y - (await readBox(connectLink!)).y).toBe(0);
  });

  test('Save stays visible below a long form', async () => {
    for (const address of ['/console/strategies/new?index=CORE', '/console/watchlists/new']) {
      await follow(page, address);
      const save = page.getByRole('button', { name: /^Save/ });
      for (const end of [0, 1]) {
        await page.evaluate(`scrollTo(0, ${end} * document.body.scrollHeight)`);
        await pollEventually(async () => (await readBox(save)).y).toBeGreaterThan(700);
        const { y, height } = await readBox(save);
        expect(y + height).toBeLessThanOrEqual(844);
      }
    }
  });

  test('a long text of the first line wraps to two lines, and rows are not higher than their texts', async () => {
    const { service } = desk;
    const listHeights = async (label: string) => {
      const rows = page.getByRole('grid', { name: label }).locator('[data-at]');
      await rows.first().waitFor();
      return new Set(await rows.evaluateAll((all) => all.map((row) => Math.round(row.getBoundingClientRect().height))));
    };
    const isCut = (cell: Locator) =>
      cell.evaluate((box) => box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight);
    const openScenarios = (sectors: readonly string[]) => {
      const scenarios = sectors.map((name) => ({ name: `${name} −20%`, shocks: { [`SECTOR:${name}`]: -0.2 } }));
      const query = new URLSearchParams({ tab: 'scenarios', scenarios: JSON.stringify(scenarios) });
      return follow(page, `/console/indices/CORE?${query.toString()}`);
    };
    await openScenarios(['Energy', 'Technology']);
    await pollEventually(() => listHeights('scenarios')).toEqual(new Set([50]));
    await openScenarios(['Energy', 'Communication Services']);
    const name = page.locator('[data-column=name]').getByText('Communication Services −20%', { exact: true });
    await name.waitFor();
    await pollEventually(() => isCut(name)).toBe(false);
    await follow(page, '/console/jobs');
    await pollEventually(() => listHeights('jobs')).toEqual(new Set([50]));
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const id = 'LOW-VOLATILITY-DIVIDENDS-OF-EUROPE';
    await service.ask('PUT', `/indices/${id}`, { ...core, id });
    await service.ask('POST', `/analytics/${id}/backtest`, {});
    await service.waitForJob(`backtest:${id}`);
    const subject = page.locator('[data-column=ident]').filter({ hasText: id });
    await subject.waitFor();
    await pollEventually(() => isCut(subject)).toBe(false);
  });

  test('columns without own shares use the whole width of a table', async () => {
    const sql =
      "SELECT 'CORE-INDEX-ONE' AS name, '2024-01-02' AS day, 1.5 AS index_points_close, 2.5 AS portfolio_costs";
    await follow(page, `/console/data/sql?q=${encodeURIComponent(sql)}`);
    const row = page.getByRole('row', { name: /^CORE-INDEX-ONE/ });
    const readRightEdge = async (part: Locator) => {
      const { x, width } = await readBox(part);
      return x + width;
    };
    const below = row.locator('.table-below');
    await pollEventually(async () => (await readRightEdge(below)) - (await readRightEdge(row))).toBeCloseTo(0, 0);
  });
});

/** Returns an optimisation of CORE with a cap that is binding and a turnover limit that is not. */
async function optimise({ service }: Desk, setId: string): Promise<OptimisationRunResult> {
  const constraints = [
    { id: 'cap', type: 'PositionBounds', params: { upper: 0.07 } },
    { id: 'trades', type: 'Turnover', params: { limit: 0.9 } },
  ];
  await service.ask('POST', '/optimise/constraint-sets', { id: setId, name: 'Capped', constraints });
  const request = { index_id: 'CORE', constraint_set_id: setId };
  const { body: job } = await service.ask<{ readonly job_id: string }>('POST', '/optimise/runs', request);
  await service.waitForJob(job.job_id);
  const { body } = await service.ask<OptimisationRunResult>(
    'GET',
    `/optimise/runs/${job.job_id.replace(/^optimise:/, '')}`,
  );
  return body;
}

/** Returns the labels, texts and bars of a bar chart, and the right edges of its rows. */
async function readBars(bars: Locator) {
  await bars.scrollIntoViewIfNeeded();
  return bars.locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      const [bar, zero] = ['.bar', '.bar-zero'].map((part) => row.querySelector(part)!.getBoundingClientRect());
      return {
        label: row.querySelector('th')!.firstChild!.textContent!,
        text: row.querySelector('.bar-value')!.textContent!,
        width: bar!.width,
        isLeft: bar!.left < zero!.left - 1,
        right: row.getBoundingClientRect().right,
      };
    }),
  );
}

/** Returns the position of a visible element. */
async function readBox(element: Locator) {
  await element.waitFor();
  return (await element.boundingBox())!; // the element is visible
}
