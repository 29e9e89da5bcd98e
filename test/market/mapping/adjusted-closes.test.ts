import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { readImport } from '#market/read/import.js';
import { seeded } from '../../seeded.js';
import { formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';
import { REAL_SETS, hasRealSets } from '../real-sets.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-adjusted-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const createEmptyFolder = () => join(root, String((folders += 1)));

async function readAdjusted(
  folder: string,
  mapping: Partial<Mapping>,
  adjustment: 'none' | 'splits' | 'total' = 'splits',
) {
  const terms = { mapping: Mapping.parse({ adjusted_close: 'Adj Close', ...mapping }), adjustment };
  const { read, findings } = await readFolder(folder, {}, () => {}, terms);
  const actions =
    read?.content.actions.map(({ type, value, exDay }) => ({ type, value, date: formatDay(exDay) })) ?? [];
  return { read, actions, places: formatFindingPaths(findings) };
}

async function deriveActions(
  rows: readonly (readonly [string, number | string, number | string])[],
  ...rest: [('none' | 'splits' | 'total')?, string?]
) {
  const folder = createEmptyFolder();
  const [adjustment, actions] = rest;
  const lines = rows.map(([date, close, adjusted]) => `${date},A,${close},${adjusted}`);
  await writeFiles(folder, {
    'x.csv': `date,identifier,CLOSE,Adj Close\n${lines.join('\n')}\n`,
    ...(actions === undefined ? {} : { 'corporate_actions.csv': actions }),
  });
  return readAdjusted(folder, {}, adjustment);
}

/**
 * Computes adjusted closes as vendors do. A dividend multiplies the prices before its ex-date by 1 - dividend /
 * previous close. A split divides the prices before its ex-date.
 */
function computeAdjustedGrowth(
  closes: readonly number[],
  days: readonly string[],
  actions: readonly { type: string; value: number; date: string }[],
): number[] {
  let level = 1;
  return closes.map((close, t) => {
    if (t === 0) return level;
    const findAction = (type: string) => actions.find((each) => each.type === type && each.date === days[t])?.value;
    const before = closes[t - 1]! / (findAction('SPLIT') ?? 1);
    level *= close / (before - (findAction('DIVIDEND') ?? 0));
    return level;
  });
}

describe('a dividend', () => {
  test('is the amount paid: previous close x (1 - multiple before / multiple after)', async () => {
    // The dividend is 2 per share after a close of 100. So earlier closes are multiplied by 1 - 2 / 100.
    const factor = 98 / 100;
    const {
      actions,
      read,
      places: found,
    } = await deriveActions([
      ['2024-01-02', 99, 99 * factor],
      ['2024-01-03', 100, 100 * factor],
      ['2024-01-04', 95, 95],
      ['2024-01-05', 101, 101],
    ]);
    expect(actions).toEqual([{ type: 'DIVIDEND', value: 2, date: '2024-01-04' }]);
    expect(read?.derived).toEqual({ dividends: 1, splits: 0 });
    expect([...read!.content.fields.keys()]).toEqual(['CLOSE']);
    expect(found).toEqual([]);
  });

  test.each([
    [0.46, 138.6, 133.98],
    [0.77, 257.13, 259.43],
    [0.1925, 64.28, 64.86],
    [0.015625, 3.17, 3.2],
  ])('of %d is derived to its last digit from closes in single precision', async (dividend, before, close) => {
    const factor = 0.9731;
    const rows = [before * 1.01, before, close, close * 1.02].map((price, t) => {
      const writtenPrice = Math.fround(price);
      const adjustedPrice = Math.fround(writtenPrice * factor * (t < 2 ? 1 - dividend / Math.fround(before) : 1));
      return [formatDay(parseValidDay('2024-01-02') + t), writtenPrice, adjustedPrice] as const;
    });
    expect((await deriveActions(rows)).actions).toEqual([{ type: 'DIVIDEND', value: dividend, date: '2024-01-04' }]);
  });

  test('is none where adjusted closes differ by less than a millionth, as those do that a vendor rounds again', async () => {
    const rows = [90, 90, 90, 90.00005, 90.00005, 90.00005].map(
      (adjusted, t) => [formatDay(parseValidDay('2024-01-02') + t), 100, adjusted] as const,
    );
    expect((await deriveActions(rows)).actions).toEqual([]);
  });

  test('is not rounding of the vendor: one multiple rounded to two decimals implies none', async () => {
    const rows = Array.from({ length: 60 }, (_, t) => {
      const close = 50 + ((t * 37) % 23) / 10;
      return [formatDay(parseValidDay('2024-01-02') + t), close, (close * 0.8931).toFixed(2)] as const;
    });
    expect((await deriveActions(rows)).actions).toEqual([]);
  });

  test('cannot be negative: a multiple that falls is a warning, and growth after it is kept', async () => {
    const { actions, places: found } = await deriveActions([
      ['2024-01-02', 100, 100],
      ['2024-01-03', 100, 97],
      ['2024-01-04', 100, 98.9796],
    ]);
    expect(found).toEqual(['ADJUSTMENT_UNEXPLAINED market.A']);
    expect(actions).toEqual([{ type: 'DIVIDEND', value: 2, date: '2024-01-04' }]);
  });

  test('is not derived from adjusted closes of 0 or less, as before a dividend above the price: those days are reported', async () => {
    const { actions, places: found } = await deriveActions([
      ['2024-01-02', 100, -1],
      ['2024-01-03', 100, -0.5],
      ['2024-01-04', 100, 98],
      ['2024-01-05', 98, 98],
    ]);
    expect(found).toEqual(['ADJUSTMENT_UNEXPLAINED market.A']);
    expect(actions).toEqual([{ type: 'DIVIDEND', value: 2, date: '2024-01-05' }]);
  });

  test('is stated in one place only, and never for prices that include it', async () => {
    const rows = [['2024-01-02', 1, 1]] as const;
    const table = 'identifier,type,value,ex_date\nA,DIVIDEND,1,2024-01-02\n';
    expect((await deriveActions(rows, 'splits', table)).places).toEqual(['DUPLICATE_KEY mapping.adjusted_close']);
    expect((await deriveActions(rows, 'total')).places).toEqual(['NOT_IN_CHOICES mapping.adjusted_close']);
  });
});

describe('a split', () => {
  test.each([
    [2, 50],
    [1.5, 66],
    [0.1, 1010],
    [20, 5.1],
  ])('of %d is distinguished from a dividend where closes are as traded', async (ratio, close) => {
    const { actions } = await deriveActions(
      [
        ['2024-01-02', 100, 100 / ratio],
        ['2024-01-03', close, close],
      ],
      'none',
    );
    expect(actions).toEqual([{ type: 'SPLIT', value: ratio, date: '2024-01-03' }]);
  });

  test('may pay a dividend on its day', async () => {
    const { actions } = await deriveActions(
      [
        ['2024-01-02', 100, 100.25],
        ['2024-01-03', 50, 101.262626],
      ],
      'none',
    );
    expect(actions).toEqual([
      { type: 'DIVIDEND', value: 0.5, date: '2024-01-03' },
      { type: 'SPLIT', value: 2, date: '2024-01-03' },
    ]);
  });
});

/** Common split ratios. */
const SPLITS = [2, 3, 4, 1.5, 5, 10, 20, 0.1, 0.05, 1.25, 7, 0.5, 0.2, 50, 15];

describe.each([2, 4, 6])('adjusted closes written with %d decimals', (decimals) => {
  /**
   * Returns a security with quarterly dividends over two years. One dividend is up to three sessions before its split.
   */
  function splitName(k: number) {
    const random = seeded(decimals * 100 + k);
    const ratio = SPLITS[k % SPLITS.length]!;
    const splitAt = 100 + Math.floor(random() * 300);
    const before = splitAt - Math.floor(random() * 4);
    const start = [30, 90, 250][k % 3]! * (decimals === 2 ? 20 : 1);
    const days = Array.from({ length: 500 }, (_, t) => formatDay(parseValidDay('2020-01-01') + t));
    const closes = [start];
    const plantedActions: { type: string; value: number; date: string }[] = [];
    for (let t = 1; t < days.length; t++) {
      const driftedPrice = (closes[t - 1]! * Math.exp(0.03 * (random() - 0.5))) / (t === splitAt ? ratio : 1);
      const value = t % 63 === 40 || t === before ? Math.max(0.01, Number((driftedPrice * 0.01).toFixed(2))) : 0;
      closes.push(Number((driftedPrice - value).toFixed(2)));
      if (value > 0) plantedActions.push({ type: 'DIVIDEND', value, date: days[t]! });
      if (t === splitAt) plantedActions.push({ type: 'SPLIT', value: ratio, date: days[t]! });
    }
    return { ratio, days, closes, planted: plantedActions, total: computeAdjustedGrowth(closes, days, plantedActions) };
  }

  test('imply each split as traded, and no dividend for it', async () => {
    for (const k of SPLITS.keys()) {
      const { days, closes, planted, total } = splitName(k);
      const writtenCloses = total.map((level) => ((level / total.at(-1)!) * closes.at(-1)!).toFixed(decimals));
      const rows = days.map((day, t) => [day, closes[t]!.toFixed(4), writtenCloses[t]!] as const);
      const { actions, places: found } = await deriveActions(rows, 'none');
      expect(actions.map(({ type, date }) => `${date} ${type}`)).toEqual(
        planted.map(({ type, date }) => `${date} ${type}`),
      );
      expect(actions.filter(({ type }) => type === 'SPLIT')).toEqual(planted.filter(({ type }) => type === 'SPLIT'));
      if (decimals > 2) expect(actions).toEqual(planted);
      expect(found).toEqual([]);
      // A growth factor has two prices. Each is rounded by up to half a unit.
      const unit = 10 ** -decimals;
      const first = Number(writtenCloses[0]);
      computeAdjustedGrowth(closes, days, actions).forEach((level, t) => {
        const rounding = unit / 2 / first + unit / 2 / Number(writtenCloses[t]);
        expect(Math.abs((level * first) / Number(writtenCloses[t]) - 1)).toBeLessThan(Math.max(1e-6, 1.01 * rounding));
      });
    }
  });
});

test('a dividend of more than half the price is flagged', async () => {
  // No ratio of small numbers equals 1 / (1 - 0.7284), with or without a twentieth of the price in cash.
  const { actions, places: found } = await deriveActions(
    [
      ['2024-01-02', 100, 20],
      ['2024-01-03', 30, 30 * (0.2 / (1 - 0.7284))],
    ],
    'none',
  );
  expect(actions).toEqual([{ type: 'DIVIDEND', value: 72.84, date: '2024-01-03' }]);
  expect(found).toEqual(['ADJUSTMENT_UNEXPLAINED market.A']);
});

test('adjusted closes of ten years, rounded to six decimals, imply each split and each dividend to the cent', async () => {
  const days = Array.from({ length: 2500 }, (_, t) => formatDay(parseValidDay('2014-01-01') + t));
  const closes = days.map((_, t) => Number((40 + 10 * Math.sin(t / 50) + ((t * 7919) % 101) / 100).toFixed(2)));
  const plantedActions = days.flatMap((date, t) => [
    ...(t % 63 === 40 ? [{ type: 'DIVIDEND', value: 0.25 + (t % 5) / 100, date }] : []),
    ...(t === 900 ? [{ type: 'SPLIT', value: 3, date }] : []),
  ]);
  const total = computeAdjustedGrowth(closes, days, plantedActions);
  const last = total.at(-1)!;
  const adjustedCloses = total.map((level) => ((level / last) * closes.at(-1)!).toFixed(6));
  const { actions, places: found } = await deriveActions(
    days.map((day, t) => [day, closes[t]!, adjustedCloses[t]!] as const),
    'none',
  );
  expect(found.filter((place) => !place.startsWith('PRICE_JUMP'))).toEqual([]);
  expect(actions).toEqual(plantedActions);
});

/** Real files with repaired dividends. They have adjusted closes and dividends of the vendor. */
const REPAIRED_SECURITIES = [
  '1398-HK',
  '4063-T',
  'ABDP-L',
  'ADIG-L',
  'PSH-L',
  'RGL-L',
  'SERE-L',
  'TENT-L',
  'SAND',
  'KEN-TA',
];

/**
 * Returns true for a dividend that is half of its amount in the column of the vendor. The adjusted closes reflect the
 * whole amount.
 */
const isHalved = (name: string, date: string) => name === 'SAND' && date === '2024-01-16';

describe.skipIf(!hasRealSets)('real adjusted closes', () => {
  test.each(REPAIRED_SECURITIES)(
    'of %s imply the dividends of the vendor on their ex-dates, and the adjusted closes to 1e-6',
    async (name) => {
      const file = `${name}-1d-bad-div-fixed.csv`;
      const source = join(REAL_SETS, 'dirty-dividends', file);
      const [header = '', ...lines] = (await readFile(source, 'utf8')).trim().split('\n');
      const columns = header.split(',');
      const rows = lines.map((line) => line.split(','));
      const findAction = (row: readonly string[], column: string) => Number(row[columns.indexOf(column)]);
      const folder = createEmptyFolder();
      await writeFiles(folder, { '.keep': '' });
      await copyFile(source, join(folder, file));
      const { actions } = await readAdjusted(folder, {
        columns: { date: columns[0]! },
        identifier_from: 'file:{identifier}-1d-bad-div-fixed.csv',
        zero_prices: 'missing',
      });
      const paidDates = rows.filter((row) => findAction(row, 'Dividends') > 0).map((row) => row[0]!.slice(0, 10));
      expect(actions.map(({ date }) => date)).toEqual(paidDates);
      const pricedRows = rows.filter((row) => findAction(row, 'Close') > 0 && findAction(row, 'Adj Close') > 0);
      const column = new Map(rows.map((row) => [row[0]!.slice(0, 10), findAction(row, 'Dividends')]));
      for (const { date, value } of actions)
        if (!isHalved(name, date)) expect(Math.abs(value / column.get(date)! - 1), date).toBeLessThan(1e-3);
      const levels = computeAdjustedGrowth(
        pricedRows.map((row) => findAction(row, 'Close')),
        pricedRows.map((row) => row[0]!.slice(0, 10)),
        actions,
      );
      const first = findAction(pricedRows[0]!, 'Adj Close');
      levels.forEach((level, t) =>
        expect(Math.abs((level * first) / findAction(pricedRows[t]!, 'Adj Close') - 1)).toBeLessThan(1e-6),
      );
    },
  );
});

test('the answer of an import counts the actions that it derived', async () => {
  const market = {
    columns: ['identifier', 'date', 'CLOSE', 'Adj Close'],
    data: [
      ['A', '2024-01-02', 100, 98],
      ['A', '2024-01-03', 98, 98],
    ],
  };
  const mapping = Mapping.parse({ adjusted_close: 'Adj Close' });
  const read = await readImport({ kind: 'tables', tables: { market } }, createProblems(), {
    mapping,
    adjustment: 'splits',
  });
  expect([read?.derived, read?.rows]).toMatchObject([
    { dividends: 1, splits: 0 },
    { market: 2, corporate_actions: 1 },
  ]);
});
