import {
  type Data,
  DateDay,
  Dictionary,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { createHash, type Hash } from 'node:crypto';
import { decodeUtf8 } from '#base/bytes.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type { MarketData, PriceSeries, ReferenceRow } from '#domain/market/market-data.js';

/**
 * SHA-256 digests of all inputs, by security and by date. If an input changed, the two together show which security and
 * date.
 */
interface InputDigests {
  readonly securities: Readonly<Record<string, string>>;
  readonly dates: Readonly<Record<string, string>>;
}

/** Key for inputs without a date. */
export const ALWAYS = 'always';

/**
 * Computes the digests of all inputs.
 * @cost two passes of SHA-256 over the panels
 */
export function computeInputDigests(market: MarketData): InputDigests {
  const { identifiers, dates } = market;
  const names = new Map<string, Hash>(identifiers.map((identifier) => [identifier, createHash('sha256')]));
  const days = new Map<string, Hash>(Array.from(dates, (day) => [formatDay(day), createHash('sha256')]));
  hashPanels(market, names, days);
  const addRow = (table: string, identifier: string, day: Day | null, row: object): void => {
    const statement = `${toCanonicalJson([table, identifier, row])}\n`;
    getHash(names, identifier).update(statement);
    getHash(days, day === null ? ALWAYS : formatDay(day)).update(statement);
  };
  for (const [identifier, rows] of market.reference.rows)
    for (const { validFrom, values } of rows)
      addRow('reference', identifier, validFrom, { columns: market.reference.columns, values, validFrom });
  for (const action of market.actions) addRow('corporate_actions', action.identifier, action.exDay, action);
  for (const spell of market.universes) addRow('universes', spell.identifier, spell.start, spell);
  for (const { identifier, currency, name, days: seriesDays, closes } of market.series?.values() ?? []) {
    addRow('series', identifier, null, { currency, name });
    seriesDays.forEach((day, i) => addRow('series', identifier, day, [day, closes[i]!]));
  }
  return { securities: formatHex(names), dates: formatHex(days) };
}

function hashPanels(
  { identifiers, dates, fields }: MarketData,
  names: Map<string, Hash>,
  days: Map<string, Hash>,
): void {
  const width = identifiers.length;
  const series = new Float64Array(dates.length);
  for (const [field, panel] of fields) {
    identifiers.forEach((identifier, column) => {
      for (let t = 0; t < dates.length; t++) series[t] = panel[t * width + column]!;
      names.get(identifier)!.update(field).update(series);
    });
    dates.forEach((day, t) => {
      days
        .get(formatDay(day))!
        .update(field)
        .update(panel.slice(t * width, (t + 1) * width));
    });
  }
}

function getHash(hashes: Map<string, Hash>, key: string): Hash {
  let hash = hashes.get(key);
  if (hash === undefined) hashes.set(key, (hash = createHash('sha256')));
  return hash;
}

const formatHex = (hashes: ReadonlyMap<string, Hash>): Record<string, string> =>
  Object.fromEntries(
    [...hashes].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, hash]) => [key, hash.digest('hex')]),
  );

/** Returns the keys whose digests differ, in ascending order. A key that exists on one side only is included. */
export function findDifferingKeys(
  statedDigests: Readonly<Record<string, string>>,
  actualDigests: Readonly<Record<string, string>>,
): readonly string[] {
  const keys = new Set([...Object.keys(statedDigests), ...Object.keys(actualDigests)]);
  return [...keys].filter((key) => statedDigests[key] !== actualDigests[key]).toSorted();
}

/**
 * Market in two files. Prices are an Arrow file with one row per security and date; all other tables are a JSON file.
 */
interface MarketFiles {
  readonly 'market.arrow': Uint8Array;
  readonly 'tables.json': Uint8Array;
}

interface SliceTables extends Pick<MarketData, 'identifiers' | 'adjustment' | 'actions' | 'universes' | 'contentHash'> {
  readonly currency: string | null;
  /** Days since 1970-01-01. */
  readonly dates: readonly number[];
  readonly reference: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly [string, readonly ReferenceRow[]])[];
  };
  readonly series: readonly (Omit<PriceSeries, 'days' | 'closes'> & {
    readonly days: number[];
    readonly closes: number[];
  })[];
}

/**
 * Encodes a market as two files.
 * @cost one pass over the panels
 */
export function encodeSlice(market: MarketData): MarketFiles {
  const { identifiers, dates, adjustment, currency = null, actions, universes, contentHash } = market;
  const tables: SliceTables = {
    identifiers,
    adjustment,
    currency,
    contentHash,
    dates: [...dates],
    reference: { columns: market.reference.columns, rows: [...market.reference.rows] },
    actions,
    universes,
    series: [...(market.series?.values() ?? [])].map((priceSeries) => ({
      ...priceSeries,
      days: [...priceSeries.days],
      closes: [...priceSeries.closes],
    })),
  };
  return { 'market.arrow': encodePrices(market), 'tables.json': new TextEncoder().encode(JSON.stringify(tables)) };
}

function encodePrices({ identifiers, dates, fields }: MarketData): Uint8Array {
  const names = [...fields.keys()];
  const panels = [...fields.values()];
  const width = identifiers.length;
  const cells: number[] = [];
  for (let cell = 0; cell < dates.length * width; cell++)
    if (panels.some((panel) => panel[cell] === panel[cell])) cells.push(cell);
  const length = cells.length;
  const key = new Dictionary(new Utf8(), new Int32());
  const schema = new Schema([
    new Field('date', new DateDay(), false),
    new Field('identifier', key, false),
    ...names.map((name) => new Field(name, new Float64(), true)),
  ]);
  const children: Data[] = [
    makeData({
      type: new DateDay(),
      length,
      nullCount: 0,
      data: Int32Array.from(cells, (cell) => dates[Math.floor(cell / width)]!),
    }),
    makeData({
      type: key,
      length,
      nullCount: 0,
      data: Int32Array.from(cells, (cell) => cell % width),
      dictionary: vectorFromArray([...identifiers], new Utf8()),
    }),
    ...panels.map((panel) => createDoubles(Float64Array.from(cells, (cell) => panel[cell]!))),
  ];
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }));
  return tableToIPC(new Table(schema, [batch]), 'stream');
}

function createDoubles(data: Float64Array): Data<Float64> {
  const nullBitmap = new Uint8Array(8 * Math.ceil(data.length / 64));
  let nullCount = 0;
  for (let i = 0; i < data.length; i++)
    if (data[i] === data[i]) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount += 1;
  return makeData({ type: new Float64(), length: data.length, nullCount, nullBitmap, data });
}

/**
 * Decodes the two files of a market.
 * @throws Error if the files are not a market slice
 */
export function decodeSlice(files: MarketFiles): MarketData {
  const tables = JSON.parse(decodeUtf8(files['tables.json'])) as SliceTables; // the caller has verified the hash
  const { identifiers, reference, series, dates: days, ...rest } = tables;
  const dates = Int32Array.from(days);
  return {
    ...rest,
    datasetId: 'bundle',
    identifiers,
    dates,
    fields: createPanels(tableFromIPC(files['market.arrow']), identifiers, dates),
    reference: { columns: reference.columns, rows: new Map(reference.rows) },
    ...(series.length === 0
      ? {}
      : { series: new Map(series.map((priceSeries) => [priceSeries.identifier, openSeries(priceSeries)])) }),
  };
}

const openSeries = (priceSeries: SliceTables['series'][number]): PriceSeries => ({
  ...priceSeries,
  days: Int32Array.from(priceSeries.days),
  closes: Float64Array.from(priceSeries.closes),
});

function createPanels(table: Table, identifiers: readonly string[], dates: Int32Array): Map<string, Float64Array> {
  const width = identifiers.length;
  const columnByIdentifier = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const rowByDate = new Map(Array.from(dates, (day, row) => [day, row]));
  const [dateField, nameField, ...others] = table.schema.fields.map(({ name }) => name);
  const fields = new Map(others.map((name) => [name, new Float64Array(dates.length * width).fill(Number.NaN)]));
  if (dateField !== 'date' || nameField !== 'identifier')
    throw new Error('market.arrow does not have the columns of a market slice');
  for (const { data } of table.batches) {
    const [days, keys, ...values] = data.children as Data[];
    const names = keys!.dictionary!.toArray() as unknown as readonly string[];
    const columns = Int32Array.from(names, (name) => columnByIdentifier.get(name) ?? -1);
    const sourcePositions = Int32Array.from({ length: data.length }, (_, i) => {
      const [row, column] = [
        rowByDate.get((days!.values as Int32Array)[i]!),
        columns[(keys!.values as Int32Array)[i]!],
      ];
      if (row === undefined || column === undefined || column < 0)
        throw new Error(`row ${i + 1} of market.arrow names no date or security of tables.json`);
      return row * width + column;
    });
    others.forEach((name, f) => {
      const panel = fields.get(name)!;
      const column = values[f]!;
      const numbers = column.values as Float64Array;
      for (let i = 0; i < sourcePositions.length; i++)
        if (column.nullCount === 0 || column.getValid(i)) panel[sourcePositions[i]!] = numbers[i]!;
    });
  }
  return fields;
}
