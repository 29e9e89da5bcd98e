import { referenceEngine } from '#kernels/engines/reference.js';
import { computeBacktestMetrics, rebase } from '../analytics/returns.js';
import type { Finding } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import { runBenchmark } from '../books/benchmark.js';
import {
  type Book,
  type BookInput,
  type LevelsOnlyEnd,
  listGaps,
  readBookCurrency,
  shortenBookEnd,
} from '../books/book.js';
import { assertScheduled, createComposer, type DatedMarkets } from '../books/composer.js';
import { type Composer, type Composition, type Compositions, findCompositionInForce } from '../books/compositions.js';
import { createIndexTerms, type IndexRun, isCapped, listBookDays, simulateIndexBook } from '../books/index-run.js';
import { assertSingleHolding, createOverlayPortfolio, followBook } from '../books/portfolios.js';
import { checkRequestedRange, hasAnyBar, type WindowCoverage } from '../books/rebalance-dates.js';
import { createShareChangeTerms } from '../books/state.js';
import { simulateBook } from '../books/step.js';
import { countStale, groupFillsByRebalance, listTrades, reportStaleFills } from '../books/trades.js';
import { openMarketOn, readPanelRow, type SessionMarket } from '../market/session-market.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { isDerivedDocument, isOverlayDocument } from '../definition/index-document.js';
import type { BacktestPlan } from '../definition/backtest-plan.js';
import { listVariants, resolveVariant, type ReturnVariant, UNTAXED_VARIANTS } from '../market/market-data.js';
import { groupFindings, listRunAssumptions, reportPartialLastSession, selectReportedFindings } from './findings.js';
import type { Memory } from '#base/memory.js';
import { allocateColumns } from './run-file/header.js';
import {
  type ComputedRun,
  type ComputeInput,
  type Run,
  type RunEndState,
  type RunInput,
  type StoredOverlay,
  toStoredIndex,
  type VariantLevel,
} from './run.js';
import { isPublishedBook } from './plan.js';
import {
  createStrategyTargets,
  decideStrategyTerms,
  findTolerance,
  followIndex,
  hasOwnRebalances,
  isPlain,
} from './strategies.js';

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
  const tolerance = findTolerance(strategy);
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
    ...(tolerance === undefined ? {} : { tolerance }),
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
  readonly coverage: WindowCoverage | null;
  readonly memory?: Memory | undefined;
  readonly pricesApart?: boolean;
  /** True to keep only some rows of weights; see `BookInput`. */
  readonly isSparse?: boolean;
  /** Allocates memory for the weights if they are not written into a file. */
  readonly roomForWeights?: ((cells: number) => Float64Array) | undefined;
}

function runIndex(
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

interface ComputedVariants extends Pick<Run, 'variants' | 'published'> {
  readonly ends: Pick<RunEndState, 'variants' | 'overlays' | 'decisionsBeneath'>;
}

function computeVariants({ compositions, book }: IndexRun, plan: BacktestPlan, to: number): ComputedVariants {
  const {
    treatment,
    sm: { market },
  } = compositions;
  const definedVariant = resolveVariant(market, treatment.dividends);
  const levelByVariant = new Map<ReturnVariant, VariantLevel>([[definedVariant, toVariantLevel(book)]]);
  const ends: Partial<Record<ReturnVariant, LevelsOnlyEnd>> = {};
  const overlays: Partial<Record<ReturnVariant, StoredOverlay>> = {};
  let published: Book | null = null;
  for (const variant of listVariants(market)) {
    if (levelByVariant.has(variant)) continue;
    if (book.reinvested) {
      levelByVariant.set(variant, { level: book.reinvested.levels[variant], divisor: book.divisor });
      continue;
    }
    const variantLevel = treatment.withholding_tax === 0 ? levelByVariant.get(UNTAXED_VARIANTS[variant]) : undefined;
    const variantBook =
      variantLevel === undefined
        ? simulateIndexBook({ compositions, to, variant, isBrief: !isPublishedBook(plan, compositions, variant) })
        : null;
    if (isPublishedBook(plan, compositions, variant)) published = variantBook;
    if (variantBook && variantBook.overlay === undefined) ends[variant] = shortenBookEnd(variantBook);
    else if (variantBook) overlays[variant] = toStoredIndex(variantBook) as StoredOverlay; // the book of an overlay is stored as an overlay
    levelByVariant.set(variant, variantLevel ?? toVariantLevel(variantBook!)); // either the twin or the simulation is present
  }
  const findLevel = (variant: ReturnVariant): VariantLevel | null => levelByVariant.get(variant) ?? null;
  return {
    variants: { price: findLevel('price'), total: findLevel('total'), net: findLevel('net') },
    published,
    ends: {
      variants: ends,
      ...(book.overlay ? { overlays, decisionsBeneath: listUnderlyingDecisions(compositions) } : {}),
    },
  };
}

/**
 * Returns the findings of the decisions on the underlying indices of an overlay, one list per index, in the order of
 * the overlay's sources. For an index that is not an overlay, the only list is that of the index.
 */
function listUnderlyingDecisions({ findings, overlay }: Compositions): readonly (readonly Finding[])[] {
  return overlay?.sources.flatMap(listUnderlyingDecisions) ?? [findings];
}

function toVariantLevel({ value: level, divisor }: Pick<Book, 'value' | 'divisor'>): VariantLevel {
  return { level, divisor };
}

/**
 * Runs a backtest: simulates the index from its definition, the portfolio that follows the index, and the benchmark.
 * The run is deterministic: two runs on one market and plan have bit-identical results.
 * @throws Refusal of every kind that a definition, a range or a market can cause, except for the uncapped index, which
 * is simulated when it is read
 */
export function runBacktest(input: RunInput): Run {
  const { plan, report } = input;
  const { request } = plan;
  const computedRun = computeRun(input);
  const { composer, document, index, portfolio, days, level, indexLevel, rebalances, range, from, to } = computedRun;
  const { compositions } = index;
  report(0.7, 'measuring');
  const benchmark =
    request.benchmark &&
    runBenchmark({
      composer,
      reference: request.benchmark,
      compositions,
      level: { days, values: level },
      from,
      to,
      range,
    });
  const parent = isDerivedDocument(document)
    ? runParent(composer, document.derivation.source_index_id, days.at(-1)!)
    : null;
  const findings = groupFindings({
    decisions: compositions.findings,
    solves: computedRun.warnings,
    index: index.book,
    portfolio,
    currency: readBookCurrency(index.book, document),
  });
  const staleFills = groupFillsByRebalance(portfolio, rebalances);
  const stale = countStale(staleFills);
  const assumptions = [
    ...listRunAssumptions(input, { ...compositions, document }, days, benchmark && benchmark.relative.days),
    ...reportStaleFills(stale),
    ...reportPartialLastSession(portfolio),
  ];
  const { variants, published, ends } = computeVariants(index, plan, to);
  return {
    plan,
    document,
    days,
    level,
    indexLevel,
    portfolio,
    index,
    parent,
    benchmark,
    rebalances,
    staleFills,
    reached: composer.composed(),
    trades: listTrades(portfolio),
    metrics: computedRun.metrics,
    totalCosts: computedRun.totalCosts,
    rebalancesWithin: rebalances.filter(({ session }) => session >= from).length,
    gaps: listGaps([index.book, portfolio], from),
    findings: selectReportedFindings(findings, { assumptions, since: formatDay(rebalances[0]!.date) }),
    variants,
    published,
    uncapped: createUncapped(compositions, to),
    remains: { ...ends, findings, stale, solves: computedRun.solves },
  };
}

/** Returns the book of the index without caps and floor. Returns null if its weighting has neither. */
function createUncapped(compositions: Compositions, to: number): Run['uncapped'] {
  if (!isCapped(compositions)) return null;
  let book: Book | undefined;
  return () => (book ??= simulateIndexBook({ compositions, to, uncapped: true, isBrief: true }));
}

function runParent(composer: Composer, parentId: string, end: number): IndexRun {
  const compositions = composer.compositions(parentId);
  return runIndex(compositions, { to: findLastAtMost(compositions.sm.sessions, end), coverage: null });
}
