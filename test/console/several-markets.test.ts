import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DeskActions, IdentifierSearch, IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Last session of the store `other`, which is served. The store `market`, to which CORE belongs, ends later. */
const OTHER_END = '2018-12-31';

describe.skipIf('why' in browserFailure)('pages while another data store is served', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    const { service, page } = desk;
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/CORE', { ...body, store_id: 'market' });
    const dates = { start: '2015-01-01', end: OTHER_END };
    const settings = { store_id: 'other', name: 'Other', seed: 7, assets: 30, ...dates, activate: true };
    await service.ask('POST', '/data/synthetic', settings);
    await service.waitForJob('generate:other');
    await page.goto(service.url());
  });
  afterAll(() => desk?.close());

  test('an optimisation and the designer use the dates and the names of the store of the index', async () => {
    const { page } = desk;
    const missing: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 404) missing.push(response.url());
    });
    await follow(page, '/console/optimise?index=CORE');
    const solution = page.getByRole('complementary', { name: 'Live solution' });
    await pollEventually(async () => (await solution.getByLabel('Date').inputValue()) > OTHER_END).toBe(true);
    await follow(page, '/console/indices/CORE/edit');
    const preview = page.getByRole('complementary', { name: 'Preview' });
    await pollEventually(async () => (await preview.getByLabel('Decision date').inputValue()) > OTHER_END).toBe(true);
    await preview.getByLabel('Figures of the preview').waitFor();
    expect(missing).toEqual([]);
  });

  test('a watchlist is shown with the prices of a chosen store, and is not emptied by another one', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=60&store_id=market');
    const { body: served } = await service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=60');
    const servedIds = new Set(served.identifiers.map(({ identifier }) => identifier));
    const identifiers = body.identifiers
      .map(({ identifier }) => identifier)
      .filter((identifier) => !servedIds.has(identifier))
      .slice(0, 2);
    expect(identifiers).toHaveLength(2);
    await service.ask('PUT', '/data/watchlists/two', { name: 'Two', identifiers });
    await follow(page, '/console/watchlists/two');
    await page.getByText(`Not in other: ${identifiers.join(', ')}.`).waitFor();
    expect(await page.getByRole('button', { name: /^Remove 2/ }).count()).toBe(0);
    await page.getByLabel('Data store').selectOption('market');
    await page.getByRole('img', { name: `Last year of ${identifiers[0]}` }).waitFor();
    await page.getByText('Not in other').waitFor({ state: 'detached' });
    const row = page.getByRole('grid', { name: 'names' }).getByRole('row').nth(1);
    await row.click();
    await page.getByRole('application', { name: /^CLOSE of / }).waitFor();
    expect(new URL(page.url()).searchParams.get('store')).toBe('market');
  });

  test('a query and the corporate actions are those of the chosen store', async () => {
    const { page, service } = desk;
    const query = "SELECT max(date)::VARCHAR AS last, 'x' AS mark FROM prices";
    await follow(page, `/console/data/sql?q=${encodeURIComponent(query)}`);
    const last = page.getByRole('main').getByText(OTHER_END);
    await last.first().waitFor();
    await page.getByLabel('Data store').selectOption('market');
    await last.first().waitFor({ state: 'detached' });
    const { body } = await service.ask<DeskActions>('GET', '/actions?store_id=market&from=2014-01-01&limit=1');
    const { identifier, ex_date: date } = body.actions[0]!; // the market has actions
    await follow(page, `/console/actions?store=market&from=${date}`);
    await page
      .getByRole('grid', { name: 'corporate actions' })
      .getByRole('row', { name: new RegExp(identifier) })
      .first()
      .click();
    await page.getByRole('complementary', { name: new RegExp(`of ${identifier}$`) }).waitFor();
    const link = page.getByRole('complementary').getByRole('link', { name: identifier, exact: true });
    expect(await link.getAttribute('href')).toMatch(/\?store=market$/);
  });
});
