import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { type Day, parseValidDay } from '#domain/base/time.js';
import type { Adjustment } from '#domain/market/market-data.js';
import type { MarketContent } from '#market/content/market-content.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { COUNTED_NAMES_MAX, REAL_SETS, readWideTable } from '../real-sets.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

/** Published prices of a real set. */
export interface RealSet {
  readonly name: string;
  /** Declared adjustment of the prices. */
  readonly adjustment: Adjustment;
  readonly content: MarketContent;
}

interface Bar {
  readonly identifier: string;
  readonly day: Day;
  readonly close: number;
  readonly volume: number;
}

/** Yields the price sets in ../shared one at a time. */
export function* listRealSets(): Generator<RealSet> {
  yield readWideSet('us-large-20', 'total', 'us-large-20/sp500_dataset.csv.gz');
  yield readWideSet('us-large-20, index', 'total', 'us-large-20/sp500_index.csv.gz');
  yield readWideSet('us-large-20, factors', 'total', 'us-large-20/factors_dataset.csv.gz');
  yield readWideSet('uk-large-64', 'total', 'uk-large-64/ftse100_dataset.csv.gz');
  yield readWideSet('ragged-20', 'total', 'ragged-20/stock_prices.csv');
  yield readWideSet('ragged-20, SPY', 'total', 'ragged-20/spy_prices.csv');
  yield readWideSet('small-11', 'total', 'small-11/stock_prices.csv');
  yield readWideSet('statistics', 'splits', 'statistics/test_data.csv');
  yield readWideSet(
    'sp500-2010-2013',
    'splits',
    'sp500-2010-2013/close_split_adjusted.csv.gz',
    'sp500-2010-2013/volume.csv.gz',
  );
  yield readWideSet('us-1500-adjusted', 'total', 'us-1500-adjusted/adj_close_2005_2017_top1500.csv.gz');
  yield {
    name: 'lean, as traded',
    adjustment: 'none',
    content: createContent(['aapl', 'ibm', 'spy', 'qqq'].flatMap(readLeanBars)),
  };
  const dividends = readdirSync(join(REAL_SETS, 'dirty-dividends')).filter(
    (file) => file.includes('-1d-') && !file.includes('-fixed'),
  );
  yield { name: 'dirty-dividends', adjustment: 'splits', content: createContent(dividends.flatMap(readVendorBars)) };
  for (const file of ['indtrack1', 'indtrack2', 'indtrack4'])
    yield { name: `orlib ${file}, weekly`, adjustment: 'splits', content: createContent(readWeeklyBars(file)) };
}

function readWideSet(name: string, adjustment: Adjustment, closes: string, volumes?: string): RealSet {
  const getVolume = volumes === undefined ? () => Number.NaN : createCellReader(volumes);
  const { names, rows } = readWideTable(closes, COUNTED_NAMES_MAX);
  const bars: Bar[] = [];
  for (const [date, cells] of rows) {
    const day = parseValidDay(date);
    names.forEach((identifier, i) => {
      const close = parseValue(cells[i]);
      if (close > 0) bars.push({ identifier, day, close, volume: getVolume(date, identifier) });
    });
  }
  return { name, adjustment, content: createContent(bars) };
}

function createCellReader(file: string): (date: string, name: string) => number {
  const { names, rows } = readWideTable(file);
  const column = new Map(names.map((name, i) => [name, i]));
  const byDate = new Map(rows);
  return (date, name) => parseValue(byDate.get(date)?.[column.get(name) ?? -1]);
}

const parseValue = (text: string | undefined) => (text === undefined || text === '' ? Number.NaN : Number(text));

function createContent(bars: readonly Bar[]): MarketContent {
  const pricedBars = bars.filter(({ close }) => close > 0);
  const identifiers = [...new Set(pricedBars.map(({ identifier }) => identifier))].sort();
  const days = [...new Set(pricedBars.map(({ day }) => day))].sort((a, b) => a - b);
  const [column, row] = [new Map(identifiers.map((name, i) => [name, i])), new Map(days.map((day, t) => [day, t]))];
  const [close, volume] = [
    allocateEmptyPanel(days.length * identifiers.length),
    allocateEmptyPanel(days.length * identifiers.length),
  ];
  for (const bar of pricedBars) {
    const cell = row.get(bar.day)! * identifiers.length + column.get(bar.identifier)!;
    close[cell] = bar.close;
    volume[cell] = bar.volume;
  }
  const hasVolume = volume.some((shares) => shares > 0);
  const fields = new Map([['CLOSE', close], ...(hasVolume ? [['VOLUME', volume] as const] : [])]);
  return {
    identifiers,
    dates: Int32Array.from(days),
    fields,
    ...NO_TABLES,
  };
}

/**
 * Reads a zip file with one member. Its columns are yyyymmdd hh:mm, open, high, low and close in ten-thousandths, and
 * volume.
 */
function readLeanBars(name: string): Bar[] {
  const zip = readFileSync(join(REAL_SETS, `lean/daily/${name}.zip`));
  const directory = zip.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
  const localOffset = zip.readUInt32LE(directory + 42);
  const start = localOffset + 30 + zip.readUInt16LE(localOffset + 26) + zip.readUInt16LE(localOffset + 28);
  const text = inflateRawSync(zip.subarray(start, start + zip.readUInt32LE(directory + 20))).toString('utf8');
  return text
    .trim()
    .split(/\r?\n/)
    .map((line) => {
      const [stamp = '', , , , close, volume] = line.split(',');
      return {
        identifier: name,
        day: parseValidDay(`${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}`),
        close: Number(close) / 1e4,
        volume: Number(volume),
      };
    });
}

function readVendorBars(file: string): Bar[] {
  const [header = '', ...lines] = readFileSync(join(REAL_SETS, 'dirty-dividends', file), 'utf8')
    .trim()
    .split(/\r?\n/);
  const names = header.split(',');
  const [close, volume] = [names.indexOf('Close'), names.indexOf('Volume')];
  return lines.map((line) => {
    const cells = line.split(',');
    return {
      identifier: file.replace('-1d', ''),
      day: parseValidDay(cells[0]!.slice(0, 10)),
      close: parseValue(cells[close]),
      volume: parseValue(cells[volume]),
    };
  });
}

/**
 * Reads a sequence of numbers: the number of securities without the index, the number of weeks, the weeks of the index,
 * and the weeks of each security.
 */
function readWeeklyBars(file: string): Bar[] {
  const [names, weeks, ...prices] = readFileSync(join(REAL_SETS, `orlib/${file}.txt`), 'utf8')
    .trim()
    .split(/\s+/)
    .map(Number);
  const first = parseValidDay('1992-03-06');
  const perName = prices.length / (names! + 1);
  if (perName !== weeks! + 1)
    throw new Error(`${file}: ${prices.length} prices of ${names! + 1} series and ${weeks} weeks`);
  return prices.map((close, i) => ({
    identifier: String(Math.floor(i / perName)).padStart(3, '0'),
    day: first + 7 * (i % perName),
    close,
    volume: Number.NaN,
  }));
}
