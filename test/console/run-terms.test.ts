import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the terms of a run', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('a benchmark is shown and typed in words, and the run gets its reference', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE');
    const field = page.getByRole('combobox', { name: 'Benchmark' });
    await page.getByText('change', { exact: true }).click();
    await pollEventually(() => field.inputValue()).toBe('Index BROAD');
    const readTerm = () => JSON.parse(new URL(page.url()).searchParams.get('run') ?? '{}').benchmark;
    for (const [typed, reference] of [
      ['Security SPX', 'identifier:SPX'],
      ['index other', 'index:other'],
      ['SPX', 'SPX'],
    ] as const) {
      await field.fill(typed);
      await pollEventually(readTerm).toBe(reference);
    }
    // The id of a suggestion is enough.
    await field.fill('BROAD');
    await pollEventually(() => new URL(page.url()).searchParams.get('run')).toBe(null);
    const { body } = await desk.service.ask<IndexDocument>('GET', '/indices/CORE');
    await desk.service.ask('PUT', '/indices/FRESH', { ...body, id: 'FRESH' });
    const run = encodeURIComponent(JSON.stringify({ benchmark: 'index:BROAD' }));
    await follow(page, `/console/indices/FRESH?run=${run}`);
    await page.locator('.run-settings > summary').getByText('Benchmark BROAD').waitFor();
    await desk.service.ask('DELETE', '/indices/FRESH');
  });

  test('a series is suggested and shown as a series', async () => {
    const { page, service } = desk;
    // The synthetic market has no series.
    await page.route('**/data/series', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), series: [{ identifier: 'RATE' }] } });
    });
    const run = encodeURIComponent(JSON.stringify({ benchmark: 'identifier:RATE' }));
    await page.goto(`${service.url()}/console/indices/CORE?run=${run}`);
    const field = page.getByRole('combobox', { name: 'Benchmark' });
    await pollEventually(() => field.inputValue()).toBe('Series RATE');
    const suggestions = await page
      .locator(`datalist#${await field.getAttribute('list')} option`)
      .evaluateAll((options) => options.map((option) => option.getAttribute('value')));
    expect(suggestions).toEqual(['Index BROAD', 'Series RATE']);
    await field.fill('Index BROAD');
    await field.fill('series RATE');
    await pollEventually(() => new URL(page.url()).searchParams.get('run')).toContain('identifier:RATE');
  });
});
