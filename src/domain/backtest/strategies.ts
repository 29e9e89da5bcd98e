import type { Engine } from '#kernels/engines/engine.js';
import { addRebalanceDate, type Finding } from '../base/findings.js';
import { findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import type { Book, Targets } from '../books/book.js';
import type { Composer, Composition, DecisionMemory } from '../books/compositions.js';
import { findRequestedShares, type IndexRun } from '../books/index-run.js';
import { hasAnyBar } from '../books/rebalance-dates.js';
import type { BacktestPlan, StrategyTerms } from '../definition/backtest-plan.js';
import type { ConstraintRow } from '../definition/constraint-class.js';
import type { DerivedDocument, IndexDocument } from '../definition/index-document.js';
import { listRebalanceDates, type RebalanceDate, type RebalanceSpec } from '../definition/schedule.js';
import {
  createDerivedSolver,
  type DerivedSolver,
  explainUnsolved,
  listFindings,
  listHeldWeights,
  refuseInfeasible,
  type SolverMemory,
} from '../optimisation/derived-index.js';
import type { ComputedRun } from './run.js';

export interface ConstrainInput {
  readonly document: IndexDocument;
  readonly rows: readonly ConstraintRow[];
  /** Compositions without constraints, ascending by session. */
  readonly rebalances: readonly Composition[];
  readonly composer: Composer;
  readonly engine: Engine;
  /** Solver memory of rebalances solved before. Default: none. */
  readonly memory?: DecisionMemory | null;
  readonly tick?: (fraction: number) => void;
}

export interface ConstrainedRebalances {
  /** Rebalances with the nearest weights that satisfy the constraint rows. Infeasible rebalances are omitted. */
  readonly rebalances: readonly Composition[];
  readonly findings: readonly Finding[];
  /** Solver memory on which later rebalances depend. */
  readonly memory: DecisionMemory;
}

export function createConstrainedDocument(document: IndexDocument, rows: readonly ConstraintRow[]): DerivedDocument {
  return {
    ...document,
    pipeline: null,
    derivation: { source_index_id: document.id, objective: 'min_tracking_error', constraints: [...rows] },
  };
}

/**
 * Solves the weights of a strategy under its constraint set at each of its rebalances, with the risk model of derived
 * indices. A rebalance that cannot be solved is skipped. If the first one cannot be solved, the strategy is refused.
 * @throws Refusal INFEASIBLE or SOLVER_FAILED on the first rebalance
 */
export function constrainRebalances({
  document,
  rows,
  rebalances,
  composer,
  engine,
  memory = null,
  tick,
}: ConstrainInput): ConstrainedRebalances {
  const constrainedDocument = createConstrainedDocument(document, rows);
  const createSolver = (visibleComposer: Composer, leftSolverMemory: SolverMemory | null): DerivedSolver =>
    createDerivedSolver({ document: constrainedDocument, composer: visibleComposer, engine, memory: leftSolverMemory });
  let [seenLast, solver] = [composer, createSolver(composer, memory)];
  const solvedCompositions: Composition[] = [];
  const findings: Finding[] = [];
  let latestSolve = memory?.solved ?? null;
  rebalances.forEach((rebalance, i) => {
    tick?.(i / rebalances.length);
    const { composer: visibleComposer, session } = composer.seatOf(document.id, rebalance.decision);
    if (visibleComposer !== seenLast)
      [seenLast, solver] = [visibleComposer, createSolver(visibleComposer, solver.memory())];
    const outgoingPortfolio = latestSolve && { ...latestSolve, effective: rebalance.session };
    const solve = solver.solve(
      { ...rebalance, decision: session },
      { previous: latestSolve, outgoing: outgoingPortfolio },
    );
    if (solve.outcome.kind !== 'solved') {
      if (latestSolve === null) throw refuseFirst(rebalance, refuseInfeasible(solver.solvers, solve));
      const { finding } = explainUnsolved(solver.solvers, solve);
      const message = `The rebalance of ${formatDay(rebalance.date)} was not executed, and the previous weights stay: ${finding.message}`;
      findings.push(
        ...addRebalanceDate([{ ...finding, severity: 'warning', path: CONSTRAINTS_PATH, message }], rebalance.date),
      );
      return;
    }
    const solvedWeights = listHeldWeights(solve);
    latestSolve = { session: rebalance.session, ...solvedWeights };
    const reports = listFindings(solve, visibleComposer.market(document.id)).map((finding) => ({
      ...finding,
      path: CONSTRAINTS_PATH,
    }));
    findings.push(...addRebalanceDate(reports, rebalance.date));
    const { columns, weights } = solvedWeights;
    const { targets: _targets, basket: _basket, fixedShares: _fixedShares, ...timing } = rebalance;
    solvedCompositions.push({
      ...timing,
      columns,
      weights,
      uncapped: weights,
      cap: null,
      capped: new Int32Array(0),
      redistributed: 0,
    });
  });
  return { rebalances: solvedCompositions, findings, memory: { ...solver.memory(), solved: latestSolve } };
}

/** Path of findings about the constraints of a strategy. */
const CONSTRAINTS_PATH = 'constraint_set_id';

function refuseFirst({ date }: Composition, { code, message, detail }: Refusal): Refusal {
  return new Refusal(code, `The constraint set allows no weights on ${formatDay(date)}: ${message}`, detail);
}

export interface StrategySpan {
  /** First and last session of the strategy. */
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the rebalances of a strategy with its own cadence. They are the holdings of the index at the close of the
 * first session and of every date of the cadence. A date without any price bar uses the prices of the latest session
 * before it, as for an index.
 * @cost O(R H)
 */
function decideStrategyRebalances(
  { book }: Pick<IndexRun, 'book'>,
  cadence: RebalanceSpec,
  { from, to }: StrategySpan,
): Composition[] {
  const { sessions, calendar } = book.sm;
  const dates = listRebalanceDates({
    rebalance: cadence,
    calendar,
    baseDay: sessions[from]!,
    from: sessions[from]!,
    to: sessions[to]!,
  });
  return listHoldings(book, [{ date: sessions[from]!, session: sessions[from]! }, ...dates], from);
}

export interface LaterSpan {
  readonly first: number;
  /** Last simulated session, and the new last session. */
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the rebalances after a session, for a book that continues from that session. Returns undefined if a rebalance
 * uses prices of that session or an earlier one. Earlier results would then change.
 */
export function selectLaterRebalances(
  { book }: Pick<IndexRun, 'book'>,
  cadence: RebalanceSpec,
  { first, from, to }: LaterSpan,
): Composition[] | undefined {
  const { sessions, calendar } = book.sm;
  const dates = listRebalanceDates({
    rebalance: cadence,
    calendar,
    baseDay: sessions[first]!,
    from: sessions[from]! + 1,
    to: sessions[to]!,
  });
  const rebalances = listHoldings(book, dates, from);
  return rebalances.some(({ session }) => session <= from) ? undefined : rebalances;
}

/**
 * Returns the holdings of a book on dates, by pricing session: the latest session with a price bar, but no session
 * before `first`.
 */
function listHoldings(
  book: IndexRun['book'],
  dates: readonly Pick<RebalanceDate, 'date' | 'session' | 'also'>[],
  first: number,
): Composition[] {
  const { sm } = book;
  const bySession = new Map<number, Day[]>();
  for (const { date, also = [], session } of dates) {
    let position = findLastAtMost(sm.sessions, session);
    while (position > first && !hasAnyBar(sm, position)) position--;
    bySession.set(position, [...new Set([...(bySession.get(position) ?? []), date, ...also])]);
  }
  return Array.from(bySession, ([session, days]) => createHoldingsComposition(book, days, session)).toSorted(
    (a, b) => a.session - b.session,
  );
}

/** Returns the initial holdings of a strategy: the holdings of its index at the close of its first session. */
function findOpening({ book }: Pick<IndexRun, 'book'>, from: number): Composition {
  return createHoldingsComposition(book, [book.sm.sessions[from]!], from);
}

/**
 * Returns the holdings of a book and its waiting purchases as a composition. The composition has no caps and no other
 * cash.
 */
function createHoldingsComposition(
  book: IndexRun['book'],
  [date, ...also]: readonly Day[],
  session: number,
): Composition {
  const { columns, weights } = findRequestedShares(book, session);
  return {
    date: date!,
    also,
    session,
    decision: session,
    announced: null,
    columns,
    weights,
    uncapped: weights,
    cap: null,
    capped: new Int32Array(0),
    redistributed: 0,
  };
}

/**
 * Returns the targets of a portfolio that follows an index. The first target is the holdings and pending securities of
 * the index at the first close of the portfolio. Each later rebalance of the index adds a target.
 */
export function followIndex({ book, compositions }: IndexRun, from: number): Targets[] {
  const request = findRequestedShares(book, from);
  const first = { session: from, ...request, ...readCountsAt(book, request.columns), ...readSharesAt(book, request) };
  return [first, ...compositions.list.filter(({ session }) => session > from)];
}

/** Returns the index shares at the first close of a portfolio that follows the index. */
function readSharesAt({ pending }: Book, { columns }: Pick<Targets, 'columns'>): Pick<Targets, 'fixedShares'> {
  const shares = pending?.shares;
  if (shares === undefined) return {};
  return { fixedShares: Float64Array.from(columns, (column) => shares.units[shares.columns.indexOf(column)] ?? 0) };
}

/** Returns the share counts of an index book's holdings at the first close of a portfolio that follows it. */
function readCountsAt({ pending }: Book, columns: Int32Array): Pick<Targets, 'counts'> {
  const holdingCounts = pending?.counts;
  if (holdingCounts === undefined) return {};
  const positions = Array.from(columns, (column) => holdingCounts.columns.indexOf(column));
  const selectCounts = (counts: Float64Array): Float64Array =>
    Float64Array.from(positions, (place) => counts[place] ?? Number.NaN);
  return { counts: { adopted: selectCounts(holdingCounts.adopted), latest: selectCounts(holdingCounts.latest) } };
}

/** Returns true if a strategy only holds its index. */
export function isPlain(strategy: StrategyTerms): boolean {
  const { rebalance, exposure, constraints } = strategy;
  return rebalance === null && findTolerance(strategy) === undefined && exposure === 1 && constraints === undefined;
}

/** Returns the tolerance of a strategy. Returns undefined if it trades every difference, as it does at tolerance 0. */
export function findTolerance(strategy: StrategyTerms | undefined): number | undefined {
  const tolerance = strategy?.drift_tolerance ?? 0;
  return tolerance === 0 ? undefined : tolerance;
}

/**
 * Returns true if a strategy has its own rebalance dates or weights. Changes of share counts then do not change its
 * holdings.
 */
export function hasOwnRebalances(strategy: StrategyTerms | undefined): boolean {
  return strategy !== undefined && (strategy.rebalance !== null || strategy.constraints !== undefined);
}

interface StrategyTermsInput {
  readonly plan: BacktestPlan;
  readonly composer: Composer;
  readonly engine: Engine;
  readonly from: number;
  readonly to: number;
  readonly tick: (fraction: number) => void;
}

interface StrategyDecisions extends Pick<ComputedRun, 'warnings' | 'solves'> {
  readonly own: readonly Composition[] | null;
}

/**
 * Returns the separate rebalances of a strategy, from its cadence or from optimised weights. `own` is null if the
 * strategy follows the rebalances of the index.
 */
export function decideStrategyTerms(
  index: IndexRun,
  { plan: { strategy }, composer, engine, from, to, tick }: StrategyTermsInput,
): StrategyDecisions {
  if (strategy === undefined) return { own: null, warnings: [], solves: null };
  const ownRebalances =
    strategy.rebalance === null ? null : decideStrategyRebalances(index, strategy.rebalance, { from, to });
  if (strategy.constraints === undefined) return { own: ownRebalances, warnings: [], solves: null };
  const { document, list } = index.compositions;
  const targetRebalances = ownRebalances ?? [
    findOpening(index, from),
    ...list.filter(({ session }) => session > from && session <= to),
  ];
  const { rebalances, findings, memory } = constrainRebalances({
    document,
    rows: strategy.constraints,
    rebalances: targetRebalances,
    composer,
    engine,
    tick,
  });
  return { own: rebalances, warnings: findings, solves: memory };
}

interface StrategyRebalances {
  readonly from: number;
  /** Separate rebalances of the strategy; null if it follows the index. */
  readonly own: readonly Composition[] | null;
}

/** Returns the targets of a strategy: at each of its rebalances, the index holdings times the invested fraction. */
export function createStrategyTargets(
  index: IndexRun,
  { exposure }: StrategyTerms,
  { from, own }: StrategyRebalances,
): readonly Targets[] {
  const targets: readonly Targets[] = own ?? followIndex(index, from);
  if (exposure === 1) return targets;
  return targets.map(({ session, columns, weights, counts }) => ({
    session,
    columns,
    ...(counts === undefined ? {} : { counts }),
    weights: weights.map((weight) => exposure * weight),
  }));
}
