import { isEqual } from '../numbers/number-types.js';
import type { Composition, Leg, LegPair, Transition } from './compositions.js';
import type { DueRebalance } from './due-rebalances.js';
import { pendingShares } from './pending-shares.js';
import { weightMoved } from './weight-moved.js';
import { sameColumns, type TakingIndex } from './take-effect.js';

/** A whole rebalance at the first close of its phase. */
export interface WholeRebalance {
  /** In force until then. */
  readonly before: Composition;
  /** What the rebalance leads to, as if it took effect at once. */
  readonly whole: Composition;
}

/**
 * The first close of a phase: both portfolios have the market value of the index, and shares move from the one to the other
 * in the increments of the phase.
 */
export function beginPhase(index: TakingIndex, due: DueRebalance, { before, whole }: WholeRebalance): Composition {
  const { session } = due;
  const isBasket = before.basket !== undefined && whole.basket !== undefined;
  const held = (weights: Float64Array): Leg => {
    const { columns } = before;
    const leg = advanced(index, { columns, weights, value: before.basket ?? 1 }, before.session, session);
    return isBasket ? leg : { ...leg, value: 1 };
  };
  const target = (weights: Float64Array): Leg => ({
    columns: whole.columns,
    weights,
    value: isBasket ? whole.basket : 1,
  });
  const isCapped = !isEqual(before.weights, before.uncapped) || !isEqual(whole.weights, whole.uncapped);
  const targets = whole.targets ?? { columns: whole.columns, weights: whole.weights };
  return mixed({ ...whole, targets }, due, {
    applied: { held: held(before.weights), target: target(whole.weights) },
    ...(isCapped ? { uncapped: { held: held(before.uncapped), target: target(whole.uncapped) } } : {}),
    caps: { cap: whole.cap, capped: whole.capped, redistributed: whole.redistributed },
    isBasket,
  });
}

/**
 * A later close of a phase, from the one before it. With weights that hold at the effective close the target keeps its
 * weights and the market value of the shares before; else its shares drift.
 */
export function continuePhase(
  index: TakingIndex,
  due: DueRebalance,
  before: Composition & { readonly transition: Transition },
): Composition {
  const { session: from, transition } = before;
  const { uncapped } = transition;
  const isFixed = index.weightsAs === 'weights';
  const advance = ({ held, target }: LegPair): LegPair => {
    const later = advanced(index, held, from, due.session);
    const drifted = advanced(index, target, from, due.session);
    return { held: later, target: isFixed ? keepingWeights(target, drifted, later.value) : drifted };
  };
  return mixed(before, due, {
    ...transition,
    applied: advance(transition.applied),
    ...(uncapped === undefined ? {} : { uncapped: advance(uncapped) }),
  });
}

/** Weights of a leg that stay as they are, but for constituents that have left. */
function keepingWeights({ columns, weights }: Leg, { columns: staying }: Leg, value: number): Leg {
  const kept = staying.filter((column) => columns.includes(column));
  const own = Float64Array.from(kept, (column) => weights[columns.indexOf(column)]!);
  const sum = own.reduce((total, weight) => total + weight, 0);
  return { columns: kept, weights: kept.length === columns.length ? own : own.map((weight) => weight / sum), value };
}

/** A portfolio from one close to a later one: corporate actions adjust its shares, and what leaves is distributed. */
export function advanced(
  index: Omit<TakingIndex, 'weightsAs'>,
  { columns, weights, value }: Leg,
  from: number,
  to: number,
): Leg {
  if (from === to) return { columns, weights, value };
  const { growth, ...taken } = pendingShares({ ...index, pricing: from, session: to }, { columns, weights });
  return { columns: taken.columns, weights: taken.weights, value: value * growth };
}

/** The composition of a close: the fraction of the target, the rest of what was held. */
function mixed(like: Composition, due: DueRebalance, transition: Transition): Composition {
  const { fraction } = due.phase!; // a close of a phase
  const { applied, uncapped = applied, isBasket } = transition;
  const { columns, weights, value } = mixOf(applied, fraction);
  const { basket: _basket, transition: _transition, ...rest } = like;
  const raw = uncapped === applied ? weights : sameColumns(mixOf(uncapped, fraction), { columns });
  return {
    ...rest,
    ...due,
    columns,
    weights,
    uncapped: raw,
    ...(fraction === 1 ? capsOn(transition.caps, columns) : { ...UNCAPPED, redistributed: weightMoved(raw, weights) }),
    ...(isBasket ? { basket: value } : {}),
    ...(fraction < 1 ? { transition } : {}),
  };
}

/** Nothing is capped before the target is reached. */
const UNCAPPED = { cap: null, capped: new Int32Array(0) };

function capsOn({ capped, ...caps }: Transition['caps'], columns: Int32Array): Transition['caps'] {
  return { ...caps, capped: capped.filter((column) => columns.includes(column)) };
}

function mixOf({ held, target }: LegPair, fraction: number): Leg {
  if (fraction === 1) return target;
  const [kept, moved] = [(1 - fraction) * held.value, fraction * target.value];
  const value = kept + moved;
  const weightOf = new Map<number, number>();
  held.columns.forEach((column, k) => void weightOf.set(column, (kept * held.weights[k]!) / value));
  target.columns.forEach(
    (column, k) => void weightOf.set(column, (weightOf.get(column) ?? 0) + (moved * target.weights[k]!) / value),
  );
  const entries = [...weightOf].toSorted(([a], [b]) => a - b);
  return {
    columns: Int32Array.from(entries, ([column]) => column),
    weights: Float64Array.from(entries, ([, weight]) => weight),
    value,
  };
}
