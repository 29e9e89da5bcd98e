import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { CompareView, ExposuresView, IndexDocument } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { follow, pollEventually, waitForCalm, WAIT_MS, type Desk } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const formatShare = (weight: number): string => `${(100 * weight).toFixed(2)}%`;

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the page Compare', () => {
  let desk: Desk;
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
  });
  afterAll(() => desk?.close());

  test('runs are compared by drawdowns, years, rolling measures, captures, and pair by pair', async () => {
    const { page, service } = desk;
    await follow(page, '/console/compare?ids=CORE,BROAD&from=2020-12-31&to=2022-12-30');
    await page.getByRole('application', { name: 'Drawdowns compared' }).waitFor();
    const { body } = await service.ask<CompareView>(
      'GET',
      '/analytics/compare?ids=CORE,BROAD&start=2020-12-31&end=2021-12-31',
    );
    const yearDates = body.entries.map(
      ({ total_return: earned }) => `${earned! < 0 ? '−' : '+'}${Math.abs(100 * earned!).toFixed(2)}%`,
    );
    await page
      .getByRole('table', { name: 'returns by calendar year' })
      .getByRole('row', { name: `2021 ${yearDates.join(' ')}` })
      .waitFor();
    await page.getByRole('radio', { name: 'Beta' }).check();
    await page.getByRole('application', { name: /^Rolling beta/ }).waitFor();
    await page
      .getByRole('table', { name: 'measures against CORE' })
      .getByRole('row', { name: /^BROAD / })
      .waitFor();
    await page.getByRole('region', { name: 'Overlap of weights' }).first().getByText('%').first().waitFor();
    const save = async (table: string) => {
      await page.getByLabel(`Export ${table}`, { exact: true }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV', exact: true }).click(),
      ]);
      return (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
    };
    const years = await save('calendar years');
    expect(years[0]).toBe('Year,CORE,BROAD,BROAD \u2212 CORE');
    const returns = years
      .find((line) => line.startsWith('2021,'))!
      .split(',')
      .slice(1)
      .map(Number);
    for (const [k, { total_return: earned }] of body.entries.entries()) expect(returns[k]).toBeCloseTo(earned!, 12);
    expect(returns[2]).toBeCloseTo(returns[1]! - returns[0]!, 12);
    const levels = await save('levels');
    expect(levels.slice(0, 2)).toEqual(['Date,CORE,BROAD', '2020-12-31,100,100']);
    expect((await save('correlations')).map((line) => line.split(',')[0])).toEqual(['Run', 'CORE', 'BROAD']);
  });

  test('a comparison without a benchmark offers its first run', async () => {
    const { page } = desk;
    await follow(page, '/console/compare?ids=BROAD,CORE');
    await page.getByRole('link', { name: 'Relative to BROAD' }).click();
    await page.getByRole('columnheader', { name: 'Minus BROAD' }).first().waitFor();
    expect(await page.getByRole('link', { name: /^Relative to/ }).count()).toBe(0);
  });

  test('a line is emphasised while the pointer is on its label', async () => {
    const { page } = desk;
    await follow(page, '/console/compare?ids=CORE,BROAD');
    const chart = page.getByRole('figure').filter({ has: page.getByRole('application', { name: /^Drawdowns/ }) });
    const readPixels = async () => (await chart.getByRole('application').screenshot()).toString('base64');
    const label = chart.getByText(/^BROAD/).first();
    await label.waitFor();
    await waitForCalm(page);
    const all = await readPixels();
    await label.hover();
    await pollEventually(readPixels).not.toBe(all);
    await page.getByRole('heading', { name: 'Compare' }).hover();
    await pollEventually(readPixels).toBe(all);
  });

  test('the line of a security has a gap where the security is not held', async () => {
    const { page, service } = desk;
    const { body: core } = await service.ask<IndexDocument>('GET', '/indices/CORE');
    const selection = [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }];
    await service.ask('PUT', '/indices/FEW', { ...core, id: 'FEW', pipeline: { ...core.pipeline, selection } });
    await service.ask('POST', '/analytics/FEW/backtest', {});
    await service.waitForJob('backtest:FEW');
    await follow(page, '/console/indices/FEW?tab=weights');
    const chart = page
      .getByRole('figure')
      .filter({ has: page.getByRole('application', { name: 'Largest constituents of FEW' }) });
    await chart.waitFor();
    const values = chart.getByRole('table', { includeHidden: true }).getByRole('cell');
    await pollEventually(() => values.allTextContents()).toContain('–');
    expect(await values.allTextContents()).not.toContain('0.0%');
    const { body: held } = await service.ask<ExposuresView>('GET', '/analytics/FEW/exposures?by=SECTOR&groups=7');
    const latestWeights = held.groups
      .filter(({ group }) => group !== 'OTHERS')
      .map(({ group, weights }) => ({ group, weight: weights.at(-1)! }))
      .toSorted((a, b) => b.weight - a.weight);
    const figures = page.getByLabel('Figures of the weights');
    await figures.getByText(latestWeights[0]!.group, { exact: true }).waitFor();
    const largestText = `Largest weight${formatShare(held.concentration.largest.at(-1)!)}`;
    await pollEventually(() => figures.textContent()).toContain(largestText);
    const legend = page
      .getByRole('figure')
      .filter({ has: page.getByRole('application', { name: 'Weights of FEW by sector' }) })
      .locator('.legend-line');
    const shownLabels = latestWeights
      .filter(({ weight }) => weight > 0)
      .map(({ group, weight }) => `${group} ${formatShare(weight)}`);
    const listLabels = async () => (await legend.allTextContents()).slice(0, shownLabels.length);
    await pollEventually(listLabels).toEqual(shownLabels);
    // The turnover has bars on the dates of trades, and the legend states the last of them.
    const concentration = page
      .getByRole('figure')
      .filter({ has: page.getByRole('application', { name: /^Largest weight, turnover and active share/ }) });
    await concentration.getByText(/^\d+\.\d\d% on \d{4}-\d\d-\d\d$/).waitFor();
    await page.getByText('choose a benchmark under Exposure to see the active share').waitFor();
    const key = await page.locator('.swatch.dashed').first().boundingBox();
    expect(key!.width).toBeGreaterThanOrEqual(18);
  });

  test('the skip link moves the focus to the first data row of a table whose rows do not open', async () => {
    const { page, service } = desk;
    await page.goto(`${service.url()}/console/compare?ids=CORE,BROAD`);
    await page
      .getByRole('table', { name: 'figures of the runs compared' })
      .getByRole('row', { name: /^CORE/ })
      .waitFor();
    await page.getByRole('link', { name: 'Skip to the first row' }).press('Enter');
    const focused = () =>
      page.evaluate<string>("`${document.activeElement.getAttribute('role')} ${document.activeElement.innerText}`");
    expect(await focused()).toMatch(/^row CORE/);
  });

  test('the menu of a chart has a visible button in the dark theme', async () => {
    const { newPage, service } = desk;
    const page = await newPage({ colorScheme: 'dark' });
    await page.goto(`${service.url()}/console/compare?ids=CORE,BROAD`);
    const button = page.locator('.chart-head .menu summary').first();
    const picture = (await button.screenshot()).toString('base64');
    // Pixels whose contrast with the background is at least 4.5.
    const visiblePixels = await page.evaluate<number>(`(async () => {
      const bytes = Uint8Array.from(atob('${picture}'), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      const toLinear = (value) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4);
      const luminances = Array.from({ length: data.length / 4 }, (_, k) =>
        0.2126 * toLinear(data[4 * k]) + 0.7152 * toLinear(data[4 * k + 1]) + 0.0722 * toLinear(data[4 * k + 2]));
      const background = Math.min(...luminances);
      return luminances.filter((luminance) => (luminance + 0.05) / (background + 0.05) >= 4.5).length;
    })()`);
    // Each of the three dots is at least 2 by 2 pixels.
    expect(visiblePixels).toBeGreaterThanOrEqual(12);
    await page.close();
  });
});
