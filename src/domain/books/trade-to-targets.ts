/**
 * Trade from held weights to target weights, relative to the value before costs. Slots are positions in `before` and
 * `targets`.
 */
export interface TradeInput {
  /** Weights before the trade, relative to the value before costs, [H]. */
  readonly before: Float64Array;
  /** Target weights, relative to the value after costs, negative for a short position, [H]; 1 less the sum is cash. */
  readonly targets: Float64Array;
  /** Target cash as a fraction of the value after costs, if the exact value is known. */
  readonly cash?: number | undefined;
  /** Slots with a holding or a target, ascending. */
  readonly slots: Int32Array;
  /** Slots whose holdings stay unchanged, because they cannot or need not be traded. */
  readonly frozen: ReadonlySet<number>;
  /** Cost per unit of traded notional, at most 0.1. */
  readonly costRate: number;
}

export interface TradeOutcome {
  /** Value after costs as a fraction of the value before; 0 if the value does not cover the costs. */
  readonly retained: number;
  /** Factor on the targets of traded slots: 1 unless frozen holdings leave too little money. */
  readonly scale: number;
  /** Cash after the trade, as a fraction of the value after costs. */
  readonly cash: number;
}

/**
 * Maximum number of Newton steps. The iteration ends when the set of purchases no longer changes, in practice after two
 * or three steps.
 */
const STEPS_MAX = 64;
/** Number of bisection steps that shrink an interval of length 1 below the spacing of doubles near 1. */
const BISECTION_STEPS = 60;

/**
 * Trades to target weights: solves V' + c sum |w V' - h| = V for the value V' after costs, with the cost rate c, target
 * weights w, weights h before the trade, and the value V before it.
 * @cost O(H) per step
 */
export function tradeToTargets(input: TradeInput): TradeOutcome {
  if (input.frozen.size === 0) return tradeAll(input);
  return tradeAroundFrozen(input);
}

/**
 * Trades every slot. The left side of the equation of `tradeToTargets` is convex and piecewise linear, so Newton's
 * method from V ends exactly after finitely many steps.
 */
function tradeAll({ before, targets, cash: fixedCash, slots, costRate }: TradeInput): TradeOutcome {
  let investedWeight = 0;
  for (let k = 0; k < slots.length; k++) investedWeight += targets[slots[k]!]!;
  const cash = fixedCash ?? (Math.abs(1 - investedWeight) <= 1e-9 ? 0 : 1 - investedWeight);
  if (costRate === 0) return { retained: 1, scale: 1, cash };
  let retainedShare = 1;
  for (let step = 0; step < STEPS_MAX; step++) {
    let slope = 0;
    let offset = 0;
    for (let k = 0; k < slots.length; k++) {
      const slot = slots[k]!;
      const weight = targets[slot]!;
      const heldWeight = before[slot]!;
      if (weight * retainedShare > heldWeight) {
        slope += weight;
        offset += heldWeight;
      } else {
        slope -= weight;
        offset -= heldWeight;
      }
    }
    const next = (1 + costRate * offset) / (1 + costRate * slope);
    // Only with short positions can costs rise while the value falls. A trade may then cost more than the value.
    if (!(1 + costRate * slope > 0) || !(next > 0)) return { retained: 0, scale: 1, cash };
    if (next === retainedShare) break;
    retainedShare = next;
  }
  return { retained: retainedShare, scale: 1, cash };
}

/**
 * Trades while frozen slots keep their holdings. Frozen holdings raise no money, and the money for their unfilled
 * targets stays in cash. Short positions and short targets are not allowed.
 */
function tradeAroundFrozen({ before, targets, slots, frozen, costRate }: TradeInput): TradeOutcome {
  const freeSlots = slots.filter((slot) => !frozen.has(slot));
  const frozenSlots = slots.filter((slot) => frozen.has(slot));
  const cashWeight = 1 - slots.reduce((sum, slot) => sum + targets[slot]!, 0);
  const tradeAtValue = (retained: number): TradeOutcome & { readonly spent: number } => {
    let requiredCash = Math.max(0, cashWeight) * retained;
    let excessWeight = 0;
    for (const slot of frozenSlots) {
      const shortfall = targets[slot]! * retained - before[slot]!;
      if (shortfall > 0) requiredCash += shortfall;
      else excessWeight -= shortfall;
    }
    const request = freeSlots.reduce((sum, slot) => sum + targets[slot]! * retained, 0);
    const fromCash = Math.min(requiredCash, excessWeight);
    const scale = request === 0 ? 1 : Math.max(0, 1 - (excessWeight - fromCash) / request);
    const tradedWeight = freeSlots.reduce(
      (sum, slot) => sum + Math.abs(targets[slot]! * retained * scale - before[slot]!),
      0,
    );
    return { retained, scale, cash: (requiredCash - fromCash) / retained, spent: retained + costRate * tradedWeight };
  };
  let low = 0.5;
  let high = 1;
  if (tradeAtValue(high).spent > 1) {
    for (let i = 0; i < BISECTION_STEPS; i++) {
      const middle = (low + high) / 2;
      if (tradeAtValue(middle).spent > 1) high = middle;
      else low = middle;
    }
  } else {
    low = high;
  }
  const { retained, scale, cash } = tradeAtValue(low);
  return { retained, scale, cash };
}
