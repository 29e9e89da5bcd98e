import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { Day } from '../time/days.js';
import { isOverlayDocument } from '../documents/index-document.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { computeBacktestMetrics, rebase } from '../analytics/series.js';
import type { Book, BookInput } from '../books/book.js';
import { findCompositionInForce, type Composer, type Composition, type Compositions } from '../books/compositions.js';
import { createComposer } from '../books/create-composer.js';
import { openMarketOn } from '../books/open-market-on.js';
import { hasAnyBar } from '../books/due-rebalances.js';
import { followBook } from '../books/follow-book.js';
import { assertSingleHolding, createOverlayPortfolio } from '../books/overlay-portfolio.js';
import { listBookDays, simulateIndexBook, createIndexTerms, type IndexRun } from '../books/index-run.js';
import type { Memory } from './run-file/block-placement.js';
import { allocateColumns } from './run-file/allocate-columns.js';
import { createShareChangeTerms } from '../books/share-changes.js';
import { simulateBook } from '../books/simulate-book.js';
import { checkRequestedRange, type CalendarCoverage } from '../books/window.js';
import { assertScheduled, type DatedMarkets } from '../books/decision-seats.js';
import type { ComputedRun, ComputeInput } from './run.js';
import {
  followIndex,
  hasOwnRebalances,
  isPlain,
  decideStrategyTerms,
  createStrategyTargets,
} from './strategy-targets.js';

/**
 * Computes the levels and metrics of a plan.
 * @throws Refusal in every case in which `runBacktest` throws, except for errors of the benchmark
 */
export function computeRun(input: ComputeInput): ComputedRun {
  const { market, calendars, plan, engine = referenceEngine, report } = input;
  const { indexId, request, documents } = plan;
  const document = documents[indexId]!;
  if (isOverlayDocument(document)) assertSingleHolding(plan);
  const sm = openMarketOn({ market, calendars, code: document.calendar });
  const range = checkRequestedRange({ document, calendar: sm.calendar, dates: market.dates, request });
  const to = findLastPriced(sm, findLastAtMost(sm.sessions, range.end));
  const composer = input.composer ?? createComposerUntil(input, sm.sessions[to] ?? range.end);
  const compositions = composer.compositions(indexId);
  const from = findFirstSessionOfRun(composer, { indexId, start: range.start, first: compositions.first, to });
  report(0.5, 'simulating the index');
  const index = resolveIndexRun(input, { compositions, from, to, coverage: range.coverage });
  const { own, warnings, solves } = decideStrategyTerms(index, {
    plan,
    composer,
    engine,
    from,
    to,
    tick: (fraction) => report(0.5 + 0.1 * fraction, 'solving the constraint set'),
  });
  const portfolio = computePortfolio(index, { plan, from, to, own, report });
  const days = listBookDays(portfolio);
  const level = rebase(portfolio.value, 100);
  const indexLevel = rebase(index.book.value.subarray(from - index.book.from), 100);
  return {
    document,
    composer,
    range,
    warnings,
    solves,
    from,
    to,
    index,
    portfolio,
    level,
    indexLevel,
    days,
    rebalances: own ?? selectRebalancesFrom(compositions, from),
    metrics: computeBacktestMetrics(level, indexLevel, estimatePeriodsPerYear(days)),
    totalCosts: portfolio.costs.reduce((sum, cost) => sum + cost, 0),
  };
}

/**
 * Returns the simulated index of a run. Reuses the index of the run `before` if both runs have the same composer and
 * sessions; otherwise simulates it.
 */
function resolveIndexRun(
  { composer, before, memory, pricesApart = false, levelsOnly: isSparse = false, roomForWeights }: ComputeInput,
  { compositions, ...span }: Pick<IndexSpan, 'from' | 'to' | 'coverage'> & { readonly compositions: Compositions },
): IndexRun {
  const isSame = before !== undefined && before.composer === composer;
  if (isSame && before.from === span.from && before.to === span.to) return { ...before.index, coverage: span.coverage };
  return runIndex(compositions, { ...span, memory, pricesApart, isSparse, roomForWeights });
}

function createComposerUntil(input: ComputeInput, until: Day): Composer {
  const { market, calendars, plan, models, createDecider, report } = input;
  return createComposer({
    market,
    calendars,
    documents: plan.documents,
    models,
    createDecider,
    known: findKnownCompositions(input),
    until,
    tick: (fraction) => report(0.5 * fraction, 'deciding compositions'),
  });
}

/**
 * Returns the market as known at each decision. Returns undefined if the request does not ask for point-in-time data.
 */
function findKnownCompositions({ plan: { request, documents }, known }: ComputeInput): DatedMarkets | undefined {
  if (request.as_known === undefined) return undefined;
  assertScheduled(documents);
  if (known === undefined) throw new Error('the run lacks the data known at its decisions');
  return known;
}

interface PortfolioSpan extends Pick<ComputeInput, 'plan' | 'report'> {
  readonly from: number;
  readonly to: number;
  /** Rebalances of a strategy with its own schedule or weights; null if it follows the rebalances of the index. */
  readonly own: readonly Composition[] | null;
}

/**
 * Computes the portfolio. A portfolio that only holds the index follows the book of the index if possible; for any
 * other, a separate book is simulated. If the index is an overlay, the portfolio is computed from the overlay's book.
 */
function computePortfolio(index: IndexRun, { plan, from, to, own, report }: PortfolioSpan): Book {
  const { compositions, book } = index;
  const { request, strategy } = plan;
  if (book.overlay !== undefined) {
    const rebalances = (own ?? compositions.list).map(({ session }) => session);
    return createOverlayPortfolio(book, { plan, from, to, rebalances });
  }
  const holdsIndex = strategy === undefined || isPlain(strategy);
  const input: BookInput = {
    title: 'The portfolio',
    sm: compositions.sm,
    treatment: compositions.treatment,
    growth: createIndexTerms(compositions),
    outside: compositions.outside,
    shareChanges: hasOwnRebalances(strategy) ? undefined : createShareChangeTerms(compositions),
    from,
    to,
    targets: strategy ? createStrategyTargets(index, strategy, { from, own }) : followIndex(index, from),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(holdsIndex && book.pending ? { followed: book.pending } : {}),
    ...(strategy?.drift_tolerance == null ? {} : { tolerance: strategy.drift_tolerance }),
    tick: (fraction) => report(0.6 + 0.1 * fraction, 'simulating the portfolio'),
  };
  return (holdsIndex ? followBook(input, book) : undefined) ?? simulateBook(input);
}

/**
 * Returns the last session at or before a given one on which any security has a price bar. Returns -1 if there is none.
 */
export function findLastPriced(sm: SessionMarket, session: number): number {
  let last = session;
  while (last >= 0 && !hasAnyBar(sm, last)) last--;
  return last;
}

interface FirstInput {
  readonly indexId: string;
  readonly start: number;
  readonly first: number;
  readonly to: number;
}

function findFirstSessionOfRun(composer: Composer, { indexId, start, first, to }: FirstInput): number {
  const sm = composer.market(indexId);
  let from = Math.max(first, findFirstAtLeast(sm.sessions, start));
  const hasPricedSecurity = (session: number) =>
    composer.universe(indexId, session).some((column) => sm.lastBar[readPanelRow(sm, session) + column] === session);
  while (from <= to && from > first && !hasPricedSecurity(from)) from++;
  if (from < to) return from;
  const count = Math.max(0, to - from + 1);
  throw new Refusal(
    'RANGE_TOO_SHORT',
    `The range contains ${count} ${count === 1 ? 'session' : 'sessions'} with a price of the universe. A backtest needs at least 2.`,
  );
}

interface IndexSpan {
  /** First session of a portfolio that follows the index. */
  readonly from?: number;
  readonly to: number;
  readonly coverage: CalendarCoverage | null;
  readonly memory?: Memory | undefined;
  readonly pricesApart?: boolean;
  /** True to keep only some rows of weights; see `BookInput`. */
  readonly isSparse?: boolean;
  /** Allocates memory for the weights if they are not written into a file. */
  readonly roomForWeights?: ((cells: number) => Float64Array) | undefined;
}

export function runIndex(
  compositions: Compositions,
  { from, to, coverage, memory, pricesApart = false, isSparse, roomForWeights }: IndexSpan,
): IndexRun {
  const book = simulateIndexBook({
    compositions,
    to,
    ...(isSparse ? { isSparse } : {}),
    ...(from === undefined ? {} : { followedFrom: from }),
    ...(roomForWeights ? { roomForWeights } : {}),
    ...(memory
      ? { roomForWeights: (cells: number) => allocateColumns(compositions, { memory, cells, to, pricesApart }) }
      : {}),
  });
  return { compositions, book, days: listBookDays(book), coverage };
}

function selectRebalancesFrom({ list }: Compositions, from: number): Composition[] {
  const inRange = list.filter(({ session }) => session >= from);
  const before = findCompositionInForce(list, from - 1);
  return before && inRange[0]?.session !== from ? [before, ...inRange] : inRange;
}
