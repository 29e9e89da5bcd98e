import { estimatePeriodsPerYear } from '../../calendars/periods-per-year.js';
import { computeBacktestMetrics, rebase } from '../../analytics/series.js';
import { computeRelativeMetrics } from '../../analytics/relative.js';
import type { Day } from '../../time/days.js';
import type { CorporateAction } from '../../market/market-data.js';
import { readSecurityCurrency, type Book, type Gap } from '../../books/book.js';
import { extendStoredBook, type StoredBook } from '../../books/resumed-book.js';
import { listStaleFills, reportStaleFills } from '../../books/stale-fills.js';
import {
  CHECKPOINT_FORMAT,
  listMarks,
  listRecentIndices,
  findEarliestSession,
  type RunCheckpoint,
} from './checkpoint.js';
import { listLaterDays, type AppendedRecord } from '../record/sources.js';
import { createExchangeRates } from '../../market/exchange-rates.js';
import { isEqual } from '../../numbers/number-types.js';
import { listUnfilledOrders } from '../record/rows.js';
import type { AppendedSessions } from '../run-file/block.js';
import { createForeignRates } from '../run-file/foreign-rates.js';
import type { RunColumns } from '../run-file/read.js';
import { openStoredNumbers } from '../run-file/record.js';
import type { BlockName } from '../run-file/schema.js';
import { extendColumns } from './extend-columns.js';
import { extendRecord, type ExtendedRecord } from './extend-record.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import { createRemains } from './remains.js';
import { resumeRun } from './resume.js';
import type { Continuation, IndexContinuation, ResumeRunInput } from './continuation.js';
import { extendStoredIndex, toStoredPortfolio } from './overlay-state.js';
import { assertMeasured } from '../run-summary.js';
import type { RunEndState } from '../run.js';
import { listGaps } from '../../books/gaps.js';
import { listRunAssumptions } from '../run-assumptions.js';
import { selectReportedFindings, reportPartialLastSession } from '../run-findings.js';
import { listTrades, type Trades } from '../../books/trades.js';

export interface ExtendInput extends Omit<ResumeRunInput, 'levelAtStart'> {
  readonly stored: RunColumns;
  /**
   * Names of the earlier files of the run, followed by the name of the open file. The new file is written to their
   * folder.
   */
  readonly fileNames: readonly string[];
  /** Maximum number of dates in one file. Further dates are written to another file. Default: `DATES_MAX`. */
  readonly datesMax?: number;
  /** Returns every corporate action of the given market columns. */
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
  /** Content hash of the market on which the run is resumed. */
  readonly contentHash: string;
}

/** Stored run with the sessions after it. */
export interface ExtendedRun {
  /** Dates of the whole run. */
  readonly days: Int32Array;
  /** New elements of the columns, with the positions of the stored elements. */
  readonly columns: Uint8Array<ArrayBuffer>;
  /** Number of named files that contain segments of the new columns. */
  readonly earlierFiles: number;
  readonly checkpoint: RunCheckpoint;
  /** Last date of the stored run, and the number of new dates. */
  readonly extendedFrom: Day;
  readonly sessions: number;
}

/**
 * Extends a stored run. The result is bit-identical to a full run, except for the layout of the columns.
 * @throws CannotResumeError
 * @throws Refusal as the whole run would
 * @cost O(N + T) and the new sessions; reads no earlier weights, and earlier prices only of securities that join
 */
export function extendRun(input: ExtendInput): ExtendedRun {
  const { plan, stored, checkpoint, report } = input;
  const levelAtStart = stored.f64('indexLevel')[checkpoint.from - checkpoint.index.first]!;
  const continuation = resumeRun({ ...input, levelAtStart });
  const { index, portfolio } = continuation;
  const heldColumns = listHeldColumns(stored, continuation);
  if (plan.strategy === undefined) assertSameWeights(stored, continuation); // views of a strategy show the holdings of the strategy
  report(0.5, 'measuring');
  const series = joinRunSeries(input, continuation);
  const staleFills = listStaleFills(portfolio);
  const remains = createRemains(input.checkpoint, continuation, staleFills);
  const next = createNextCheckpoint(input, continuation, remains);
  const trades = listTrades(portfolio);
  const metrics = computeBacktestMetrics(series.level, series.relativeIndex, estimatePeriodsPerYear(series.days));
  const findings = selectReportedFindings(remains.findings, {
    assumptions: [
      ...listRunAssumptions(input, continuation.index, series.days, series.common),
      ...reportStaleFills(remains.stale),
      ...reportPartialLastSession(portfolio),
    ],
    since: stored.header.rebalances[0]!.date, // Composition in force at the start of the run.
  });
  const record = joinRecord(input, continuation, { trades, metrics, findings, staleFills, portfolio: next.portfolio });
  const relative =
    record.benchmark && computeRelativeMetrics({ days: series.days, values: series.level }, record.benchmark);
  assertMeasured({ ...series, indexLevel: series.relativeIndex, metrics, relative });
  report(0.7, 'writing the result');
  const { bytes: columns, earlierFiles } = extendColumns({
    stored,
    fileNames: input.fileNames,
    ...(input.datesMax === undefined ? {} : { datesMax: input.datesMax }),
    added: {
      ...heldColumns,
      ...series,
      plan,
      continuation,
      relative,
      trades,
      record,
      contentHash: input.contentHash,
      before: stored.header.dates,
      hasIndexWeights: stored.header.has_index_weights,
      rates: createForeignRates(
        createExchangeRates(index.sm, readSecurityCurrency(continuation.portfolio, index.document)),
        heldColumns.names,
      ),
      actionsOf: input.actionsOf,
    },
  });
  return {
    columns,
    earlierFiles,
    days: series.days,
    checkpoint: next,
    extendedFrom: checkpoint.day,
    sessions: portfolio.length - 1,
  };
}

/** Returns the sessions of the whole run on which the benchmark has a level; null without a benchmark. */
function listBenchmarkDays(
  { plan, stored }: ExtendInput,
  { benchmark, series }: Continuation,
  days: Int32Array,
): Int32Array | null {
  if (!plan.request.benchmark) return null;
  const addedDays = series === null ? listLaterDays(benchmark!.book) : series.added.days; // a benchmark is one of both
  const sessions = new Set(days);
  return Int32Array.from([...stored.i32('benchmarkDays'), ...addedDays].filter((day) => sessions.has(day)));
}

interface RecordAdditions extends Pick<AppendedRecord, 'metrics' | 'findings' | 'staleFills'> {
  readonly trades: Trades;
  /** State of the portfolio in the form that the next checkpoint stores. */
  readonly portfolio: RunCheckpoint['portfolio'];
}

function joinRecord(
  { plan, stored }: ExtendInput,
  continuation: Continuation,
  { portfolio, ...additions }: RecordAdditions,
): ExtendedRecord {
  return extendRecord({
    stored: openStoredNumbers(stored),
    description: stored.u8('record'),
    rebalances: stored.u8('snapshots'),
    market: continuation.index.sm.identifiers,
    added: {
      ...additions,
      plan,
      continuation,
      gaps: listNewGaps(continuation),
      unfilled: listUnfilledOrders(
        'end' in portfolio ? convertOrders(portfolio, continuation.portfolio) : continuation.portfolio,
      ),
    },
  });
}

/** Daily series of the whole run. */
interface WholeSeries {
  readonly days: Int32Array;
  /** Sessions on which the benchmark has a level; null without a benchmark. */
  readonly common: Int32Array | null;
  readonly value: Float64Array;
  readonly costs: Float64Array;
  /** Levels of the index book. */
  readonly indexLevel: Float64Array;
  /** Portfolio level, rebased to 100 on the first date of the run. */
  readonly level: Float64Array;
  /** Index level, rebased to 100 on the first date of the run. */
  readonly relativeIndex: Float64Array;
}

function joinRunSeries(input: ExtendInput, continuation: Continuation): WholeSeries {
  const { stored, checkpoint } = input;
  const { index, portfolio } = continuation;
  const addedDays = index.sm.sessions.slice(portfolio.from + 1, portfolio.from + portfolio.length);
  const days = joinDays(stored.i32('days'), addedDays);
  const joinBlock = (block: BlockName, added: Float64Array): Float64Array => joinParts(stored.f64(block), added);
  const value = joinBlock('value', portfolio.value.subarray(1));
  const indexLevel = joinBlock('indexLevel', index.book.value.subarray(1));
  return {
    value,
    indexLevel,
    days,
    common: listBenchmarkDays(input, continuation, days),
    costs: joinBlock('costs', portfolio.costs.subarray(1)),
    level: rebase(value, 100),
    relativeIndex: rebase(indexLevel.subarray(checkpoint.from - checkpoint.index.first), 100),
  };
}

function joinParts(before: Float64Array, added: Float64Array): Float64Array {
  const joinedValues = new Float64Array(before.length + added.length);
  joinedValues.set(before);
  joinedValues.set(added, before.length);
  return joinedValues;
}

function joinDays(before: Int32Array, added: Int32Array): Int32Array {
  return Int32Array.from([...before, ...added]);
}

/** Returns the columns of all securities of the stored run and of further securities that are held or targeted. */
function listHeldColumns(
  { header }: RunColumns,
  { index, portfolio, rebalances }: Continuation,
): Pick<AppendedSessions, 'names' | 'joined'> {
  const isHeld = new Uint8Array(index.sm.securityCount);
  for (const { columns, everHeld } of [portfolio, ...(header.has_index_weights ? [index.book] : [])]) {
    for (let slot = 0; slot < columns.length; slot++) if (everHeld[slot] === 1) isHeld[columns[slot]!] = 1;
  }
  for (const { columns } of rebalances) for (const column of columns) isHeld[column] = 1;
  for (const name of header.names) isHeld[index.sm.columnOf(name)] = STORED_MARK;
  const names = Int32Array.from(isHeld.keys()).filter((column) => isHeld[column] !== 0);
  return { names, joined: names.filter((column) => isHeld[column] !== STORED_MARK) };
}

const STORED_MARK = 2;

/**
 * Checks that the stored run and the extended run agree on where the index weights are: either both store them
 * separately, or both share them with the portfolio.
 * @throws CannotResumeError if only one of them stores them separately
 */
function assertSameWeights({ header }: RunColumns, { index: { book }, portfolio }: Continuation): void {
  if (portfolio.weights.buffer === book.weights.buffer) return;
  const areColumns = isEqual(portfolio.columns, book.columns);
  const isSame = areColumns && isEqual(portfolio.weights, book.weights);
  // Portfolio and index weights may become equal or begin to differ on the new sessions.
  if (header.has_index_weights ? isSame : !isSame) throw new CannotResumeError('holdings_diverged');
}

function listNewGaps({ index: { book }, portfolio }: Continuation): Gap[] {
  return listGaps([book, portfolio], portfolio.from + 1);
}

function createNextCheckpoint(
  { plan, checkpoint }: ExtendInput,
  { index, portfolio, parent, benchmark, series, rebalances, reached }: Continuation,
  remains: RunEndState,
): RunCheckpoint {
  const indexContinuations = [index, parent, benchmark].filter((indexContinuation) => indexContinuation !== null);
  return {
    format: CHECKPOINT_FORMAT,
    day: index.sm.sessions[index.to]!,
    since: findEarliestSession(reached),
    staleSessions: checkpoint.staleSessions,
    from: checkpoint.from,
    marks: listMarks(
      [...reached, ...indexContinuations.flatMap(flattenOverlays)],
      indexContinuations.flatMap(listSimulatedIndices),
    ),
    index: extendStoredIndex(checkpoint.index, index.book),
    portfolio:
      'end' in checkpoint.portfolio
        ? extendStoredBook(checkpoint.portfolio, portfolio)
        : toStoredPortfolio(portfolio, portfolio.from - checkpoint.from),
    parent: parent && extendStoredIndex(checkpoint.parent!, parent.book),
    benchmark: benchmark && extendStoredIndex(checkpoint.benchmark!, benchmark.book),
    series: series?.end ?? null,
    remains,
    latest: rebalances.at(-1)?.weights ?? checkpoint.latest,
    recent: listRecentIndices(plan, reached),
  };
}

/** Returns the overlays among an index and all its underlying indices. */
function flattenOverlays(index: IndexContinuation): readonly IndexContinuation[] {
  return index.beneath === undefined ? [] : [index, ...index.beneath.flatMap(flattenOverlays)];
}

/** Returns the simulated indices: the index itself, or the underlying indices of an overlay. */
function listSimulatedIndices(index: IndexContinuation): readonly IndexContinuation[] {
  return index.beneath?.flatMap(listSimulatedIndices) ?? [index];
}

/** Converts the orders of a stored portfolio to those of a book. */
function convertOrders(
  { first, columns, orders }: StoredBook,
  { sm }: Book,
): Pick<Book, 'sm' | 'columns' | 'from' | 'unfilled'> {
  return {
    sm,
    columns,
    from: first,
    unfilled: orders.map((order) => ({ ...order, slot: columns.indexOf(order.slot) })),
  };
}
