import type { TradeInput } from './trade-to-targets.js';

export interface BeyondOutcome {
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
  /** Fraction of every purchase that is executed: 1 unless cash is short. */
  readonly bought: number;
  /**
   * Fraction of every priced long holding that is sold in addition to the trade, if sales raise too little: 0 without
   * short positions.
   */
  readonly raised: number;
  /** Cash after the trade, as a fraction of the value after costs. */
  readonly cash: number;
}

/** Value after costs below which trades without short positions never fall. */
const RETAINED_MIN = 0.5;
/** Halvings that bring an interval of length 1 below the spacing of doubles near 1. */
const HALVINGS = 60;

/**
 * Trades the slots that are not frozen to their targets; the others keep their holdings. The difference is cash; before
 * cash would turn negative, all purchases are scaled down by one factor. Sales are executed in full. Covering a short
 * position is a purchase, opening one a sale. If covering short positions that left costs more than all sales raise,
 * long holdings are sold to pay for it, including frozen ones; cash is negative only if none of them has a price.
 * Solves V' + c (sales + purchases) = V for V'; the left side is strictly increasing.
 * @param unpriced frozen slots that cannot be traded at all
 * @cost O(H) per halving, one pass without costs
 */
export function tradeUnpriced(input: TradeInput, unpriced: ReadonlySet<number> = NONE): BeyondOutcome {
  const { slots, frozen, before, costRate } = input;
  const free = slots.filter((slot) => !frozen.has(slot));
  let held = 0;
  for (const slot of slots) held += before[slot]!;
  // Short positions that left at this close were covered: the cost may exceed the available cash.
  const cashBefore = 1 - held < -CASH_MIN ? 1 - held : Math.max(0, 1 - held);
  const flows: Flows = { sold: 0, bought: 0, share: 1, raised: 0 };
  const spentAt = (retained: number): number => {
    flowsAt(input, free, { retained, cashBefore }, flows);
    if (flows.share === 0) raise(input, unpriced, { retained, cashBefore }, flows);
    return retained + costRate * (flows.sold + flows.share * flows.bought);
  };
  let retained = 1;
  if (spentAt(1) > 1) {
    let low = spentAt(RETAINED_MIN) > 1 ? 0 : RETAINED_MIN;
    for (let i = 0; i < HALVINGS; i++) {
      const middle = (low + retained) / 2;
      if (spentAt(middle) > 1) retained = middle;
      else low = middle;
    }
    retained = low;
    spentAt(retained);
  }
  const bought = flows.share * flows.bought;
  const cash = cashBefore + flows.sold - bought - costRate * (flows.sold + bought);
  return {
    retained,
    bought: flows.share,
    raised: flows.raised,
    cash: isRounding(cash / retained, flows.share) ? 0 : cash / retained,
  };
}

const NONE: ReadonlySet<number> = new Set();

/** Cash below this fraction of the value is rounding. */
const CASH_MIN = 1e-12;

/**
 * @param share executed fraction of the purchases: part of them spends all the money, or none of them is affordable.
 */
function isRounding(cash: number, share: number): boolean {
  return (share > 0 && share < 1) || (share === 0 ? Math.abs(cash) : cash) <= CASH_MIN;
}

interface Money {
  readonly retained: number;
  readonly cashBefore: number;
}

interface Flows {
  sold: number;
  bought: number;
  share: number;
  raised: number;
}

/** Sells remaining long holdings for the missing money. */
function raise(
  { before, targets, slots, frozen, costRate }: TradeInput,
  unpriced: ReadonlySet<number>,
  { retained, cashBefore }: Money,
  flows: Flows,
): void {
  const missing = -(cashBefore + flows.sold * (1 - costRate));
  let long = 0;
  for (const slot of slots) {
    const after = frozen.has(slot) ? before[slot]! : Math.min(before[slot]!, targets[slot]! * retained);
    if (after > 0 && !unpriced.has(slot)) long += after;
  }
  if (!(missing > CASH_MIN) || long === 0) return;
  flows.raised = Math.min(1, missing / (1 - costRate) / long);
  flows.sold += flows.raised * long;
}

/** Returns sales and purchases towards the targets, and the fraction of the purchases that cash and sales pay for. */
function flowsAt(
  { before, targets, costRate }: TradeInput,
  free: Int32Array,
  { retained, cashBefore }: Money,
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
  const wanted = into.bought * (1 + costRate);
  into.share = wanted > available + CASH_MIN ? Math.max(0, available / wanted) : 1;
}
