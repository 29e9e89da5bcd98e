import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { Calendars } from '../calendars/calendar.js';
import { formatDay } from '../days.js';
import { assumptionFindings } from '../documents/assumptions.js';
import { isDerivedDocument, type IndexDocument } from '../documents/index-document.js';
import type { Finding } from '../findings.js';
import type { MarketData, ReturnVariant } from '../market/market-data.js';
import { UNTAXED_TWINS, variantOn, variantsOn } from '../market/price-basis.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusal.js';
import { firstAtLeast, lastAtMost } from '../search.js';
import {
  annualReturns,
  backtestMetrics,
  drawdownOf,
  rebase,
  returnsOf,
  type BacktestMetrics,
} from '../analytics/series.js';
import { runBenchmark, type BenchmarkRun } from './simulate/benchmark.js';
import type { Book, BookEnd, BookInput, BriefEnd, Gap, Targets } from './simulate/book.js';
import {
  createComposer,
  hasAnyBar,
  inForce,
  marketOn,
  type Composer,
  type Composition,
  type Compositions,
  type DeciderFactory,
} from './simulate/compositions.js';
import type { DecisionMemory } from './simulate/decider.js';
import { followBook } from './simulate/follow-book.js';
import { constrainRebalances } from '../strategies/constrained-rebalances.js';
import { openingOf, ownRebalances } from '../strategies/own-rebalances.js';
import { askedAt, bookDays, indexBook, indexTerms, isCapped, type IndexRun } from './simulate/index-run.js';
import type { BacktestPlan, StrategyTerms } from './plan.js';
import { roomForColumns } from './run-file/room.js';
import { simulateBook } from './simulate/simulate-book.js';
import {
  countStale,
  fillsByRebalance,
  staleFindings,
  type StaleCount,
  type StaleFills,
} from './simulate/stale-fills.js';
import { tradesOf, type Trades } from './simulate/trades.js';
import { requestedRange, type CalendarCoverage, type RequestedRange } from './simulate/window.js';

/** Everything a backtest found out, on typed arrays: T dates of the run. */
export interface Run {
  readonly plan: BacktestPlan;
  readonly document: IndexDocument;
  /** Dates of the run, [T]. */
  readonly days: Int32Array;
  /** Portfolio rebased to 100, [T]. */
  readonly level: Float64Array;
  /** Tracked index rebased to 100, [T]. */
  readonly indexLevel: Float64Array;
  readonly returns: Float64Array;
  readonly drawdown: Float64Array;
  readonly annualReturns: readonly (readonly [year: number, value: number])[];
  readonly metrics: BacktestMetrics;
  readonly totalCosts: number;
  readonly portfolio: Book;
  readonly trades: Trades;
  readonly index: IndexRun;
  /** The index that a derived index was made from. */
  readonly parent: IndexRun | null;
  readonly benchmark: BenchmarkRun | null;
  /** Every index that was composed for the run: its own, and those that its universe, derivation and benchmark reach. */
  readonly reached: readonly Compositions[];
  /** Compositions that took effect in the run, preceded by the one in force at its start. */
  readonly rebalances: readonly Composition[];
  /** How many of them took effect in the run. */
  readonly rebalancesWithin: number;
  readonly gaps: readonly Gap[];
  /** Trades of the portfolio at carried prices, by the session of each of its rebalances. */
  readonly staleFills: ReadonlyMap<number, StaleFills>;
  readonly findings: readonly Finding[];
  /** Level of the index by return variant, on the dates of the index book; null where the prices of the market have another basis. */
  readonly variants: Readonly<Record<ReturnVariant, VariantLevel | null>>;
  /** Level of the index on its weights before capping, on the dates of the index book; null without a cap. */
  readonly uncapped: Float64Array | null;
  /** What it takes to resume it after its last date, beside the ends of its books. */
  readonly remains: RunRemains;
}

/** An index in one return variant, [B] each. */
export interface VariantLevel {
  readonly level: Float64Array;
  readonly divisor: Float64Array;
}

/** What is left when a run ends, of what its results do not have. */
export interface RunRemains {
  /** Ends of the books that were simulated for their levels alone. */
  readonly variants: Readonly<Partial<Record<ReturnVariant, BriefEnd>>>;
  readonly uncapped: BriefEnd | null;
  readonly findings: FindingGroups;
  readonly stale: StaleCount;
  /** What the solves of a strategy's constraint set left; null without one. */
  readonly solves: DecisionMemory | null;
}

/** Findings of a run by what found them, in the order in which they are reported. */
export interface FindingGroups {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly indexExits: readonly Finding[];
  readonly portfolioExits: readonly Finding[];
  readonly rights: readonly Finding[];
}

export interface RunInput {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly plan: BacktestPlan;
  readonly createDecider: DeciderFactory;
  /** Makes room around the weights for the columns of the run: see `runToColumns`. */
  readonly inPlace?: boolean;
  /** Multiplies matrices for the constraint set of a strategy; plain loops unless given. */
  readonly engine?: Engine;
  /** Progress, 0 to 1; stops the run by throwing. */
  readonly report: (fraction: number, message: string) => void;
}

/**
 * Runs a backtest: the index from its definition, the portfolio that follows it, what both are measured against.
 * Deterministic: the same market and plan give the same bits.
 * @throws Refusal of every kind a definition, a range or a market can give
 */
export function runBacktest(input: RunInput): Run {
  const { plan, report } = input;
  const { request } = plan;
  const simulated = simulateRun(input);
  const { composer, document, index, portfolio, days, level, indexLevel, rebalances, range, from, to } = simulated;
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
    ? parentRun(composer, document.derivation.source_index_id, days.at(-1)!)
    : null;
  const findings = findingGroups({
    decisions: compositions.findings,
    solves: simulated.warnings,
    index: index.book,
    portfolio,
  });
  const staleFills = fillsByRebalance(portfolio, rebalances);
  const stale = countStale(staleFills);
  const assumptions = assumptionFindings({ document, treatment: compositions.treatment, market: input.market });
  const { variants, ends } = variantsOf(index, to);
  const uncapped = isCapped(compositions) ? indexBook({ compositions, to, uncapped: true, isBrief: true }) : null;
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
    trades: tradesOf(portfolio),
    returns: returnsOf(level),
    drawdown: drawdownOf(level),
    annualReturns: annualReturns(days, level),
    metrics: simulated.metrics,
    totalCosts: simulated.totalCosts,
    rebalancesWithin: rebalances.filter(({ session }) => session >= from).length,
    gaps: gapsWithin([index.book, portfolio], from),
    findings: reportedFindings(findings, [...assumptions, ...staleFindings(stale)]),
    variants,
    uncapped: uncapped && uncapped.value,
    remains: { variants: ends, uncapped: uncapped && briefEnd(uncapped), findings, stale, solves: simulated.solves },
  };
}

/** The part of a run that its metrics need: the index, the portfolio, and how both went. */
export interface SimulatedRun extends Pick<
  Run,
  'document' | 'days' | 'level' | 'indexLevel' | 'portfolio' | 'index' | 'rebalances' | 'metrics' | 'totalCosts'
> {
  readonly composer: Composer;
  readonly range: RequestedRange;
  /** Of the solves of a strategy's constraint set. */
  readonly warnings: readonly Finding[];
  /** What they left. */
  readonly solves: DecisionMemory | null;
  /** First and last session. */
  readonly from: number;
  readonly to: number;
}

export interface SimulateInput extends RunInput {
  /** Of another run with the same documents, end and market: its compositions are not decided again. */
  readonly composer?: Composer;
}

/** Simulates what a plan describes. @throws Refusal as `runBacktest` does, but for its benchmark */
export function simulateRun({
  market,
  calendars,
  plan,
  createDecider,
  engine = referenceEngine,
  report,
  inPlace = false,
  composer: known,
}: SimulateInput): SimulatedRun {
  const { indexId, request, documents } = plan;
  const document = documents[indexId]!;
  const sm = marketOn({ market, calendars, code: document.calendar });
  const range = requestedRange({ document, calendar: sm.calendar, dates: market.dates, request });
  const to = lastPriced(sm, lastAtMost(sm.sessions, range.end));
  const composer =
    known ??
    createComposer({
      market,
      calendars,
      documents,
      createDecider,
      until: sm.sessions[to] ?? range.end,
      tick: (fraction) => report(0.5 * fraction, 'deciding compositions'),
    });
  const compositions = composer.compositions(indexId);
  const from = firstOfRun(composer, { indexId, start: range.start, first: compositions.first, to });
  report(0.5, 'simulating the index');
  const index = runIndex(compositions, { from, to, coverage: range.coverage, inPlace });
  const { own, warnings, solves } = ownTerms(index, {
    plan,
    composer,
    engine,
    from,
    to,
    tick: (fraction) => report(0.5 + 0.1 * fraction, 'solving the constraint set'),
  });
  const holdsIndex = plan.strategy === undefined || isPlain(plan.strategy);
  const following: BookInput = {
    title: 'The portfolio',
    sm,
    treatment: compositions.treatment,
    growth: indexTerms(compositions),
    from,
    to,
    targets: plan.strategy ? strategyTargets(index, plan.strategy, { from, own }) : followIndex(index, from),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(holdsIndex && index.book.pending ? { pending: index.book.pending } : {}),
    ...(plan.strategy?.drift_tolerance == null ? {} : { tolerance: plan.strategy.drift_tolerance }),
    tick: (fraction) => report(0.6 + 0.1 * fraction, 'simulating the portfolio'),
  };
  const portfolio = (holdsIndex ? followBook(following, index.book) : undefined) ?? simulateBook(following);
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
    days: bookDays(portfolio),
    rebalances: own ?? rebalancesOf(compositions, from),
    metrics: backtestMetrics(level, indexLevel),
    totalCosts: portfolio.costs.reduce((sum, cost) => sum + cost, 0),
  };
}

/** The last session at or before one on which any name has a bar. */
export function lastPriced(sm: SessionMarket, session: number): number {
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

function firstOfRun(composer: Composer, { indexId, start, first, to }: FirstInput): number {
  const sm = composer.market(indexId);
  let from = Math.max(first, firstAtLeast(sm.sessions, start));
  const isPriced = (session: number) =>
    composer.universe(indexId, session).some((column) => sm.lastBar[panelRow(sm, session) + column] === session);
  while (from <= to && from > first && !isPriced(from)) from++;
  if (from < to) return from;
  const count = Math.max(0, to - from + 1);
  throw new Refusal(
    'RANGE_TOO_SHORT',
    `The range holds ${count} ${count === 1 ? 'session' : 'sessions'} with a price of the universe; a backtest needs 2.`,
  );
}

interface IndexSpan {
  /** First session of the portfolio that follows the index. */
  readonly from?: number;
  readonly to: number;
  readonly coverage: CalendarCoverage | null;
  readonly inPlace?: boolean;
}

function runIndex(compositions: Compositions, { from, to, coverage, inPlace = false }: IndexSpan): IndexRun {
  const book = indexBook({
    compositions,
    to,
    ...(from === undefined ? {} : { followedFrom: from }),
    ...(inPlace ? { roomForWeights: (cells: number) => roomForColumns(compositions, { cells, to }) } : {}),
  });
  return { compositions, book, days: bookDays(book), coverage };
}

function parentRun(composer: Composer, parentId: string, end: number): IndexRun {
  const compositions = composer.compositions(parentId);
  return runIndex(compositions, { to: lastAtMost(compositions.sm.sessions, end), coverage: null });
}

/** Targets of a portfolio that follows an index: what the index holds or waits for at the first close, then its rebalances. */
function followIndex({ book, compositions }: IndexRun, from: number): Targets[] {
  return [{ session: from, ...askedAt(book, from) }, ...compositions.list.filter(({ session }) => session > from)];
}

/** Whether a strategy does nothing but hold its index. */
function isPlain({ rebalance, drift_tolerance: tolerance, exposure, constraints }: StrategyTerms): boolean {
  return rebalance === null && tolerance === null && exposure === 1 && constraints === undefined;
}

interface OwnInput {
  readonly plan: BacktestPlan;
  readonly composer: Composer;
  readonly engine: Engine;
  readonly from: number;
  readonly to: number;
  readonly tick: (fraction: number) => void;
}

interface OwnTerms extends Pick<SimulatedRun, 'warnings' | 'solves'> {
  readonly own: readonly Composition[] | null;
}

/** Rebalances that a strategy has of its own, by its cadence or because it solves their weights; null when it takes those of the index. */
function ownTerms(index: IndexRun, { plan: { strategy }, composer, engine, from, to, tick }: OwnInput): OwnTerms {
  if (strategy === undefined) return { own: null, warnings: [], solves: null };
  const dated = strategy.rebalance === null ? null : ownRebalances(index, strategy.rebalance, { from, to });
  if (strategy.constraints === undefined) return { own: dated, warnings: [], solves: null };
  const { document, list } = index.compositions;
  const followed = dated ?? [openingOf(index, from), ...list.filter(({ session }) => session > from && session <= to)];
  const { rebalances, findings, memory } = constrainRebalances({
    document,
    rows: strategy.constraints,
    rebalances: followed,
    composer,
    engine,
    tick,
  });
  return { own: rebalances, warnings: findings, solves: memory };
}

interface StrategyRebalances {
  readonly from: number;
  /** Rebalances of its own; null follows those of the index. */
  readonly own: readonly Composition[] | null;
}

/** Targets of a strategy: what the index holds at each of its rebalances, as far as it is invested. */
function strategyTargets(
  index: IndexRun,
  { exposure }: StrategyTerms,
  { from, own }: StrategyRebalances,
): readonly Targets[] {
  const targets: readonly Targets[] = own ?? followIndex(index, from);
  if (exposure === 1) return targets;
  return targets.map(({ session, columns, weights }) => ({
    session,
    columns,
    weights: weights.map((weight) => exposure * weight),
  }));
}

function rebalancesOf({ list }: Compositions, from: number): Composition[] {
  const within = list.filter(({ session }) => session >= from);
  const before = inForce(list, from - 1);
  return before && within[0]?.session !== from ? [before, ...within] : within;
}

/** Gaps of several books from a session on, each name and session once. */
export function gapsWithin(books: readonly Book[], from: number): Gap[] {
  const seen = new Map<string, Gap>();
  for (const { gaps } of books) {
    for (const gap of gaps) if (gap.session >= from) seen.set(`${gap.session} ${gap.column}`, gap);
  }
  return [...seen.values()].toSorted((a, b) => a.session - b.session || a.column - b.column);
}

/** Warnings of one run before the rest is only counted. */
const FINDINGS_MAX = 200;

interface FindingsInput {
  readonly decisions: readonly Finding[];
  readonly solves: readonly Finding[];
  readonly index: Book;
  readonly portfolio: Book;
}

export function findingGroups({ decisions, solves, index, portfolio }: FindingsInput): FindingGroups {
  const { sm } = index;
  const exits = ({ silent }: Book): Finding[] =>
    silent.map(({ session, column }) => ({
      severity: 'warning',
      code: 'SILENT_DELISTING',
      message: `${sm.identifiers[column]} left on ${formatDay(sm.sessions[session]!)}: it had no bar on ${sm.barAge(session, column)} sessions of its exchange and no action ended it.`,
      path: '',
    }));
  const rights = unadjustedRights(index).map(({ session, column }): Finding => ({
    severity: 'warning',
    code: 'RIGHTS_NOT_ADJUSTED',
    message: `The rights issue of ${sm.identifiers[column]} on ${formatDay(sm.sessions[session]!)} has no subscription price and was not adjusted for.`,
    path: '',
  }));
  return { decisions, solves, indexExits: exits(index), portfolioExits: exits(portfolio), rights };
}

/** Findings as they are reported: each once, and so many at most. @param assumptions of the market, reported first */
export function reportedFindings(
  { decisions, solves, indexExits, portfolioExits, rights }: FindingGroups,
  assumptions: readonly Finding[],
): Finding[] {
  const warnings = new Map<string, Finding>();
  for (const finding of [...assumptions, ...decisions, ...solves, ...indexExits, ...portfolioExits, ...rights])
    warnings.set(`${finding.code} ${finding.path} ${finding.message}`, finding);
  const all = [...warnings.values()];
  if (all.length <= FINDINGS_MAX) return all;
  const more: Finding = {
    severity: 'warning',
    code: 'MORE_FINDINGS',
    message: `${all.length - FINDINGS_MAX} more findings are not listed.`,
    path: '',
  };
  return [...all.slice(0, FINDINGS_MAX), more];
}

/** Rights issues without a subscription price of names that the book held. */
function unadjustedRights({ sm, from, length, columns, weights }: Book): Gap[] {
  const { all, starts } = sm.actions;
  const found: Gap[] = [];
  for (let a = starts[from + 1]!; a < starts[from + length]!; a++) {
    const { session, column, action } = all[a]!;
    if (action.type !== 'RIGHTS_ISSUE' || action.subscriptionPrice !== null || sm.market.adjustment === 'total')
      continue;
    const slot = columns.indexOf(column);
    if (slot >= 0 && weights[(session - 1 - from) * columns.length + slot] !== 0) found.push({ session, column });
  }
  return found;
}

interface Variants {
  readonly variants: Run['variants'];
  readonly ends: RunRemains['variants'];
}

function variantsOf({ compositions, book }: IndexRun, to: number): Variants {
  const {
    treatment,
    sm: { market },
  } = compositions;
  const own = variantOn(market, treatment.dividends);
  const known = new Map<ReturnVariant, VariantLevel>([[own, levelOf(book)]]);
  const ends: Partial<Record<ReturnVariant, BriefEnd>> = {};
  for (const variant of variantsOn(market)) {
    if (known.has(variant)) continue;
    const twin = treatment.withholding_tax === 0 ? known.get(UNTAXED_TWINS[variant]) : undefined;
    const other = twin === undefined ? indexBook({ compositions, to, variant, isBrief: true }) : null;
    if (other) ends[variant] = briefEnd(other);
    known.set(variant, twin ?? levelOf(other!)); // one of them is there
  }
  const levelIn = (variant: ReturnVariant): VariantLevel | null => known.get(variant) ?? null;
  return { variants: { price: levelIn('price'), total: levelIn('total'), net: levelIn('net') }, ends };
}

function levelOf({ value: level, divisor }: Pick<Book, 'value' | 'divisor'>): VariantLevel {
  return { level, divisor };
}

/** Where a book stands that is simulated for its levels alone. */
export function briefEnd(book: Book): BriefEnd {
  return { end: ownEnd(book), orders: book.unfilled.map((order) => ({ ...order, slot: book.columns[order.slot]! })) };
}

/** The end of a book that follows no other. */
export function ownEnd({ end }: Pick<Book, 'end'>): BookEnd {
  if ('held' in end) return end;
  throw new Error('a book that follows another has no holdings of its own');
}
