import { findTreatment } from '../documents/treatment.js';
import { readPriceSessions } from '../documents/stale-sessions.js';
import { readPanelRow } from '../market/session-market.js';
import type { BookInput, Fill } from './book.js';
import { dropSecurity, holdSecurity, findRowOffset, type BookState, type Order } from './book-state.js';

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

export interface FrozenSlotsInput {
  readonly input: Pick<BookInput, 'sm' | 'from' | 'fills' | 'tolerance' | 'treatment'>;
  readonly columns: Int32Array;
  readonly session: number;
  /** Slots with a holding or a target. */
  readonly slots: Int32Array;
  readonly before: Float64Array;
  readonly targetWeights: Float64Array;
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

interface OpenOrderInput {
  readonly session: number;
  readonly slot: number;
  readonly target: number;
  readonly heldWeight: number;
}

export function openOrder(state: BookState, { session, slot, target, heldWeight }: OpenOrderInput): void {
  const { input, sm, columns, value } = state;
  const position = session - input.from;
  const column = columns[slot]!;
  const bar = sm.lastBar[readPanelRow(sm, session) + column]!;
  const order: Order = {
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
  state.orders.push(order);
  state.waiting.push(order);
}

/** Returns the waiting orders whose security has a price bar on the session. */
export function listFillableOrders({ sm, columns, waiting }: BookState, session: number): Order[] {
  if (waiting.length === 0) return waiting;
  return waiting.filter(({ slot }) => {
    const column = columns[slot]!;
    return sm.hasBar(session, column) && !sm.hasEnded(session, column);
  });
}

/** Fills an order with the available cash, or sells down to the target weight. */
export function fillOrder(state: BookState, order: Order, session: number): Fill {
  const { input, columns, weights, cash, value } = state;
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
  state.waiting = state.waiting.filter((otherOrder) => otherOrder !== order);
  return { slot, notional };
}
