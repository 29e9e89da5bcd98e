import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Locator } from 'playwright-core';
import type { IdentifierSearch, IndexDocument, ReferenceResponse, RiskModelView } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('a desk with several data stores', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    const { service, page } = desk;
    const settings = { seed: 7, assets: 30, start: '2015-01-01', end: '2018-12-31', activate: false };
    await service.ask('POST', '/data/synthetic', { store_id: 'other', name: 'Other', ...settings });
    await service.waitForJob('generate:other');
    const { body } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    await service.ask('PUT', '/indices/REST', { ...body, id: 'REST', name: 'Rest', store_id: 'other' });
    await service.ask('PUT', '/indices/FREE', { ...body, id: 'FREE', name: 'Free' });
    await serveStore(desk, 'other');
    for (const id of ['REST', 'FREE']) {
      await service.ask('POST', `/analytics/${id}/backtest`, {});
      await service.waitForJob(`backtest:${id}`);
    }
    await serveStore(desk, 'market');
    for (const id of ['CORE', 'REST']) {
      const terms = { index_id: id, estimator: 'statistical', factors: 3, start: '2017-01-02', end: '2018-12-28' };
      await service.ask('POST', `/risk-models/of-${id}/estimate`, terms);
      await service.waitForJob(`risk:of-${id}`);
    }
    await page.goto(service.url());
  });
  afterAll(() => desk?.close());

  test('a saved view, a copied link and a pin name the store that the page shows', async () => {
    const { page } = desk;
    const identifier = await findSecurity(desk, 'market');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await follow(page, `/console/names/${identifier}`);
    await page.getByRole('application', { name: /^CLOSE of / }).waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('button', { name: 'Copy the link' }).click();
    await page.getByText('Copied the link.').waitFor();
    const link = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(link).toMatch(new RegExp(`/console/names/${identifier}\\?store=market$`));
    await page.getByLabel('Name of the view').fill('One security');
    await page.getByRole('button', { name: 'Save the view' }).click();
    const views = page.getByRole('list', { name: 'Saved views' });
    await views.getByRole('link', { name: 'One security' }).waitFor();
    expect(await views.getByRole('link').getAttribute('href')).toContain('?store=market');
    await page.getByRole('button', { name: 'Pin to the dashboard' }).click();
    await page.getByText('was pinned to the dashboard').waitFor();
    const stored = await page.evaluate<string>(`localStorage.getItem('divisor.dashboard')`);
    expect(JSON.parse(stored)).toMatchObject([{ address: `/console/names/${identifier}?store=market` }]);
    expect(new URL(page.url()).search).toBe('');
    await page.keyboard.press('Escape');
  });

  test('an address of a page that does not depend on the served store is kept as it is', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?tab=risk');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of the view').fill('Risk');
    await page.getByRole('button', { name: 'Save the view' }).click();
    const view = page.getByRole('list', { name: 'Saved views' }).getByRole('link', { name: 'Risk' });
    expect(await view.getAttribute('href')).toBe('/console/indices/CORE?tab=risk');
  });

  test('a watchlist stays on the chosen store when it is saved', async () => {
    const { page } = desk;
    const identifier = await findSecurity(desk, 'other');
    await follow(page, '/console/watchlists/new?store=other');
    await page.getByLabel('Name *').fill('Kept');
    await page.getByLabel('Security to add').fill(identifier);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('grid', { name: 'names' }).getByText(identifier, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await pollEventually(() => new URL(page.url()).pathname).toBe('/console/watchlists/kept');
    expect(new URL(page.url()).search).toBe('?store=other');
    await page.getByRole('button', { name: 'Edit the list' }).click();
    await page.getByLabel('Name *').fill('Kept here');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('not saved yet').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?store=other');
  });

  test('the list of securities is that of the store in the address', async () => {
    const { page } = desk;
    await follow(page, '/console/names?store=other');
    const rows = page.getByRole('grid', { name: 'names' }).getByRole('row');
    await rows.nth(1).click();
    await page.getByRole('application', { name: /^CLOSE of / }).waitFor();
    expect(new URL(page.url()).searchParams.get('store')).toBe('other');
  });

  test('only risk models of the same data store are offered', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?tab=risk');
    const options = page.getByLabel('Estimated from').locator('option');
    await pollEventually(() => options.allTextContents()).toEqual(['the returns of the run', 'model of-CORE']);
    const factors = page.getByRole('group', { name: 'Model', exact: true });
    await factors.getByText('of-CORE').waitFor();
    expect(await factors.getByText('of-REST').count()).toBe(0);
    await follow(page, '/console/indices/REST?tab=risk');
    await pollEventually(() => options.allTextContents()).toEqual(['the returns of the run', 'model of-REST']);
  });

  test('a new batch offers only risk models of the data store of its parent index', async () => {
    const { page } = desk;
    await follow(page, '/console/batches');
    const parent = page.getByLabel(/^Parent index/);
    const model = page.getByLabel(/^Risk model/);
    const readModels = async () =>
      (await model.locator('option').allTextContents()).filter((text) => text.startsWith('of-'));
    await parent.selectOption('CORE');
    await pollEventually(readModels).toEqual(['of-CORE']);
    await model.selectOption('of-CORE');
    await parent.selectOption('REST');
    await pollEventually(readModels).toEqual(['of-REST']);
    await pollEventually(() => model.inputValue()).not.toBe('of-CORE');
    await pollEventually(() => new URL(page.url()).searchParams.get('batch')).not.toContain('of-CORE');
  });

  test('the palette lists a recent page with its data store', async () => {
    const { page } = desk;
    await follow(page, '/console/names?store=other');
    await page.getByRole('grid', { name: 'names' }).waitFor();
    await follow(page, '/console/jobs');
    await openPalette(desk);
    await page.getByRole('option', { name: /^Securities.*recent/ }).click();
    await page.getByRole('grid', { name: 'names' }).waitFor();
    expect(new URL(page.url()).searchParams.get('store')).toBe('other');
  });

  test('weights of runs of different data stores have no overlap', async () => {
    const { page } = desk;
    await follow(page, '/console/compare?ids=CORE,BROAD,REST');
    const overlap = page.getByRole('region', { name: 'Overlap of weights' });
    await overlap.getByText('none between data stores').waitFor();
    const cells = overlap.getByRole('table').getByRole('row').nth(1).getByRole('cell');
    await pollEventually(() => cells.getByText(/%$/).count()).toBe(1);
    await follow(page, '/console/compare?ids=CORE,BROAD');
    await overlap.getByText('latest weights').waitFor();
    await pollEventually(() => overlap.getByText('between data stores').count()).toBe(0);
  });

  test('the deletion of a data store names the indices and strategies that cannot run without it', async () => {
    const { page, service } = desk;
    await service.ask('PUT', '/strategies/FOLLOW', { id: 'FOLLOW', name: 'Follow', index_id: 'REST' });
    await follow(page, '/console/data/stores/other');
    const remove = page.getByRole('button', { name: 'Delete', exact: true });
    await pollEventually(() => remove.getAttribute('class')).toMatch(/ button plain$/);
    await page.getByRole('button', { name: 'Serve', exact: true }).waitFor();
    for (const name of ['Refresh all values', 'Add later dates']) await page.getByRole('button', { name }).waitFor();
    await remove.click();
    await page.getByText('1 index and 1 strategy cannot run without it: REST, FOLLOW.').waitFor();
    await page.keyboard.press('Escape');
  });

  test('the page of an index or a strategy on another store names that store, and the bar names the served one', async () => {
    const { page, service } = desk;
    await service.ask('PUT', '/strategies/FOLLOW', { id: 'FOLLOW', name: 'Follow', index_id: 'REST' });
    for (const id of ['REST', 'FOLLOW']) {
      await follow(page, `/console/indices/${id}`);
      await page.getByRole('heading', { name: id, level: 1 }).waitFor();
      await page.getByRole('main').getByText('on the data store other').waitFor();
      await page.getByRole('link', { name: /^Served market/ }).waitFor();
    }
  });

  test('volatilities of risk models have the names of the store of each model', async () => {
    const { page, service } = desk;
    const { body: model } = await service.ask<RiskModelView>('GET', '/risk-models/of-REST');
    const [[identifier]] = Object.entries(model.volatilities).toSorted(([, a], [, b]) => b - a) as [[string, number]];
    const { body } = await service.ask<ReferenceResponse>('GET', `/data/reference/${identifier}?store_id=other`);
    await follow(page, '/console/risk-models');
    const ofOther = page.getByRole('table', { name: 'volatilities by model on other' });
    await ofOther.scrollIntoViewIfNeeded();
    const row = ofOther.getByRole('row').filter({ has: page.getByText(identifier, { exact: true }) });
    await row.getByText(String(body.fields['NAME'])).waitFor();
    const ofServed = page.getByRole('table', { name: 'volatilities by model on market' });
    await ofServed.getByRole('columnheader', { name: 'of-CORE' }).waitFor();
  });

  test('an unknown column is reported for the data store of the index', async () => {
    const { body } = await desk.service.ask('GET', '/analytics/REST/limits?by=NONE');
    expect(JSON.stringify(body)).toContain('The data store of the index has no reference column NONE');
  });

  describe('after a data store is deleted', () => {
    const reason = 'The data store other of the index is not registered.';
    beforeAll(async () => {
      if (!('browser' in browserFailure)) return;
      const { service, page } = desk;
      const { body: rest } = await service.ask<IndexDocument>('GET', '/indices/REST');
      const pipeline = {
        selection: [{ id: 'expensive', type: 'PriceFilter', params: { minimum: 1e9 } }],
        weighting: { type: 'EqualWeight' },
      };
      await service.ask('PUT', '/indices/FAILED', { ...rest, id: 'FAILED', name: 'Failed', pipeline });
      await service.ask('POST', '/analytics/FAILED/backtest', {});
      expect((await service.waitForJob('backtest:FAILED')).status).toBe('failed');
      expect((await service.ask('DELETE', '/data/stores/other')).status).toBeLessThan(300);
      await page.goto(service.url());
    });

    test('the scenarios, an optimisation and the designer state that the store is missing', async () => {
      const { page } = desk;
      for (const address of [
        '/console/indices/REST?tab=scenarios',
        '/console/optimise?index=REST',
        '/console/indices/REST/edit',
      ]) {
        await follow(page, address);
        await page.getByText(reason).waitFor();
        await pollEventually(() => page.getByText(/No data store is served|Loading the scenarios/).count()).toBe(0);
      }
    });

    test('indices whose store is missing are not run with the stale ones', async () => {
      const { page, service } = desk;
      for (const id of ['CORE', 'BROAD']) {
        const { body } = await service.ask<IndexDocument>('GET', `/indices/${id}`);
        await service.ask('PUT', `/indices/${id}`, { ...body, base_value: 500 });
      }
      await follow(page, '/');
      await page.getByRole('button', { name: 'Run 2 stale indices' }).waitFor();
      const row = page.getByRole('grid', { name: 'indices' }).getByRole('row').filter({ hasText: 'REST' });
      await row.getByText('store missing').waitFor();
      expect(await row.getByRole('button', { name: 'Run REST' }).count()).toBe(0);
    });

    test('neither the page nor the palette runs an index or a strategy whose store is missing', async () => {
      const { page } = desk;
      for (const id of ['REST', 'FOLLOW']) {
        await follow(page, `/console/indices/${id}`);
        await page.getByRole('heading', { name: id, level: 1 }).waitFor();
        await page.getByRole('link', { name: 'Edit', exact: true }).waitFor();
        await pollEventually(() => page.getByRole('button', { name: 'Run', exact: true }).count()).toBe(0);
      }
      await follow(page, '/console/indices/FREE');
      await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
      const input = await openPalette(desk);
      await input.fill('run free');
      await page.getByRole('option', { name: /^Run FREE/ }).waitFor();
      await input.fill('rest action');
      await page.getByRole('option', { name: /^Edit REST/ }).waitFor();
      expect(await page.getByRole('option', { name: /^Run REST/ }).count()).toBe(0);
      await page.keyboard.press('Escape');
    });

    test('a failed run whose store is missing is not offered again', async () => {
      const { page } = desk;
      await follow(page, '/console/indices/FAILED');
      const failure = page.getByRole('alert').filter({ hasText: 'The last run failed' });
      await failure.getByText(reason).waitFor();
      expect(await failure.getByRole('button', { name: 'Run again' }).count()).toBe(0);
    });

    test('an index page offers no action that the service refuses', async () => {
      const { page } = desk;
      await follow(page, '/console/indices/REST');
      const banner = page.getByRole('status').filter({ hasText: 'This run is out of date' });
      await banner.getByText('Register the data store other').waitFor();
      expect(await banner.getByRole('link', { name: 'Data' }).getAttribute('href')).toBe('/console/data');
      expect(await banner.getByRole('button').count()).toBe(0);
      await follow(page, '/console/indices/FREE');
      await banner.getByText('The data store other is no longer registered.').waitFor();
      expect(await banner.getByRole('link', { name: 'Data' }).getAttribute('href')).toBe('/console/data');
      expect(await banner.getByRole('button').allTextContents()).toEqual(['Run again']);
    });
  });
});

/** Opens the palette. Returns its field. */
async function openPalette({ page }: Desk): Promise<Locator> {
  await page.keyboard.press('Control+k');
  const input = page.getByRole('combobox', { name: 'Page, document, security or action' });
  await input.waitFor();
  return input;
}

async function serveStore({ service }: Desk, id: string): Promise<void> {
  const { body } = await service.ask<{ readonly job_id?: string }>('POST', `/data/stores/${id}/activate`, {});
  if (body.job_id !== undefined) await service.waitForJob(body.job_id);
}

async function findSecurity({ service }: Desk, store: string): Promise<string> {
  const { body } = await service.ask<IdentifierSearch>('GET', `/data/identifiers?limit=1&store_id=${store}`);
  return body.identifiers[0]!.identifier; // a store has securities
}
