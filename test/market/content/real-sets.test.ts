import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { computeContentHash } from '#market/content/content-hash.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { createProblems } from '#market/tables/problems.js';
import { computePriceSeries } from '#market/serve/price-series.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { hasRealSets, formatLongCsv, REAL_SETS, WIDE_NAMES_MAX, readWideTable } from '../real-sets.js';
import { readFolderContent, readContentHash, readFolder, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

const SP500 = 'sp500-2010-2013/close_split_adjusted.csv.gz';

async function load(files: Record<string, string>) {
  const folder = await createFolder();
  await writeFiles(folder, files);
  const content = await readFolderContent(folder);
  const problems = createProblems();
  warnOfMarket(content, 'none', problems);
  const findings = problems.findings();
  return { content, findings, warnings: findings.map(({ code, path }) => `${code} ${path}`) };
}

/**
 * Real sets with their documented numbers of securities and dates. Each entry also has the moves of more than a half
 * that the notes of the set mention.
 */
const SETS = [
  ['us-large-20', 'us-large-20/sp500_dataset.csv.gz', 20, 8313, undefined],
  ['us-large-20, its index', 'us-large-20/sp500_index.csv.gz', 1, 8313, undefined],
  ['us-large-20, its factors', 'us-large-20/factors_dataset.csv.gz', 5, undefined, undefined],
  ['uk-large-64', 'uk-large-64/ftse100_dataset.csv.gz', 64, undefined, 10],
  ['ragged-20', 'ragged-20/stock_prices.csv', 20, undefined, undefined],
  ['small-11', 'small-11/stock_prices.csv', 11, undefined, undefined],
  ['statistics', 'statistics/test_data.csv', 3, undefined, undefined],
  ['sp500-2010-2013', SP500, 469, undefined, undefined],
  [
    'us-1500-adjusted',
    'us-1500-adjusted/adj_close_2005_2017_top1500.csv.gz',
    Math.min(1500, WIDE_NAMES_MAX),
    3201,
    undefined,
  ],
] as const;

/**
 * Returns the positions of large moves in the published table: the price is more than 1.5 times, or less than half of,
 * the previous price.
 */
function listJumps(file: string): string[] {
  const { names, rows } = readWideTable(file);
  const last = names.map(() => Number.NaN);
  const jumps: string[] = [];
  for (const [date, cells] of rows) {
    names.forEach((name, i) => {
      const price = (cells[i] ?? '') === '' ? Number.NaN : Number(cells[i]);
      if (Math.abs(price / last[i]! - 1) > 0.5) jumps.push(`PRICE_JUMP market[${name} ${date}].CLOSE`);
      if (!Number.isNaN(price)) last[i] = price;
    });
  }
  return jumps.toSorted();
}

/** Content with volumes. It is loaded once for all tests that need it. */
let sp500: ReturnType<typeof load> | undefined;
const loadSp500 = () =>
  (sp500 ??= load({ 'market.csv': formatLongCsv(SP500, { VOLUME: 'sp500-2010-2013/volume.csv.gz' }) }));

describe.skipIf(!hasRealSets)('real prices', () => {
  test.each(SETS)(
    '%s loads whole, with the same content as CSV and as Parquet, and its jumps are reported',
    async (_name, file, names, dates, jumps) => {
      const { content, findings } = await (file === SP500 ? loadSp500() : load({ 'market.csv': formatLongCsv(file) }));
      expect(content.identifiers).toHaveLength(names);
      if (dates !== undefined) expect(content.dates).toHaveLength(dates);
      const folder = join(await createFolder(), 'store');
      await writeMarket(folder, content, () => {});
      expect(await readContentHash(folder)).toBe(await computeContentHash(content));
      const expected = listJumps(file);
      if (jumps !== undefined) expect(expected).toHaveLength(jumps);
      const reportedFindings = findings.filter(({ code }) => code === 'PRICE_JUMP');
      // More than twenty jumps are reported as one finding. It has their number and the first jumps.
      if (expected.length <= 20)
        expect(reportedFindings.map(({ code, path }) => `${code} ${path}`).toSorted()).toEqual(expected);
      else {
        expect(reportedFindings.map(({ path, count }) => [path, count])).toEqual([['market.CLOSE', expected.length]]);
        for (const place of reportedFindings[0]!.places!) expect(expected).toContain(`PRICE_JUMP ${place}`);
      }
    },
    180_000,
  );

  test('the memberships of the S&P 500 since 1996 are a universe, overlaps being reported by row', async () => {
    const rows = readFileSync(`${REAL_SETS}/reference/sp500_ticker_start_end.csv`, 'utf8')
      .trim()
      .split(/\r?\n/)
      .slice(1)
      .map((line) => line.split(','));
    const overlapping = rows.flatMap(([ticker, start], i) =>
      rows.slice(0, i).some(([other, from, to]) => other === ticker && from! <= start! && (to === '' || to! > start!))
        ? [i + 1]
        : [],
    );
    const folder = await createFolder();
    await writeFiles(folder, {
      // A bar of each security in the set.
      'market.csv': `identifier,date,CLOSE\n${readWideTable(SP500)
        .names.map((name) => `${name},2013-01-02,1\n`)
        .join('')}`,
      'universes.csv': `universe,identifier,start,end\n${rows.map(([ticker, start, end]) => `SP500,${ticker},${start},${end}`).join('\n')}\n`,
    });
    const { read, findings } = await readFolder(folder);
    expect(findings.map(({ code, path }) => `${code} ${path}`)).toEqual(
      overlapping.map((row) => `OVERLAPPING_MEMBERSHIP universes[row ${row}]`),
    );
    if (overlapping.length === 0) expect(read!.content.universes).toHaveLength(rows.length);
  });

  test('the suspect prices of the S&P 500 set are reported as jumps', async () => {
    const { content, warnings } = await loadSp500();
    // C and DUK each have one price on another share basis. PLD has one price of the company with which it had merged.
    // CSX split 3 for 1.
    const jumps = warnings.filter((warning) => warning.startsWith('PRICE_JUMP'));
    for (const place of [
      'C 2011-05-06',
      'C 2011-05-09',
      'DUK 2012-07-02',
      'DUK 2012-07-03',
      'PLD 2011-06-02',
      'PLD 2011-06-06',
      'CSX 2011-06-16',
    ]) {
      expect(jumps).toContain(`PRICE_JUMP market[${place}].CLOSE`);
    }
    expect(jumps.length).toBeLessThan(20);
    expect(content.fields.has('VOLUME')).toBe(true);
  });

  test.each(['aapl', 'ibm', 'spy', 'qqq'])(
    'as-traded bars of %s with their factors give the same adjusted returns as the published factors',
    async (name) => {
      // Each row of a factor file has a date, the price factor (dividends) and the split factor that apply until this
      // date, and the close.
      const rows = readFileSync(`${REAL_SETS}/lean/factor_files/${name}.csv`, 'utf8')
        .trim()
        .split(/\r?\n/)
        .map((line) => line.split(','));
      const spells = rows.map(([date = '', price, split, reference]) => ({
        date: `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`,
        price: Number(price),
        split: Number(split),
        reference: Number(reference),
      }));
      const bars = selectSinceLastHole(readLeanBars(name));
      const events = new Map(
        spells.slice(0, -1).flatMap((spell, i) => {
          const next = spells[i + 1]!;
          const ex = bars.find(({ date }) => date > spell.date)?.date;
          if (ex === undefined || spell.date < bars[0]!.date) return [];
          // The factor is (reference - dividend) / reference. Share counts are those after a split on this date.
          const ratio = next.split / spell.split;
          return [
            [ex, { ratio: Math.abs(ratio - 1) > 1e-6 ? ratio : 1, fraction: 1 - spell.price / next.price }] as const,
          ];
        }),
      );
      const before = new Map(bars.slice(1).map(({ date }, i) => [date, bars[i]!.close]));
      const actions = [...events].flatMap(([ex, { ratio, fraction }]) => [
        ...(ratio === 1 ? [] : [`X,SPLIT,${ratio},${ex}`]),
        ...(Math.abs(fraction) > 1e-9 ? [`X,DIVIDEND,${(fraction * before.get(ex)!) / ratio},${ex}`] : []),
      ]);
      expect(actions.length).toBeGreaterThan(5);
      const { content, warnings } = await load({
        'market.csv': `identifier,date,CLOSE\n${bars.map(({ date, close }) => `X,${date},${close}`).join('\n')}\n`,
        'corporate_actions.csv': `identifier,type,value,ex_date\n${actions.join('\n')}\n`,
      });
      expect(warnings.filter((warning) => warning.startsWith('ACTION'))).toEqual([]);
      const { columns } = computePriceSeries(
        {
          dates: content.dates,
          fields: [...content.fields].map(([field, values]) => ({ name: field, values })),
          names: 1,
          position: 0,
          actions: content.actions,
          adjustment: 'none',
        },
        { start: null, end: null, interval: 'native', columns: ['CLOSE'], adjust: 'total' },
      );
      const factorOn = (date: string) => {
        const spell = spells.find((each) => each.date >= date)!;
        return spell.price * spell.split;
      };
      const publishedCloses = bars.map(({ date, close }) => close * factorOn(date));
      for (let t = 1; t < bars.length; t++) {
        const { date } = bars[t]!;
        const ownGrowth = columns[0]!.values[t]! / columns[0]!.values[t - 1]!;
        const publishedGrowth = publishedCloses[t]! / publishedCloses[t - 1]!;
        // The vendor subtracts a dividend from the previous price. This code adds it to the following price. The
        // fraction that was paid converts one factor into the other.
        const fraction = events.get(date)?.fraction ?? 0;
        expect(Math.abs(ownGrowth - ((1 - fraction) * publishedGrowth + fraction)), `${name} ${date}`).toBeLessThan(
          events.has(date) ? 1e-6 : 1e-12,
        );
      }
    },
  );
});

/**
 * Returns the bars after the last gap of more than a month. QQQ traded under another ticker from 2004 to 2011, so its
 * file has no prices for these years.
 */
function selectSinceLastHole<T extends { readonly date: string }>(bars: readonly T[]): readonly T[] {
  const hole = bars.findLastIndex(
    ({ date }, t) => t > 0 && parseValidDay(date) - parseValidDay(bars[t - 1]!.date) > 31,
  );
  return bars.slice(Math.max(hole, 0));
}

function readLeanBars(name: string): { readonly date: string; readonly close: number }[] {
  const zip = readFileSync(`${REAL_SETS}/lean/daily/${name}.zip`);
  return inflateFirst(zip)
    .trim()
    .split(/\r?\n/)
    .map((line) => {
      const [stamp = '', , , , close] = line.split(',');
      return { date: `${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}`, close: Number(close) / 10_000 };
    });
}

/** Decompresses the only member of a zip file. */
function inflateFirst(zip: Buffer): string {
  const directory = zip.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
  const size = zip.readUInt32LE(directory + 20);
  const localOffset = zip.readUInt32LE(directory + 42);
  const start = localOffset + 30 + zip.readUInt16LE(localOffset + 26) + zip.readUInt16LE(localOffset + 28);
  return inflateRawSync(zip.subarray(start, start + size)).toString('utf8');
}
