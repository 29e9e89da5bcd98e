import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Locator } from 'playwright-core';
import type {
  ReferenceResponse,
  DeskActions,
  IdentifierSearch,
  IndexCollection,
  IndexDocument,
  RebalanceList,
  WeightsView,
} from '#clients/typescript/divisor.js';
import type { RunningService } from '../services/running-service.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { importPrices, openStockedDesk } from './stocked-desk.js';

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
    const lastDate = body.identifiers
      .map(({ end }) => end ?? '')
      .toSorted()
      .at(-1);
    const identifiers = body.identifiers
      .filter(({ end }) => end === lastDate) // a security that ended earlier has no line of the last year
      .map(({ identifier }) => identifier)
      .filter((identifier) => !servedIds.has(identifier))
      .slice(0, 2);
    expect(identifiers).toHaveLength(2);
    await service.ask('PUT', '/data/watchlists/two', { name: 'Two', identifiers });
    await follow(page, '/console/watchlists/two');
    const missing = page.getByRole('grid', { name: 'names' }).getByText('not in the store');
    await pollEventually(() => missing.count()).toBe(2);
    await page.getByLabel('Data store').selectOption('market');
    await page.getByRole('img', { name: `Last year of ${identifiers[0]}` }).waitFor();
    await pollEventually(() => missing.count()).toBe(0);
    const row = page.getByRole('grid', { name: 'names' }).getByRole('row').nth(1);
    await row.click();
    await page.getByRole('application', { name: /^CLOSE of / }).waitFor();
    expect(new URL(page.url()).searchParams.get('store')).toBe('market');
  });

  test('a run is not offered as the benchmark of runs on another store', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/ELSEWHERE', { ...core, id: 'ELSEWHERE', store_id: 'other' });
    await service.ask('POST', '/analytics/ELSEWHERE/backtest', {});
    await service.waitForJob('backtest:ELSEWHERE');
    await follow(page, '/console/compare?ids=CORE,ELSEWHERE');
    await page.getByRole('application', { name: /^Drawdowns/ }).waitFor();
    expect(await page.getByRole('link', { name: /^Relative to/ }).count()).toBe(0);
    await follow(page, '/console/compare?ids=CORE,BROAD');
    await page.getByRole('link', { name: 'Relative to CORE' }).waitFor();
  });

  test('a query and the corporate actions are those of the chosen store', async () => {
    const { page, service } = desk;
    const query = "SELECT max(date)::VARCHAR AS last, 'x' AS mark FROM prices";
    await follow(page, `/console/data/sql?q=${encodeURIComponent(query)}`);
    const last = page.getByRole('main').getByText(OTHER_END);
    await last.first().waitFor();
    await page.getByLabel('Data store').selectOption('market');
    await last.first().waitFor({ state: 'detached' });
    await page.getByLabel('Export the result').click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    const text = await readFile(await file.path(), 'utf8');
    expect(text).toMatch(/,x/);
    expect(text).not.toContain(OTHER_END);
    const { body } = await service.ask<DeskActions>('GET', '/actions?store_id=market&from=2014-01-01&limit=1');
    const { identifier, ex_date: date } = body.actions[0]!; // the market has actions
    await follow(page, `/console/actions?store=market&scope=all&from=${date}`);
    await page
      .getByRole('grid', { name: 'corporate actions' })
      .getByRole('row', { name: new RegExp(identifier) })
      .first()
      .click();
    await page.getByRole('complementary', { name: new RegExp(`of ${identifier}$`) }).waitFor();
    const link = page.getByRole('complementary').getByRole('link', { name: identifier, exact: true });
    expect(await link.getAttribute('href')).toMatch(/\?store=market$/);
  });

  test('the preview of an index without a run has the last date and the names of the store of the index', async () => {
    const { page, service } = desk;
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/UNRUN', { ...body, id: 'UNRUN', name: 'Not run' });
    await follow(page, '/console/indices/UNRUN');
    await pollEventually(async () => (await readDecisionDate(page.getByRole('main'))) > OTHER_END).toBe(true);
    const largest = page.getByRole('region', { name: 'Largest weights' });
    await largest
      .getByText(await readLargestName(service))
      .first()
      .waitFor();
  });

  test('an optimisation run and a risk model show the names of the store of the index', async () => {
    const { page, service } = desk;
    const name = await readLargestName(service);
    const cap = { id: 'cap', type: 'PositionBounds', params: { upper: 0.2 } };
    await service.ask('POST', '/optimise/constraint-sets', { id: 'capped', name: 'Capped', constraints: [cap] });
    const { body: run } = await service.ask<{ readonly job_id: string }>('POST', '/optimise/runs', {
      index_id: 'CORE',
      objective: 'min_variance',
      constraint_set_id: 'capped',
    });
    await service.waitForJob(run.job_id);
    await follow(page, `/console/optimise/runs/${run.job_id.replace(/^optimise:/, '')}`);
    await page.getByRole('main').getByText(name).first().waitFor();
    const terms = { index_id: 'CORE', estimator: 'statistical', factors: 3, start: '2019-01-02' };
    const { body: model } = await service.ask<{ readonly job_id: string }>(
      'POST',
      '/risk-models/model/estimate',
      terms,
    );
    await service.waitForJob(model.job_id);
    await follow(page, '/console/risk-models/model');
    await page.getByRole('main').getByText(name).first().waitFor();
  });

  test('the summary of a strategy does not name the last date of another store', async () => {
    const { page, service } = desk;
    await service.ask('PUT', '/strategies/FOLLOW', { id: 'FOLLOW', name: 'Follow', index_id: 'CORE' });
    await follow(page, '/console/strategies/FOLLOW/edit');
    await page.getByText('Figures and chart of CORE are from its newest run').waitFor();
    expect(await page.getByRole('main').getByText(OTHER_END).count()).toBe(0);
  });

  test('the corporate actions of a store in the address are listed once', async () => {
    const { page, service } = desk;
    const lists: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/actions' && !searchParams.has('indices')) lists.push(searchParams.get('store_id') ?? '');
    });
    await page.goto(`${service.url()}/console/actions?store=market&from=2014-01-02`);
    await page.getByRole('grid', { name: 'actions' }).waitFor();
    await pollEventually(() => page.getByLabel('Data store').inputValue()).toBe('market');
    expect(lists).toEqual(['market']);
  });

  test('an index that refers to another one shows the dates and the names of its store', async () => {
    const { page, service } = desk;
    const terms = { source_index_id: 'CORE', objective: { type: 'min_variance' }, constraints: [] };
    const optimised = {
      id: 'OPTIMISED',
      name: 'Optimised',
      base_date: '2016-01-04',
      calendar: 'XNYS',
      derivation: terms,
    };
    await service.ask('PUT', '/indices/OPTIMISED', { ...optimised, rebalance: { frequency: 'quarterly' } });
    const { body } = await service.ask<IndexCollection>('GET', '/indices');
    expect(body.indices.find(({ id }) => id === 'OPTIMISED')?.store_id).toBe('market');
    await follow(page, '/console/indices/OPTIMISED');
    const main = page.getByRole('main');
    await main.getByText('on the data store').waitFor();
    await pollEventually(async () => (await readDecisionDate(main)) > OTHER_END).toBe(true);
    await follow(page, '/console/indices/OPTIMISED/edit');
    const preview = page.getByRole('complementary', { name: 'Preview' });
    await pollEventually(async () => (await preview.getByLabel('Decision date').inputValue()) > OTHER_END).toBe(true);
    await service.ask('POST', '/analytics/OPTIMISED/backtest', {});
    await service.waitForJob('backtest:OPTIMISED');
    const name = await readLargestName(service, 'OPTIMISED');
    await follow(page, '/console/indices/OPTIMISED?tab=constituents');
    await main.getByText(name).first().waitFor();
    await follow(page, `/console/indices/OPTIMISED/rebalances/${await readLastRebalance(service, 'OPTIMISED')}`);
    await main.getByText(name).first().waitFor();
    await follow(page, '/console/optimise?index=OPTIMISED');
    const solution = page.getByRole('complementary', { name: 'Live solution' });
    await pollEventually(async () => (await solution.getByLabel('Date').inputValue()) > OTHER_END).toBe(true);
  });

  test('the scenarios of a generated market are its drawdowns while an imported store is served', async () => {
    const { page, service } = desk;
    await importPrices(desk);
    await service.ask('POST', '/data/stores/closes/activate', {});
    await page.goto(`${service.url()}/console/indices/CORE?tab=scenarios`);
    await page
      .getByText(/% drawdown, 20/)
      .first()
      .waitFor();
  });
});

/** Returns the decision date of the figures of a preview; an empty text before they are shown. */
async function readDecisionDate(main: Locator): Promise<string> {
  const [note = ''] = await main.getByText(/^decided on /).allTextContents();
  return note.replace('decided on ', '');
}

/** Returns the company name of the largest security of an index in its store. */
async function readLargestName(service: RunningService, id = 'CORE'): Promise<string> {
  const { body: held } = await service.ask<WeightsView>('GET', `/analytics/${id}/weights`);
  const [largest] = held.weights.toSorted((a, b) => b.weight - a.weight);
  const { body } = await service.ask<ReferenceResponse>(
    'GET',
    `/data/reference/${largest!.identifier}?store_id=market`,
  );
  return String(body.fields['NAME']);
}

async function readLastRebalance(service: RunningService, id: string): Promise<string> {
  const { body } = await service.ask<RebalanceList>('GET', `/analytics/${id}/rebalances`);
  return body.rebalances.at(-1)!.date;
}
