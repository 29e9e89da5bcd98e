import type { Engine } from '#kernels/engines/engine.js';
import type { Targets } from '../books/book.js';
import type { Composer, Composition } from '../books/compositions.js';
import { constrainRebalances } from '../strategies/constrained-rebalances.js';
import { openingOf, ownRebalances } from '../strategies/own-rebalances.js';
import { askedAt, type IndexRun } from '../books/index-run.js';
import type { BacktestPlan, StrategyTerms } from '../documents/backtest-plan.js';
import type { ComputedRun } from './run.js';

/**
 * Targets of a portfolio that follows an index: what the index holds or waits for at the first close, then its
 * rebalances.
 */
export function followIndex({ book, compositions }: IndexRun, from: number): Targets[] {
  return [{ session: from, ...askedAt(book, from) }, ...compositions.list.filter(({ session }) => session > from)];
}

/** Whether a strategy does nothing but hold its index. */
export function isPlain({ rebalance, drift_tolerance: tolerance, exposure, constraints }: StrategyTerms): boolean {
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

interface OwnTerms extends Pick<ComputedRun, 'warnings' | 'solves'> {
  readonly own: readonly Composition[] | null;
}

/**
 * Rebalances that a strategy has of its own, by its cadence or because it solves their weights; null when it takes
 * those of the index.
 */
export function ownTerms(
  index: IndexRun,
  { plan: { strategy }, composer, engine, from, to, tick }: OwnInput,
): OwnTerms {
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
export function strategyTargets(
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
