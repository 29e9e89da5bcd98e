import type { TradeInput } from './trade-to-targets.js';

export interface UnpricedOutcome {
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
  /** Executed fraction of every purchase: 1 unless cash is short. */
  readonly bought: number;
  /**
   * Fraction of every priced long holding that is sold in addition to the trade, because the sales raise too little
   * money. 0 without short positions.
   */
  readonly raised: number;
  /** Cash after the trade, as a fraction of the value after costs. */
  readonly cash: number;
}

/** Lower bound of the value after costs for trades without short positions. */
const RETAINED_MIN = 0.5;
/** Number of bisection steps that shrink an interval of length 1 below the spacing of doubles near 1. */
const BISECTION_STEPS = 60;

/**
 * Trades the slots that are not frozen to their targets. Frozen slots keep their holdings, and the remainder is cash.
 * If cash would become negative, all purchases are scaled down by one factor, whereas sales are executed in full.
 * Covering a short position is a purchase, opening one a sale. If covering short positions of securities that left
 * costs more than all sales raise, long holdings are sold too, including frozen ones. Cash becomes negative only if no
 * long holding has a price. Solves V' + c (sales + purchases) = V for V'; the left side is strictly increasing.
 * @param unpriced frozen slots without any price to trade at
 * @cost O(H) per halving, one pass without costs
 */
export function tradeUnpriced(input: TradeInput, unpriced: ReadonlySet<number> = NO_SLOTS): UnpricedOutcome {
  const { slots, frozen, before, costRate } = input;
  const freeSlots = slots.filter((slot) => !frozen.has(slot));
  let heldTotal = 0;
  for (const slot of slots) heldTotal += before[slot]!;
  // The cost of covering short positions that left at this close may exceed the available cash.
  const cashBefore = 1 - heldTotal < -CASH_MIN ? 1 - heldTotal : Math.max(0, 1 - heldTotal);
  const flows: Flows = { sold: 0, bought: 0, share: 1, raised: 0 };
  const computeSpending = (retained: number): number => {
    computeFlows(input, freeSlots, { retained, cashBefore }, flows);
    if (flows.share === 0) raiseCash(input, unpriced, { retained, cashBefore }, flows);
    return retained + costRate * (flows.sold + flows.share * flows.bought);
  };
  let retainedShare = 1;
  if (computeSpending(1) > 1) {
    let low = computeSpending(RETAINED_MIN) > 1 ? 0 : RETAINED_MIN;
    for (let i = 0; i < BISECTION_STEPS; i++) {
      const middle = (low + retainedShare) / 2;
      if (computeSpending(middle) > 1) retainedShare = middle;
      else low = middle;
    }
    retainedShare = low;
    computeSpending(retainedShare);
  }
  const boughtWeight = flows.share * flows.bought;
  const cash = cashBefore + flows.sold - boughtWeight - costRate * (flows.sold + boughtWeight);
  return {
    retained: retainedShare,
    bought: flows.share,
    raised: flows.raised,
    cash: isRounding(cash / retainedShare, flows.share) ? 0 : cash / retainedShare,
  };
}

const NO_SLOTS: ReadonlySet<number> = new Set();

/** Fraction of the value below which cash counts as a rounding error. */
const CASH_MIN = 1e-12;

/**
 * Returns true if the remaining cash is only rounding.
 * @param share executed fraction of the purchases. Between 0 and 1 all money is spent; at 0 no purchase is affordable.
 */
function isRounding(cash: number, share: number): boolean {
  return (share > 0 && share < 1) || (share === 0 ? Math.abs(cash) : cash) <= CASH_MIN;
}

interface AvailableMoney {
  readonly retained: number;
  readonly cashBefore: number;
}

interface Flows {
  sold: number;
  bought: number;
  share: number;
  raised: number;
}

/** Sells remaining long holdings to raise the missing money. */
function raiseCash(
  { before, targets, slots, frozen, costRate }: TradeInput,
  unpriced: ReadonlySet<number>,
  { retained, cashBefore }: AvailableMoney,
  flows: Flows,
): void {
  const missingCash = -(cashBefore + flows.sold * (1 - costRate));
  let longWeight = 0;
  for (const slot of slots) {
    const after = frozen.has(slot) ? before[slot]! : Math.min(before[slot]!, targets[slot]! * retained);
    if (after > 0 && !unpriced.has(slot)) longWeight += after;
  }
  if (!(missingCash > CASH_MIN) || longWeight === 0) return;
  flows.raised = Math.min(1, missingCash / (1 - costRate) / longWeight);
  flows.sold += flows.raised * longWeight;
}

/** Computes sales and purchases towards the targets, and the fraction of the purchases that cash and sales can pay. */
function computeFlows(
  { before, targets, costRate }: TradeInput,
  free: Int32Array,
  { retained, cashBefore }: AvailableMoney,
  into: Flows,
): void {
  into.raised = 0;
  into.sold = 0;
  into.bought = 0;
  for (const slot of free) {
    const change = targets[slot]! * retained - before[slot]!;
    if (change > 0) into.bought += change;
    else into.sold -= change;
  }
  const available = cashBefore + into.sold * (1 - costRate);
  const requiredCash = into.bought * (1 + costRate);
  into.share = requiredCash > available + CASH_MIN ? Math.max(0, available / requiredCash) : 1;
}
