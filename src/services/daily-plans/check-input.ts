import {
  LEVEL_VARIANTS,
  type CheckedComposition,
  type CheckedLevels,
  type CheckInput,
} from '#domain/daily-plans/checks/check-kind.js';
import { isCashName } from '#domain/exports/index-file-tables.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { findTextInEffect } from '#domain/documents/amended-texts.js';
import { isRuleDocument, type IndexDocument } from '#domain/documents/index-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { closeOn } from '#domain/market/series.js';
import type { DeskState } from '#domain/corporate-actions/action-desk.js';
import { readReference, type CorporateAction, type MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { parseValidDay, formatDay, type Day } from '#domain/time/days.js';
import { getLookup } from '#market/serving/market-lookup.js';
import { computeRunId } from '#store/run-id.js';
import type { DocumentReader } from '#store/port.js';
import { readDeskState } from '../data/action-desk.js';
import type { Publications } from '../publication/publications.js';
import { readBytes, type Exports } from '../runs/exports.js';

export interface CheckInputDependencies {
  readonly exports: Pick<Exports, 'export'>;
  readonly publications: Pick<Publications, 'entries'>;
  readonly calendars: Calendars;
  readonly documents: Pick<DocumentReader, 'get'>;
}

export interface CheckSubject {
  readonly index: IndexDocument;
  /** Newest run; undefined for an index that was never run. */
  readonly run: RunDocument | undefined;
  readonly market: MarketData;
  readonly storeId: string;
  readonly date: string;
  readonly reads: ReadonlySet<string>;
  readonly restated: ReadonlySet<string> | null;
}

/** Number of sessions for which published levels are compared with the run: about one year. */
const COMPARED_SESSIONS = 260;

/** Error codes for a table that this kind of index does not have. For example, an overlay has no constituents. */
const CHECKS_WITHOUT_TABLE: ReadonlySet<string> = new Set([
  'VALIDATION_FAILED',
  'NO_DATA_AT_DATE',
  'NO_DATA_IN_RANGE',
  'INVALID_RANGE',
]);

type TableRows = readonly Readonly<Record<string, string | number | null>>[];

interface TableTerms {
  readonly table: 'closing' | 'opening' | 'levels';
  readonly start?: string;
  readonly end: string;
}

/**
 * Reads the rows of one table of a run. Returns null if this kind of index has no such table, or if the table has no
 * rows on the date.
 */
export async function readTable(
  exports: CheckInputDependencies['exports'],
  run: RunDocument,
  terms: TableTerms,
  signal: AbortSignal,
): Promise<TableRows | null> {
  try {
    const runExport = await exports.export(
      { subject: run.index_id, id: computeRunId(run) },
      { ...terms, format: 'json' },
    );
    const body = JSON.parse(Buffer.from(await readBytes(await runExport.open(signal))).toString()) as {
      readonly columns: readonly string[];
      readonly data: readonly (readonly (string | number | null)[])[];
    }; // the engine wrote the file with these columns
    return body.data.map((row) => Object.fromEntries(body.columns.map((column, k) => [column, row[k] ?? null])));
  } catch (failure) {
    if (failure instanceof Refusal && CHECKS_WITHOUT_TABLE.has(failure.code)) return null;
    throw failure;
  }
}

/** Reads the data that the checks of an index evaluate. */
export async function checkInput(
  { exports, publications, calendars, documents }: CheckInputDependencies,
  subject: CheckSubject,
  signal: AbortSignal,
): Promise<CheckInput> {
  const { index, run, market, date, reads, restated } = subject;
  const calendar = calendars.get(index.calendar)!; // the calendar of a stored index is known
  const day = parseValidDay(date);
  const sessionAt = findLastAtMost(calendar.sessions, day - 1);
  const previousSession = calendar.sessions[Math.max(sessionAt, 0)]!;
  const from = calendar.sessions[Math.max(sessionAt - COMPARED_SESSIONS, 0)]!;
  const asOf = run !== undefined && run.end < date ? run.end : date;

  const loadTable = (name: 'closing' | 'opening' | 'levels', start?: string): Promise<TableRows | null> =>
    run === undefined || !reads.has(name)
      ? Promise.resolve(null)
      : readTable(exports, run, { table: name, end: asOf, ...(start !== undefined && { start }) }, signal);

  const { rounding } = findTextInEffect(index, day).document;
  const start = run !== undefined && formatDay(from) < run.start ? run.start : formatDay(from);
  const lookup = getLookup(market);
  const close = market.fields.get('CLOSE')!;
  const closingComposition = createComposition(await loadTable('closing'));
  const openingComposition = createComposition(await loadTable('opening'));
  const states = new Map<CorporateAction, DeskState>();
  if (reads.has('decisions'))
    for (const { identifier } of [...(closingComposition?.holdings ?? []), ...(openingComposition?.holdings ?? [])])
      for (const action of lookup.actionsOf(identifier))
        if (action.exDay > previousSession && action.exDay <= day && !states.has(action))
          states.set(action, await readDeskState(documents, subject.storeId, action));
  return {
    indexId: index.id,
    date: day,
    previous: previousSession,
    closing: closingComposition,
    opening: openingComposition,
    levels: createLevels((await loadTable('levels', start)) ?? []),
    published: reads.has('published') ? await listPublishedLevels(publications, index.id, formatDay(from)) : new Map(),
    decimals: {
      level: rounding?.level ?? null,
      divisor: rounding?.divisor ?? null,
      weights: rounding?.weights ?? null,
    },
    maySellShort: !isRuleDocument(index),
    closeOn(identifier, closeDay) {
      const column = lookup.positionOf(identifier);
      const row = findLastAtMost(market.dates, closeDay);
      if (column === undefined || row < 0 || market.dates[row] !== closeDay) return Number.NaN;
      return close[row * market.identifiers.length + column]!;
    },
    lastDays(count) {
      const last = findLastAtMost(market.dates, day);
      return [...market.dates.subarray(Math.max(0, last + 1 - count), last + 1)];
    },
    actionsOf: (identifier) => lookup.actionsOf(identifier),
    deskStateOf: (action) => states.get(action) ?? 'new',
    isClosed(identifier) {
      const code = readReference(market.reference, identifier, 'EXCHANGE', day);
      const exchange = typeof code === 'string' ? calendars.get(code) : undefined;
      return exchange !== undefined && !exchange.isSession(day);
    },
    isSession: (sessionDay) => calendar.isSession(sessionDay),
    issuerOf: (identifier) => String(readReference(market.reference, identifier, 'ISSUER', day) ?? identifier),
    seriesOn(identifier, seriesDay) {
      const series = market.series?.get(identifier);
      return series === undefined ? Number.NaN : closeOn(series, seriesDay);
    },
    restated,
  };
}

const NO_CASH = { marketValue: 0, weight: 0 };

/** Returns the securities and the cash in the rows of an index file; null without a file. */
export function createComposition(rows: TableRows | null): CheckedComposition | null {
  if (rows === null) return null;
  const holdings = rows.map((row) => ({
    identifier: String(row['identifier']),
    marketValue: Number(row['market_value'] ?? Number.NaN),
    weight: Number(row['weight'] ?? Number.NaN),
  }));
  const { divisor, variant } = rows[0] ?? {};
  return {
    holdings: holdings.filter(({ identifier }) => !isCashName(identifier)),
    cash: holdings.find(({ identifier }) => isCashName(identifier)) ?? NO_CASH,
    divisor: typeof divisor === 'number' ? divisor : null,
    variant: LEVEL_VARIANTS.find((name) => name === variant) ?? 'price', // only a file without rows has no variant
  };
}

function createLevels(rows: TableRows): ReadonlyMap<Day, CheckedLevels> {
  const getValue = (cell: unknown): number | null => (typeof cell === 'number' ? cell : null);
  return new Map(
    rows.map((row) => [
      parseValidDay(String(row['date'])),
      { price: getValue(row['price']), total: getValue(row['total']), net: getValue(row['net']) },
    ]),
  );
}

async function listPublishedLevels(
  publications: Pick<Publications, 'entries'>,
  indexId: string,
  start: string,
): Promise<ReadonlyMap<Day, CheckedLevels>> {
  const levels = new Map<Day, CheckedLevels>();
  try {
    for await (const batch of await publications.entries(indexId, { start }))
      for (const { date, price, total, net } of batch) levels.set(parseValidDay(date), { price, total, net });
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'NOTHING_PUBLISHED') throw failure;
  }
  return levels;
}
