import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { toCanonicalJson } from '#domain/base/json.js';
import { parseValidDay } from '#domain/base/time.js';
import { carryCloses, closeOn, openMarket, shareMarket } from '#domain/market/market-data.js';
import {
  comparePrefixes,
  computeContentHash,
  createPrefix,
  digestContent,
  encodeCanonicalTables,
} from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { mergeContents, readImport } from '#market/read/import.js';
import { createProblems } from '#market/tables/problems.js';
import { refreshContent } from '#market/judge/refresh.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, readContentHash, formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();
const MARKET = 'identifier,date,CLOSE\nA,2024-01-02,10\nA,2024-01-03,11\n';
const SERIES =
  'identifier,date,CLOSE,CURRENCY,NAME\nRATE,2024-01-02,-0.5,,\nSPX,2024-01-03,4704.81,USD,S&P 500\nSPX,2024-01-02,4742.83,,\n';

async function createFolderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await createFolder();
  await writeFiles(folder, files);
  return folder;
}

const readContent = async (series = SERIES) =>
  readFolderContent(
    await createFolderWith({ 'market.csv': MARKET, ...(series === '' ? {} : { 'series.csv': series }) }),
  );
const listRefusedPlaces = async (series: string) =>
  formatFindingPaths(
    (await readFolder(await createFolderWith({ 'market.csv': MARKET, 'series.csv': series }))).findings,
  );
const parseDay = parseValidDay;

describe('series of a folder', () => {
  test('are read by identifier and day, with their attributes on any row', async () => {
    const { series, identifiers } = await readContent();
    expect(identifiers).toEqual(['A']);
    expect([...series!.keys()]).toEqual(['RATE', 'SPX']);
    expect(series!.get('SPX')).toEqual({
      identifier: 'SPX',
      name: 'S&P 500',
      currency: 'USD',
      days: Int32Array.of(parseDay('2024-01-02'), parseDay('2024-01-03')),
      closes: Float64Array.of(4742.83, 4704.81),
    });
    expect(series!.get('RATE')).toMatchObject({ currency: null, closes: Float64Array.of(-0.5) });
  });

  test('have the same content as JSON lines, as Parquet files, in the memory of another thread and in an import', async () => {
    const heldContent = await readContent();
    const hash = await computeContentHash(heldContent);
    const lines = SERIES.trim()
      .split('\n')
      .slice(1)
      .map((row) => row.split(','))
      .map(([identifier, date, close, currency, name]) =>
        JSON.stringify({
          identifier,
          date,
          CLOSE: Number(close),
          ...(currency === '' ? {} : { CURRENCY: currency, NAME: name }),
        }),
      );
    expect(
      await readContentHash(await createFolderWith({ 'market.csv': MARKET, 'series.jsonl': `${lines.join('\n')}\n` })),
    ).toBe(hash);
    const writtenFolder = await createFolder();
    expect((await writeMarket(writtenFolder, heldContent, () => {})).map(({ label }) => label)).toEqual([
      'market',
      'series',
    ]);
    expect(await readFolderContent(writtenFolder)).toEqual(heldContent);
    const market = { ...heldContent, datasetId: 's', contentHash: hash, adjustment: 'none' as const, currency: null };
    expect(openMarket(shareMarket(market)).series).toEqual(heldContent.series);
    const createFrame = (text: string) => {
      const [columns, ...rows] = text
        .trim()
        .split('\n')
        .map((row) => row.split(','));
      return {
        index: rows.map((_, i) => i),
        columns: columns!,
        data: rows.map((cells) =>
          cells.map((cell) => (cell === '' ? null : Number.isNaN(Number(cell)) ? cell : Number(cell))),
        ),
      };
    };
    const importedResult = await readImport(
      { kind: 'tables', tables: { market: createFrame(MARKET), series: createFrame(SERIES) } },
      createProblems(),
    );
    expect(await computeContentHash(importedResult!.content)).toBe(hash);
    expect(importedResult!.rows).toMatchObject({ market: 2, series: 3 });
  });

  test.each([
    ['a missing column', 'identifier,date\nSPX,2024-01-02\n', ['MISSING_COLUMN series.CLOSE']],
    ['text for a value', 'identifier,date,CLOSE\nSPX,2024-01-02,x\n', ['NOT_A_NUMBER series[row 1].CLOSE']],
    [
      'a day that is none',
      'identifier,date,CLOSE\nSPX,2024-02-30,1\nSPX,,1\n',
      ['BAD_DATE series[row 1].date', 'BAD_DATE series[row 2].date'],
    ],
    ['a repeated day', 'identifier,date,CLOSE\nSPX,2024-01-02,1\nSPX,2024-01-02,1\n', ['DUPLICATE_KEY series[row 2]']],
    [
      'two currencies',
      'identifier,date,CLOSE,CURRENCY\nSPX,2024-01-02,1,USD\nSPX,2024-01-03,1,EUR\n',
      ['NOT_IN_CHOICES series[row 2].CURRENCY'],
    ],
    ['a name of the market', 'identifier,date,CLOSE\nA,2024-01-02,1\n', ['DUPLICATE_KEY series[A]']],
  ])('are refused with %s', async (_what, series, findings) => {
    expect(await listRefusedPlaces(series)).toEqual(findings);
  });

  test('a series without a value is none', async () => {
    expect((await readContent('identifier,date,CLOSE\nSPX,2024-01-02,\n')).series).toBeUndefined();
  });
});

describe('the content hash', () => {
  test('of a store without series is that over its panels and three tables', async () => {
    const { identifiers, dates, fields, ...tables } = await readContent('');
    const block = createHash('sha256').update(dates).update(fields.get('CLOSE')!).digest();
    const digest = createHash('sha256').update(encodeCanonicalTables(tables)).digest();
    const expected = createHash('sha256')
      .update(toCanonicalJson({ format: 2, days: dates.length, identifiers, fields: ['CLOSE'] }))
      .update(block)
      .update(digest)
      .digest('hex');
    expect(await computeContentHash({ identifiers, dates, fields, ...tables })).toBe(expected);
  });

  test('changes with a value, a day, a currency and a name of a series', async () => {
    const hashes = await Promise.all(
      [
        '',
        SERIES,
        SERIES.replace('-0.5', '-0.4'),
        SERIES.replace('RATE,2024-01-02', 'RATE,2024-01-03'),
        SERIES.replace('USD', 'EUR'),
        SERIES.replace('S&P 500', 'S&P'),
      ].map(async (series) => computeContentHash(await readContent(series))),
    );
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

test('a market has another history of a day when a series has', async () => {
  const hashPrefix = async (series: string, until = '2024-01-03') => {
    const heldContent = await readContent(series);
    const { hash, digests } = await digestContent(heldContent);
    return createPrefix(
      { ...heldContent, datasetId: 's', contentHash: hash, adjustment: 'none', currency: null },
      digests,
      parseDay(until),
    );
  };
  expect(comparePrefixes(await hashPrefix(SERIES), await hashPrefix(SERIES.replace('4704.81', '4700')))).toBe(
    'history',
  );
  // Values after the day do not change values before it.
  expect(
    comparePrefixes(
      await hashPrefix(SERIES, '2024-01-02'),
      await hashPrefix(SERIES.replace('4704.81', '4700'), '2024-01-02'),
    ),
  ).toBeNull();
  expect(comparePrefixes(await hashPrefix(SERIES), await hashPrefix(`${SERIES}SPX,2024-01-04,4688.68,,\n`))).toBeNull();
});

describe('a refresh', () => {
  const refreshSeries = (heldContent: MarketContent, fresh: MarketContent) =>
    refreshContent(heldContent, fresh, { until: null, full: false, isWhole: true, adjustment: 'splits' });

  test('adds the series of the source, counts them, and reports changes of their history', async () => {
    const heldContent = await readContent();
    const grownContent = await readContent(`${SERIES}SPX,2024-01-04,4688.68,,\nEURUSD,2024-01-02,1.09,,\n`);
    const { content: after, report } = refreshSeries(heldContent, grownContent);
    expect(await computeContentHash(after)).toBe(await computeContentHash(grownContent));
    expect(report).toMatchObject({
      rows_added: 2,
      rows_changed: 0,
      datasets: { series: { added: 2, changed: 0, removed: 0 } },
      findings: [],
    });
    const other = refreshSeries(
      heldContent,
      await readContent(SERIES.replace('4742.83', '4740').replace('RATE,2024-01-02,-0.5,,\n', '')),
    );
    expect(other.report).toMatchObject({
      rows_changed: 2,
      datasets: { series: { added: 0, changed: 1, removed: 1 } },
      findings: [{ code: 'HISTORY_CHANGED', path: 'series' }],
    });
    expect(other.report.restatements).toEqual([
      { dataset: 'series', identifier: 'RATE', date: '2024-01-02', column: 'CLOSE', before: -0.5, after: null },
      { dataset: 'series', identifier: 'SPX', date: '2024-01-02', column: 'CLOSE', before: 4742.83, after: 4740 },
    ]);
  });

  test('of a source without series takes them away', async () => {
    const { content: after, report } = refreshSeries(await readContent(), await readContent(''));
    expect(after.series).toBeUndefined();
    expect(report.datasets.series).toEqual({ added: 0, changed: 0, removed: 3 });
  });
});

describe('an import that is appended', () => {
  test('adds later days and further series, and is refused where it contradicts', async () => {
    const heldContent = await readContent();
    const problems = createProblems();
    const mergedContent = mergeContents(
      heldContent,
      await readContent('identifier,date,CLOSE\nSPX,2024-01-03,4704.81\nSPX,2024-01-04,4688.68\nVIX,2024-01-02,13.2\n'),
      problems,
    );
    expect([...mergedContent!.series!].map(([name, { days }]) => `${name} ${days.length}`)).toEqual([
      'RATE 1',
      'SPX 3',
      'VIX 1',
    ]);
    expect(mergedContent!.series!.get('SPX')).toMatchObject({ currency: 'USD', name: 'S&P 500' });
    expect(
      mergeContents(heldContent, await readContent('identifier,date,CLOSE,CURRENCY\nSPX,2024-01-03,1,EUR\n'), problems),
    ).toBeUndefined();
    expect(formatFindingPaths(problems.findings())).toEqual([
      'DUPLICATE_KEY series[SPX 2024-01-03].CLOSE',
      'DUPLICATE_KEY series[SPX]',
    ]);
  });

  test('is refused when it makes a series of a name that the store holds', async () => {
    const problems = createProblems();
    const addedContent = await readFolderContent(
      await createFolderWith({
        'market.csv': MARKET.replaceAll('A,', 'B,'),
        'series.csv': 'identifier,date,CLOSE\nA,2024-01-02,1\n',
      }),
    );
    expect(mergeContents(await readContent(''), addedContent, problems)).toBeUndefined();
    expect(formatFindingPaths(problems.findings())).toEqual(['DUPLICATE_KEY series[A]']);
  });
});

test('a value is that of the day itself, or the latest one carried forward', () => {
  const series = {
    identifier: 'X',
    name: null,
    currency: null,
    days: Int32Array.of(2, 5),
    closes: Float64Array.of(20, 50),
  };
  expect([1, 2, 3, 5, 6].map((on) => closeOn(series, on))).toEqual([Number.NaN, 20, Number.NaN, 50, Number.NaN]);
  expect([...carryCloses(series, Int32Array.of(1, 2, 3, 5, 6))]).toEqual([Number.NaN, 20, 20, 50, 50]);
});
