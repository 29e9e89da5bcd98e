import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { Calendars } from '../../calendars/calendar.js';
import type { Day } from '../../days.js';
import {
  isDerivedDocument,
  isRuleDocument,
  type DerivedDocument,
  type IndexDocument,
} from '../../documents/index-document.js';
import type { Finding } from '../../findings.js';
import { RETURN_VARIANTS, type MarketData, type ReturnVariant } from '../../market/market-data.js';
import { alignMarket, BeforeMarket, markWindow, type SessionMarket } from '../../market/session-market.js';
import { derivedLookBack } from '../../optimisation/derived-look-back.js';
import { lookBackOf, type LookBack } from '../../rules/look-back.js';
import { lastAtMost } from '../../search.js';
import { constrainedDocument, constrainRebalances, type Constrained } from '../../strategies/constrained-rebalances.js';
import { laterRebalances } from '../../strategies/own-rebalances.js';
import { bareSeries, type BenchmarkRun, type SeriesEnd } from '../simulate/benchmark.js';
import { movedOrder, type Book, type BookInput, type BookResume, type Targets } from '../simulate/book.js';
import type { DatedSeries } from '../../analytics/relative.js';
import { treatmentOf, type IndexContext, type StoredBook, type KnownIndex, type RunCheckpoint } from './checkpoint.js';
import type { DecisionMemory } from '../simulate/decider.js';
import {
  createComposer,
  dueAfter,
  type ResumedIndex,
  type Composer,
  type Composition,
  type Compositions,
  type DeciderFactory,
  type DueRebalance,
} from '../simulate/compositions.js';
import { followBook } from '../simulate/follow-book.js';
import { CannotResume } from './reasons.js';
import { indexTerms } from '../simulate/index-run.js';
import type { BacktestPlan } from '../plan.js';
import { lastPriced } from '../run.js';
import { simulateBook } from '../simulate/simulate-book.js';
import { requestedRange, type RequestedRange } from '../simulate/window.js';

export interface ResumeRunInput {
  readonly plan: BacktestPlan;
  readonly checkpoint: RunCheckpoint;
  readonly calendars: Calendars;
  /** The market, without cash paid on days that the checkpoint has behind it. */
  readonly market: MarketData;
  /** The market without cash paid on days up to one, for decisions. */
  readonly marketSince: (day: Day) => MarketData;
  /** The whole of it, for decisions that look back further than they say. */
  readonly wholeMarket: () => MarketData;
  readonly createDecider: DeciderFactory;
  /** Multiplies matrices for the constraint set of a strategy; plain loops unless given. */
  readonly engine?: Engine;
  readonly report: (fraction: number, message: string) => void;
}

/** The sessions that a run has more: every book begins with the session that the stored run ended on. */
export interface Continuation {
  readonly range: RequestedRange;
  readonly index: IndexContinuation;
  readonly portfolio: Book;
  readonly parent: IndexContinuation | null;
  readonly benchmark: IndexContinuation | null;
  readonly series: {
    readonly added: DatedSeries;
    readonly end: SeriesEnd;
    readonly variant: BenchmarkRun['variant'];
  } | null;
  readonly variants: Readonly<Partial<Record<ReturnVariant, Book>>>;
  readonly uncapped: Book | null;
  /** Rebalances of the run itself. */
  readonly rebalances: readonly Composition[];
  /** Of a strategy's constraint set: warnings of the solves, and what they left. */
  readonly solves: Pick<Constrained, 'findings'> & { readonly memory: DecisionMemory | null };
  /** Every index that the run reaches, with what it decided last. */
  readonly reached: readonly KnownIndex[];
}

/** An index over the sessions that its book has more. */
export interface IndexContinuation extends IndexContext {
  /** Session that the stored book ended on, and the last one. */
  readonly from: number;
  readonly to: number;
  readonly book: Book;
  readonly composed: readonly Composition[];
  readonly findings: readonly Finding[];
}

/**
 * Simulates what a run has more than a stored one. The same market up to the checkpoint gives the same bits as running the whole.
 * @throws CannotResume
 * @throws Refusal as the whole run would
 * @cost O(N) and a pass over the new sessions; with a rebalance on them that of deciding it and a pass over the sessions it looks back
 */
export function resumeRun(input: ResumeRunInput): Continuation {
  const { plan, checkpoint, report } = input;
  const { request, documents, indexId } = plan;
  const document = documents[indexId]!;
  const parentId = document.derivation?.source_index_id ?? null;
  const benchmarkId = request.benchmark?.kind === 'index' ? request.benchmark.id : null;
  const seen = view(input);
  report(0.3, 'resuming the stored run');
  const index = resumeIndex(seen, checkpoint.index, indexId);
  const { rebalances, ...solves } = rebalancesAfter(input, seen, index);
  const portfolio = resumePortfolio(input, index, rebalances);
  const series =
    request.benchmark?.kind === 'identifier'
      ? bareSeries(index, request.benchmark, { from: index.from + 1, to: index.to, begin: checkpoint.series! })
      : null;
  const variants: Partial<Record<ReturnVariant, Book>> = {};
  for (const variant of RETURN_VARIANTS) {
    const brief = checkpoint.remains.variants[variant];
    if (brief) variants[variant] = resumeBook(index, { stored: { ...checkpoint.index, ...brief }, variant });
  }
  const { uncapped } = checkpoint.remains;
  return {
    range: seen.range,
    reached: seen.reached,
    index,
    portfolio,
    variants,
    rebalances,
    solves,
    parent: parentId === null ? null : resumeIndex(seen, checkpoint.parent!, parentId),
    benchmark: benchmarkId === null ? null : resumeIndex(seen, checkpoint.benchmark!, benchmarkId),
    series: series && { added: series.series, end: series.end, variant: series.variant },
    uncapped: uncapped && resumeBook(index, { stored: { ...checkpoint.index, ...uncapped }, isUncapped: true }),
  };
}

/** The market as the indices of a run see it from their last sessions on, and what they decide there. */
interface View {
  readonly range: RequestedRange;
  contextOf(indexId: string): IndexContext;
  spanOf(indexId: string): Span;
  decided(indexId: string): Pick<IndexContinuation, 'composed' | 'findings'>;
  /** Does work with a composer on as much of the market as is looked back on, on the whole where that is not enough. */
  composing<T>(looks: readonly Look[], work: (composer: Composer) => T): T;
  /** Every index that the run reaches, with what it has decided. */
  readonly reached: readonly KnownIndex[];
}

/** First and last session of what an index has more: the one that it was simulated to, and the one that it is now. */
interface Span {
  readonly from: number;
  readonly to: number;
}

function view(input: ResumeRunInput): View {
  const {
    plan: { documents, indexId, request },
    checkpoint,
    calendars,
    market,
  } = input;
  const ids = [...checkpoint.recent.keys()];
  const marked = new Map<string, SessionMarket>();
  for (const id of ids) {
    const { calendar: code } = documents[id]!;
    if (marked.has(code)) continue;
    // A plan whose calendar is not known is not queued.
    marked.set(
      code,
      alignMarket({ market, calendar: calendars.get(code)!, calendars, mark: checkpoint.marks.get(code)! }),
    );
  }
  const smOf = (id: string) => marked.get(documents[id]!.calendar)!;
  const main = smOf(indexId);
  const range = requestedRange({
    document: documents[indexId]!,
    calendar: main.calendar,
    dates: market.dates,
    request,
  });
  const from = main.mark!.session;
  const last = lastAtMost(main.sessions, range.end);
  const to = last <= from ? from : lastPriced(main, last);
  if (to <= from) throw new CannotResume('no_new_session');
  const day = main.sessions[to]!;
  const spanOf = (id: string): Span => ({ from: smOf(id).mark!.session, to: lastAtMost(smOf(id).sessions, day) });
  const resumed = new Map(
    ids.map((id) => {
      const { first, list, memory } = checkpoint.recent.get(id)!;
      return [id, { first, before: list, memory, due: dueOf(documents[id]!, smOf(id), { first, ...spanOf(id) }) }];
    }),
  );
  const due: DueInput = { marked, resumed, day };
  const composed = decideDue(input, due);
  return {
    range,
    spanOf,
    composing: (looks, work) => composingOn(input, due, { looks, work }),
    contextOf: (id) => ({ document: documents[id]!, treatment: treatmentOf(documents, id), sm: smOf(id) }),
    decided(id) {
      const found = composed.get(id);
      return found === undefined ? NOTHING : { composed: found.list, findings: found.findings };
    },
    reached: ids.map((id) => {
      const { first, before, memory } = resumed.get(id)!;
      const found = composed.get(id) ?? { list: [], memory };
      return {
        document: documents[id]!,
        sm: smOf(id),
        first,
        list: [...before, ...found.list],
        memory: found.memory,
        to: spanOf(id).to,
      };
    }),
  };
}

const NOTHING: Pick<IndexContinuation, 'composed' | 'findings'> = { composed: [], findings: [] };

/** @throws CannotResume when a rebalance is priced from a session that has been simulated: nothing traded on the one it was due on */
function dueOf(
  document: IndexDocument,
  sm: SessionMarket,
  { first, from, to }: Span & { readonly first: number },
): DueRebalance[] {
  const due = to === from ? [] : dueAfter(document, sm, { first: Math.max(first, from), after: from, last: to });
  if (due.some(({ session }) => session <= from)) throw new CannotResume('rebalance');
  return due;
}

interface DueInput {
  /** By calendar, the market from the last sessions on. */
  readonly marked: ReadonlyMap<string, SessionMarket>;
  readonly resumed: ReadonlyMap<string, ResumedIndex>;
  readonly day: Day;
}

/** What indices decide on rebalances that are due. */
function decideDue(input: ResumeRunInput, due: DueInput): ReadonlyMap<string, Compositions> {
  const ids = [...due.resumed.keys()];
  if ([...due.resumed.values()].every((index) => index.due.length === 0)) return new Map();
  return composingOn(input, due, {
    looks: looksOf(input, due),
    work: (composer) => new Map(ids.map((id) => [id, composer.compositions(id)])),
  });
}

/** How far back something looks on a calendar. */
interface Look {
  readonly code: string;
  readonly lookBack: LookBack;
}

/** How far back the decisions that are due look. */
function looksOf({ plan: { documents } }: ResumeRunInput, { marked, resumed }: DueInput): Look[] {
  return [...resumed].flatMap(([id, { due, memory }]) =>
    due.flatMap(({ decision }): Look[] => {
      const document = documents[id]!;
      if (isRuleDocument(document))
        return [
          {
            code: document.calendar,
            lookBack: lookBackOf({ document, sessions: marked.get(document.calendar)!.sessions, decision }),
          },
        ];
      if (!isDerivedDocument(document)) return [];
      const { source_index_id: parentId } = document.derivation;
      return [solveLook({ documents, marked, document, decision, parents: resumed.get(parentId)!.before, memory })];
    }),
  );
}

interface SolveLookInput extends Pick<DueInput, 'marked'>, Pick<BacktestPlan, 'documents'> {
  readonly document: DerivedDocument;
  readonly decision: number;
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

/** How far back an optimisation looks, on the calendar of the index that it is made towards. */
function solveLook({ documents, marked, document, ...solve }: SolveLookInput): Look {
  const { source_index_id: parentId } = document.derivation;
  const { calendar: code } = documents[parentId]!;
  const { max_stale_sessions: maxStaleSessions } = treatmentOf(documents, parentId);
  return {
    code,
    lookBack: derivedLookBack({ ...solve, document, maxStaleSessions, sessions: marked.get(code)!.sessions }),
  };
}

interface ComposingWork<T> {
  readonly looks: readonly Look[];
  readonly work: (composer: Composer) => T;
}

/** Work on as much of the market as it looks back on; on the whole where that is more than it says. */
function composingOn<T>(
  input: ResumeRunInput,
  { marked, resumed, day }: DueInput,
  { looks, work }: ComposingWork<T>,
): T {
  const {
    plan: { documents },
    calendars,
    createDecider,
    report,
  } = input;
  const on = (market: MarketData, aligned?: ReadonlyMap<string, SessionMarket>): T => {
    const tick = (fraction: number): void => report(0.2 * fraction, 'deciding compositions');
    return work(
      createComposer({
        market,
        calendars,
        documents,
        until: day,
        createDecider,
        resumed,
        tick,
        ...(aligned ? { aligned } : {}),
      }),
    );
  };
  const seen = marketOver(input, { marked, looks });
  if (seen !== null) {
    try {
      return on(seen.market, seen.aligned);
    } catch (thrown) {
      if (!(thrown instanceof BeforeMarket)) throw thrown;
    }
  }
  return on(input.wholeMarket());
}

/** The market from the sessions on that are looked back to; null where that is its beginning. */
function marketOver(
  { calendars, checkpoint, marketSince }: ResumeRunInput,
  { marked, looks }: Pick<DueInput, 'marked'> & { readonly looks: readonly Look[] },
) {
  const first = new Map<string, number>();
  for (const {
    code,
    lookBack: { session },
  } of looks)
    first.set(code, Math.min(first.get(code) ?? marked.get(code)!.mark!.session, session));
  if ([...first.values()].some((session) => session <= 0)) return null;
  const market = marketSince(Math.min(...looks.map(({ lookBack }) => lookBack.paidAfter)));
  const aligned = new Map(marked);
  for (const [code, session] of first) {
    const calendar = calendars.get(code)!; // that of an aligned market
    aligned.set(
      code,
      alignMarket({
        market,
        calendar,
        calendars,
        mark: markWindow({ market, calendar, session, later: checkpoint.marks.get(code)! }),
      }),
    );
  }
  return { market, aligned };
}

function resumeIndex(seen: View, stored: StoredBook, indexId: string): IndexContinuation {
  const index = { ...seen.contextOf(indexId), ...seen.decided(indexId), ...seen.spanOf(indexId) };
  return { ...index, book: resumeBook(index, { stored }) };
}

interface ResumeBook {
  readonly stored: StoredBook;
  /** Another variant than the index's own, for its levels alone. */
  readonly variant?: ReturnVariant;
  /** On the weights before capping, for its levels alone. */
  readonly isUncapped?: boolean;
}

/** The book of an index resumed, on the terms that `indexBook` begins it on. */
function resumeBook(index: Omit<IndexContinuation, 'book'>, { stored, variant, isUncapped = false }: ResumeBook): Book {
  const { sm, treatment, document, composed, from, to } = index;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    from,
    to,
    growth: indexTerms(index, variant),
    ...(variant ? { indexTerms: indexTerms(index) } : {}),
    isBrief: isUncapped || variant !== undefined,
    targets: composed.map(({ session, columns, weights, uncapped }) => ({
      session,
      columns,
      weights: isUncapped ? uncapped : weights,
    })),
    initialValue: document.base_value,
    costRate: 0,
    fills: 'all',
    resume: resumeOf(stored, from),
  });
}

/** A stored book as it is resumed from a session, which its orders are placed from. */
function resumeOf({ end, first, columns, orders }: StoredBook, from: number): BookResume {
  const shift = from - first;
  return { end, first, columns, orders: orders.map((order) => movedOrder(order, -shift)) };
}

/**
 * Rebalances of the run on the new sessions: those of its index, but for a strategy that has its own by a cadence, or solves their weights.
 * @throws CannotResume when one is priced from a session that has been simulated
 */
function rebalancesAfter(
  { plan: { strategy, documents }, checkpoint, engine = referenceEngine, report }: ResumeRunInput,
  seen: View,
  index: IndexContinuation,
): Pick<Constrained, 'rebalances' | 'findings'> & { readonly memory: DecisionMemory | null } {
  const { solves: memory } = checkpoint.remains;
  const { document, from, to, composed } = index;
  const dated = strategy?.rebalance
    ? laterRebalances(index, strategy.rebalance, { first: checkpoint.from, from, to })
    : composed;
  if (dated === undefined) throw new CannotResume('rebalance');
  const rows = strategy?.constraints;
  if (rows === undefined || dated.length === 0) return { rebalances: dated, findings: [], memory };
  const marked = new Map([[document.calendar, index.sm]]);
  const looks = dated.map((rebalance) =>
    solveLook({
      documents,
      marked,
      document: constrainedDocument(document, rows),
      decision: rebalance.decision,
      parents: [rebalance],
      memory,
    }),
  );
  const tick = (fraction: number): void => report(0.3 + 0.1 * fraction, 'solving the constraint set');
  return seen.composing(looks, (composer) =>
    constrainRebalances({ document, rows, rebalances: dated, composer, engine, memory, tick }),
  );
}

function resumePortfolio(
  { plan: { request, strategy }, checkpoint: { portfolio } }: ResumeRunInput,
  index: IndexContinuation,
  rebalances: readonly Composition[],
): Book {
  const { sm, treatment, from, to, book } = index;
  const exposure = strategy?.exposure ?? 1;
  const targets =
    strategy === undefined
      ? rebalances
      : rebalances.map(({ session, columns, weights }): Targets => ({
          session,
          columns,
          weights: weights.map((weight) => exposure * weight),
        }));
  const following: BookInput = {
    title: 'The portfolio',
    sm,
    treatment,
    from,
    to,
    targets,
    growth: indexTerms(index),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(strategy?.drift_tolerance == null ? {} : { tolerance: strategy.drift_tolerance }),
  };
  if ('end' in portfolio) return simulateBook({ ...following, resume: resumeOf(portfolio, from) });
  const followed = followBook(following, book, portfolio);
  if (!followed) throw new CannotResume('holdings_diverged');
  return followed;
}
