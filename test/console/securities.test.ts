import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type {
  CorporateActionsResponse,
  IdentifierSearch,
  RebalanceList,
  RebalanceView,
} from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { pollEventually, follow, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Tests the pages of securities and watchlists. Each test starts from an address. */
describe.skipIf('why' in browserFailure)('pages of securities', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('securities are filtered by sector with their figures, and their table cuts no row', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
    const sector = body.identifiers[0]!.sector!;
    const last = body.identifiers
      .map(({ end }) => end!)
      .toSorted()
      .at(-1);
    const members = body.identifiers.filter((one) => one.sector === sector);
    const tradedMembers = members.filter(({ end }) => end === last);
    const largest = tradedMembers.toSorted((a, b) => b.market_cap! - a.market_cap!)[0]!;
    await follow(page, '/console/names');
    const grid = page.getByRole('grid', { name: 'names' });
    await grid.getByRole('row').nth(1).waitFor();
    const border = 1;
    const readCutHeight = () =>
      grid.evaluate((table, below) => {
        const [rows, row] = ['.table-rows', '[data-at="0"]'].map((part) =>
          table.querySelector(part)!.getBoundingClientRect(),
        );
        return (table.getBoundingClientRect().bottom - below - rows!.top) % row!.height;
      }, border);
    await pollEventually(readCutHeight).toBeCloseTo(0, 3);
    await page.getByLabel('Sector').selectOption(sector);
    await pollEventually(() => grid.getAttribute('aria-rowcount')).toBe(String(members.length + 1));
    const figures = page.getByLabel('Figures of the securities');
    await pollEventually(() => figures.textContent()).toContain(`Traded${tradedMembers.length}on ${last}`);
    const endedCount = members.length - tradedMembers.length;
    await pollEventually(() => figures.textContent()).toContain(
      endedCount === 0 ? `on ${last}Market` : `; ${endedCount} ended earlier`,
    );
    await pollEventually(() => figures.textContent()).toContain(`Largest security${largest.identifier}`);
    expect(new URL(page.url()).searchParams.get('sector')).toBe(sector);
  });

  test('all figures of a delisted security end with its last close, and its delisting is written in words', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
    const { identifier, end } = body.identifiers.find((one) => one.identifier === 'BADD')!;
    type Actions = CorporateActionsResponse;
    const { body: actions } = await service.ask<Actions>('GET', `/data/corporate-actions/${identifier}`);
    expect(actions.trailing_dividend).toBeGreaterThan(0);
    await follow(page, `/console/names/${identifier}`);
    const totals = page.getByLabel('Totals of corporate actions');
    await totals.getByText(`to ${end}`, { exact: true }).waitFor();
    await totals.getByText(`${actions.trailing_dividend.toFixed(4)} USD`).waitFor();
    await totals.getByText(`on the close of ${end}`).waitFor();
    await totals.getByText(`${(100 * actions.trailing_dividend_yield!).toFixed(2)}%`).waitFor();
    const delisting = actions.actions.find(({ type }) => type === 'DELISTING')!.ex_date;
    const reference = page.getByRole('region', { name: 'Reference data' });
    await pollEventually(() => reference.textContent()).toContain(`Delisted${delisting}`);
    await pollEventually(() => reference.textContent()).toMatch(/Sales[\d,]+ USD.*Return on equity−?[\d.]+%/);
    expect(await reference.textContent()).not.toContain('DELISTED');
    const table = page.getByRole('table', { name: 'corporate actions' });
    await table.getByText('in effect').first().waitFor();
    const related = actions.actions.some((action) => action.related !== null);
    expect(await table.getByRole('columnheader', { name: 'Related security' }).count()).toBe(related ? 1 : 0);
    expect(await page.getByText('Related security').count()).toBe(related ? 1 : 0);
  });

  test('the lines of a table of securities have the same width, and only traded securities are summarised', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
    const last = body.identifiers
      .map(({ end }) => end!)
      .toSorted()
      .at(-1)!;
    await follow(page, '/console/names');
    const lines = page.getByRole('grid', { name: 'names' }).locator('.sparkline');
    await pollEventually(() => lines.count()).toBeGreaterThan(5);
    const widths = await lines.evaluateAll((all) => all.map((line) => line.getBoundingClientRect().width));
    expect(new Set(widths)).toEqual(new Set([96]));
    const traded = body.identifiers.filter(({ end }) => end === last).slice(0, 2);
    const ended = body.identifiers.find(({ identifier }) => identifier === 'BADD')!;
    const identifiers = [...traded, ended].map(({ identifier }) => identifier);
    await service.ask('PUT', '/data/watchlists/ended', { name: 'Ended', identifiers });
    await follow(page, '/console/watchlists/ended');
    const figures = page.getByLabel('Figures of the list');
    await figures.getByText('2 of 3').waitFor();
    await figures.getByText('BADD ended', { exact: true }).waitFor();
    await figures
      .getByText(/^\d of 2 gained$/)
      .nth(1)
      .waitFor();
    // The sum is that of the securities with a current price.
    await figures.getByText('sum of 2', { exact: true }).waitFor();
    const rows = page.getByRole('grid', { name: 'names' });
    await pollEventually(() => rows.locator('.sparkline').count()).toBe(2);
    await rows.getByText(`ended ${ended.end}`, { exact: true }).waitFor();
    // Returns to an earlier date are not shown as if they were current.
    const endedRow = rows.getByRole('row', { name: /^BADD/ });
    expect(await endedRow.textContent()).not.toContain('%');
    expect(await figures.textContent()).not.toContain('Highest');
    await service.ask('PUT', '/data/watchlists/ended', {
      name: 'Ended',
      identifiers: [ended.identifier, 'A B Equity'],
    });
    await follow(page, '/console/watchlists');
    await follow(page, '/console/watchlists/ended');
    // Without a current price there is no median.
    await page.getByText(`in the order of the list. No security has a price on ${last}.`).waitFor();
    expect(await rows.getByRole('columnheader', { name: 'YTD' }).count()).toBe(0);
    expect(await figures.count()).toBe(0);
    // A missing security is a row, in the order of the list.
    const missingRow = rows.getByRole('row').nth(2);
    await missingRow.getByText('not in the store', { exact: true }).waitFor();
    expect(await missingRow.textContent()).toContain('A B Equity');
    await page.getByText('A B Equity is not in the store', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove it' }).click();
    await pollEventually(() => rows.getAttribute('aria-rowcount')).toBe('2');
    await page.getByText('not saved yet').waitFor();
    await service.ask('DELETE', '/data/watchlists/ended');
  });

  test('the page of the watchlists has figures of each list, and shows the list that was saved last', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
    const ends = body.identifiers.map(({ end }) => end!).toSorted();
    const traded = body.identifiers.filter(({ end }) => end === ends.at(-1)).slice(0, 2);
    const [first, second] = traded.map(({ identifier }) => identifier);
    await service.ask('PUT', '/data/watchlists/early', { name: 'Early', identifiers: ['BADD', 'A B Equity'] });
    await service.ask('PUT', '/data/watchlists/later', { name: 'Later', identifiers: [first, second, 'BADD'] });
    await follow(page, '/console/watchlists');
    const later = page.getByRole('region', { name: 'Later' });
    await later.getByLabel('Figures of the list').waitFor();
    const figures = later.locator('.metrics dd').filter({ hasText: /^[+−].*%$/ });
    await pollEventually(() => figures.count()).toBe(2);
    const medians = await figures.allTextContents();
    const lists = page.getByRole('grid', { name: 'watchlists' });
    await lists.getByRole('row', { name: `Later 3 1 ended ${medians.join(' ')} ` }).waitFor();
    await lists.getByRole('row', { name: /^Early 2 1 ended 1 not in the store – – – / }).waitFor();
    await lists.getByText('Early', { exact: true }).click();
    await page.getByRole('region', { name: 'Early' }).getByRole('link', { name: 'Edit' }).click();
    await page.waitForURL('**/console/watchlists/early');
    for (const id of ['early', 'later']) await service.ask('DELETE', `/data/watchlists/${id}`);
  });

  test('a rebalance marks the securities that were at the cap when it was decided', async () => {
    const { page, service } = desk;
    const { body: list } = await service.ask<RebalanceList>('GET', '/analytics/CORE/rebalances');
    const { date } = list.rebalances.at(-1)!;
    const { body } = await service.ask<RebalanceView>('GET', `/analytics/CORE/rebalances/${date}`);
    const cappedIds = body.names.filter(({ capped }) => capped).map(({ identifier }) => identifier);
    expect(cappedIds.length).toBeGreaterThan(0);
    await follow(page, `/console/indices/CORE/rebalances/${date}`);
    await page.getByText('cap 10.00% when decided').waitFor();
    const table = page.getByRole('grid', { name: 'securities of the rebalance' });
    for (const id of cappedIds) await table.getByRole('row', { name: new RegExp(`^${id} cap `) }).waitFor();
    expect(await table.getByTitle('At the cap when decided').count()).toBe(cappedIds.length);
  });

  test('costs of trades are shown as not modelled if the run has no transaction cost', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<RebalanceList>('GET', '/analytics/BROAD/rebalances');
    const figures = page.getByLabel('Figures of the rebalance');
    await follow(page, `/console/indices/BROAD/rebalances/${body.rebalances.at(-1)!.date}`);
    await figures.getByText('not modelled').waitFor();
    await pollEventually(() => figures.textContent()).toContain('Costnot modelledthe run has no transaction cost');
    await follow(page, '/console/indices/BROAD?tab=rebalances');
    const means = page.getByLabel('Means of the rebalances');
    await means.getByText('Average turnover').waitFor();
    expect(await means.textContent()).not.toContain('Costs a year');
    expect(await page.getByRole('columnheader', { name: 'Cost' }).count()).toBe(0);
    // A column with one value in all rows is stated once.
    const [construction, ...later] = body.rebalances;
    await page
      .getByText(
        `${later.length} after the initial construction of ${construction!.date}, decided on the same day, scheduled`,
      )
      .waitFor();
    for (const name of ['Called by', 'Decided', 'Review'])
      expect(await page.getByRole('columnheader', { name }).count()).toBe(0);
    const grid = page.getByRole('grid', { name: 'rebalances of BROAD' });
    const countLeft = (r: number) => {
      const { gross_constituents: after, added, removed } = body.rebalances[r]!;
      return body.rebalances[r - 1]!.gross_constituents - (after - added + removed);
    };
    const isLeft = body.rebalances.some((_, r) => r > 0 && countLeft(r) > 0);
    expect(await grid.getByRole('columnheader', { name: 'Left between' }).count()).toBe(isLeft ? 1 : 0);
    // A row names the largest securities that entered and left.
    const { date } = body.rebalances.findLast(({ added, removed }) => added > 0 && removed > 0)!;
    const { body: view } = await service.ask<RebalanceView>('GET', `/analytics/BROAD/rebalances/${date}`);
    const formatLargest = (changes: readonly { readonly identifier: string; readonly weight: number }[]) => {
      const names = changes.toSorted((a, b) => b.weight - a.weight).map(({ identifier }) => identifier);
      return names.slice(0, 5).join(', ') + (names.length > 5 ? ` +${names.length - 5}` : '');
    };
    const entered = view.names.filter(({ before, target }) => before === 0 && target > 0);
    const removed = view.names.filter(({ before, target }) => before! > 0 && target === 0);
    const row = grid.getByRole('row').filter({ has: page.getByRole('link', { name: date, exact: true }) });
    await pollEventually(() => row.locator('[data-column="added"]').textContent()).toBe(
      formatLargest(entered.map(({ identifier, target }) => ({ identifier, weight: target }))),
    );
    await pollEventually(() => row.locator('[data-column="removed"]').textContent()).toBe(
      formatLargest(removed.map(({ identifier, before }) => ({ identifier, weight: before! }))),
    );
    // The page of the rebalance has them first, names the datapoint of the selection, and adds up the trades.
    await follow(page, `/console/indices/BROAD/rebalances/${date}`);
    await page.getByRole('button', { name: /^Best by market cap top · Count 50 50/ }).waitFor();
    const table = page.getByRole('grid', { name: 'securities of the rebalance' });
    for (const [k, mark] of [
      [1, 'added'],
      [entered.length + 1, 'removed'],
    ] as const)
      await pollEventually(() => table.getByRole('row').nth(k).textContent()).toContain(mark);
    const bought = view.names.reduce((sum, { trade }) => sum + Math.max(trade ?? 0, 0), 0);
    await page.getByText(`Bought ${Math.round(bought).toLocaleString('en-GB')} USD, sold`).waitFor();
    await follow(page, `/console/indices/CORE/rebalances/${body.rebalances.at(-1)!.date}`);
    await figures.getByText(/^\d+\.\d\d bp$/).waitFor();
  });
});
