import { describe, expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { findFirstDifference } from '#domain/backtest/run-file/compare.js';
import type { RunHeader } from '#domain/backtest/run-file/header.js';
import { createRunColumns, openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { cut, expectSameReads, extend, listFilesAfter, openExtended, readContent } from '../extend/extended.js';
import { buildMarket, createWeekdayCalendars } from '../market-builder.js';
import { runOn } from '../random-run.js';
import { createDocument } from '../../index-document.js';

const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-12-31' } });
const DATES = [...CALENDARS.get('MAIN')!.sessions].slice(0, 160).map((day) => formatDay(day));
const DOCUMENT = createDocument({
  base_date: DATES[0],
  rebalance: { frequency: 'monthly' },
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'EqualWeight' } },
});
const listPrices = (step: number): number[] => DATES.map((_, t) => 20 + ((t * step) % 17));
const MARKET = buildMarket({ dates: DATES, close: { A: listPrices(3), B: listPrices(5), C: listPrices(7) } });
const createTerms = (datesMax: number) => ({ calendars: CALENDARS, datesMax });
const runRows = (rows: number) => runOn(CALENDARS, cut(MARKET, rows), DOCUMENT, { transaction_cost_bps: 10 });

/** Runs an index on the first rows of a market, then extends the run day by day. */
function extendDaily({
  rows,
  to,
  datesMax,
}: {
  readonly rows: number;
  readonly to: number;
  readonly datesMax: number;
}) {
  const first = runRows(rows);
  let files: Uint8Array[] = [createRunColumns(first, { contentHash: 's' })];
  let storedRun = { columns: openExtended(files[0]!), checkpoint: createCheckpoint(first) };
  for (let day = rows + 1; day <= to; day++) {
    const extendedRun = extend(first.plan, cut(MARKET, day), storedRun, createTerms(datesMax));
    if (typeof extendedRun === 'string') return { files, stored: storedRun, reason: extendedRun };
    files = listFilesAfter(files, extendedRun);
    storedRun = { columns: openExtended(files.at(-1)!, files), checkpoint: extendedRun.checkpoint };
  }
  return { files, stored: storedRun, reason: null };
}

describe('the files of an extended run', () => {
  test('take as many dates each as they may, the first as many as were run', () => {
    const {
      files,
      stored: { columns },
    } = extendDaily({ rows: 20, to: 60, datesMax: 8 });
    expect(files).toHaveLength(6); // one file of 20 dates, and 40 more dates in five files of 8
    expect(files.map((bytes) => openColumns((start, end) => bytes.slice(start, end)).header.dates)).toEqual([
      20, 28, 36, 44, 52, 60,
    ]);
    const run = openExtended(createRunColumns(runRows(60), { contentHash: 's' }));
    expect(readContent(columns)).toEqual(readContent(run));
    expectSameReads(columns, run);
  });

  test('are one where the stored run had room for more', () => {
    const {
      files,
      stored: { columns },
    } = extendDaily({ rows: 20, to: 27, datesMax: 30 });
    expect([files.length, columns.header.begun]).toEqual([1, []]);
    expect(readContent(columns)).toEqual(
      readContent(openExtended(createRunColumns(runRows(27), { contentHash: 's' }))),
    );
  });

  test('are at most 128 per run: then the run is rewritten as a whole', () => {
    const {
      files,
      stored: { columns },
      reason,
    } = extendDaily({ rows: 20, to: 160, datesMax: 0 });
    expect([files.length, reason]).toEqual([129, 'file_rewritten']);
    expect(findFirstDifference(columns, openExtended(createRunColumns(runRows(148), { contentHash: 's' })))).toBeNull();
  });

  test('are missed when one of them is not there', () => {
    const { files } = extendDaily({ rows: 20, to: 22, datesMax: 0 });
    const lastFile = files.at(-1)!;
    const columns = openColumns((start, end) => lastFile.slice(start, end));
    expect(columns.i32('days')).toHaveLength(22);
    expect(() => columns.f64('weights')).toThrow(expect.objectContaining({ code: 'DOCUMENT_UNREADABLE' }));
  });

  test('are read in the form in which one other file could begin a run', () => {
    const {
      files: [first, second],
      stored: { columns },
    } = extendDaily({ rows: 20, to: 21, datesMax: 0 });
    const before = openColumns(
      (start, end) => convertToVersion2(second!).slice(start, end),
      (name) => {
        expect(name).toBe('base.art');
        return (start, end) => first!.slice(start, end);
      },
    );
    expect(readContent(before)).toEqual(readContent(columns));
    expectSameReads(before, columns);
  });
});

test('names of one currency share a row of exchange rates, also where one of them joins', () => {
  const rate = DATES.map((_, t) => 1.1 + 0.001 * (t % 7));
  const market = buildMarket({
    dates: DATES,
    close: {
      A: listPrices(3),
      B: listPrices(5),
      C: listPrices(7),
      D: listPrices(11),
      EURUSD: rate,
      GBPUSD: rate.map((value) => value + 0.2),
    },
    reference: Object.fromEntries(
      Object.entries({ A: 'EUR', B: 'USD', C: 'GBX', D: 'EUR' }).map(([name, currency]) => [
        name,
        { CURRENCY: currency },
      ]),
    ),
    // D joins the universe on the appended day.
    universes: ['A', 'B', 'C', 'D'].map((identifier) => ({
      universe: 'U',
      identifier,
      start: identifier === 'D' ? parseValidDay(DATES[41]!) : null,
      end: null,
    })),
  });
  const document = createDocument({
    base_date: DATES[0],
    universe: { kind: 'named', id: 'U' },
    rebalance: { frequency: 'daily' },
  });
  const runOnRows = (rows: number) => runOn(CALENDARS, cut(market, rows), document, { createDecider: indexDecider });
  const bytes = createRunColumns(runOnRows(41), { contentHash: 's' });
  const storedRun = { columns: openExtended(bytes), checkpoint: createCheckpoint(runOnRows(41)) };
  expect([storedRun.columns.header.foreign, storedRun.columns.f64('rates').length]).toEqual([{ 0: 0, 2: 1 }, 2 * 41]);
  const extendedRun = extend(runOnRows(42).plan, cut(market, 42), storedRun, {
    ...createTerms(0),
    createDecider: indexDecider,
  });
  if (typeof extendedRun === 'string') throw new Error(extendedRun);
  const columns = openExtended(extendedRun.columns, [bytes]);
  expect([columns.header.names, columns.header.foreign]).toEqual([['A', 'B', 'C', 'D'], { 0: 0, 2: 1, 3: 0 }]);
  expect(Array.from(columns.f64('rates').subarray(0, 42))).toEqual(rate.slice(0, 42));
  expect(readContent(columns)).toEqual(
    readContent(openExtended(createRunColumns(runOnRows(42), { contentHash: 's' }))),
  );
});

test('a run whose foreign securities had a row each is the run in which they share it', () => {
  const rate = DATES.map((_, t) => 1.1 + 0.001 * (t % 7));
  const market = buildMarket({
    dates: DATES,
    close: { A: listPrices(3), B: listPrices(5), EURUSD: rate },
    reference: { A: { CURRENCY: 'EUR' }, B: { CURRENCY: 'EUR' } },
  });
  const document = createDocument({
    base_date: DATES[0],
    universe: { kind: 'list', identifiers: ['A', 'B'] },
    rebalance: { frequency: 'monthly' },
  });
  const columns = openExtended(createRunColumns(runOn(CALENDARS, cut(market, 30), document, {}), { contentHash: 's' }));
  const rates = columns.f64('rates');
  const repeatForeign = (second: number): RunColumns => ({
    ...columns,
    header: { ...columns.header, foreign: { 0: 0, 1: 1 } },
    f64: (name, from, to) =>
      name === 'rates'
        ? Float64Array.of(...rates, ...rates.map((value) => value * second)).slice(from, to)
        : columns.f64(name, from, to),
  });
  expect(columns.header.foreign).toEqual({ 0: 0, 1: 0 });
  expect(findFirstDifference(repeatForeign(1), columns)).toBeNull();
  expect(findFirstDifference(repeatForeign(1.01), columns)).toMatchObject({
    part: 'rates',
    stored: rates[0]! * 1.01,
    replayed: rates[0],
  });
});

/** Returns a file with a header in the format of version 2. */
function convertToVersion2(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const body = 16 + view.getUint32(8, true);
  const {
    begun: _earlier,
    blocks,
    ...header
  } = JSON.parse(new TextDecoder().decode(bytes.subarray(16, body))) as RunHeader;
  const formatText = (by: number): string => {
    const movedBlocks = Object.entries(blocks).map(([name, block]) => {
      const { begins, ...rest } = block!;
      return [
        name,
        {
          ...rest,
          offset: rest.offset + by,
          ...(begins && begins[1]! > 0 ? { begins: { offset: begins[0]!, length: begins[1]! } } : {}),
        },
      ];
    });
    return JSON.stringify({ ...header, version: 2, blocks: Object.fromEntries(movedBlocks), base: 'base.art' });
  };
  const headerBytes = 8 * Math.ceil((formatText(1 << 20).length + 16) / 8);
  const oldFile = new Uint8Array(16 + headerBytes + bytes.length - body).fill(0x20);
  oldFile.set(bytes.subarray(0, 8));
  new DataView(oldFile.buffer).setUint32(8, headerBytes, true);
  oldFile.set(new TextEncoder().encode(formatText(16 + headerBytes - body)), 16);
  oldFile.set(bytes.subarray(body), 16 + headerBytes);
  return oldFile;
}
