import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { LevelsView } from '#clients/typescript/divisor.js';
import { tryBrowser } from './browser.js';
import { type Desk, follow, WAIT_MS } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

const browserFailure = await tryBrowser();

describe.skipIf('why' in browserFailure)('the comparison of an index with a published level', () => {
  let desk: Desk;
  let levels: { readonly date: string; readonly value: number }[];
  beforeAll(async () => {
    if (!('browser' in browserFailure)) return;
    desk = await openStockedDesk(browserFailure.browser);
    await desk.page.goto(desk.service.url());
    const { body } = await desk.service.ask<LevelsView>('GET', '/analytics/CORE/levels');
    levels = body.levels.index.map((date, t) => ({ date, value: body.levels.data[t]! }));
  });
  afterAll(() => desk?.close());

  const explain = async (rows: typeof levels): Promise<void> => {
    const { page } = desk;
    const text = `date,value\n${rows.map(({ date, value }) => `${date},${value}`).join('\n')}\n`;
    await page.getByLabel('File of levels').setInputFiles({
      name: 'published.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(text),
    });
    await page.getByText(`${rows.length} levels`, { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Explain the difference' }).click();
  };

  test('equal levels of a file have no cause', async () => {
    const { page } = desk;
    await follow(page, '/console/indices/CORE?tab=outside');
    await explain(levels.slice(0, 200));
    await page.getByText('There is no cause.').waitFor();
    await page.getByText('With all causes, the run equals the outside level on every common session.').waitFor();
  });

  test('a file with a wrong level of one session lists this session without an explanation', async () => {
    const { page } = desk;
    await explain(levels.slice(0, 190).map((row, t) => (t === 100 ? { ...row, value: row.value * 1.05 } : row)));
    const table = page.getByRole('region', { name: 'Sessions without an explanation' });
    await table.getByRole('rowheader', { name: levels[100]!.date }).waitFor();
    expect(await table.getByRole('rowheader').count()).toBe(1);
    expect(await table.getByText('500.0000').count()).toBe(1);
  });

  test('a file of a spreadsheet has other dates, separators and decimal commas', async () => {
    const { page } = desk;
    const write = (date: string): string => date.split('-').toReversed().join('.');
    const lines = levels.slice(0, 180).map(({ date, value }) => `${write(date)};${String(value).replace('.', ',')}`);
    await page.getByLabel('File of levels').setInputFiles({
      name: 'spreadsheet.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`Date;Close\n${lines.join('\n')}\n`),
    });
    await page.getByText(`180 levels, ${levels[0]!.date} to ${levels[179]!.date}`).waitFor();
    // The result of the file before is not that of this file.
    expect(await page.getByRole('region', { name: 'Sessions without an explanation' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    await page.getByText('There is no cause.').waitFor();
  });

  test('a file with a level that is not a number is refused with its line', async () => {
    const { page } = desk;
    await page.getByLabel('File of levels').setInputFiles({
      name: 'broken.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('date,value\n2020-01-02,100\n2020-01-03,ten\n'),
    });
    await page.getByText('broken.csv: line 3 has the level ten, which is not a number above 0.').waitFor();
  });
});
