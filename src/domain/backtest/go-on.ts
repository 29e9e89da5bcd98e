import { alignMarket, type SessionMarket } from '../market/session-market.js';
import type { Calendars } from '../calendars/calendar.js';
import { isRuleDocument, type IndexDocument } from '../documents/index-document.js';
import type { Finding } from '../findings.js';
import { RETURN_VARIANTS, type MarketData, type ReturnVariant } from '../market/market-data.js';
import { rebalanceDates } from '../schedule/schedule.js';
import { lastAtMost } from '../search.js';
import { bareSeries, type BenchmarkRun, type SeriesEnd } from './benchmark.js';
import type { Book, BookInput, BookResume, Targets } from './book.js';
import type { DatedSeries } from '../analytics/relative.js';
import { treatmentOf, type IndexTold, type KeptBook, type RunCheckpoint } from './checkpoint.js';
import { createComposer, decideAll, dueAfter, marketOn, type Composition, type DeciderFactory, type DueRebalance } from './compositions.js';
import { followBook } from './follow-book.js';
import { FULL_RUN_REASONS, type FullRunReason } from './full-run-reasons.js';
import { indexTerms } from './index-run.js';
import type { BacktestPlan } from './plan.js';
import { lastPriced } from './run.js';
import { simulateBook } from './simulate-book.js';
import { requestedRange, type RequestedRange } from './window.js';

/** Why a run cannot go on. Not an error: the whole is run instead. */
export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';
  readonly reason: FullRunReason;
  constructor(reason: FullRunReason) {
    super(FULL_RUN_REASONS[reason]);
    this.reason = reason;
  }
}

export interface GoOnInput {
  readonly plan: BacktestPlan;
  readonly checkpoint: RunCheckpoint;
  readonly calendars: Calendars;
  /** The market, without cash paid on days that the checkpoint has behind it. */
  readonly market: MarketData;
  /** The whole of it, for decisions. */
  readonly wholeMarket: () => MarketData;
  readonly createDecider: DeciderFactory;
  readonly report: (fraction: number, message: string) => void;
}

/** The sessions that a run has more: every book begins with the session that the stored run ended on. */
export interface Continuation {
  readonly range: RequestedRange;
  readonly index: IndexContinuation;
  readonly portfolio: Book;
  readonly parent: IndexContinuation | null;
  readonly benchmark: IndexContinuation | null;
  readonly series: { readonly added: DatedSeries; readonly end: SeriesEnd; readonly variant: BenchmarkRun['variant'] } | null;
  readonly variants: Readonly<Partial<Record<ReturnVariant, Book>>>;
  readonly uncapped: Book | null;
  /** Rebalances of the run itself. */
  readonly rebalances: readonly Composition[];
}

/** An index over the sessions that its book has more. */
export interface IndexContinuation extends IndexTold {
  /** Session that the stored book ended on, and the last one. */
  readonly from: number;
  readonly to: number;
  readonly book: Book;
  readonly composed: readonly Composition[];
  readonly findings: readonly Finding[];
}

/**
 * Simulates what a run has more than a stored one. The same market up to the checkpoint gives the same bits as running the whole.
 * @throws CannotGoOn
 * @throws Refusal as the whole run would
 * @cost O(N) and a pass over the new sessions; with a rebalance on them that of aligning the whole market and deciding it
 */
export function goOn(input: GoOnInput): Continuation {
  const { plan, checkpoint, report } = input;
  const { request, documents, indexId, strategy } = plan;
  const document = documents[indexId]!;
  const parentId = document.derivation?.source_index_id ?? null;
  const benchmarkId = request.benchmark?.kind === 'index' ? request.benchmark.id : null;
  const seen = view(input, { parentId, benchmarkId });
  report(0.3, 'going on from the stored run');
  const index = resumeIndex(seen, checkpoint.index, indexId);
  if (tradesAnew(plan, index, checkpoint.from)) throw new CannotGoOn('rebalance');
  // What a strategy rebalances to of its own is none of its index's compositions.
  const isOwn = strategy !== undefined && (strategy.rebalance !== null || strategy.constraints !== undefined);
  const rebalances = isOwn ? [] : index.composed;
  const portfolio = resumePortfolio(input, index, rebalances);
  const series = request.benchmark?.kind === 'identifier' ? bareSeries(index, request.benchmark, { from: index.from + 1, to: index.to, begin: checkpoint.series! }) : null;
  const variants: Partial<Record<ReturnVariant, Book>> = {};
  for (const variant of RETURN_VARIANTS) {
    const end = checkpoint.remains.variants[variant];
    if (end) variants[variant] = resumeBook(index, { kept: { ...checkpoint.index, end }, variant });
  }
  const { uncapped } = checkpoint.remains;
  return {
    range: seen.range,
    index, portfolio, variants, rebalances,
    parent: parentId === null ? null : resumeIndex(seen, checkpoint.parent!, parentId),
    benchmark: benchmarkId === null ? null : resumeIndex(seen, checkpoint.benchmark!, benchmarkId),
    series: series && { added: series.series, end: series.end, variant: series.variant },
    uncapped: uncapped && resumeBook(index, { kept: { ...checkpoint.index, end: uncapped }, isUncapped: true }),
  };
}

interface Others {
  readonly parentId: string | null;
  readonly benchmarkId: string | null;
}

/** The market as the indices of a run see it from their last sessions on, and what they decide there. */
interface View {
  readonly range: RequestedRange;
  told(indexId: string): IndexTold;
  spanOf(indexId: string): { readonly from: number; readonly to: number };
  decided(indexId: string): Pick<IndexContinuation, 'composed' | 'findings'>;
}

function view(input: GoOnInput, { parentId, benchmarkId }: Others): View {
  const { plan: { documents, indexId, request }, checkpoint, calendars, market, report } = input;
  const ids = [indexId, parentId, benchmarkId].filter((id) => id !== null);
  const marked = new Map<string, SessionMarket>();
  for (const id of ids) {
    const { calendar: code } = documents[id]!;
    if (marked.has(code)) continue;
    // A plan whose calendar is not known is not queued.
    marked.set(code, alignMarket({ market, calendar: calendars.get(code)!, calendars, mark: checkpoint.marks.get(code)! }));
  }
  const main = marked.get(documents[indexId]!.calendar)!;
  const range = requestedRange({ document: documents[indexId]!, calendar: main.calendar, dates: market.dates, request });
  const from = main.mark!.session;
  const last = lastAtMost(main.sessions, range.end);
  const to = last <= from ? from : lastPriced(main, last);
  if (to <= from) throw new CannotGoOn('no_new_session');
  const day = main.sessions[to]!;
  const spanOf = (id: string) => {
    const sm = marked.get(documents[id]!.calendar)!;
    return { from: sm.mark!.session, to: lastAtMost(sm.sessions, day) };
  };
  const due = new Map(ids.map((id) => [id, dueOf(documents[id]!, marked.get(documents[id]!.calendar)!, { first: firstOf(checkpoint, id, { indexId, parentId }), ...spanOf(id) })]));
  const isDecided = [...due.values()].some((rebalances) => rebalances.length > 0);
  if (!isDecided) {
    const sm = (id: string) => marked.get(documents[id]!.calendar)!;
    return { range, spanOf, told: (id) => ({ document: documents[id]!, treatment: treatmentOf(documents, id), sm: sm(id) }), decided: () => NOTHING };
  }
  for (const id of ids) if (due.get(id)!.length > 0 && !isRuleDocument(documents[id]!)) throw new CannotGoOn('rebalance');
  const whole = input.wholeMarket();
  const composer = createComposer({ market: whole, calendars, documents, until: day, createDecider: input.createDecider });
  return {
    range, spanOf,
    told: (id) => ({ document: documents[id]!, treatment: treatmentOf(documents, id), sm: marketOn({ market: whole, calendars, code: documents[id]!.calendar }) }),
    decided(id) {
      const tick = (fraction: number): void => report(0.2 * fraction, 'deciding compositions');
      const { list, findings } = decideAll(composer, { indexId: id, due: due.get(id)!, before: checkpoint.recent.get(id)!, tick });
      return { composed: list, findings };
    },
  };
}

const NOTHING: Pick<IndexContinuation, 'composed' | 'findings'> = { composed: [], findings: [] };

function firstOf({ index, parent, benchmark }: RunCheckpoint, id: string, { indexId, parentId }: { readonly indexId: string; readonly parentId: string | null }): number {
  const kept = id === indexId ? index : id === parentId ? parent : benchmark;
  return kept!.first;
}

/** @throws CannotGoOn when a rebalance is priced from a session that has been simulated: nothing traded on the one it was due on */
function dueOf(document: IndexDocument, sm: SessionMarket, { first, from, to }: { readonly first: number; readonly from: number; readonly to: number }): DueRebalance[] {
  const due = to === from ? [] : dueAfter(document, sm, { first, after: from, last: to });
  if (due.some(({ session }) => session <= from)) throw new CannotGoOn('rebalance');
  return due;
}

function resumeIndex(seen: View, kept: KeptBook, indexId: string): IndexContinuation {
  const index = { ...seen.told(indexId), ...seen.decided(indexId), ...seen.spanOf(indexId) };
  return { ...index, book: resumeBook(index, { kept }) };
}

interface ResumeInput {
  readonly kept: KeptBook;
  /** Another variant than the index's own, for its levels alone. */
  readonly variant?: ReturnVariant;
  /** On the weights before capping, for its levels alone. */
  readonly isUncapped?: boolean;
}

/** The book of an index gone on with, on the terms that `indexBook` begins it on. */
function resumeBook(index: Omit<IndexContinuation, 'book'>, { kept, variant, isUncapped = false }: ResumeInput): Book {
  const { sm, treatment, document, composed, from, to } = index;
  return simulateBook({
    sm, treatment, from, to,
    growth: indexTerms(index, variant),
    ...(variant ? { indexTerms: indexTerms(index) } : {}),
    isBrief: isUncapped || variant !== undefined,
    targets: composed.map(({ session, columns, weights, uncapped }) => ({ session, columns, weights: isUncapped ? uncapped : weights })),
    initialValue: document.base_value,
    costRate: 0,
    fills: 'all',
    resume: resumeOf(kept, from),
  });
}

/** A kept book as one is gone on with from a session, which its orders are placed from. */
function resumeOf({ end, first, columns, orders }: KeptBook, from: number): BookResume {
  const shift = from - first;
  return { end, first, columns, orders: orders.map((order) => ({ ...order, at: order.at - shift, filledAt: order.filledAt === null ? null : order.filledAt - shift })) };
}

/** Whether a strategy has a rebalance of its own on the new sessions, which is not decided from compositions alone. */
function tradesAnew({ strategy }: BacktestPlan, { sm, from, to, composed }: IndexContinuation, first: number): boolean {
  if (strategy === undefined) return false;
  if (strategy.constraints !== undefined && composed.length > 0) return true;
  if (strategy.rebalance === null) return false;
  const { sessions, calendar } = sm;
  return rebalanceDates({ rebalance: strategy.rebalance, calendar, baseDay: sessions[first]!, from: sessions[from]! + 1, to: sessions[to]! }).length > 0;
}

function resumePortfolio({ plan: { request, strategy }, checkpoint: { portfolio } }: GoOnInput, index: IndexContinuation, rebalances: readonly Composition[]): Book {
  const { sm, treatment, from, to, book } = index;
  const exposure = strategy?.exposure ?? 1;
  const targets = strategy === undefined ? rebalances : rebalances.map(({ session, columns, weights }): Targets => ({ session, columns, weights: weights.map((weight) => exposure * weight) }));
  const following: BookInput = {
    sm, treatment, from, to, targets,
    growth: indexTerms(index),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(strategy?.drift_tolerance == null ? {} : { tolerance: strategy.drift_tolerance }),
  };
  if ('end' in portfolio) return simulateBook({ ...following, resume: resumeOf(portfolio, from) });
  const followed = followBook(following, book, portfolio);
  if (!followed) throw new CannotGoOn('parted');
  return followed;
}
