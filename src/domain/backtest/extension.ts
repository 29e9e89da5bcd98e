import { computeRelativeMetrics } from '../analytics/relative-returns.js';
import { computeBacktestMetrics, rebase } from '../analytics/returns.js';
import type { Finding } from '../base/findings.js';
import { isEqual, joinFloats, type Numbers, type NumberType } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import {
  type Book,
  extendStoredBook,
  type Gap,
  type LevelsOnlyEnd,
  listGaps,
  readBookCurrency,
  type StoredBook,
} from '../books/book.js';
import {
  countStale,
  listStaleFills,
  listTrades,
  reportStaleFills,
  type StaleFills,
  type Trades,
} from '../books/trades.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { CannotResumeError } from '../definition/runs.js';
import type { CorporateAction, ReturnVariant } from '../market/market-data.js';
import { createExchangeRates } from '../market/rates.js';
import {
  CHECKPOINT_FORMAT,
  type Continuation,
  findEarliestSession,
  type IndexContinuation,
  listMarks,
  listRecentIndices,
  type ResumeRunInput,
  type RunCheckpoint,
} from './checkpoint.js';
import {
  groupFindings,
  limitJumps,
  listRunAssumptions,
  reportPartialLastSession,
  selectReportedFindings,
  sortByRebalance,
} from './findings.js';
import { type AppendedRecord, type ExtendedRecord, extendRecord, listLaterDays, listUnfilledOrders } from './record.js';
import { resumeRun } from './resumption.js';
import { type Addition, type AppendedSessions, createForeignRates } from './run-file/block.js';
import { BLOCK_NAMES, type BlockName, findBlock, isPanel } from './run-file/blocks.js';
import { type AddedSecurity, type BlockPosition, extendHeader } from './run-file/header.js';
import { type ColumnsWriter, createColumns, openStoredNumbers, type RunColumns } from './run-file/columns.js';
import { extendStoredIndex, type FindingGroups, isStoredOverlay, type RunEndState, toStoredPortfolio } from './run.js';
import { assertMeasured } from './summary.js';

export interface ExtendColumnsInput {
  readonly stored: RunColumns;
  /**
   * Names of the earlier files of the run, followed by the name of the open file. The new file is written to their
   * folder.
   */
  readonly fileNames: readonly string[];
  /** Maximum number of dates in one file. Further dates are written to another file. Default: `DATES_MAX`. */
  readonly datesMax?: number;
  readonly added: AppendedSessions;
}

export interface ExtendedColumns {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of named files that contain segments of the new file's blocks. */
  readonly earlierFiles: number;
}

/**
 * Maximum number of dates in one file of columns; further dates are written to a continuation file. 32 dates are 1 MB
 * for 500 securities.
 */
const DATES_MAX = 32;
/**
 * Returns true if a file of columns is complete, so that new dates are written to another file.
 * @param dateCount number of dates in this file
 */
export const isFileFull = (dateCount: number, datesMax = DATES_MAX): boolean => dateCount >= datesMax;
/** Returns the number of dates in the newest file of the columns of a run. */
export const countAddedDates = (stored: RunColumns): number => stored.header.dates - stored.inEarlierFiles('level');
/** Maximum number of files for the columns of a run: reading a whole block opens every file. */
const FILES_MAX = 128;

/**
 * Extends the columns of a run: appends the new elements to each block. Rewrites small blocks, and blocks whose order
 * changes. If securities have joined or the open file is full, the stored blocks stay in their file and a new file is
 * written.
 * @throws CannotResumeError if there would be too many files
 */
function extendColumns({ stored, fileNames, datesMax, added }: ExtendColumnsInput): ExtendedColumns {
  const { header } = stored;
  const { begun: earlierNames = [], joined: earlierJoined = [] } = header;
  const staysWhole = added.joined.length > 0 || isFileFull(countAddedDates(stored), datesMax);
  const files = fileNames.slice(0, earlierNames.length + (staysWhole ? 1 : 0));
  if (files.length > FILES_MAX) throw new CannotResumeError('file_rewritten');
  const extendedFile: ExtendedFile = { stored, stays: staysWhole, earlier: files.length, width: added.names.length };
  const blocks = BLOCK_NAMES.flatMap((name) => extendBlock(name, added, extendedFile) ?? []);
  const { identifiers } = added.continuation.index.sm;
  const joinedSecurities = [
    ...earlierJoined,
    ...Array.from(added.joined, (column): AddedSecurity => ({
      name: identifiers[column]!,
      file: files.length,
      dates: added.before,
    })),
  ];
  const columns = createColumns(
    { ...extendHeader(header, added), ...(joinedSecurities.length > 0 ? { joined: joinedSecurities } : {}) },
    new Map(blocks.map(({ name, type, parts }) => [name, { type, length: sumLengths(parts) }])),
    { earlier: { files, blocks: new Map(blocks.flatMap(({ name, earlier }) => (earlier ? [[name, earlier]] : []))) } },
  );
  for (const block of blocks) writeBlock(columns, block);
  return { bytes: columns.bytes, earlierFiles: files.length };
}

interface ExtendedFile {
  readonly stored: RunColumns;
  /** True if the stored blocks stay in their file. */
  readonly stays: boolean;
  /** Number of files with earlier segments. */
  readonly earlier: number;
  /** Number of securities of the run. */
  readonly width: number;
}

/** Block of the new file. */
interface ExtendedBlock {
  readonly name: BlockName;
  readonly type: NumberType;
  /** Elements for the new file, to be concatenated. */
  readonly parts: readonly Numbers[];
  /** Start and number of the elements in each earlier file, and the total number of elements. */
  readonly earlier?: Required<Pick<BlockPosition, 'begins' | 'length'>>;
}

/** Returns a block with its new elements. Returns null if the run has no such block. */
function extendBlock(name: BlockName, added: AppendedSessions, file: ExtendedFile): ExtendedBlock | null {
  const { type, canBeAddedLater = false } = findBlock(name);
  const { stored } = file;
  const isStored = stored.has(name);
  if (!isStored && !canBeAddedLater) return null;
  const addition: Addition<Numbers> | null = findBlock(name).added(added);
  if (addition === null) return null;
  if ('replaced' in addition) return { name, type, parts: [addition.replaced] };
  if (isStored) return appendToStoredBlock({ name, type, parts: addition.appended }, file);
  return addition.appended.length === 0 ? null : createNewBlock({ name, type, parts: addition.appended }, file);
}

function appendToStoredBlock(
  { name, type, parts }: ExtendedBlock,
  { stored, stays, earlier, width }: ExtendedFile,
): ExtendedBlock {
  const { names, begun: earlierNames = [], blocks } = stored.header;
  const { offset, length, begins = earlierNames.flatMap(() => [0, 0]) } = blocks[name]!; // every stored block has a position in the header
  const earlierLength = stored.inEarlierFiles(name);
  const before = isPanel(name) ? (length / names.length) * width : length;
  return {
    name,
    type,
    parts: stays ? parts : [stored[type](name, earlierLength), ...parts],
    ...(earlier > 0
      ? {
          earlier: {
            begins: stays ? [...begins, offset, length - earlierLength] : begins,
            length: before + sumLengths(parts),
          },
        }
      : {}),
  };
}

/** Returns a block whose first elements are the new ones. */
function createNewBlock({ name, type, parts }: ExtendedBlock, { earlier }: ExtendedFile): ExtendedBlock {
  return {
    name,
    type,
    parts,
    earlier: { begins: Array.from({ length: 2 * earlier }, () => 0), length: sumLengths(parts) },
  };
}

function sumLengths(parts: readonly Numbers[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function writeBlock(columns: ColumnsWriter, { name, type, parts }: ExtendedBlock): void {
  const block = columns[type](name);
  let offset = 0;
  for (const part of parts) {
    block.set(part, offset);
    offset += part.length;
  }
}

function createRemains(
  checkpoint: RunCheckpoint,
  continuation: Continuation,
  staleFills: ReadonlyMap<number, StaleFills>,
): RunEndState {
  const { index, portfolio, variants, uncapped, solves } = continuation;
  const { findings, stale, decisionsBeneath } = checkpoint.remains;
  const underlyingFindings = decisionsBeneath && appendDecisions(decisionsBeneath, index);
  const findingGroups = groupFindings({
    decisions: index.findings,
    solves: solves.findings,
    index: index.book,
    portfolio,
    currency: readBookCurrency(index.book, index.document),
  });
  const groups = Object.fromEntries(
    Object.entries(findings).map(([group, storedFindings]) => [
      group,
      [...storedFindings, ...findingGroups[group as keyof FindingGroups]],
    ]),
  );
  return {
    ...listVariantEnds(checkpoint, variants),
    uncapped: uncapped && createBriefEnd(createSeparateBook(checkpoint), uncapped),
    stale: countStale(staleFills, stale),
    solves: solves.memory,
    // Object.fromEntries loses the key type: every group is among the entries.
    findings: {
      ...(groups as unknown as FindingGroups),
      jumps: limitJumps(groups.jumps!),
      decisions: sortByRebalance(underlyingFindings?.flat() ?? [...findings.decisions, ...index.findings]),
    },
    ...(underlyingFindings ? { decisionsBeneath: underlyingFindings } : {}),
  };
}

/** Appends the findings of new decisions on underlying indices to those of the stored run, index by index. */
function appendDecisions(
  storedFindings: readonly (readonly Finding[])[],
  index: IndexContinuation,
): readonly (readonly Finding[])[] {
  const collectFindings = (indexContinuation: IndexContinuation): (readonly Finding[])[] =>
    indexContinuation.beneath?.flatMap(collectFindings) ?? [indexContinuation.findings];
  const addedFindings = collectFindings(index);
  return storedFindings.map((findings, k) => [...findings, ...addedFindings[k]!]);
}

type VariantEnds = Pick<RunEndState, 'variants' | 'overlays'>;

/**
 * Returns the end state of the index in each return variant of `variants`. For an overlay, this is the state of the
 * overlay.
 */
function listVariantEnds(checkpoint: RunCheckpoint, variants: Continuation['variants']): VariantEnds {
  const { overlays } = checkpoint.remains;
  const books = Object.entries(variants) as [ReturnVariant, Book][];
  if (overlays !== undefined) {
    const overlayStates = books.map(
      ([variant, book]) => [variant, extendStoredIndex(overlays[variant]!, book)] as const,
    );
    return { variants: {}, overlays: Object.fromEntries(overlayStates) };
  }
  const variantEnds = books.map(
    ([variant, book]) => [variant, createBriefEnd(createSeparateBook(checkpoint), book)] as const,
  );
  return { variants: Object.fromEntries(variantEnds) };
}

function createSeparateBook({ index }: RunCheckpoint): StoredBook {
  if (isStoredOverlay(index)) throw new Error('an overlay has no separate book');
  return index;
}

function createBriefEnd(before: StoredBook, book: Book): LevelsOnlyEnd {
  const { end, orders } = extendStoredBook(before, book);
  return { end, orders };
}

export interface ExtendInput extends Omit<ResumeRunInput, 'levelAtStart'> {
  readonly stored: RunColumns;
  /**
   * Names of the earlier files of the run, followed by the name of the open file. The new file is written to their
   * folder.
   */
  readonly fileNames: readonly string[];
  /** Maximum number of dates in one file. Further dates are written to another file. Default: `DATES_MAX`. */
  readonly datesMax?: number;
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
        createExchangeRates(index.sm, readBookCurrency(continuation.portfolio, index.document)),
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
  const joinBlock = (block: BlockName, added: Float64Array): Float64Array => joinFloats(stored.f64(block), added);
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
