import { Refusal } from '../base/refusals.js';
import { formatDay } from '../base/time.js';
import { findTreatment, readPriceSessions } from '../definition/treatment.js';
import { requireRate } from '../market/rates.js';
import { readPanelRow } from '../market/session-market.js';
import type { BookInput, Fill, PendingSecurities, Targets, WeightMove } from './book.js';
import {
  type BookState,
  dropSecurity,
  findRowOffset,
  holdSecurity,
  type OpenOrder,
  copyPending,
  appendSlot,
  adoptCounts,
} from './state.js';

/** Trades to target weights at the close; keeps holdings that cannot be traded. */
export function tradeToTargetWeights(state: BookState, targets: Targets, session: number): void {
  const { input, sm, rates, columns, slotOf } = state;
  const { weights, cash, value } = state.series;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const { targetWeights, before } = state.scratch;
  targetWeights.fill(0);
  const { columns: targetColumns, weights: targetValues } = targets;
  for (const column of rates.isForeign ? targetColumns : []) requireRate(rates, sm, session, column);
  for (let k = 0; k < targetColumns.length; k++) targetWeights[slotOf[targetColumns[k]!]!] = targetValues[k]!;
  before.set(weights.subarray(row, row + columns.length));
  const slots = computeTradedSlots(state);
  const { frozen, unpriced, waiting } = findFrozenSlots({ input, columns, session, slots, before, targetWeights });
  const order = { before, targets: targetWeights, cash: targets.cash, slots, frozen, costRate: input.costRate };
  const isAround = input.tolerance !== undefined || (frozen.size > 0 && hasShortSide(order));
  const {
    retained,
    scale,
    bought,
    raised,
    cash: left,
  } = isAround ? { ...tradeUnpriced(order, unpriced), scale: 1 } : { ...tradeToTargets(order), bought: 1, raised: 0 };
  assertAffordable(input, session, retained);
  // Spun-off securities without a price cannot be sold, so they stay pending.
  if (session === input.from) copyPending(state, input.followed ?? NO_PENDING_SECURITIES);
  else state.pending.renamed = new Map();
  for (const earlier of state.pending.waiting) earlier.replacedAt = position;
  state.pending.waiting = [];
  state.holdings.count = 0;
  state.holdings.isHeld.fill(0);
  if (frozen.size === 0 && bought === 1 && raised === 0) holdTargets(state, slots, { row, scale });
  else {
    for (let k = 0; k < slots.length; k++) {
      const slot = slots[k]!;
      const heldWeight = before[slot]! / retained;
      const isPart = bought < 1 && targetWeights[slot]! > heldWeight;
      const tradedWeight = frozen.has(slot)
        ? heldWeight
        : isPart
          ? heldWeight + bought * (targetWeights[slot]! - heldWeight)
          : targetWeights[slot]! * scale;
      const weight = raised > 0 && tradedWeight > 0 && !unpriced.has(slot) ? tradedWeight * (1 - raised) : tradedWeight;
      weights[row + slot] = weight;
      if (weight !== 0) appendSlot(state, slot);
    }
  }
  adoptCounts(state, targets);
  value[position]! *= retained;
  cash[position] = left;
  if (targets.entered !== undefined) state.series.divisor[position]! *= targets.entered;
  const { fixedShares } = targets;
  fixedShares?.forEach((shares, k) => (state.holdings.expectedShares[slotOf[targets.columns[k]!]!] = shares));
  // A basket that every security has left is cash.
  state.holdings.holdsBasket = targets.basket !== undefined && targets.columns.length > 0;
  if (state.holdings.holdsBasket) holdBasket(state, session, targets);
  for (const slot of waiting)
    openOrder(state, { session, slot, target: targetWeights[slot]!, heldWeight: weights[row + slot]! });
}

/**
 * Distributes the proceeds of securities that left over the remaining holdings of each side, and pays for the trades.
 * Short positions that left have a cost instead of proceeds.
 */
export function spreadProceeds(state: BookState, session: number, { exits, fillable }: Proceeds): void {
  const { input } = state;
  const { weights, cash, value } = state.series;
  const { heldSlots, count } = state.holdings;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const exitSides = sumExitsBySide(exits);
  if (exitSides.long === 0 && exitSides.short === 0) return;
  const selling = new Set(fillable.filter(({ side }) => side === 'sell').map(({ slot }) => slot));
  const remainders = { long: 0, short: 0 };
  for (let k = 0; k < count; k++) {
    const weight = weights[row + heldSlots[k]!]!;
    if (selling.has(heldSlots[k]!)) continue;
    if (weight > 0) remainders.long += weight;
    else remainders.short -= weight;
  }
  const {
    long,
    short,
    cash: change,
    retained,
  } = spreadSides({ left: exitSides, rest: remainders, cash: cash[position]!, costRate: input.costRate });
  const isAllLong =
    cash[position] === 0 &&
    selling.size === 0 &&
    exitSides.short === 0 &&
    remainders.short === 0 &&
    remainders.long > 0;
  const scale = isAllLong ? 1 / remainders.long : long / retained;
  for (let k = 0; k < count; k++) {
    const slot = row + heldSlots[k]!;
    weights[slot]! *= selling.has(heldSlots[k]!) ? 1 / retained : weights[slot]! > 0 ? scale : short / retained;
  }
  // An index keeps its shares of spun-off securities without a price, although the divisor changes.
  const keepsUnits = state.series.reinvested !== null && exitSides.short === 0 && remainders.short === 0;
  if (input.fills === 'all' && !keepsUnits)
    for (const child of state.pending.children) child.units *= child.units > 0 ? scale * retained : short;
  cash[position] = (cash[position]! + change) / retained;
  value[position]! *= retained;
}

/** Returns the slots with a holding or a target, ascending. */
function computeTradedSlots({ scratch: { targetWeights, before, slots } }: BookState): Int32Array {
  let count = 0;
  for (let slot = 0; slot < slots.length; slot++)
    if (targetWeights[slot] !== 0 || before[slot] !== 0) slots[count++] = slot;
  return slots.subarray(0, count);
}

export interface FrozenSlotsInput {
  readonly input: Pick<BookInput, 'sm' | 'from' | 'fills' | 'tolerance' | 'treatment'>;
  readonly columns: Int32Array;
  readonly session: number;
  /** Slots with a holding or a target. */
  readonly slots: Int32Array;
  readonly before: Float64Array;
  readonly targetWeights: Float64Array;
}

export interface FrozenSlots {
  readonly frozen: ReadonlySet<number>;
  /** Frozen slots without a price to trade at. */
  readonly unpriced: ReadonlySet<number>;
  /**
   * Slots of `unpriced` that are further from their target than the tolerance. For the rest of the target, an order
   * waits.
   */
  readonly waiting: readonly number[];
}

/** Returns the slots that are not traded because they have no price or are close enough to the target. */
export function findFrozenSlots({
  input,
  columns,
  session,
  slots,
  before,
  targetWeights,
}: FrozenSlotsInput): FrozenSlots {
  const { sm, from } = input;
  const oldest = findPriceAgeMax(input, session);
  const tolerance = session === from ? undefined : input.tolerance;
  const frozenSlots = new Set<number>();
  const unpricedSlots = new Set<number>();
  const waitingSlots: number[] = [];
  if (oldest === Infinity && tolerance === undefined)
    return { frozen: frozenSlots, unpriced: unpricedSlots, waiting: waitingSlots };
  for (let k = 0; k < slots.length; k++) {
    const slot = slots[k]!;
    const column = columns[slot]!;
    const hasBar = sm.hasBar(session, column);
    const distance = Math.abs(targetWeights[slot]! - before[slot]!);
    if (oldest < Infinity && !hasBar && !sm.isPriceable(session, column, oldest)) {
      frozenSlots.add(slot);
      unpricedSlots.add(slot);
      if (distance > (tolerance ?? 0)) waitingSlots.push(slot);
    } else if (tolerance !== undefined && distance <= tolerance) {
      frozenSlots.add(slot);
    }
  }
  return { frozen: frozenSlots, unpriced: unpricedSlots, waiting: waitingSlots };
}

/**
 * Returns the maximum age of a trade price, in sessions of the security's calendar. The definition in force at the
 * close determines it.
 */
function findPriceAgeMax({ fills, treatment: dated, sm }: FrozenSlotsInput['input'], session: number): number {
  const treatment = findTreatment(dated, sm.sessions[session]! + 1);
  if (treatment.stale_targets === 'defer') return 0;
  return fills === 'all' ? Infinity : readPriceSessions(treatment);
}

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

function hasShortSide({ before, targets, slots }: Pick<TradeInput, 'before' | 'targets' | 'slots'>): boolean {
  return slots.some((slot) => before[slot]! < 0 || targets[slot]! < 0);
}

const NO_SLOTS: ReadonlySet<number> = new Set();

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

/** Fraction of the value below which cash counts as a rounding error. */
const CASH_MIN = 1e-12;

interface Flows {
  sold: number;
  bought: number;
  share: number;
  raised: number;
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

interface AvailableMoney {
  readonly retained: number;
  readonly cashBefore: number;
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

/**
 * Returns true if the remaining cash is only rounding.
 * @param share executed fraction of the purchases. Between 0 and 1 all money is spent; at 0 no purchase is affordable.
 */
function isRounding(cash: number, share: number): boolean {
  return (share > 0 && share < 1) || (share === 0 ? Math.abs(cash) : cash) <= CASH_MIN;
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
 * Trades to target weights: solves V' + c sum |w V' - h| = V for the value V' after costs, with the cost rate c, target
 * weights w, weights h before the trade, and the value V before it.
 * @cost O(H) per step
 */
export function tradeToTargets(input: TradeInput): TradeOutcome {
  if (input.frozen.size === 0) return tradeAll(input);
  return tradeAroundFrozen(input);
}

/**
 * Maximum number of Newton steps. The iteration ends when the set of purchases no longer changes, in practice after two
 * or three steps.
 */
const STEPS_MAX = 64;

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

/**
 * Checks that costs of a close do not use up the value of the book. With large short positions, trades can cost more
 * than the value.
 * @param retained value after costs as a fraction of the value before
 * @throws Refusal NUMERIC_FAILURE if costs use up the value
 */
export function assertAffordable({ title, sm, costRate }: BookInput, session: number, retained: number): void {
  if (retained > 0) return;
  const date = formatDay(sm.sessions[session]!);
  throw new Refusal(
    'NUMERIC_FAILURE',
    `The trades of ${date} cost more than the value of ${title.charAt(0).toLowerCase()}${title.slice(1)}, at ${costRate * 10_000} basis points.`,
    { date },
  );
}

const NO_PENDING_SECURITIES: PendingSecurities = { children: [], renamed: [] };

/** Sets the weight of each of the `slots` to its target weight times `scale`. These slots become the only holdings. */
function holdTargets(
  state: BookState,
  slots: Int32Array,
  { row, scale }: { readonly row: number; readonly scale: number },
): void {
  const { targetWeights } = state.scratch;
  const { weights } = state.series;
  const { heldSlots, isHeld } = state.holdings;
  const { everHeld } = state.record;
  let count = 0;
  for (let k = 0; k < slots.length; k++) {
    const slot = slots[k]!;
    const weight = targetWeights[slot]! * scale;
    weights[row + slot] = weight;
    if (weight === 0) continue;
    heldSlots[count++] = slot;
    isHeld[slot] = 1;
    everHeld[slot] = 1;
  }
  state.holdings.count = count;
}

/** Sets the divisor to the market value of fixed numbers of shares over the level. */
function holdBasket(state: BookState, session: number, { columns, basket, fixedShares }: Targets): void {
  const { sm } = state;
  const { reinvested, divisor } = state.series;
  const { index } = state.tables;
  if (reinvested === null) return;
  const position = session - state.input.from;
  const row = readPanelRow(sm, session);
  let money = fixedShares === undefined ? basket! : 0;
  fixedShares?.forEach((shares, k) => (money += shares * index[row + columns[k]!]!));
  divisor[position] = money / reinvested.levels.price[position]!;
}

interface OpenOrderInput {
  readonly session: number;
  readonly slot: number;
  readonly target: number;
  readonly heldWeight: number;
}

export function openOrder(state: BookState, { session, slot, target, heldWeight }: OpenOrderInput): void {
  const { input, sm, columns } = state;
  const { value } = state.series;
  const position = session - input.from;
  const column = columns[slot]!;
  const bar = sm.lastBar[readPanelRow(sm, session) + column]!;
  const order: OpenOrder = {
    at: position,
    slot,
    target,
    held: heldWeight,
    side: target > heldWeight ? 'buy' : 'sell',
    notional: Math.abs(target - heldWeight) * value[position]!,
    reason: sm.hasEnded(session, column) ? 'delisted' : bar < 0 ? 'no_price' : 'stale_price',
    filledAt: null,
    replacedAt: null,
  };
  state.record.orders.push(order);
  state.pending.waiting.push(order);
}

interface Proceeds {
  readonly exits: readonly WeightMove[];
  /** Orders that are filled at this close. Nothing is added to a holding that is sold. */
  readonly fillable: readonly OpenOrder[];
}

/** Long and short weights of a book, both as positive numbers. */
export interface Sides {
  readonly long: number;
  readonly short: number;
}

/** Sums the weights of securities that left, by side, as fractions of the value. */
export function sumExitsBySide(exits: readonly WeightMove[]): Sides {
  let long = 0;
  let short = 0;
  for (const { change } of exits) {
    if (change < 0) long -= change;
    else short += change;
  }
  return { long, short };
}

export interface ProceedsInput {
  /**
   * Weights of the securities that left. For long positions these are proceeds, for short positions the cost of
   * covering them.
   */
  readonly left: Sides;
  /** Weights of the remaining securities, which take over the weights of those that left. */
  readonly rest: Sides;
  readonly cash: number;
  /** Cost per unit of traded notional. */
  readonly costRate: number;
}

/** Effect of securities that left on the remaining securities, relative to the value before costs. */
export interface ProceedsOutcome {
  /** Factors on the weights of remaining long and short positions. */
  readonly long: number;
  readonly short: number;
  /** Change of cash. */
  readonly cash: number;
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
}

/**
 * Distributes the weight of securities that left over the remaining securities of that side, in proportion to their
 * weights. Proceeds of long positions buy long positions. The cost of covering short positions is raised by further
 * short sales, so that long and short exposure are unchanged. If no long position remains, the proceeds stay in cash.
 * If no short position remains, covers are paid from proceeds, then from cash, then by selling long positions.
 */
export function spreadSides({ left, rest, cash, costRate }: ProceedsInput): ProceedsOutcome {
  const hasLong = rest.long > 0;
  const hasShort = rest.short > 0;
  const net = hasShort ? left.long : left.long - left.short;
  const fromCash = hasShort ? 0 : Math.min(Math.max(-net, 0), hasLong ? Math.max(cash, 0) : Infinity);
  const toLong = net + fromCash;
  const boughtWeight = !hasLong ? 0 : toLong >= 0 ? toLong / (1 + costRate) : toLong / (1 - costRate);
  const paidByLong = hasLong ? toLong - boughtWeight : 0;
  const soldWeight = hasShort ? left.short / (1 - costRate) : 0;
  return {
    long: hasLong ? 1 + boughtWeight / rest.long : 1,
    short: hasShort ? 1 + soldWeight / rest.short : 1,
    cash: (hasLong ? 0 : toLong) - fromCash,
    retained: hasShort ? 1 - paidByLong - (soldWeight - left.short) : 1 - paidByLong,
  };
}

/** Returns the waiting orders whose security has a price bar on the session. */
export function listFillableOrders({ sm, columns, pending: { waiting } }: BookState, session: number): OpenOrder[] {
  if (waiting.length === 0) return waiting;
  return waiting.filter(({ slot }) => {
    const column = columns[slot]!;
    return sm.hasBar(session, column) && !sm.hasEnded(session, column);
  });
}

/** Fills an order with the available cash, or sells down to the target weight. */
export function fillOrder(state: BookState, order: OpenOrder, session: number): Fill {
  const { input, columns } = state;
  const { weights, cash, value } = state.series;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const { slot, side, target } = order;
  const weight = weights[row + slot]!;
  const spend = side === 'buy' ? Math.min(order.notional / value[position]!, cash[position]!) : 0;
  const boughtWeight = spend / (1 + input.costRate);
  const soldWeight = side === 'sell' ? Math.max(0, weight - target) : 0;
  const retainedShare = 1 - input.costRate * (boughtWeight + soldWeight);
  const notional = (boughtWeight - soldWeight) * value[position]!;
  for (let k = 0; k < columns.length; k++) weights[row + k]! /= retainedShare;
  weights[row + slot] = (weight + boughtWeight - soldWeight) / retainedShare;
  cash[position] = (cash[position]! - spend + soldWeight * (1 - input.costRate)) / retainedShare;
  value[position]! *= retainedShare;
  if (weights[row + slot] !== 0) holdSecurity(state, slot);
  else dropSecurity(state, slot, row);
  order.filledAt = position;
  state.pending.waiting = state.pending.waiting.filter((otherOrder) => otherOrder !== order);
  return { slot, notional };
}

/** Sums long and short weights separately, as magnitudes. */
export function sumSides(weights: Iterable<number>): Sides {
  let long = 0;
  let short = 0;
  for (const weight of weights) {
    if (weight > 0) long += weight;
    else short -= weight;
  }
  return { long, short };
}

/** Fraction of the value below which cash counts as a rounding error. */
const PROCEEDS_CASH_MIN = 1e-9;

/**
 * Returns the weights of the remaining securities after they take over the weights of the leaving securities. The
 * invested fraction is unchanged.
 */
export function takeOverSecurity(staying: Float64Array, leaving: Float64Array): Float64Array {
  const [remainingSides, leftSides] = [sumSides(staying), sumSides(leaving)];
  const cash = 1 - (remainingSides.long - remainingSides.short + leftSides.long - leftSides.short);
  const isAllLong = Math.abs(cash) <= PROCEEDS_CASH_MIN && remainingSides.short === 0 && leftSides.short === 0;
  if (isAllLong) return staying.map((weight) => weight / remainingSides.long);
  const { long, short } = spreadSides({ left: leftSides, rest: remainingSides, cash, costRate: 0 });
  return staying.map((weight) => weight * (weight > 0 ? long : short));
}
