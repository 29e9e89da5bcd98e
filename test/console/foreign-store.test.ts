import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IdentifierSearch, IndexDocument, MethodologyTemplateCollection } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, openDesk, pollEventually, WAIT_MS, type Desk } from './desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

/** Expression for the width of the calendar that its longest option leaves free, in pixels. */
const CALENDAR_ROOM = `(() => {
  const choice = document.querySelector('[aria-label=Index] select');
  const { width } = choice.getBoundingClientRect();
  choice.style.width = 'max-content';
  return width - choice.getBoundingClientRect().width;
})()`;

describe.skipIf('why' in browserFailure)('pages while a store in euros is served', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openDesk(browserFailure.browser);
    const { service, page } = desk;
    const generate = async (settings: Readonly<Record<string, unknown>>) => {
      await service.ask('POST', '/data/synthetic', { end: '2022-12-30', ...settings });
      await service.waitForJob(`generate:${String(settings['store_id'])}`);
    };
    const dollars = { store_id: 'dollars', name: 'America', seed: 7, assets: 30, start: '2019-01-01', activate: false };
    await generate(dollars);
    const euros = { store_id: 'euros', name: 'Frankfurt', seed: 42, assets: 40, start: '2016-01-01', activate: true };
    await generate({ ...euros, currency: 'EUR', calendar: 'XETR' });
    await page.goto(service.url());
  });
  afterAll(() => desk?.close());

  test('the templates that the gallery lists as runnable show their levels, and one becomes an index in euros', async () => {
    const { page, service } = desk;
    await follow(page, '/console/indices/templates?runs=yes');
    await page
      .getByRole('img', { name: /^Level of / })
      .first()
      .waitFor();
    const { body } = await service.ask<MethodologyTemplateCollection>('GET', '/indices/templates');
    expect(body.templates.filter(({ missing_rates: rates }) => rates.length > 0).map(({ id }) => id)).toEqual([
      'currency-hedged',
      'quanto',
    ]);
    await pollEventually(() => page.locator('.template-waits').count()).toBe(0);
    const cards = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'Use' }) });
    await pollEventually(() => cards.count()).toBeGreaterThan(5);
    const levels = page.getByRole('img', { name: /^Level of / });
    await pollEventually(async () => (await levels.count()) - (await cards.count())).toBe(0);
    expect(await page.getByText('not on this store').count()).toBe(0);
    await follow(page, '/console/indices/templates');
    const quanto = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Quanto into euros' }) });
    await quanto.getByText(/Exchange rate EURUSD/).waitFor();
    await quanto.getByText('Details').click();
    await quanto.getByText('Price of one EUR in USD.').waitFor();
    await follow(page, '/console/indices/new?template=equal-weight&id=EQUAL');
    await pollEventually(() => page.getByLabel(/^Currency/).inputValue()).toBe('EUR');
    await pollEventually(() => page.getByLabel(/^Calendar/).inputValue()).toBe('XETR');
  });

  test('the gallery counts the templates that can run once all levels are known, and offers no unusable template as usable', async () => {
    const { page } = desk;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/maximum-diversification/level*', async (route) => {
      await released;
      await route.continue();
    });
    await page.goto(`${desk.service.url()}/console/indices/templates`); // drops the levels of earlier pages
    await page.getByText(/level on Frankfurt over the last three years\. The store has \d+ securities\./).waitFor();
    const count = page.getByRole('region', { name: 'Optimised' }).getByText(/can run$/);
    await page
      .getByRole('region', { name: 'Overlays on other indices' })
      .getByText(/can run$/)
      .waitFor();
    expect(await count.count()).toBe(0);
    await page
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: 'Maximum diversification' }) })
      .getByText('Computing the level')
      .waitFor();
    release();
    await count.waitFor();
    await page.unroute('**/maximum-diversification/level*');
    const card = page.getByRole('listitem').filter({ hasText: 'Minimum volatility within limits' });
    await card.getByText('not on this store').waitFor();
    expect(await card.getByRole('link').allTextContents()).toEqual(['Adapt']);
    const reasonId = await card.getByRole('link').getAttribute('aria-describedby');
    expect(await page.locator(`[id="${reasonId}"]`).textContent()).toContain('infeasible');
    const lacking = page.getByRole('listitem').filter({ hasText: 'Best rated half of each sector' });
    expect(await lacking.getByRole('link').allTextContents()).toEqual(['Adapt']);
    const level = page.getByRole('listitem').filter({ hasText: 'Developed countries' });
    await level.getByText(/^[+−]\d+\.\d+% in 3 years, holds\s\d+$/).waitFor();
    const large = page.getByRole('listitem').filter({ hasText: 'Six hundred largest of a region' });
    expect(await large.getByText(/^holds\s\d+\sof\s600$/).getAttribute('class')).toBe('field-warning');
  });

  test('the details of missing data move no other card', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/templates?kind=factor');
    await page
      .getByRole('region', { name: 'Factors and themes' })
      .getByText(/can run$/)
      .waitFor();
    const readTops = () =>
      page.evaluate<number[]>(`[...document.querySelectorAll('.template a')].map((link) => link.offsetTop)`);
    const tops = await readTops();
    const card = page.getByRole('listitem').filter({ hasText: 'Quality, weighted by score and size' });
    await card.getByText('Details').click();
    await card.getByText('column').first().waitFor();
    expect(await readTops()).toEqual(tops);
  });

  test('the gallery of a chosen store opens a template on that store', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/templates?runs=yes');
    await page.locator('.template-tools').getByLabel('Data store').selectOption('dollars');
    await page.getByText('level on America over the last three years.').waitFor();
    const card = page.getByRole('listitem').filter({ hasText: 'Forty largest, with' });
    await card.getByRole('img', { name: /^Level of / }).waitFor();
    await card.getByRole('link', { name: 'Use' }).click();
    await pollEventually(() => page.getByLabel(/^Calendar/).inputValue()).toBe('XNYS');
    await pollEventually(() => page.getByLabel(/^Data store/).inputValue()).toBe('dollars');
  });

  test('a new index has the currency and the calendar of the store, and those of another store that is chosen', async () => {
    const { page, service } = desk;
    await follow(page, '/console/indices/new');
    const currency = page.getByLabel(/^Currency/);
    expect(await page.getByRole('link', { name: 'Begin with a template' }).getAttribute('href')).toBe(
      '/console/indices/templates',
    );
    const calendar = page.getByLabel(/^Calendar/);
    const baseDate = page.getByLabel(/^Base date/);
    await pollEventually(() => currency.inputValue()).toBe('EUR');
    await pollEventually(() => calendar.inputValue()).toBe('XETR');
    await page.getByRole('complementary', { name: 'Preview' }).getByLabel('Figures of the preview').waitFor();
    expect(await page.getByText('FX_MISSING').count()).toBe(0);
    const preview = page.getByRole('complementary', { name: 'Preview' });
    await preview.getByText('Data store: Frankfurt').waitFor();
    const firstDate = await baseDate.inputValue();
    const store = page.getByLabel(/^Data store/);
    await store.selectOption('dollars');
    await pollEventually(() => currency.inputValue()).toBe('USD');
    await preview.getByText('Data store: America').waitFor();
    await pollEventually(() => calendar.inputValue()).toBe('XNYS');
    await pollEventually(async () => (await baseDate.inputValue()) > firstDate).toBe(true);
    await calendar.selectOption('XLON');
    await store.selectOption('euros');
    await pollEventually(() => currency.inputValue()).toBe('EUR');
    await pollEventually(() => baseDate.inputValue()).toBe(firstDate);
    expect(await calendar.inputValue()).toBe('XLON');
    await page.getByRole('button', { name: 'Save the index' }).click();
    await page.getByRole('heading', { name: 'Not run yet' }).waitFor();
    const { body } = await service.ask<IndexDocument>('GET', '/indices/INDEX-1');
    expect(body).toMatchObject({ currency: 'EUR', calendar: 'XLON', store_id: 'euros' });
    await service.ask('DELETE', '/indices/INDEX-1');
  });

  test('the name of the longest exchange fits into the calendar of a new index', async () => {
    const page = await desk.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${desk.service.url()}/console/indices/new`);
    const calendar = page.getByLabel(/^Calendar/);
    await calendar.waitFor();
    await pollEventually(() => calendar.locator('option').count()).toBeGreaterThan(1);
    expect(await page.evaluate<number>(CALENDAR_ROOM)).toBeGreaterThan(0);
    await page.close();
  });

  test('the list of indices has a column for the stores if an index belongs to a store that is not served', async () => {
    const { page, service } = desk;
    const terms = { calendar: 'XNYS', base_date: '2020-01-02', pipeline: { weighting: { type: 'EqualWeight' } } };
    await service.ask('PUT', '/indices/HERE', {
      id: 'HERE',
      name: 'Here',
      ...terms,
      currency: 'EUR',
      store_id: 'euros',
    });
    await follow(page, '/');
    const grid = page.getByRole('grid', { name: 'indices' });
    await grid.getByRole('row', { name: /HERE/ }).waitFor();
    const header = grid.getByRole('columnheader', { name: 'Store' });
    await pollEventually(() => header.count()).toBe(0);
    await service.ask('PUT', '/indices/THERE', { id: 'THERE', name: 'There', ...terms, store_id: 'dollars' });
    await page.reload();
    await grid.getByRole('row', { name: /THERE.*dollars/ }).waitFor();
    await header.click();
    await pollEventually(() => header.getAttribute('aria-sort')).toBe('ascending');
    await pollEventually(() => grid.getByRole('row').nth(1).textContent()).toContain('THERE');
    await header.click();
    await pollEventually(async () => (await grid.getByRole('row').nth(1).textContent())?.includes('HERE')).toBe(true);
    for (const id of ['HERE', 'THERE']) await service.ask('DELETE', `/indices/${id}`);
  });

  test('the palette finds a security of another store by its company, and the action that serves a store by its name', async () => {
    const { page, service } = desk;
    const list = async (query: string) =>
      (await service.ask<IdentifierSearch>('GET', `/data/identifiers?limit=100${query}`)).body.identifiers;
    const ownNames = new Set((await list('')).map(({ name }) => name));
    const { identifier, name } = (await list('&store_id=dollars')).find((security) => !ownNames.has(security.name))!;
    await follow(page, '/');
    await page.getByRole('heading', { name: 'Indices', exact: true }).waitFor();
    const requestedStores: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/data/identifiers' && searchParams.get('q') === name!.toLowerCase())
        requestedStores.push(searchParams.get('store_id'));
    });
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Page, document, security or action' });
    await field.fill('serve america');
    await page.getByRole('option', { name: 'Serve dollars America' }).waitFor();
    await field.fill(name!);
    await page.getByRole('option', { name: `${identifier} ${name}, in America` }).click();
    await page
      .getByRole('heading', { name: new RegExp(identifier) })
      .first()
      .waitFor();
    const { pathname, searchParams } = new URL(page.url());
    expect([pathname, searchParams.get('store')]).toEqual([`/console/names/${identifier}`, 'dollars']);
    expect(requestedStores).toEqual([null, 'dollars']);
  });

  test('the example index runs in the currency of the store', async () => {
    const { page, service } = desk;
    await follow(page, '/');
    await page.getByRole('button', { name: 'Create an example index' }).click();
    await pollEventually(async () => (await service.ask('GET', '/analytics/EXAMPLE/levels')).status).toBe(200);
    const { body } = await service.ask<IndexDocument>('GET', '/indices/EXAMPLE');
    expect(body).toMatchObject({ currency: 'EUR', calendar: 'XETR' });
  });
});
