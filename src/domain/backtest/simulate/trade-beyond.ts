import type { TradeInput } from './trade.js';

export interface BeyondOutcome {
  /** Value after costs as a fraction of the value before. */
  readonly kept: number;
  /** Share of every purchase that is made: 1 unless money is short. */
  readonly bought: number;
  /** Cash after the trade, as a fraction of the value after costs. */
  readonly cash: number;
}

/** Halvings that bring an interval of length 1 below the spacing of doubles near 1. */
const HALVINGS = 60;

/**
 * A trade of the slots that are not frozen to their targets, around whatever the others hold: the difference is cash, and
 * purchases are scaled down, all by one factor, before cash would turn negative. Sales are made whole.
 * Solves V' + c (sales + purchases) = V for V'; the left side is strictly increasing.
 * @cost O(H) per halving, one pass without costs
 */
export function tradeBeyond(input: TradeInput): BeyondOutcome {
  const { slots, frozen, before, costRate } = input;
  const free = slots.filter((slot) => !frozen.has(slot));
  let held = 0;
  for (const slot of slots) held += before[slot]!;
  const cashBefore = Math.max(0, 1 - held);
  const flows = { sold: 0, bought: 0, share: 1 };
  const spentAt = (kept: number): number => {
    flowsAt(input, free, { kept, cashBefore }, flows);
    return kept + costRate * (flows.sold + flows.share * flows.bought);
  };
  let kept = 1;
  if (spentAt(1) > 1) {
    let low = 0.5;
    for (let i = 0; i < HALVINGS; i++) {
      const middle = (low + kept) / 2;
      if (spentAt(middle) > 1) kept = middle;
      else low = middle;
    }
    kept = low;
    spentAt(kept);
  }
  const cash = flows.share < 1 ? 0 : cashBefore + flows.sold - flows.bought - costRate * (flows.sold + flows.bought);
  return { kept, bought: flows.share, cash: cash / kept > CASH_MIN ? cash / kept : 0 };
}

/** Cash below this fraction of the value is rounding. */
const CASH_MIN = 1e-12;

interface Money {
  readonly kept: number;
  readonly cashBefore: number;
}

/** Sales and purchases towards the targets, and the share of the purchases that cash and sales pay for. */
function flowsAt({ before, targets, costRate }: TradeInput, free: Int32Array, { kept, cashBefore }: Money, into: { sold: number; bought: number; share: number }): void {
  into.sold = 0;
  into.bought = 0;
  for (const slot of free) {
    const change = targets[slot]! * kept - before[slot]!;
    if (change > 0) into.bought += change;
    else into.sold -= change;
  }
  const available = cashBefore + into.sold * (1 - costRate);
  const wanted = into.bought * (1 + costRate);
  into.share = wanted > available + CASH_MIN ? available / wanted : 1;
}
