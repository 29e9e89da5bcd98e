import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DifferencesView, IdentifierSearch, LevelsView } from '#clients/typescript/divisor.js';
import { createFrame } from '../table-frame.js';
import { tryBrowser } from './browser.js';
import { type Desk, follow, pollEventually, WAIT_MS } from './desk.js';
import { openStockedDesk } from './stocked-desk.js';
import { AXE, listViolations } from './violations.js';

vi.setConfig({ testTimeout: 2 * WAIT_MS, hookTimeout: 4 * WAIT_MS });

/** Address of the last comparison of CORE. */
const PATH = /\/analytics\/CORE\/differences$/;

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
    await page.getByLabel('File of levels', { exact: true }).setInputFiles({
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
    expect(await table.getByText('500.0000 bps').count()).toBe(1);
    expect(await table.getByText('or a price of the run on it, is wrong').count()).toBe(1);
    // The exported table has this session too.
    await page.getByRole('group').filter({ hasText: 'Export' }).first().waitFor();
    const download = page.waitForEvent('download');
    await page.getByLabel('Export causes').click();
    await page.getByRole('button', { name: 'CSV' }).click();
    const file = Buffer.concat(await (await (await download).createReadStream()).toArray()).toString();
    const [head, row, ...more] = file.trim().split('\r\n');
    expect(head).toBe('Date,Subject,Manner,Security,Cause,Sessions,Effect (bps),Ties,Difference (bps)');
    expect(row).toMatch(new RegExp(`^${levels[100]!.date},Unexplained,,,"?The .*,,,,(500|499\\.9)`));
    expect(more).toEqual([]);
    // The result names its levels, and stays on the page after a reload.
    await page.reload();
    await page.getByText(`published.csv: 190 levels, ${levels[0]!.date} to ${levels[189]!.date}`).waitFor();
    await page.getByText('Computed', { exact: true }).waitFor();
  });

  test('a file of a spreadsheet has other dates, separators and decimal commas', async () => {
    const { page } = desk;
    const write = (date: string): string => date.split('-').toReversed().join('.');
    const lines = levels.slice(0, 180).map(({ date, value }) => `${write(date)};${String(value).replace('.', ',')}`);
    await page.getByLabel('File of levels', { exact: true }).setInputFiles({
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

  test('a comparison of an earlier run is marked after a new run, and can be repeated', async () => {
    const { page, service } = desk;
    const notice = page.getByText('This comparison is of an earlier run of CORE.');
    await page.getByText('There is no cause.').waitFor();
    expect(await notice.count()).toBe(0);
    await service.ask('POST', '/analytics/CORE/backtest', { transaction_cost_bps: 20 });
    await service.waitForJob('backtest:CORE');
    await notice.waitFor();
    // The comparison stays marked after a reload, and then asks for the file.
    await page.reload();
    await notice.waitFor();
    await page.getByLabel('File of levels to compare again').setInputFiles({
      name: 'again.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        `date,value\n${levels
          .slice(0, 150)
          .map(({ date, value }) => `${date},${value}`)
          .join('\n')}\n`,
      ),
    });
    await page.getByText('150 levels', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    await page.getByText('again.csv: 150 levels', { exact: false }).nth(1).waitFor();
    expect(await notice.count()).toBe(0);
    // The file is still open after the next run: one click repeats the comparison.
    await service.ask('POST', '/analytics/CORE/backtest', { transaction_cost_bps: 10 });
    await service.waitForJob('backtest:CORE');
    await notice.waitFor();
    await page.getByRole('button', { name: 'Compare again' }).click();
    await notice.waitFor({ state: 'detached' });
    await page.getByText('There is no cause.').waitFor();
  });

  test('a file with a level that is not a number is refused with its line', async () => {
    const { page } = desk;
    await page.getByLabel('File of levels', { exact: true }).setInputFiles({
      name: 'broken.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('date,value\n2020-01-02,100\n2020-01-03,ten\n'),
    });
    await page.getByText('broken.csv: line 3 has the level ten, which is not a number above 0.').waitFor();
  });

  const choose = (name: string, text: string): Promise<void> =>
    desk.page
      .getByLabel('File of levels', { exact: true })
      .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

  test('a file with several columns of numbers is read after the column is chosen by keyboard', async () => {
    const { page } = desk;
    const lines = levels.slice(0, 60).map(({ date, value }) => `${date},1,${value}`);
    await choose('two.csv', `date,Index A,Index B\n${lines.join('\n')}\n`);
    await page.getByText('The file has Index A, Index B. Which has the levels?').waitFor();
    const explainButton = page.getByRole('button', { name: 'Explain the difference' });
    expect(await explainButton.isDisabled()).toBe(true);
    await page.getByRole('region', { name: 'First rows of the file' }).getByText(levels[0]!.date).waitFor();
    await page.getByLabel('Column of the levels').focus();
    // The first choices are the column of the dates and Index A.
    for (let k = 0; k < 3; k++) await page.keyboard.press('ArrowDown');
    const first = page.getByRole('region', { name: 'First rows as read' });
    await first.getByRole('cell', { name: String(levels[0]!.value) }).waitFor();
    expect(await explainButton.isDisabled()).toBe(false);
  });

  test('levels of another index have a hint before the comparison', async () => {
    const { page } = desk;
    const lines = levels.slice(0, 60).map(({ date, value }) => `${date},${(1e6 / value).toFixed(2)}`);
    await choose('inverse.csv', `date,value\n${lines.join('\n')}\n`);
    // The inverse levels have the inverse returns.
    await page
      .getByText(/Hardly any return agrees \(\d of 59\).*is -(0\.99|1\.00)\d\d: most likely another index/)
      .waitFor();
  });

  test('a comparison with levels of another index states the correlation of the returns', async () => {
    const { page, service } = desk;
    const values = levels.slice(0, 23).map(({ date, value }) => ({ date, value: Number((1e6 / value).toFixed(2)) }));
    // Without these subjects, the search of causes is short.
    const known = [
      'constituent',
      'shares',
      'price',
      'rebalance',
      'dividend',
      'special_dividend',
      'pricing',
      'cap',
      'fee',
    ];
    await service.ask('POST', '/analytics/CORE/differences', { levels: values, known });
    await service.waitForJob('differences:CORE');
    const sentence = /Hardly any return agrees \(\d of 22\), and the correlation of the returns is -(0\.99|1\.00)\d\d/;
    // No file is open after a reload, so that the page has no note before the comparison.
    await page.reload();
    await page.getByText(sentence).waitFor();
    const { body } = await service.ask<DifferencesView>('GET', '/analytics/CORE/differences');
    expect(body.returns).toMatchObject({ count: 22, sentence: expect.stringMatching(sentence) });
  });

  test('the change of a definition opens in the designer as a draft of a new version', async () => {
    const { page, service } = desk;
    const rules = {
      universe: { kind: 'list', identifiers: await listLongest() },
      pipeline: { weighting: { type: 'EqualWeight' } },
    };
    const write = (dates: readonly string[]) => ({
      id: 'KEPT',
      name: 'Kept',
      calendar: 'XNYS',
      base_date: '2020-01-02',
      ...rules,
      rebalance: { frequency: 'custom', dates },
    });
    const run = async (dates: readonly string[]): Promise<LevelsView['levels']> => {
      await service.ask('PUT', '/indices/KEPT', write(dates));
      await service.ask('POST', '/analytics/KEPT/backtest', {});
      await service.waitForJob('backtest:KEPT');
      return (await service.ask<LevelsView>('GET', '/analytics/KEPT/levels')).body.levels;
    };
    // The published level left out the second review.
    const published = await run(['2020-03-20']);
    await run(['2020-03-20', '2020-06-19']);
    await follow(page, '/console/indices/KEPT?tab=outside');
    const lines = published.index.slice(0, 250).map((date, t) => `${date},${published.data[t]!.toFixed(4)}`);
    await choose('kept.csv', `date,value\n${lines.join('\n')}\n`);
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    const sentence = 'The outside level left out the rebalance on 2020-06-19.';
    await page.locator('summary', { hasText: sentence }).click();
    await page.getByRole('button', { name: 'Open in the designer as a new version' }).click();
    await page.getByText('This draft has unsaved changes.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/indices/KEPT/edit');
    expect(await page.locator('main').innerText()).not.toContain('2020-06-19');
    await page.getByRole('button', { name: 'Discard the draft' }).click();
  });

  test('a moved review is stored as amendments that keep the schedule, and the run then has the published levels', async () => {
    const { page, service } = desk;
    const write = async (rebalance: object): Promise<unknown> =>
      service.ask('PUT', '/indices/RULED', {
        id: 'RULED',
        name: 'Ruled',
        calendar: 'XNYS',
        base_date: '2020-01-02',
        universe: { kind: 'list', identifiers: await listLongest() },
        pipeline: { weighting: { type: 'EqualWeight' } },
        rebalance,
      });
    const run = async (): Promise<LevelsView['levels']> => {
      await service.ask('POST', '/analytics/RULED/backtest', {});
      await service.waitForJob('backtest:RULED');
      return (await service.ask<LevelsView>('GET', '/analytics/RULED/levels')).body.levels;
    };
    const fridays = ['2020-03-20', '2020-06-19', '2020-09-18', '2020-12-18', '2021-03-19', '2021-06-18'];
    await write({ frequency: 'custom', dates: fridays.with(1, '2020-06-22') });
    const published = await run();
    await write({ frequency: 'quarterly', anchor: 'third_friday' });
    await run();
    await follow(page, '/console/indices/RULED?tab=outside');
    const last = published.index.indexOf('2021-06-30');
    const lines = published.index.slice(0, last).map((date, t) => `${date},${published.data[t]!.toFixed(4)}`);
    await choose('ruled.csv', `date,value\n${lines.join('\n')}\n`);
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    await page.locator('summary', { hasText: 'rebalanced one session late' }).click();
    await page.getByRole('button', { name: 'Open in the designer as a new version' }).click();
    await page.getByText('This draft has unsaved changes.').waitFor();
    await page.getByRole('button', { name: /^Save/ }).first().click();
    const readStored = async () =>
      (
        await service.ask<{ readonly rebalance: object; readonly amendments?: readonly object[] }>(
          'GET',
          '/indices/RULED',
        )
      ).body;
    await pollEventually(async () => (await readStored()).amendments?.length).toBe(2);
    expect(await readStored()).toMatchObject({
      rebalance: { frequency: 'quarterly', anchor: 'third_friday', dates: [] },
      amendments: [
        { effective_from: '2020-06-12', changes: { rebalance: { frequency: 'custom', dates: ['2020-06-22'] } } },
        { effective_from: '2020-06-29', changes: { rebalance: { frequency: 'quarterly', anchor: 'third_friday' } } },
      ],
    });
    expect((await run()).data.slice(0, last)).toEqual(published.data.slice(0, last));
  });

  test('the row of a split that the store lacks is imported from the comparison, after which all levels agree', async () => {
    const { page, service } = desk;
    const dates = Array.from({ length: 260 }, (_, t) => new Date(Date.UTC(2022, 0, 3 + t)))
      .filter((day) => day.getUTCDay() % 6 !== 0)
      .map((day) => day.toISOString().slice(0, 10));
    const split = dates[90]!;
    const close = (k: number, t: number): number => {
      const value = 80 + 10 * k + 6 * Math.sin((t * (k + 2)) / 11) + 3 * Math.cos((t * t * (k + 1)) / 37);
      return Number((k === 0 && t >= 90 ? value / 2 : value).toFixed(2));
    };
    const market = createFrame(
      ['identifier', 'date', 'CLOSE'],
      dates.flatMap((date, t) => ['AAA', 'BBB', 'CCC', 'DDD'].map((name, k) => [name, date, close(k, t)])),
    );
    const columns = ['identifier', 'type', 'value', 'ex_date'];
    const whole = { market, corporate_actions: createFrame(columns, [['AAA', 'SPLIT', 2, split]]) };
    await service.ask('POST', '/data/import', { store_id: 'whole', name: 'Whole', tables: whole });
    await service.ask('POST', '/data/import', { store_id: 'lacking', name: 'Lacking', tables: { market } });
    const run = async (store: string): Promise<LevelsView['levels']> => {
      await service.ask('PUT', '/indices/FOUR', {
        id: 'FOUR',
        name: 'Four',
        calendar: 'XNYS',
        base_date: dates[0],
        store_id: store,
        universe: { kind: 'all' },
        rebalance: { frequency: 'none' },
        pipeline: { weighting: { type: 'EqualWeight' } },
      });
      await service.ask('POST', '/analytics/FOUR/backtest', {});
      await service.waitForJob('backtest:FOUR');
      return (await service.ask<LevelsView>('GET', '/analytics/FOUR/levels')).body.levels;
    };
    const published = await run('whole');
    await run('lacking');
    const lines = published.index.map((date, t) => `${date},${published.data[t]!.toFixed(4)}`);
    await follow(page, '/console/indices/FOUR?tab=outside');
    await choose('four.csv', `date,value\n${lines.join('\n')}\n`);
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    await page.locator('summary', { hasText: `split of AAA` }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download the row as corporate_actions.csv' }).click();
    const file = await (await download).createReadStream();
    expect(Buffer.concat(await file.toArray()).toString()).toBe(`${columns.join()}\r\nAAA,SPLIT,2,${split}\r\n`);
    await page.getByRole('button', { name: 'Import the row into lacking' }).click();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('heading', { name: 'Imported' }).waitFor();
    const { body: store } = await service.ask('GET', '/data/stores/lacking');
    expect(store).toMatchObject({ rows: { corporate_actions: 1, market: market.data.length } });
    await service.ask('POST', '/analytics/FOUR/backtest', {});
    await service.waitForJob('backtest:FOUR');
    await follow(page, '/console/indices/FOUR?tab=outside');
    await choose('four.csv', `date,value\n${lines.join('\n')}\n`);
    await page.getByRole('button', { name: 'Explain the difference' }).click();
    await page.getByText('There is no cause.').waitFor();
  });

  test('a replacement is one row and one line of the chart, with links to both securities, also on a phone', async () => {
    const { page, service } = desk;
    const { body: view } = await service.ask<DifferencesView>('GET', '/analytics/CORE/differences');
    const create = (manner: 'added' | 'ignored', identifier: string) => ({
      subject: 'constituent',
      manner,
      identifier,
      date: levels[50]!.date,
      through: null,
      value: null,
      sentence: `Alone: ${identifier}.`,
      change: { document: [], data: [], rounding: null },
      sessions: 3,
      effect_bps: 250,
      ties: [],
    });
    const sentence = `The outside level held A instead of B from ${levels[50]!.date}.`;
    const result = {
      ...view,
      causes: [create('added', 'A'), create('ignored', 'B')],
      steps: [{ causes: [0, 1], sentence, sessions: 9, effect_bps: -47.5 }],
      remaining: {
        dates: levels.slice(49, 51).map(({ date }) => date),
        bps: [
          [0, -47.5],
          [0, 7],
          [0, 0],
        ],
      },
    };
    await page.route(PATH, (route) => route.fulfill({ json: result }));
    await follow(page, '/console/indices/CORE?tab=outside');
    const table = page
      .getByRole('table', { name: 'causes of the difference' })
      .or(page.getByRole('grid', { name: 'causes of the difference' }));
    await table.getByText(sentence).waitFor();
    expect(await table.getByText('−47.5000').count()).toBe(1);
    expect(await page.getByText('250.0000').filter({ visible: true }).count()).toBe(0);
    await page.getByText('without A, B').first().waitFor();
    expect(await table.getByRole('link', { name: 'A', exact: true }).getAttribute('href')).toContain(
      '/names/A?store=market&from=',
    );
    await page.locator('summary', { hasText: sentence }).click();
    expect(
      await page
        .getByRole('list', { name: 'Causes of this step, each alone' })
        .getByText('Alone: 250.0000 bps')
        .count(),
    ).toBe(2);
    await page.evaluate(AXE);
    expect(await listViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 820 });
    await pollEventually(() => page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await page.unroute(PATH);
  });

  /** Returns five securities with prices from the first to the last date of the market. */
  async function listLongest(): Promise<string[]> {
    const { body } = await desk.service.ask<IdentifierSearch>('GET', '/data/identifiers?limit=200');
    const first = body.identifiers.map(({ start }) => start!).toSorted()[0];
    const last = body.identifiers
      .map(({ end }) => end!)
      .toSorted()
      .at(-1);
    return body.identifiers
      .flatMap(({ identifier, start, end }) => (start === first && end === last ? [identifier] : []))
      .slice(0, 5);
  }
});
