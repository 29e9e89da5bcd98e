import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type {
  EventsView,
  GovernanceOverview,
  IndexDocument,
  LevelsView,
  PreviewResponse,
} from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, waitForCalm, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

const LAST_BAR_COLOURS = `[...[...document.querySelectorAll('table.bars')].at(-1).querySelectorAll('.bar')]
  .map((bar) => getComputedStyle(bar).backgroundColor)`;

/** Maximum number of requests until a page and its search are loaded, without the search for documents. */
const REQUESTS_MAX = 20;

const NOTES = [
  ['Review moved', '2021-12-31', ''],
  ['Squeeze', '2021-03-01', '2021-04-01'],
] as const;

/** Tests the figures on the first screens of pages of records. Each test starts from an address. */
describe.skipIf('why' in browserFailure)('first screens of records', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test.each([
    ['first page', '', 'Coming up'],
    ['page of an index', '/console/indices/CORE', /^Figures from/],
  ])('the %s requests each address once, and few in all, also in the background', async (_, address, label) => {
    const page = await desk.newPage();
    const requests: string[] = [];
    page.on('request', (request) =>
      requests.push(`${request.method()} ${request.url().slice(desk.service.url().length)}`),
    );
    await page.goto(`${desk.service.url()}${address}`);
    await page.getByLabel(label).first().waitFor();
    await pollEventually(() => requests.some((request) => request.includes('assets/view-'))).toBe(true);
    await waitForCalm(page);
    await page.close();
    expect(requests.filter((request, k) => requests.indexOf(request) !== k)).toEqual([]);
    // One more than finished requests: the stream of events.
    expect(requests.length, requests.join('\n')).toBeLessThanOrEqual(REQUESTS_MAX + 1);
  });

  test('governance marks an index that is behind its data, by sessions', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<LevelsView>('GET', '/analytics/CORE/levels');
    await service.ask('POST', '/analytics/CORE/publish', { through: body.levels.index.at(-4) });
    const { statements } = (await service.ask<GovernanceOverview>('GET', '/governance')).body;
    expect(statements.find(({ index_id: id }) => id === 'CORE')).toMatchObject({ sessions_behind: 3 });
    await follow(page, '/console/governance');
    const table = page.getByRole('grid', { name: 'benchmark statements' });
    await table.getByRole('row', { name: /^CORE .* 3 behind/ }).waitFor();
    await table.getByRole('row', { name: /^BROAD .* not published/ }).waitFor();
    await page.getByText('1 of 2 indices published, 1 behind the data').waitFor();
    // The open work of the published index is above the registers.
    const openWork = page.getByRole('list', { name: 'Open work' });
    await openWork
      .getByRole('listitem')
      .filter({ hasText: 'Indices behind their data' })
      .getByText('3 sessions')
      .waitFor();
    await openWork.getByText('purpose, procedures').waitFor();
    await table.getByRole('row', { name: /^CORE .* 2 sections to complete/ }).waitFor();
  });

  test('procedures are listed by kind, with the published indices that a kind does not cover', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<LevelsView>('GET', '/analytics/CORE/levels');
    await service.ask('POST', '/analytics/CORE/publish', { through: body.levels.index.at(-4) });
    const procedure = {
      name: 'Cessation',
      kind: 'cessation',
      text: '## Notice\n\nSix **months** ahead.',
      indices: null,
    };
    await service.ask('PUT', '/procedures/end', procedure);
    await service.ask('PUT', '/procedures/errors', { ...procedure, kind: 'errors', indices: ['BROAD'] });
    await follow(page, '/console/governance/procedures');
    const kinds = page.getByRole('list', { name: 'Kinds of procedures' });
    const selectKind = (kind: string) => kinds.getByRole('listitem').filter({ hasText: kind });
    await selectKind('Cessation of an index').getByText('1 of 1 published index').waitFor();
    await selectKind('Errors in published closes').getByText('0 of 1 published index').waitFor();
    await selectKind('Errors in published closes').getByText('Missing for CORE.').waitFor();
    await pollEventually(() => kinds.getByText('missing', { exact: true }).count()).toBe(7);
    await page.getByText('Six months ahead.').first().waitFor();
  });

  test('an index without a run states the constituents of its preview, their date and the content of a run', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/UNRUN', { ...core, id: 'UNRUN' });
    const { body: overview } = await service.ask<{ readonly end: string }>('GET', '/analytics/CORE/overview');
    const request = { as_of: overview.end };
    const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/UNRUN/preview', request);
    expect(preview.resolved_date).toBe(overview.end);
    await follow(page, '/console/indices/UNRUN');
    await page
      .getByText(`has the 20 constituents that the rules select on ${preview.resolved_date}`)
      .filter({ hasText: `since the base date ${core.base_date}` })
      .waitFor();
    const figures = page.getByLabel('Preview of UNRUN', { exact: true });
    await figures.getByText(`decided on ${preview.resolved_date}`).waitFor();
    await pollEventually(() => figures.textContent()).toContain('Constituents20');
    await service.ask('DELETE', '/indices/UNRUN');
  });

  test('a factor that lowers the risk has a bar of another colour on the left of zero', async () => {
    const { page } = desk;
    const contributions = { MARKET: 0.6, Energy: 0.5, Utilities: -0.1 };
    await page.route('**/factor-risk?**', async (route) => {
      const response = await route.fetch();
      const json = { ...(await response.json()), contributions, factors: Object.keys(contributions), factor_share: 1 };
      await route.fulfill({ response, json });
    });
    await follow(page, '/console/indices/CORE?tab=risk');
    const bars = page.getByRole('table', { name: 'Contribution of each factor to the active risk' });
    const readBox = async (name: RegExp) => {
      const box = await bars.getByRole('row', { name }).locator('.bar').boundingBox();
      return box!; // the bar is visible
    };
    const [added, reduced] = [await readBox(/^Energy .* 50\.0%/), await readBox(/^Utilities .* \u221210\.0%/)];
    expect(reduced.x + reduced.width).toBeLessThanOrEqual(added.x + 1);
    const colours = await page.evaluate<readonly string[]>(LAST_BAR_COLOURS);
    expect(colours.slice(0, 3)).toEqual([colours[0], colours[0], expect.not.stringContaining(colours[0]!)]);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('a note on a day is read out at the cursor without moving the chart, and one on a period is shaded', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?from=2020-12-31&to=2021-12-31');
    await page.getByRole('button', { name: 'Notes on CORE' }).click();
    for (const [text, from, to] of NOTES) {
      await page.getByLabel('Note', { exact: true }).fill(text);
      await page.getByLabel('First day of the note').fill(from);
      await page.getByLabel('Last day of the note').fill(to);
      await page.getByRole('button', { name: 'Add the note' }).click();
    }
    for (const [from, to, reason] of [
      ['2020-02-30', '', '“2020-02-30” is not a date such as 2024-03-15.'],
      ['2020-03-20', '2020-01-02', 'The last day 2020-01-02 is before the first day 2020-03-20.'],
    ] as const) {
      await page.getByLabel('First day of the note').fill(from);
      await page.getByLabel('Last day of the note').fill(to);
      await page.getByText(reason).waitFor();
    }
    await page.keyboard.press('Escape');
    await page.getByLabel(/^Figures from/).waitFor(); // they move the chart
    const chart = page.getByRole('application', { name: /^Level of CORE/ });
    await chart.focus();
    await page.keyboard.press('End');
    const note = page.locator('.chart-note').filter({ hasText: 'Review moved' });
    await note.waitFor();
    const box = await chart.boundingBox();
    await page.keyboard.press('Home');
    await note.waitFor({ state: 'detached' });
    expect(await chart.boundingBox()).toEqual(box);
    await page.reload();
    await chart.waitFor();
    await page.getByRole('button', { name: 'Notes on CORE' }).click();
    await page.getByText('2021-03-01 to 2021-04-01').waitFor();
    await page.getByRole('button', { name: 'Delete the note Squeeze' }).click();
    await page.getByText('2021-03-01 to 2021-04-01').waitFor({ state: 'detached' });
  });

  test('a date that is not available stays in its input with the reason until it is corrected', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    const from = page.getByRole('group', { name: 'Range of dates' }).getByLabel('From');
    await pollEventually(() => from.inputValue()).not.toBe('');
    const first = await from.inputValue();
    for (const [date, reason] of [
      ['2020-13-01', `“2020-13-01” is not a date such as ${first}.`],
      ['1990-01-01', `1990-01-01 is before ${first}, the first available date.`],
    ] as const) {
      await from.fill(date);
      await from.press('Tab');
      await page.getByText(reason).waitFor();
      expect(await from.inputValue()).toBe(date);
    }
    await from.fill(first);
    await from.press('Enter');
    await page.getByText('the first available date').waitFor({ state: 'detached' });
  });

  test('an index that cannot be read leaves the lines of the others in the chart', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?with=NOPE');
    const chart = page.getByRole('application', { name: /^Level of CORE/ });
    await chart.waitFor();
    await page.getByRole('alert').filter({ hasText: 'NOPE' }).waitFor();
    await page.getByRole('row', { name: /^CORE/ }).first().waitFor();
  });

  test('a query over indices is drawn as bars', async () => {
    const { page } = desk;
    await follow(page, '/console/data/sql');
    const bars = page.getByRole('table', { name: 'return_in_percent by index_id' });
    await bars.waitFor();
    const value = expect.stringMatching(/^−?[\d,]+\.\d\d$/);
    await pollEventually(() => bars.locator('.bar-value').allTextContents()).toEqual([value, value]);
  });

  test('the calendar shows the next event of each kind and the days until then', async () => {
    const { page, service } = desk;
    await follow(page, '/console/calendar');
    const { events } = (await service.ask<EventsView>('GET', '/events?kinds=effective')).body;
    const figures = page.getByLabel('Next events by kind');
    await figures.getByText('Next effective date').waitFor();
    await pollEventually(() => figures.textContent()).toContain(`Next effective date${events[0]!.date}`);
  });

  test('the page of all data draws the served prices and lists their versions', async () => {
    const { page, complaints } = desk;
    await follow(page, '/console/data');
    await page.getByRole('application', { name: /^Securities by session/ }).waitFor();
    await page.getByRole('list', { name: 'Latest versions of market' }).getByText('Version 1').waitFor();
    await follow(page, '/console/data/connect');
    await page.getByRole('list', { name: 'Sources' }).waitFor();
    expect(await page.getByText('Connected stores').count()).toBe(0); // the store is generated
    expect(complaints).toEqual([]);
  });

  test('a table cuts no row at its lower edge', async () => {
    const { page } = desk;
    await follow(page, '/console/data/stores/market?tab=coverage');
    const table = page.getByRole('grid', { name: 'fields' });
    await table.getByRole('row').nth(8).waitFor();
    const readRest = () =>
      table.evaluate((element) => {
        const edge = element.getBoundingClientRect().bottom - 1;
        const rows = [...element.querySelectorAll('.table-rows [role=row]')].map((row) => row.getBoundingClientRect());
        return rows.filter(({ top, bottom }) => top < edge - 1 && bottom > edge + 1).length;
      });
    await pollEventually(readRest).toBe(0);
  });

  test('a table whose rows are at most 700 pixels high has no scroll box', async () => {
    const { page } = desk;
    const countRows = async () => Number(await table.getAttribute('aria-rowcount')) - 1;
    const readHiddenHeight = () => table.evaluate((element) => element.scrollHeight - element.clientHeight);
    await follow(page, '/console/data/stores/market?tab=coverage');
    const table = page.getByRole('grid', { name: 'fields' });
    await table.getByRole('row').nth(8).waitFor();
    await pollEventually(readHiddenHeight).toBeGreaterThan(0);
    // The height of the table is that of ten rows, and twelve fields have an underscore in their names.
    await page.getByRole('region', { name: 'Fields' }).getByRole('searchbox').fill('_');
    await pollEventually(countRows).toBe(12);
    await pollEventually(readHiddenHeight).toBe(0);
    // The holidays of a year need more than the usual height of their table, 420 pixels.
    await follow(page, '/console/calendar/closures/XNYS');
    const holidays = page.getByRole('table', { name: 'holidays of XNYS' });
    await holidays.getByText('Christmas').first().waitFor();
    await pollEventually(() => holidays.evaluate((element) => element.scrollHeight - element.clientHeight)).toBe(0);
  });

  test('the coverage of a store lists its missing prices by security and by session', async () => {
    const { page, service, complaints } = desk;
    // First and Second miss prices that later dates have, and Third is delisted.
    const texts = { First: 'x.x..xx', Second: 'xxx.xxx', Third: 'xxxx...' };
    const data = Object.entries(texts).flatMap(([identifier, text]) =>
      [...text].flatMap((mark, t) => (mark === 'x' ? [[identifier, `2024-01-0${t + 1}`, 10 + t]] : [])),
    );
    const market = { index: data.map((_, row) => row), columns: ['identifier', 'date', 'CLOSE'], data };
    const store = { store_id: 'gaps', name: 'Gaps', activate: false, tables: { market } };
    await service.ask('POST', '/data/import', store);
    await follow(page, '/console/data/stores/gaps?tab=coverage');
    const table = page.getByRole('table', { name: 'missing prices', exact: true });
    const countRows = async () => Number(await table.getAttribute('aria-rowcount')) - 1;
    await table
      .getByRole('row', { name: /^First 3 2 2024-01-02 2024-01-05 2024-01-05, 2024-01-04, 2024-01-02/ })
      .waitFor();
    await table.getByRole('row', { name: /^Second 1 1 2024-01-04/ }).waitFor();
    expect(await countRows()).toBe(2);
    await page.getByRole('application', { name: /^Missing prices/ }).waitFor();
    const fields = page.getByRole('grid', { name: 'fields', exact: true });
    await fields.getByRole('row', { name: /^CLOSE .* 3 2 2024-01-01 2024-01-07/ }).waitFor();
    const figures = page.getByLabel('Coverage of prices');
    await figures.getByRole('link', { name: 'of 2 securities' }).waitFor();
    await pollEventually(() => figures.textContent()).toContain('Session with most missing2024-01-042 prices missing');
    await figures.getByRole('link', { name: '2 prices missing' }).click();
    await pollEventually(() => page.getByRole('searchbox').first().inputValue()).toBe('2024-01-04');
    // A search for another session finds the only security without a price on it.
    await page.getByRole('searchbox').first().fill('2024-01-05');
    await pollEventually(countRows).toBe(1);
    expect(complaints).toEqual([]);
    // Without a missing price, there is no session with most of them.
    await follow(page, '/console/data/stores/market?tab=coverage');
    await figures.getByText('over all sessions').waitFor();
    expect(await figures.textContent()).not.toContain('Session with most missing');
  });

  test('the tour begins on the index that is open', async () => {
    const { page } = desk;
    for (const id of ['CORE', 'BROAD']) {
      await follow(page, `/console/indices/${id}?tab=constituents`);
      await page.getByRole('heading', { name: id, exact: true }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('tour');
      await page.getByRole('option', { name: /^Take the tour/ }).click();
      const tour = page.getByRole('complementary', { name: 'Tour' });
      await tour.getByText('Step 1 of 5').waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/indices/${id}`);
      await tour.getByRole('button', { name: 'Leave the tour' }).click();
    }
  });
});
