import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { contentHash } from '#market/content.js';
import { warnOfMarket } from '#market/market-warnings.js';
import { createProblems } from '#market/problems.js';
import { priceSeries } from '#market/price-series.js';
import { writeMarket } from '#market/write-market.js';
import { temporaryFolders } from '../store/temporary-folder.js';
import { hasRealSets, longCsv, REAL_SETS } from './real-sets.js';
import { contentOf, hashOf, writeFiles } from './store-folder.js';

const folderFor = temporaryFolders();

async function load(files: Record<string, string>) {
  const folder = await folderFor();
  await writeFiles(folder, files);
  const content = await contentOf(folder);
  const problems = createProblems();
  warnOfMarket(content, problems);
  return { content, warnings: problems.findings().map(({ code, path }) => `${code} ${path}`) };
}

/** Each set with the names and dates its publisher says it has. */
const SETS = [
  ['us-large-20', 'us-large-20/sp500_dataset.csv.gz', 20, 8313],
  ['uk-large-64', 'uk-large-64/ftse100_dataset.csv.gz', 64, undefined],
  ['ragged-20', 'ragged-20/stock_prices.csv', 20, undefined],
  ['small-11', 'small-11/stock_prices.csv', 11, undefined],
  ['statistics', 'statistics/test_data.csv', 3, undefined],
  ['sp500-2010-2013', 'sp500-2010-2013/close_split_adjusted.csv.gz', 469, undefined],
] as const;

describe.skipIf(!hasRealSets)('real prices', () => {
  test.each(SETS)('%s loads whole, with the same content as CSV and as Parquet', async (_name, file, names, dates) => {
    const { content } = await load({ 'market.csv': longCsv(file) });
    expect(content.identifiers).toHaveLength(names);
    if (dates !== undefined) expect(content.dates).toHaveLength(dates);
    const folder = join(await folderFor(), 'store');
    await writeMarket(folder, content, () => {});
    expect(await hashOf(folder)).toBe(await contentHash(content));
  });

  test('the doubtful prints of the S&P 500 set are told as jumps', async () => {
    const { content, warnings } = await load({
      'market.csv': longCsv('sp500-2010-2013/close_split_adjusted.csv.gz', { VOLUME: 'sp500-2010-2013/volume.csv.gz' }),
    });
    // C and DUK print once the price of another share basis, PLD that of the company it had merged with; CSX split 3 for 1.
    const jumps = warnings.filter((warning) => warning.startsWith('PRICE_JUMP'));
    for (const place of ['C 2011-05-06', 'C 2011-05-09', 'DUK 2012-07-02', 'DUK 2012-07-03', 'PLD 2011-06-02', 'PLD 2011-06-06', 'CSX 2011-06-16']) {
      expect(jumps).toContain(`PRICE_JUMP market[${place}].CLOSE`);
    }
    expect(jumps.length).toBeLessThan(20);
    expect(content.fields.has('VOLUME')).toBe(true);
  });

  test('as-traded bars with their factors give the same adjusted returns as the published factors', async () => {
    // Factor files give, per date, the price factor (dividends) and split factor that hold until it.
    const rows = readFileSync(`${REAL_SETS}/lean/factor_files/aapl.csv`, 'utf8').trim().split(/\r?\n/).map((line) => line.split(','));
    const spells = rows.map(([date = '', price, split, reference]) => ({ date: `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`, price: Number(price), split: Number(split), reference: Number(reference) }));
    const bars = leanBars('aapl');
    const actions = spells.slice(0, -1).flatMap((spell, i) => {
      const next = spells[i + 1]!;
      const ex = bars.find(({ date }) => date > spell.date)?.date;
      if (ex === undefined || spell.date < bars[0]!.date) return [];
      const ratio = next.split / spell.split;
      // The factor is (reference - dividend) / reference, on the basis before a split of the same day.
      const cash = spell.reference * (1 - spell.price / next.price);
      return [
        ...(Math.abs(ratio - 1) > 1e-6 ? [`AAPL,SPLIT,${ratio},${ex}`] : []),
        ...(Math.abs(cash) > 1e-9 ? [`AAPL,DIVIDEND,${cash},${ex}`] : []),
      ];
    });
    const { content } = await load({
      'market.csv': `identifier,date,CLOSE\n${bars.map(({ date, close }) => `AAPL,${date},${close}`).join('\n')}\n`,
      'corporate_actions.csv': `identifier,type,value,ex_date\n${actions.join('\n')}\n`,
    });
    const { columns } = priceSeries(
      { dates: content.dates, fields: [...content.fields].map(([name, values]) => ({ name, values })), names: 1, position: 0, actions: content.actions, adjustment: 'none' },
      { start: null, end: null, interval: 'native', columns: ['CLOSE'], adjust: 'total' },
    );
    const factorOn = (date: string) => {
      const spell = spells.find((each) => each.date >= date)!;
      return spell.price * spell.split;
    };
    const published = bars.map(({ date, close }) => close * factorOn(date));
    let worst = 0;
    for (let t = 1; t < bars.length; t++) {
      const ours = columns[0]!.values[t]! / columns[0]!.values[t - 1]!;
      worst = Math.max(worst, Math.abs(ours / (published[t]! / published[t - 1]!) - 1));
    }
    // Their dividend is taken off the price before it, ours is added to the price after it: apart by dividend yield times return.
    expect(worst).toBeLessThan(1e-3);
  });
});

function leanBars(name: string): { readonly date: string; readonly close: number }[] {
  const zip = readFileSync(`${REAL_SETS}/lean/daily/${name}.zip`);
  return inflateFirst(zip).trim().split(/\r?\n/).map((line) => {
    const [stamp = '', , , , close] = line.split(',');
    return { date: `${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}`, close: Number(close) / 10_000 };
  });
}

/** Text of the only member of a zip file. */
function inflateFirst(zip: Buffer): string {
  const directory = zip.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
  const size = zip.readUInt32LE(directory + 20);
  const local = zip.readUInt32LE(directory + 42);
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  return inflateRawSync(zip.subarray(start, start + size)).toString('utf8');
}
