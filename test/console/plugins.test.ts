import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('pages of plug-ins', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    const inputs = { close: { expression: 'CLOSE' }, mean: { expression: 'mean(CLOSE, window=20)' } };
    const source = 'function compute({ close }) { return close; }';
    await desk.service.ask('PUT', '/plugins/half', { name: 'Half', kind: 'datapoint', inputs, source });
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('an input that the source does not use is stated', async () => {
    const { page } = desk;
    await follow(page, '/console/plugins');
    await page.getByText('mean(CLOSE, window=20), 1 session, not used by the source').waitFor();
    await page.getByRole('row', { name: /^half/ }).getByText('input mean is not used').waitFor();
    await page.getByText(/^98th percentile: /).waitFor();
    await follow(page, '/console/plugins/half');
    const row = page.getByRole('group', { name: 'Inputs, row 2' });
    const note = row.getByText('The source does not use the input mean.');
    await note.waitFor();
    const editor = page.getByRole('textbox', { name: 'Source' });
    await editor.fill('function compute({ close, mean }) { return close.map((v, k) => v - mean[k]); }');
    await note.waitFor({ state: 'detached' });
  });

  test('the values are those of the chosen date', async () => {
    const { page } = desk;
    await follow(page, '/console/plugins/half');
    const values = page.getByRole('region', { name: 'Values' });
    await values.getByText(/^on \d{4}-/).waitFor();
    await values.getByLabel('Date').fill('2021-06-30');
    await values.getByText('on 2021-06-30').waitFor();
  });

  test('the editor and the rows of parameters have room for their content', async () => {
    const { page } = desk;
    await page.setViewportSize({ width: 1440, height: 900 });
    await follow(page, '/console/plugins/new?kind=datapoint');
    const editor = page.getByRole('textbox', { name: 'Source' });
    await pollEventually(async () => (await editor.boundingBox())?.height).toBeGreaterThanOrEqual(240);
    await page.getByRole('button', { name: 'Add to Parameters' }).click();
    const row = page.getByRole('group', { name: 'Parameters, row 1' });
    const tops = await row.evaluate((element) =>
      [...element.querySelectorAll('.field')].map((field) => field.getBoundingClientRect().top),
    );
    expect(tops).toHaveLength(5);
    expect(new Set(tops).size).toBe(1);
  });

  test('a date in the explanation of an expression is not broken at its hyphens', async () => {
    const { page } = desk;
    await follow(page, '/console/plugins/half');
    const explanation = page.locator('.formula-values').first();
    await explanation.waitFor();
    for (const width of [60, 80, 100, 120, 140]) {
      const lines = await explanation.evaluate((element, px) => {
        element.style.width = `${px}px`;
        return [...element.querySelectorAll('span')].map((word) => word.getClientRects().length);
      }, width);
      expect(lines).toContain(1);
      expect(Math.max(...lines)).toBe(1);
    }
  });
});
