import { isEqual } from '../numbers/number-types.js';
import {
  restoreDecided,
  type Composition,
  type PhasePortfolio,
  type PortfolioPair,
  type Transition,
} from './compositions.js';
import type { SecurityCounts } from './security-counts.js';
import type { DueRebalance } from './due-rebalances.js';
import { computePendingShares } from './pending-shares.js';
import { sumMovedWeight } from './moved-weight.js';
import { alignToColumns, type AdoptingIndex } from './take-effect.js';

/** Rebalance that is spread over several closes. */
export interface PhasedRebalance {
  /** Composition in force before the phase. */
  readonly before: Composition;
  /** Composition that results if the whole rebalance takes effect at one close. */
  readonly whole: Composition;
}

/**
 * Starts a rebalance that is spread over several closes, at its first close. Old and new portfolio both have the market
 * value of the index. At each close a part of the index shares moves from the old to the new portfolio.
 */
export function beginPhase(index: AdoptingIndex, due: DueRebalance, { before, whole }: PhasedRebalance): Composition {
  const { session } = due;
  const isBasket = before.basket !== undefined && whole.basket !== undefined;
  const createOldPortfolio = (weights: Float64Array): PhasePortfolio => {
    const leg = advancePortfolio(
      index,
      { columns: before.columns, weights, value: before.basket ?? 1, ...readShareCounts(before), ...readFixed(before) },
      before.session,
      session,
    );
    const { fixedShares: _fixedShares, ...drifted } = leg;
    return isBasket ? leg : { ...drifted, value: 1 };
  };
  const createTarget = (weights: Float64Array): PhasePortfolio => ({
    columns: whole.columns,
    weights,
    value: isBasket ? whole.basket : 1,
    ...readShareCounts(whole),
    ...readFixed(whole),
  });
  const isCapped = !isEqual(before.weights, before.uncapped) || !isEqual(whole.weights, whole.uncapped);
  const targets = restoreDecided(whole);
  return mixPortfolios({ ...whole, targets }, due, {
    applied: { held: createOldPortfolio(before.weights), target: createTarget(whole.weights) },
    ...(isCapped
      ? { uncapped: { held: createOldPortfolio(before.uncapped), target: createTarget(whole.uncapped) } }
      : {}),
    caps: { cap: whole.cap, capped: whole.capped, redistributed: whole.redistributed },
    isBasket,
  });
}

/**
 * Continues a rebalance that is spread over several closes, from its previous close. If `weights_as` is `weights`, the
 * target portfolio keeps its weights at the market value of the old portfolio; otherwise its shares drift.
 */
export function continuePhase(
  index: AdoptingIndex,
  due: DueRebalance,
  before: Composition & { readonly transition: Transition },
): Composition {
  const { session: from, transition } = before;
  const { uncapped } = transition;
  const isFixed = index.weightsAs === 'weights';
  const advancePair = ({ held, target }: PortfolioPair): PortfolioPair => {
    const later = advancePortfolio(index, held, from, due.session);
    const driftedPortfolio = advancePortfolio(index, target, from, due.session);
    return { held: later, target: isFixed ? keepWeights(target, driftedPortfolio, later.value) : driftedPortfolio };
  };
  return mixPortfolios(before, due, {
    ...transition,
    applied: advancePair(transition.applied),
    ...(uncapped === undefined ? {} : { uncapped: advancePair(uncapped) }),
  });
}

/** Returns a portfolio with its previous weights and a new value, without constituents that have left. */
function keepWeights(
  { columns, weights }: PhasePortfolio,
  { columns: staying, counts }: PhasePortfolio,
  value: number,
): PhasePortfolio {
  const remainingColumns = staying.filter((column) => columns.includes(column));
  const remainingCounts = counts && collectCounts(remainingColumns, [{ columns: staying, counts }]);
  const remainingWeights = Float64Array.from(remainingColumns, (column) => weights[columns.indexOf(column)]!);
  const sum = remainingWeights.reduce((total, weight) => total + weight, 0);
  return {
    columns: remainingColumns,
    weights:
      remainingColumns.length === columns.length ? remainingWeights : remainingWeights.map((weight) => weight / sum),
    value,
    ...(remainingCounts ? { counts: remainingCounts } : {}),
  };
}

/**
 * Advances a portfolio from one close to a later one. Corporate actions adjust its shares. If a security leaves, the
 * others take over its weight.
 */
export function advancePortfolio(
  index: Omit<AdoptingIndex, 'weightsAs'>,
  { value, ...leg }: PhasePortfolio,
  from: number,
  to: number,
): PhasePortfolio {
  if (from === to) return { ...leg, value };
  const basket = leg.fixedShares === undefined ? {} : { basket: value };
  const { growth, ...taken } = computePendingShares({ ...index, pricing: from, session: to }, { ...leg, ...basket });
  return { ...taken, value: value * growth };
}

const readFixed = ({ fixedShares }: Pick<PhasePortfolio, 'fixedShares'>): Pick<PhasePortfolio, 'fixedShares'> =>
  fixedShares === undefined ? {} : { fixedShares };

export function readShareCounts({ counts }: Pick<PhasePortfolio, 'counts'>): Pick<PhasePortfolio, 'counts'> {
  return counts === undefined ? {} : { counts };
}

/** Returns the share counts of securities, each from the first portfolio that holds the security. */
function collectCounts(
  columns: Int32Array,
  legs: readonly Pick<PhasePortfolio, 'columns' | 'counts'>[],
): SecurityCounts {
  const countsByColumn = new Map<number, readonly [number, number]>();
  for (const { columns: legColumns, counts } of legs.toReversed())
    legColumns.forEach(
      (column, k) =>
        void countsByColumn.set(column, [counts?.adopted[k] ?? Number.NaN, counts?.latest[k] ?? Number.NaN]),
    );
  return {
    adopted: Float64Array.from(columns, (column) => countsByColumn.get(column)?.[0] ?? Number.NaN),
    latest: Float64Array.from(columns, (column) => countsByColumn.get(column)?.[1] ?? Number.NaN),
  };
}

/**
 * Returns the composition at one close of a rebalance that is spread over several closes. The completed fraction is in
 * the target portfolio, the rest in the old portfolio.
 */
function mixPortfolios(like: Composition, due: DueRebalance, transition: Transition): Composition {
  const { fraction } = due.phase!; // only closes of a phase reach this function
  const { applied, uncapped = applied, isBasket } = transition;
  const { columns, weights, value, fixedShares } = mixPair(applied, fraction);
  const {
    basket: _basket,
    fixedShares: _shares,
    transition: _transition,
    worth: _worth,
    counts: ofLike,
    ...rest
  } = like;
  const raw = uncapped === applied ? weights : alignToColumns(mixPair(uncapped, fraction), { columns });
  return {
    ...rest,
    ...due,
    columns,
    weights,
    uncapped: raw,
    ...(fraction === 1 && satisfiesCapsBetween(transition.caps, { columns, weights })
      ? selectCaps(transition.caps, columns)
      : { ...NO_CAP, redistributed: sumMovedWeight(raw, weights) }),
    ...(isBasket ? { basket: value } : {}),
    ...(isBasket && fixedShares !== undefined ? { fixedShares } : {}),
    ...(ofLike === undefined ? {} : { counts: collectCounts(columns, [applied.target, applied.held]) }),
    ...(fraction < 1 ? { transition } : {}),
  };
}

/**
 * Returns true if the caps still hold. They may not: securities that leave between the closes change the other weights.
 */
function satisfiesCapsBetween(
  { cap, capped }: Transition['caps'],
  { columns, weights }: Pick<Composition, 'columns' | 'weights'>,
): boolean {
  if (cap === null) return true;
  return weights.every((weight, k) =>
    capped.includes(columns[k]!) ? Math.abs(weight - cap) <= ROUNDING : weight <= cap + ROUNDING,
  );
}

/** Maximum difference of two weights that are equal up to rounding. */
const ROUNDING = 1e-12;

/** Cap fields before the target is reached, when no cap applies. */
const NO_CAP = { cap: null, capped: new Int32Array(0) };

function selectCaps({ capped, ...caps }: Transition['caps'], columns: Int32Array): Transition['caps'] {
  return { ...caps, capped: capped.filter((column) => columns.includes(column)) };
}

function mixPair({ held, target }: PortfolioPair, fraction: number): PhasePortfolio {
  if (fraction === 1) return target;
  const [kept, moved] = [(1 - fraction) * held.value, fraction * target.value];
  const value = kept + moved;
  const weightByColumn = new Map<number, number>();
  held.columns.forEach((column, k) => void weightByColumn.set(column, (kept * held.weights[k]!) / value));
  target.columns.forEach(
    (column, k) =>
      void weightByColumn.set(column, (weightByColumn.get(column) ?? 0) + (moved * target.weights[k]!) / value),
  );
  const entries = [...weightByColumn].toSorted(([a], [b]) => a - b);
  const findShares = ({ columns, fixedShares }: PhasePortfolio, column: number): number =>
    fixedShares?.[columns.indexOf(column)] ?? 0;
  return {
    columns: Int32Array.from(entries, ([column]) => column),
    weights: Float64Array.from(entries, ([, weight]) => weight),
    value,
    ...(held.fixedShares === undefined || target.fixedShares === undefined
      ? {}
      : {
          fixedShares: Float64Array.from(
            entries,
            ([column]) => (1 - fraction) * findShares(held, column) + fraction * findShares(target, column),
          ),
        }),
  };
}
