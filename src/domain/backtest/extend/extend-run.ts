import { annualReturns, backtestMetrics, drawdownOf, rebase, returnsOf } from '../../analytics/series.js';
import { relativeMetrics } from '../../analytics/relative.js';
import { dayFrom, formatDay, type Day } from '../../days.js';
import { assumptionFindings } from '../../documents/assumptions.js';
import type { CorporateAction } from '../../market/market-data.js';
import { variantOn } from '../../market/price-basis.js';
import type { Book, Gap } from '../simulate/book.js';
import { CHECKPOINT_FORMAT, keptBook, marksOf, recentOf, sinceOf, type KeptBook, type RunCheckpoint } from './checkpoint.js';
import type { Composition } from '../simulate/compositions.js';
import { extendColumns, type NamesHeld } from './extend-columns.js';
import { extendRecord } from './extend-record.js';
import { CannotGoOn, goOn, type Continuation, type GoOnInput } from './resume.js';
import type { BlockName, RunColumns } from '../run-file/columns.js';
import { unfilledOf } from '../record/run-record.js';
import type { RunSummary } from '../run-summary.js';
import { findingGroups, gapsWithin, ownEnd, toldFindings, type FindingGroups, type RunRemains } from '../run.js';
import { tradesOf } from '../simulate/trades.js';

export interface ExtendInput extends GoOnInput {
  readonly stored: RunColumns;
  /** Names that the files which its columns begin in, and at last that which they lie in, will have beside what is written. */
  readonly begunNames: readonly string[];
  /** Dates that a file may have before further ones are written to another; as many as are good for reading and writing unless given. */
  readonly datesMax?: number;
  /** Every action of some columns of the market. */
  readonly actionsOf: (columns: Int32Array) => readonly CorporateAction[];
  /** Content of the market that the run goes on on. */
  readonly contentHash: string;
}

/** A stored run with the sessions that came after it. */
export interface ExtendedRun {
  readonly summary: RunSummary;
  /** Its rebalances on the new sessions, and whose positions their columns are. */
  readonly rebalances: readonly Composition[];
  readonly market: readonly string[];
  /** Columns: what is new of them, and where the rest lies. */
  readonly columns: Uint8Array<ArrayBuffer>;
  /** How many of the named files they begin in. */
  readonly begun: number;
  readonly checkpoint: RunCheckpoint;
  /** Last date of the stored run, and how many it has more. */
  readonly extendedFrom: Day;
  readonly sessions: number;
}

/**
 * Goes on with a stored run: what comes out is what running the whole gives, bit for bit, but for the layout of the columns.
 * @throws CannotGoOn
 * @throws Refusal as the whole run would
 * @cost O(N + T) and the new sessions; weights and prices of before are not read, but for the prices of names that join
 */
export function extendRun(input: ExtendInput): ExtendedRun {
  const { plan, stored, checkpoint, report } = input;
  const continuation = goOn(input);
  const { index, portfolio, rebalances, benchmark } = continuation;
  const held = namesHeld(stored, continuation);
  if (plan.strategy === undefined) assertSameWeights(stored, continuation); // Views of a strategy show what it holds itself.
  report(0.5, 'measuring');
  const whole = (block: BlockName, added: Float64Array): Float64Array => joined(stored.f64(block), added);
  const days = joinedDays(stored.i32('days'), index.sm.sessions.slice(portfolio.from + 1, portfolio.from + portfolio.length));
  const value = whole('value', portfolio.value.subarray(1));
  const indexValue = whole('indexLevel', index.book.value.subarray(1));
  const costs = whole('costs', portfolio.costs.subarray(1));
  const level = rebase(value, 100);
  const indexLevel = rebase(indexValue.subarray(checkpoint.from - checkpoint.index.first), 100);
  const metrics = backtestMetrics(level, indexLevel);
  const trades = tradesOf(portfolio);
  const gaps = newGaps(continuation);
  const remains = remainsOf(input, continuation);
  const findings = toldFindings(remains.findings, assumptionFindings({ document: index.document, treatment: index.treatment, market: input.market }));
  const next = checkpointAfter(input, continuation, remains);
  const record = extendRecord({
    stored, continuation, trades, gaps,
    plain: { runId: plan.runId, metrics, findings, unfilled: 'end' in next.portfolio ? unfilledOf(ordersOf(next.portfolio, portfolio)) : [] },
  });
  const relative = record.benchmark && relativeMetrics({ days, values: level }, record.benchmark);
  const { header } = stored;
  const first = header.dates - 1;
  const addedRebalances = rebalances.map(({ date, session, cap, redistributed }) => ({ date: formatDay(date), at: session - portfolio.from + first, cap, redistributed }));
  const rebalancesTold = [...header.rebalances, ...addedRebalances];
  report(0.7, 'writing the result');
  const { bytes: columns, begun } = extendColumns({ input, continuation, held, days, level, whole: { value, costs, indexLevel: indexValue }, relative, trades, record, rebalances: rebalancesTold });
  const latest = rebalances.at(-1);
  return {
    rebalances, columns, begun,
    market: index.sm.identifiers,
    checkpoint: next,
    extendedFrom: checkpoint.day,
    sessions: portfolio.length - 1,
    summary: {
      plan, days, level, indexLevel, metrics, findings,
      returns: returnsOf(level),
      drawdown: drawdownOf(level),
      annualReturns: annualReturns(days, level),
      totalCosts: costs.reduce((sum, cost) => sum + cost, 0),
      rebalancesWithin: rebalancesTold.filter(({ at }) => at >= 0).length,
      benchmark: relative && { relative, reference: plan.request.benchmark!, variant: benchmark ? variantOn(benchmark.sm.market, benchmark.treatment.dividends) : continuation.series!.variant },
      variant: variantOn(index.sm.market, index.treatment.dividends),
      identifiers: record.identifiers,
      gaps: record.gaps,
      pricing: record.pricing,
      rebalancesTotal: rebalancesTold.length,
      lastRebalance: latest ?? { date: dayFrom(header.rebalances.at(-1)!.date), weights: checkpoint.latest },
    },
  };
}

function joined(before: Float64Array, added: Float64Array): Float64Array {
  const whole = new Float64Array(before.length + added.length);
  whole.set(before);
  whole.set(added, before.length);
  return whole;
}

function joinedDays(before: Int32Array, added: Int32Array): Int32Array {
  const whole = new Int32Array(before.length + added.length);
  whole.set(before);
  whole.set(added, before.length);
  return whole;
}

/** Columns of the names that the stored run tells, and of others that are held or asked for. */
function namesHeld({ header }: RunColumns, { index, portfolio, rebalances }: Continuation): NamesHeld {
  const isHeld = new Uint8Array(index.sm.names);
  for (const { columns, everHeld } of [portfolio, ...(header.has_index_weights ? [index.book] : [])]) {
    for (let slot = 0; slot < columns.length; slot++) if (everHeld[slot] === 1) isHeld[columns[slot]!] = 1;
  }
  for (const { columns } of rebalances) for (const column of columns) isHeld[column] = 1;
  for (const name of header.names) isHeld[index.sm.columnOf(name)] = KNOWN;
  const names = Int32Array.from(isHeld.keys()).filter((column) => isHeld[column] !== 0);
  return { names, joined: names.filter((column) => isHeld[column] !== KNOWN) };
}

const KNOWN = 2;

/** @throws CannotGoOn when the whole run would show the weights of its index beside its own and the stored one does not, or the other way round */
function assertSameWeights({ header }: RunColumns, { index: { book }, portfolio }: Continuation): void {
  if (portfolio.weights.buffer === book.weights.buffer) return;
  const areColumns = isEqual(portfolio.columns, book.columns);
  const isSame = areColumns && isEqual(portfolio.weights, book.weights);
  // What differs in columns alone may cease to, and what is the same may begin to differ.
  if (header.has_index_weights ? isSame : !isSame) throw new CannotGoOn('parted');
}

function isEqual(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function newGaps({ index: { book }, portfolio }: Continuation): Gap[] {
  return gapsWithin([book, portfolio], portfolio.from + 1);
}

function remainsOf({ checkpoint: { remains: { findings } } }: ExtendInput, { index, portfolio, variants, uncapped, solves }: Continuation): RunRemains {
  const added = findingGroups({ decisions: index.findings, solves: solves.findings, index: index.book, portfolio });
  const groups = Object.fromEntries(Object.entries(findings).map(([group, known]) => [group, [...known, ...added[group as keyof FindingGroups]]]));
  return {
    variants: Object.fromEntries(Object.entries(variants).map(([variant, book]) => [variant, ownEnd(book)])),
    uncapped: uncapped && ownEnd(uncapped),
    solves: solves.memory,
    findings: groups as unknown as FindingGroups, // Object.fromEntries forgets that every group is among the entries.
  };
}

function checkpointAfter({ checkpoint }: ExtendInput, { index, portfolio, parent, benchmark, series, rebalances, reached }: Continuation, remains: RunRemains): RunCheckpoint {
  const indices = [index, parent, benchmark].filter((shown) => shown !== null);
  return {
    format: CHECKPOINT_FORMAT,
    day: index.sm.sessions[index.to]!,
    since: sinceOf(reached),
    from: checkpoint.from,
    marks: marksOf(reached, indices),
    index: keptAfter(checkpoint.index, index.book),
    portfolio: 'end' in checkpoint.portfolio ? keptAfter(checkpoint.portfolio, portfolio) : followEnd(portfolio),
    parent: parent && keptAfter(checkpoint.parent!, parent.book),
    benchmark: benchmark && keptAfter(checkpoint.benchmark!, benchmark.book),
    series: series?.end ?? null,
    remains,
    latest: rebalances.at(-1)?.weights ?? checkpoint.latest,
    recent: recentOf(reached),
  };
}

/** A kept book with the sessions that came after it. */
function keptAfter(before: KeptBook, book: Book): KeptBook {
  const shift = book.from - before.first;
  const { orders, ...kept } = keptBook(book);
  return { ...kept, first: before.first, orders: orders.map((order) => ({ ...order, at: order.at + shift, filledAt: order.filledAt === null ? null : order.filledAt + shift })) };
}

function followEnd({ end }: Book) {
  if ('held' in end) throw new Error('a book that follows no other has no end of one that does');
  return end;
}

/** The orders of a kept portfolio as a book has them. */
function ordersOf({ first, columns, orders }: KeptBook, { sm }: Book): Pick<Book, 'sm' | 'columns' | 'from' | 'unfilled'> {
  return { sm, columns, from: first, unfilled: orders.map((order) => ({ ...order, slot: columns.indexOf(order.slot) })) };
}
