import type { Engine } from '#kernels/engines/engine.js';
import type { Book, Targets } from '../books/book.js';
import type { Composer, Composition } from '../books/compositions.js';
import { constrainRebalances } from '../strategies/constrained-rebalances.js';
import { findOpening, decideStrategyRebalances } from '../strategies/own-rebalances.js';
import { findRequestedShares, type IndexRun } from '../books/index-run.js';
import type { BacktestPlan, StrategyTerms } from '../documents/backtest-plan.js';
import type { ComputedRun } from './run.js';

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
export function isPlain({ rebalance, drift_tolerance: tolerance, exposure, constraints }: StrategyTerms): boolean {
  return rebalance === null && tolerance === null && exposure === 1 && constraints === undefined;
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
