import type { RebalanceList, RebalanceView } from '#contract/analytics/run-views.js';
import { measureDrift } from '#domain/analytics/concentration.js';
import type { RecordedTransactions } from '#domain/backtest/record.js';
import { LARGEST_CHANGES_MAX, type StoredRebalance } from '#domain/backtest/run-file/header.js';
import {
  openRecordParts,
  readDecisions,
  type RecordedDecisions,
  type RunColumns,
} from '#domain/backtest/run-file/columns.js';
import { compareText, type Finding, type FindingCode } from '#domain/base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { TRADE_REASONS } from '#domain/books/trades.js';
import { isReviewed, type RebalanceCause } from '#domain/definition/index-schedule.js';
import { type Batch, BATCH_ROWS, MISSING_INTEGER, type Producer, toTextValues, yieldBatches } from './formats/batch.js';
import { createSpan, roundOnDay } from './run-columns.js';
import { findStoredDate } from './weights.js';

/** Weights before and after a rebalance, [H] each. */
interface WeightsAround {
  readonly target: Float64Array;
  readonly capped: Uint8Array;
  /** Drifted weights before the trades. Null for a composition that was already valid before the run. */
  readonly before: Float64Array | null;
  /** Weights after the close; the target weights if there is no close. */
  readonly after: Float64Array;
}

/** Returns a function that reads the weights before and after a rebalance, by position of the rebalance. */
export function createWeightsReader(columns: RunColumns): (r: number) => WeightsAround {
  const { header } = columns;
  const H = header.names.length;
  const eventAt = columns.i32('eventAt');
  const getRowAt = (block: 'targets' | 'before' | 'weights', row: number) => columns.f64(block, row * H, (row + 1) * H);
  return (r) => {
    const { at } = header.rebalances[r]!;
    const target = getRowAt('targets', r);
    const event = findLastAtMost(eventAt, at);
    const isEvent = event >= 0 && eventAt[event] === at;
    return {
      target,
      capped: columns.u8('capped', r * H, (r + 1) * H),
      before: at < 0 ? null : isEvent ? getRowAt('before', event) : getRowAt('weights', at),
      after: at < 0 ? target : getRowAt('weights', at),
    };
  };
}

/** Figures of a rebalance of a stored run. Views, exports and reports use them. */
export interface RebalanceFigures {
  readonly date: string;
  readonly cause: RebalanceCause;
  /** Number of securities with a positive weight; the next field is the number with any position. */
  readonly constituents: number;
  readonly grossConstituents: number;
  /**
   * Positions of the securities that were not held before the rebalance, the largest weight first. At the first
   * rebalance, these are all securities. The next field has the securities that are not held any more.
   */
  readonly added: readonly number[];
  readonly removed: readonly number[];
  readonly largest: number;
  readonly cap: number | null;
  readonly capped: number;
  readonly redistributed: number;
  /**
   * One-way turnover relative to the weights before the trades. Null until the portfolio has bought for the first time.
   */
  readonly turnover: number | null;
}

/**
 * Computes the figures of a rebalance.
 * @cost O(H)
 */
export function computeRebalanceFigures(
  { target, capped, before, after }: WeightsAround,
  { date, at, cause, cap, redistributed }: StoredRebalance,
): RebalanceFigures {
  let constituents = 0;
  let grossConstituents = 0;
  let largest = 0;
  let cappedCount = 0;
  for (let i = 0; i < target.length; i++) {
    const isHeld = target[i] !== 0;
    if (target[i]! > 0) constituents++;
    if (isHeld) grossConstituents++;
    largest = Math.max(largest, target[i]!);
    cappedCount += capped[i]!;
  }
  return {
    date,
    cause: cause ?? 'schedule',
    constituents,
    grossConstituents,
    ...findMemberChanges({ target, before }),
    largest,
    cap,
    capped: cappedCount,
    redistributed,
    turnover: before === null || at <= 0 ? null : measureDrift(after, before).turnover,
  };
}

/** Returns the positions of the added and of the removed securities, the largest absolute weight first. */
function findMemberChanges({
  target,
  before,
}: Pick<WeightsAround, 'target' | 'before'>): Pick<RebalanceFigures, 'added' | 'removed'> {
  const added: number[] = [];
  const removed: number[] = [];
  for (let i = 0; i < target.length; i++) {
    const isHeld = target[i] !== 0;
    const wasHeld = before !== null && before[i] !== 0;
    if (isHeld && !wasHeld) added.push(i);
    if (wasHeld && !isHeld) removed.push(i);
  }
  const sortBySize = (positions: readonly number[], weights: Float64Array) =>
    positions.toSorted((a, b) => Math.abs(weights[b]!) - Math.abs(weights[a]!));
  return { added: sortBySize(added, target), removed: before === null ? [] : sortBySize(removed, before) };
}

export const produceRebalances: Producer<'rebalances'> = ({ columns, window: { start, end } }, from) => {
  const { header } = columns;
  const decisions = getDecisions(columns);
  const costs = columns.f64('costs');
  const readWeightsAround = createWeightsReader(columns);
  const rows = header.rebalances.flatMap((storedRebalance, r) =>
    (start !== null && storedRebalance.date < start) || (end !== null && storedRebalance.date > end)
      ? []
      : [{ at: storedRebalance.at, ...computeRebalanceFigures(readWeightsAround(r), storedRebalance) }],
  );
  const readCounts = (readRow: (row: (typeof rows)[number]) => number): Int32Array => Int32Array.from(rows, readRow);
  return yieldBatches<'rebalances'>(
    {
      count: rows.length,
      columns: {
        date: Int32Array.from(rows, ({ date }) => parseValidDay(date)),
        decision_date: Int32Array.from(rows, ({ date, at }) => {
          const day = decisions.get(parseValidDay(date))?.day;
          return day === undefined ? MISSING_INTEGER : Math.min(day, readTradedDay(columns, at) ?? day);
        }),
        cause: toTextValues(rows.map(({ cause }) => cause)),
        review: toTextValues(
          rows.map(({ cause, date }) =>
            isReviewed(cause) ? (decisions.get(parseValidDay(date))?.reviews ?? null) : null,
          ),
        ),
        constituents: readCounts(({ constituents }) => constituents),
        added: readCounts(({ added }) => added.length),
        removed: readCounts(({ removed }) => removed.length),
        turnover: Float64Array.from(rows, ({ turnover }) => turnover ?? Number.NaN),
        cost: Float64Array.from(rows, ({ at }) => (at < 0 ? Number.NaN : costs[at]!)),
        gross_constituents: readCounts(({ grossConstituents }) => grossConstituents),
      },
    },
    from,
  );
};

interface Decision {
  readonly day: Day;
  readonly reviews: string | null;
}

/** Returns the decisions of the newest compositions of the index, by effective date. */
function getDecisions(columns: RunColumns): ReadonlyMap<Day, Decision> {
  if (!columns.has('record')) return new Map();
  const snapshots = openRecordParts(columns).snapshots();
  return new Map(
    snapshots.map(({ date, announced, reference, reviews }) => [
      date,
      { day: announced === null ? date : (reference ?? announced), reviews: reviews?.join(', ') ?? null },
    ]),
  );
}

const SIDES = ['buy', 'sell'] as const;

/**
 * Yields the trades in the window. Positions count these trades.
 * @throws Refusal DOCUMENT_UNREADABLE for a run of version 0.1.0
 */
export const produceTrades: Producer<'trades'> = function* ({ columns, window }, from) {
  const source = createTrades(columns);
  const { identifiers, all, days } = source;
  const span = createSpan(days, window);
  const firstTrade = findFirstAtLeast(all.at, span.from);
  const end = findFirstAtLeast(all.at, span.to);
  const rows = createRows(Math.min(BATCH_ROWS, Math.max(0, end - firstTrade - from)));
  for (let row = firstTrade + from; row < end; row += BATCH_ROWS) {
    const to = Math.min(end, row + BATCH_ROWS);
    fillRows(rows, source, { from: row, to });
    yield createBatch(rows, { count: to - row, end: to - firstTrade, identifiers });
  }
};

/** Trades of a run, and the data that their rows need. */
interface RunTrades {
  readonly identifiers: readonly string[];
  readonly all: RecordedTransactions;
  readonly days: Int32Array;
  readonly costRate: number;
  readonly moves: WeightMoves;
  /** Returns the rounding of published weights on a day. */
  readonly roundOn: (day: Day) => (weight: number) => number;
}

/** Trades of runs that are open. They are cached, because each part of an export needs them. */
const tradesCache = new WeakMap<RunColumns, RunTrades>();

function createTrades(columns: RunColumns): RunTrades {
  const cachedTrades = tradesCache.get(columns);
  if (cachedTrades !== undefined) return cachedTrades;
  const { identifiers, transactions, costRate } = openRecordParts(columns);
  const trades = {
    identifiers,
    all: transactions(),
    days: columns.i32('days'),
    costRate: costRate(),
    moves: createWeightMoves(columns, identifiers),
    roundOn: (day: Day) => roundOnDay(columns, 'weights', day),
  };
  tradesCache.set(columns, trades);
  return trades;
}

interface Rows {
  readonly days: Int32Array;
  readonly identifiers: Int32Array;
  readonly sides: Int32Array;
  readonly before: Float64Array;
  readonly after: Float64Array;
  readonly values: Float64Array;
  readonly costs: Float64Array;
  readonly reasons: Int32Array;
}

function createRows(size: number): Rows {
  return {
    days: new Int32Array(size),
    identifiers: new Int32Array(size),
    sides: new Int32Array(size),
    before: new Float64Array(size),
    after: new Float64Array(size),
    values: new Float64Array(size),
    costs: new Float64Array(size),
    reasons: new Int32Array(size),
  };
}

/** Fills rows with the trades from `from` to `to` (exclusive), session by session. */
function fillRows(
  rows: Rows,
  { all, days, costRate, moves, roundOn }: RunTrades,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  for (let k = from; k < to;) {
    const offset = all.at[k]!;
    moves.show(offset);
    const roundWeight = roundOn(days[offset]!);
    for (; k < to && all.at[k] === offset; k++) {
      const row = k - from;
      const notional = all.notional[k]!;
      const value = Math.abs(notional);
      const identifier = all.columns[k]!;
      const column = moves.positions[identifier]!;
      rows.days[row] = days[offset]!;
      rows.identifiers[row] = identifier;
      rows.sides[row] = notional > 0 ? 0 : 1;
      rows.before[row] = column < 0 ? 0 : roundWeight(moves.before[column]!);
      rows.after[row] = column < 0 ? 0 : roundWeight(moves.after[column]!);
      rows.values[row] = value;
      rows.costs[row] = all.isFree[k] === 1 ? 0 : costRate * value;
      rows.reasons[row] = all.reason[k]!;
    }
  }
}

interface BatchTerms {
  readonly count: number;
  readonly end: number;
  readonly identifiers: readonly string[];
}

function createBatch(rows: Rows, { count, end, identifiers }: BatchTerms): Batch<'trades'> {
  return {
    count,
    end,
    columns: {
      date: rows.days.subarray(0, count),
      identifier: { codes: rows.identifiers.subarray(0, count), texts: identifiers },
      side: { codes: rows.sides.subarray(0, count), texts: SIDES },
      weight_before: rows.before.subarray(0, count),
      weight_after: rows.after.subarray(0, count),
      value: rows.values.subarray(0, count),
      cost: rows.costs.subarray(0, count),
      reason: { codes: rows.reasons.subarray(0, count), texts: TRADE_REASONS },
    },
  };
}

interface WeightMoves {
  /** Position of each recorded identifier among the securities of the run; -1 if it is unknown. */
  readonly positions: Int32Array;
  /** Weights before and after the trades of the current session, by position of the security. */
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** Reads the weights around the trades of a session. */
  show(position: number): void;
}

function createWeightMoves(columns: RunColumns, identifiers: readonly string[]): WeightMoves {
  const { names } = columns.header;
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const eventAt = columns.i32('eventAt');
  const previousWeights = new Float64Array(names.length);
  const after = new Float64Array(names.length);
  let shownPosition = -1;
  return {
    positions: Int32Array.from(identifiers, (identifier) => columnByName.get(identifier) ?? -1),
    before: previousWeights,
    after,
    show(offset) {
      if (offset === shownPosition) return;
      columns.fill('before', findFirstAtLeast(eventAt, offset) * names.length, previousWeights);
      columns.fill('weights', offset * names.length, after);
      shownPosition = offset;
    },
  };
}

type RebalanceRow = RebalanceList['rebalances'][number];

type Served<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/**
 * Returns all rebalances of a stored run.
 * @cost reads [R x H] targets, and the same number of weights
 */
export function listRebalances(columns: RunColumns): Served<RebalanceList> {
  const decisions = readDecisions(columns);
  const readWeightsAround = createWeightsReader(columns);
  return {
    index_id: columns.header.run_id,
    rebalances: columns.header.rebalances.map((_, r) =>
      createRow(columns, { r, around: readWeightsAround(r) }, decisions),
    ),
    findings: columns.has('record')
      ? openRecordParts(columns)
          .findings()
          .filter(({ code }) => REPORTED_CODES.has(code))
      : [],
  };
}

/** Codes of the warnings about rebalances that were not executed, and about securities that left between them. */
const REPORTED_CODES: ReadonlySet<FindingCode> = new Set(['REBALANCE_HELD', 'SILENT_DELISTING']);

/**
 * Returns the rebalance that is valid on a day, and its securities.
 * @throws Refusal NO_DATA_AT_DATE before the first rebalance
 * @cost reads every trade of the run
 */
export function createRebalanceView(columns: RunColumns, requestedDate: string): RebalanceView {
  const { header } = columns;
  const days = columns.i32('days');
  const day = parseValidDay(requestedDate);
  const r = header.rebalances.findLastIndex((storedRebalance) => findStoredDate(storedRebalance, days, day) <= day);
  if (r < 0)
    throw new Refusal(
      'NO_DATA_AT_DATE',
      `${requestedDate} is before the first rebalance, ${header.rebalances[0]!.date}.`,
    );
  const decisions = readDecisions(columns);
  const rebalance = { r, around: createWeightsReader(columns)(r) };
  const row = createRow(columns, rebalance, decisions);
  return {
    index_id: header.run_id,
    requested_date: requestedDate,
    ...row,
    previous: header.rebalances[r - 1]?.date ?? null,
    next: header.rebalances[r + 1]?.date ?? null,
    names: listSecurities(columns, rebalance, decisions),
    unfilled: (decisions?.unfilled ?? [])
      .filter(({ day }) => formatDay(day) === row.traded_on)
      .map(({ day, identifier, side, target, held, notional, reason, filledDay }) => ({
        date: formatDay(day),
        asset_id: identifier,
        side,
        target_weight: target,
        held_weight: held,
        notional,
        reason,
        filled_on: filledDay === null ? null : formatDay(filledDay),
      })),
  };
}

/**
 * Returns the session on which a rebalance was traded. It is before the date of the rebalance if no security has a price
 * on that date; a decision without notice has its data.
 */
function readTradedDay(columns: RunColumns, at: number): Day | null {
  return at < 0 ? null : columns.i32('days', at, at + 1)[0]!;
}

/** A rebalance, its position in the list of rebalances of the run, and the weights before and after it. */
interface LocatedRebalance {
  readonly r: number;
  readonly around: WeightsAround;
}

function createRow(
  columns: RunColumns,
  { r, around }: LocatedRebalance,
  decisions: RecordedDecisions | undefined,
): RebalanceRow {
  const storedRebalance = columns.header.rebalances[r]!;
  const { date, at } = storedRebalance;
  const figures = computeRebalanceFigures(around, storedRebalance);
  const { cause, constituents, added, removed, cap, capped, redistributed, turnover } = figures;
  const listLargest = (positions: readonly number[]): string[] =>
    positions.slice(0, LARGEST_CHANGES_MAX).map((position) => columns.header.names[position]!);
  const decisionDay = decisions?.decidedOn(parseValidDay(date));
  const tradedDay = readTradedDay(columns, at);
  const snapshot = decisions?.snapshot(parseValidDay(date));
  return {
    date,
    cause,
    review: isReviewed(cause) ? (snapshot?.reviews?.[0] ?? null) : null,
    reviews: isReviewed(cause) && snapshot?.reviews ? [...snapshot.reviews] : null,
    phase: snapshot?.phase ?? null,
    schedule_dates: [date, ...Array.from(snapshot?.also ?? [], formatDay)],
    stale_fills: listFills(snapshot, decisions?.identifiers ?? []),
    decision_date: decisionDay === undefined ? null : formatDay(Math.min(decisionDay, tradedDay ?? decisionDay)),
    traded_on: tradedDay === null ? null : formatDay(tradedDay),
    constituents,
    gross_constituents: figures.grossConstituents,
    added: added.length,
    largest_added: listLargest(added),
    removed: removed.length,
    largest_removed: listLargest(removed),
    cap,
    capped,
    redistributed,
    turnover,
    cost_fraction: at < 1 ? null : columns.f64('costs', at, at + 1)[0]! / columns.f64('value', at - 1, at)[0]!,
  };
}

function listFills(
  snapshot: ReturnType<RecordedDecisions['snapshot']>,
  identifiers: readonly string[],
): RebalanceRow['stale_fills'] {
  const fills = snapshot?.staleFills ?? null;
  return Array.from(fills?.columns ?? [], (column, i) => ({
    identifier: identifiers[column]!,
    last_bar: formatDay(fills!.lastBars[i]!),
    sessions_old: fills!.ages[i]!,
  }));
}

function listSecurities(
  columns: RunColumns,
  { r, around: { target, capped, before, after } }: LocatedRebalance,
  decisions: RecordedDecisions | undefined,
): RebalanceView['names'] {
  const { names, rebalances } = columns.header;
  const H = names.length;
  const uncappedWeights = columns.f64('raw', r * H, (r + 1) * H);
  const roundWeight = roundOnDay(columns, 'weights', parseValidDay(rebalances[r]!.date));
  const readTrade = createTradesReader(rebalances[r]!.at, decisions);
  return names
    .map((identifier, i) => ({
      identifier,
      before: before && roundWeight(before[i]!),
      after: roundWeight(after[i]!),
      change: before && after[i]! - before[i]!,
      target: roundWeight(target[i]!),
      uncapped: roundWeight(uncappedWeights[i]!),
      capped: capped[i] === 1,
      ...readTrade(identifier),
    }))
    .filter(({ before, after, target }) => after !== 0 || target !== 0 || (before !== null && before !== 0))
    .toSorted((a, b) => b.after - a.after || compareText(a.identifier, b.identifier));
}

type Trade = Pick<RebalanceView['names'][number], 'trade' | 'price'>;

/** Returns a function that returns the trade of a security on a session. */
function createTradesReader(position: number, decisions: RecordedDecisions | undefined): (identifier: string) => Trade {
  if (decisions === undefined) return () => ({ trade: null, price: null });
  const rows = decisions.trades();
  const tradeByIdentifier = new Map<string, Trade>();
  for (let k = 0; k < rows.at.length; k++) {
    if (rows.at[k] === position)
      tradeByIdentifier.set(decisions.identifiers[rows.columns[k]!]!, {
        trade: rows.notional[k]!,
        price: rows.price[k]!,
      });
  }
  return (identifier) => tradeByIdentifier.get(identifier) ?? { trade: 0, price: null };
}
