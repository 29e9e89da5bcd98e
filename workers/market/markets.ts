import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { DataDifferenceView } from '#contract/stores.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { type MarketData, type MarketHandle, openMarket, shareMarket } from '#domain/market/market-data.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { HashedBytes } from '#jobs/tasks/messages.js';
import { trimMemory } from '#kernels/memory/paged-memory.js';
import { changeCounts, computeDifference } from '#market/content/changes.js';
import { decodeContent, encodeChange, encodeContent } from '#market/content/content-copy.js';
import { type CachedDigests, computeContentHash, countTableRows, digestContent } from '#market/content/content-hash.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { type MarketContent, reportSeries } from '#market/content/market-content.js';
import { computeContentChange, restoreContent } from '#market/content/versions.js';
import { applyRepairs, auditMarket as audit } from '#market/judge/audit.js';
import { findContentWarnings, findNewContentWarnings } from '#market/judge/content-warnings.js';
import { refreshContent } from '#market/judge/refresh.js';
import { createProblems } from '#market/tables/problems.js';
import {
  keepOpen,
  openCachedCalendars,
  openCachedMarket,
  readChange,
  readHashedBytes,
  refuseDamagedContent,
} from '../input/inputs.js';
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
import { ACTION_COLUMNS, type MarketViewName } from '#domain/outputs/exports.js';
import type { PricesInput } from '#jobs/tasks/markets.js';
import { countCoverage, measureFieldCoverage } from '#market/serve/coverage.js';
import { computePriceSeries, type PriceTable } from '#market/serve/price-series.js';
import { encodeArrowTable } from '#views/formats/columnar.js';
import { writeDatedCsv } from '#views/formats/text.js';
import { createJsonWriter, writeDatedTable } from '#views/json/writer.js';
import { answerBytes } from '../output/task-outputs.js';

/** Finds the data warnings of a market. */
export const auditMarketTask: Task<'audit-market'> = ({ market }, control) =>
  audit(openCachedMarket(market), market.adjustment, (fraction) => control.report(fraction));

/** Writes a repaired market as a new store. */
export const repairMarket: Task<'repair-market'> = async (
  { market, repairs, folder, datasetId, calendars },
  control,
) => {
  const content = applyRepairs(openCachedMarket(market), repairs);
  const files = await writeMarket(folder, content, (fraction) => control.report(0.8 * fraction, 'writing'));
  const warnings = findContentWarnings(
    content,
    {
      adjustment: market.adjustment,
      calendars: { codes: calendars.codes, open: () => openCachedCalendars(calendars.closures) },
    },
    createProblems(),
  );
  const hash = await computeContentHash(content);
  return {
    handle: shareMarket({
      ...content,
      datasetId,
      adjustment: market.adjustment,
      currency: market.currency ?? null,
      contentHash: hash,
    }),
    summary: {
      contentHash: hash,
      identifiers: content.identifiers.length,
      start: content.dates[0] ?? null,
      end: content.dates.at(-1) ?? null,
      rows: countTableRows(content),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files,
      warnings,
    },
  };
};

/** Builds the next version of a store from the stored data and its source, and lists the changes. */
export const refreshMarket: Task<'refresh-market'> = async (
  { held: storedHandle, fresh, options, calendars },
  control,
) => {
  const storedMarket = openCachedMarket(storedHandle);
  const source = openMarket(fresh);
  const { content, report, isHistoryKept, taken } = refreshContent(
    storedMarket,
    source,
    { ...options, adjustment: storedHandle.adjustment },
    storedHandle.taken,
  );
  control.report(0.5, 'checking');
  const problems = createProblems();
  reportSeries(content.identifiers, content.series, problems);
  if (problems.errors > 0) throw refuseWithFindings('data store', problems.findings(), 'STORE_READ_FAILED');
  const terms = {
    adjustment: storedHandle.adjustment,
    calendars: { codes: calendars.codes, open: () => openCachedCalendars(calendars.closures) },
  };
  const warnings = findContentWarnings(content, terms, problems);
  const isSameObjects =
    content.reference === storedMarket.reference &&
    content.actions === storedMarket.actions &&
    content.universes === storedMarket.universes &&
    content.series === storedMarket.series;
  const isSameContent = isHistoryKept && isSameObjects && content.dates.length === storedMarket.dates.length;
  const newWarnings = isSameContent ? [] : findNewContentWarnings(storedMarket, content, terms);
  const { hash, digests } = await digestContent(
    content,
    readCachedDigests({ storedHandle, fresh, before: storedMarket, source, content }, { isHistoryKept, isSameObjects }),
  );
  const isSameTables =
    content.identifiers === storedMarket.identifiers &&
    storedHandle.digests !== undefined &&
    Buffer.compare(digests.tables, storedHandle.digests.tables) === 0;
  const market: MarketData = {
    ...content,
    ...(isSameTables
      ? {
          reference: storedMarket.reference,
          actions: storedMarket.actions,
          universes: storedMarket.universes,
          ...(storedMarket.series === undefined ? {} : { series: storedMarket.series }),
        }
      : {}),
    datasetId: storedHandle.datasetId,
    adjustment: storedHandle.adjustment,
    currency: storedHandle.currency ?? null,
    contentHash: hash,
  };
  keepOpen(market);
  const handle: MarketHandle = {
    ...shareMarket(market, isSameTables ? storedHandle : undefined),
    digests,
    ...(taken === undefined ? {} : { taken }),
  };
  return { handle, isSameTables, report, identifiers: content.identifiers.length, warnings, newWarnings };
};

interface Versions {
  readonly storedHandle: MarketHandle;
  readonly fresh: MarketHandle;
  readonly before: MarketContent;
  readonly source: MarketContent;
  readonly content: MarketContent;
}

/**
 * Returns digests that need not be computed again. These are digests of earlier days, if no security and no field was
 * added or removed, and digests of tables that arrived complete or are unchanged.
 */
function readCachedDigests(
  { storedHandle, fresh, before, source, content }: Versions,
  { isHistoryKept, isSameObjects }: { readonly isHistoryKept: boolean; readonly isSameObjects: boolean },
): CachedDigests {
  const isSameAxis =
    before.identifiers.length === content.identifiers.length &&
    before.identifiers.every((identifier, n) => identifier === content.identifiers[n]);
  const isSameFields =
    before.fields.size === content.fields.size && [...before.fields.keys()].every((name) => content.fields.has(name));
  const isPrefix =
    isHistoryKept &&
    before.dates.length <= content.dates.length &&
    before.dates.every((day, t) => day === content.dates[t]);
  const isWhole =
    content.reference === source.reference &&
    content.actions === source.actions &&
    content.universes === source.universes &&
    content.series === source.series;
  const tables = isSameObjects ? storedHandle.digests?.tables : isWhole ? fresh.digests?.tables : undefined;
  return {
    ...(storedHandle.digests !== undefined && isSameAxis && isSameFields && isPrefix
      ? { blocks: { digests: storedHandle.digests.blocks, days: before.dates.length } }
      : {}),
    ...(tables === undefined ? {} : { tables }),
    ...(storedHandle.digests !== undefined &&
    isPrefix &&
    tables !== undefined &&
    Buffer.compare(tables, storedHandle.digests.tables) === 0
      ? { history: { digests: storedHandle.digests.history, days: before.dates.length } }
      : {}),
  };
}

/**
 * Computes the change that leads from a content back to an earlier one. Also computes the opposite change if it is
 * requested.
 */
export const writeContentChange: Task<'content-change'> = async (input) => {
  const [before, after] = [openCachedMarket(input.before), openCachedMarket(input.after)];
  return {
    back: addHash(encodeChange(computeContentChange(before, after))),
    forth: input.isBothWays ? addHash(encodeChange(computeContentChange(after, before))) : null,
    rows: changeCounts(before, after),
  };
};

function addHash(encoded: Uint8Array): HashedBytes {
  const bytes = new Uint8Array(encoded);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Appends the next part of a complete content to a file. */
export const writeContentCopy: Task<'content-copy'> = async ({ market, from, path }) => {
  const { piece, next } = encodeContent(openCachedMarket(market), from);
  const file = openSync(path, 'a', 0o600);
  try {
    for (const bytes of piece)
      for (let position = 0; position < bytes.length;) position += writeSync(file, bytes, position);
  } finally {
    closeSync(file);
  }
  trimMemory(); // returns the memory of earlier parts to the system
  return { next };
};

/** Restores a content from a copy and later changes, and verifies its hash. */
export const copyMarket: Task<'copied-market'> = async ({ content, changes, contentHash, ...header }) => {
  const storedCopy = decodeContent(readHashedBytes(content));
  return openVerifiedMarket(
    changes.length === 0 ? storedCopy : restoreContent(storedCopy, changes.map(readChange)),
    header,
    contentHash,
  );
};

/** Restores an earlier content of a data store, and verifies its hash. */
export const rebuildEarlierMarket: Task<'earlier-market'> = async ({ last, changes, contentHash }) => {
  const base = openCachedMarket(last);
  return openVerifiedMarket(restoreContent(base, changes.map(readChange)), base, contentHash);
};

/** Opens a content after verifying its hash. @throws Refusal DOCUMENT_UNREADABLE if the hash differs */
async function openVerifiedMarket(
  content: MarketContent,
  { datasetId, adjustment, currency = null }: Pick<MarketData, 'datasetId' | 'adjustment' | 'currency'>,
  contentHash: string,
): Promise<{ readonly handle: MarketHandle }> {
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw refuseDamagedContent(`its content is ${hash}, not ${contentHash}`);
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
}

/** Lists values that differ between two contents. */
export const computeDataDifference: Task<'data-difference'> = async ({ before, after, from, to, ...terms }) => {
  const difference = computeDifference(openCachedMarket(before), openCachedMarket(after), terms);
  const { cells, rows, appended, changes, isCut } = difference;
  const view: DataDifferenceView = {
    from,
    to,
    cells,
    rows_added: rows.added,
    rows_changed: rows.changed,
    rows_removed: rows.removed,
    appended,
    changes: [...changes],
    cut: isCut,
  };
  return { bytes: new TextEncoder().encode(JSON.stringify(view)) };
};

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
