import { closeSync, openSync, writeSync } from 'node:fs';
import {
  createGroupEntry,
  encodeChunk,
  encodeFooter,
  PARQUET_MAGIC,
  type ParquetColumn,
  type ThriftStruct,
} from '#base/parquet.js';
import { formatDay } from '#domain/base/time.js';
import { findReferenceKind } from '#domain/datapoints/fields.js';
import type { MarketData } from '#domain/market/market-data.js';
import { ACTION_COLUMNS, type MarketViewName } from '#domain/outputs/sql-views.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { PricesInput } from '#jobs/tasks/markets.js';
import { countCoverage, measureFieldCoverage } from '#market/serve/coverage.js';
import { computePriceSeries, type PriceTable } from '#market/serve/price-series.js';
import { encodeArrowTable } from '#views/formats/columnar.js';
import { writeDatedCsv } from '#views/formats/text.js';
import { writeDatedTable } from '#views/json/objects.js';
import { createJsonWriter } from '#views/json/writer.js';
import { openCachedMarket } from '../input/inputs.js';
import { answerBytes } from '../output/task-outputs.js';

/** Computes the coverage of a market through time: a CoverageHistoryResponse as JSON. */
export const measureCoverage: Task<'coverage'> = ({ market: handle }) => {
  const market = openCachedMarket(handle);
  const { priced, expected, gaps, incomplete } = countCoverage(market);
  const formatDate = (t: number) => formatDay(market.dates[t]!); // positions of a coverage are positions of dates
  const json = createJsonWriter(256 + market.dates.length * 28 + gaps.length * GAP_BYTES);
  json.value({
    store_id: market.datasetId,
    dates: Array.from(market.dates, (day) => formatDay(day)),
    priced: [...priced],
    expected: [...expected],
    gaps: gaps.map(({ identifier, start, end, missing, longest, first, last, sessions }) => ({
      identifier,
      start: formatDate(start),
      end: formatDate(end),
      missing,
      longest,
      first_missing: formatDate(first),
      last_missing: formatDate(last),
      dates: sessions.map(formatDate),
    })),
    gaps_total: incomplete,
    fields: measureFieldCoverage(market).map(({ start, end, securitiesAtEnd, ...field }) => ({
      ...field,
      securities_at_end: securitiesAtEnd,
      start: start === null ? null : formatDay(start),
      end: end === null ? null : formatDay(end),
    })),
  });
  return answerBytes(json.bytes());
};

/** Approximate size of the gaps of a security in JSON. The writer grows if it is too small. */
const GAP_BYTES = 200;

/** Approximate number of rows per Parquet row group. */
const GROUP_ROWS = 1 << 17;

/**
 * Writes a table of a market as Parquet. The table contains bars with a value (by date and security), actions, or
 * reference data.
 */
export const writeMarketTable: Task<'market-table'> = ({ market: handle, table, columns, path }, control) => {
  const groups = TABLES[table](openCachedMarket(handle), columns);
  const file = openSync(path, 'wx', 0o600);
  let bytes = 0;
  const write = (piece: Uint8Array): void => {
    for (let from = 0; from < piece.length;) from += writeSync(file, piece, from);
    bytes += piece.length;
  };
  try {
    write(PARQUET_MAGIC);
    const entries: ThriftStruct[] = [];
    let shapes: readonly ParquetColumn[] = [];
    let rows = 0;
    for (const group of groups) {
      control.report(0);
      shapes = group.columns;
      const chunks = group.columns.map((column) => {
        const chunk = encodeChunk(column, group.rows, bytes);
        chunk.pieces.forEach(write);
        return { ...chunk, pieces: [] };
      });
      if (group.rows > 0) entries.push(createGroupEntry(chunks, group.rows));
      rows += group.rows;
    }
    write(encodeFooter({ columns: shapes, rows, groups: entries }));
    return { bytes };
  } finally {
    closeSync(file);
  }
};

interface Group {
  readonly rows: number;
  readonly columns: readonly ParquetColumn[];
}

const TABLES: Readonly<Record<MarketViewName, (market: MarketData, columns: readonly string[]) => Iterable<Group>>> = {
  prices: listPriceGroups,
  actions: (market) => [createActions(market)],
  reference: (market, columns) => [createReference(market, columns)],
};

function* listPriceGroups({ dates, identifiers, fields }: MarketData, columns: readonly string[]): Iterable<Group> {
  const panels = columns.flatMap((name) => (fields.has(name) ? [{ name, values: fields.get(name)! }] : []));
  const close = fields.get('CLOSE')!; // every market has this column
  const nameCount = identifiers.length;
  const groupDays = Math.max(1, Math.floor(GROUP_ROWS / Math.max(1, nameCount)));
  for (let from = 0; from < dates.length || from === 0; from += groupDays) {
    const to = Math.min(dates.length, from + groupDays);
    const pickedCells = findCellsWithBars(
      [close, ...panels.map(({ values }) => values)],
      from * nameCount,
      to * nameCount,
    );
    yield {
      rows: pickedCells.length,
      columns: [
        {
          name: 'identifier',
          kind: 'coded-text',
          codes: pickedCells.map((cell) => cell % nameCount),
          texts: identifiers,
        },
        {
          name: 'date',
          kind: 'coded-day',
          codes: pickedCells.map((cell) => Math.floor(cell / nameCount) - from),
          days: dates.slice(from, to),
        },
        ...panels.map(({ name, values }): ParquetColumn => {
          const pickedValues = new Float64Array(pickedCells.length);
          for (let row = 0; row < pickedCells.length; row++) pickedValues[row] = values[pickedCells[row]!]!;
          return { name, kind: 'double', values: pickedValues };
        }),
      ],
    };
  }
}

function findCellsWithBars(panels: readonly Float64Array[], from: number, to: number): Int32Array {
  const cells = new Int32Array(to - from);
  let count = 0;
  for (let cell = from; cell < to; cell++) {
    for (const panel of panels) {
      const value = panel[cell]!;
      if (value !== value) continue;
      cells[count++] = cell;
      break;
    }
  }
  return cells.slice(0, count);
}

function createActions({ actions }: MarketData): Group {
  const cells: Readonly<Record<keyof typeof ACTION_COLUMNS, readonly (string | number | null)[]>> = {
    identifier: actions.map(({ identifier }) => identifier),
    type: actions.map(({ type }) => type),
    value: actions.map(({ value }) => value),
    ex_date: actions.map(({ exDay }) => exDay),
    pay_date: actions.map(({ payDay }) => payDay),
    status: actions.map(({ status }) => status),
    announced: actions.map(({ announcedDay }) => announcedDay),
    related: actions.map(({ related }) => related),
    subscription_price: actions.map(({ subscriptionPrice }) => subscriptionPrice),
    cash: actions.map(({ cash = null }) => cash),
  };
  const columns = Object.entries(ACTION_COLUMNS).map(([name, { type }]) =>
    createColumn(name, type, cells[name as keyof typeof ACTION_COLUMNS]),
  );
  return { rows: actions.length, columns };
}

function createColumn(
  name: string,
  type: 'text' | 'date' | 'number',
  values: readonly (string | number | null)[],
): ParquetColumn {
  // The values of a column have the type of the column.
  if (type === 'number')
    return { name, kind: 'double', values: Float64Array.from(values as (number | null)[], (one) => one ?? NaN) };
  if (type === 'date') return { name, kind: 'day', values: values as (number | null)[] };
  return { name, kind: 'text', values: values as (string | null)[] };
}

function createReference(market: MarketData, wanted: readonly string[]): Group {
  const { reference } = market;
  const rows = [...reference.rows].flatMap(([identifier, dated]) => dated.map((row) => ({ identifier, ...row })));
  const columns: ParquetColumn[] = [
    { name: 'identifier', kind: 'text', values: rows.map(({ identifier }) => identifier) },
    { name: 'valid_from', kind: 'day', values: rows.map(({ validFrom }) => validFrom) },
  ];
  for (const [position, name] of reference.columns.entries()) {
    if (!wanted.includes(name)) continue;
    const values = rows.map(({ values: row }) => row[position] ?? null);
    const kind = findReferenceKind(market, name);
    if (kind === 'number') columns.push(createColumn(name, 'number', values as (number | null)[]));
    else if (kind === 'boolean') columns.push({ name, kind: 'boolean', values: values as (boolean | null)[] });
    else columns.push({ name, kind: 'text', values: values.map((value) => (value === null ? null : String(value))) });
  }
  return { rows: rows.length, columns };
}

/**
 * Writes the body of PricesResponse as JSON, its table as CSV, or an Arrow stream. The metadata of the stream contains
 * the other members of the body.
 */
export const readPrices: Task<'prices'> = ({ identifier, bars, request, format }: PricesInput) => {
  const table = computePriceSeries(bars, request);
  const body = { identifier, interval: request.interval };
  if (format === 'csv') return answerBytes(new TextEncoder().encode(writeDatedCsv(table)));
  return answerBytes(format === 'arrow' ? encodeArrowTable(table, body) : formatPricesJson(table, body));
};

/** Approximate number of bytes of a number and its comma. */
const NUMBER_BYTES = 10;

function formatPricesJson(
  table: PriceTable,
  { identifier, interval }: { readonly identifier: string; readonly interval: string },
): Uint8Array {
  const json = createJsonWriter(1024 + table.days.length * (table.columns.length + 2) * NUMBER_BYTES);
  json.raw(`{"identifier":${JSON.stringify(identifier)},"interval":"${interval}","prices":`);
  writeDatedTable(json, table);
  json.raw('}');
  return json.bytes();
}
