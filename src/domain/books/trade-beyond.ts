import type { TradeInput } from './trade.js';

export interface BeyondOutcome {
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
  /** Share of every purchase that is made: 1 unless money is short. */
  readonly bought: number;
  /**
   * Share of every long holding with a price that is sold beside the trade, where sales bring too little: 0 without
   * short positions.
   */
  readonly raised: number;
  /** Cash after the trade, as a fraction of the value after costs. */
  readonly cash: number;
}

/** Value after costs that trades without short positions never go below. */
const RETAINED_MIN = 0.5;
/** Halvings that bring an interval of length 1 below the spacing of doubles near 1. */
const HALVINGS = 60;

/**
 * A trade of the slots that are not frozen to their targets, around whatever the others hold: the difference is cash,
 * and purchases are scaled down, all by one factor, before cash would turn negative. Sales are made whole. To cover a
 * short position is a purchase, to open one a sale. Where covers of names that left took more than all sales bring,
 * long holdings are sold for it, frozen ones as well; cash is negative only where none of them has a price. Solves V' +
 * c (sales + purchases) = V for V'; the left side is strictly increasing.
 * @param unpriced slots among the frozen that cannot be traded at all
 * @cost O(H) per halving, one pass without costs
 */
export function tradeBeyond(input: TradeInput, unpriced: ReadonlySet<number> = NONE): BeyondOutcome {
  const { slots, frozen, before, costRate } = input;
  const free = slots.filter((slot) => !frozen.has(slot));
  let held = 0;
  for (const slot of slots) held += before[slot]!;
  // Short positions that left at this close were covered: what that took may be more than there was in cash.
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

/** @param share of the purchases that is made: a part of them spends everything, and none of them may not be enough. */
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

/** Sells long holdings, what the trade leaves of them, for the money that is missing. */
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

/** Sales and purchases towards the targets, and the share of the purchases that cash and sales pay for. */
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
