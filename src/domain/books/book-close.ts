import { roundShares } from './book-rounding.js';
import { countStaleSessions } from '../documents/stale-sessions.js';
import { requireRate } from '../market/exchange-rates.js';
import { readPanelRow } from '../market/session-market.js';
import type { Conversion, Fill, WeightMove, PendingSecurities, Targets } from './book.js';
import { listFillableOrders, fillOrder, findFrozenSlots, openOrder } from './book-orders.js';
import {
  appendSlot,
  dropSecurity,
  holdSecurity,
  isHeldColumn,
  findRowOffset,
  copyPending,
  writeRow,
  type BookState,
} from './book-state.js';
import { beginHoldingPeriod } from './holding-period.js';
import { assertAffordable } from './book-limits.js';
import { adoptCounts, convertCounts } from './share-changes.js';
import { spreadSides, type Sides } from './proceeds.js';
import { tradeToTargets, type TradeInput } from './trade-to-targets.js';
import { tradeUnpriced } from './trade-unpriced.js';

const NO_PENDING_SECURITIES: PendingSecurities = { children: [], renamed: [] };

/** Processes a close: removes securities that leave or convert, applies target weights, and fills waiting orders. */
export function closeSession(state: BookState, session: number, targets: Targets | undefined): void {
  const { input, columns, weights, value, cash } = state;
  const position = session - input.from;
  if (position === 0) {
    value[0] = input.initialValue;
    cash[0] = 1;
  }
  const isQuiet =
    !targets &&
    state.today === undefined &&
    state.droppedChildren.length === 0 &&
    state.missing.length === 0 &&
    state.renamed.size === 0 &&
    state.waiting.length === 0;
  if (isQuiet) return;
  const conversions = listConversions(state, session);
  const leavingColumns = listLeaving(state, session, { targets, conversions });
  const fillable = targets ? [] : listFillableOrders(state, session);
  if (!targets && conversions.size === 0 && leavingColumns.length === 0 && fillable.length === 0) return;
  if (state.rowSession !== session) writeRow(state, session);
  const row = findRowOffset(state, session);
  const before = input.isBrief ? null : weights.slice(row, row + columns.length);
  const valueBefore = value[position]!;
  const divisorBefore = state.divisor[position]!;
  const { converted, paid } = convertSecurities(state, conversions, row);
  const exits = releaseSecurities(state, { leaving: leavingColumns, paid }, session);
  const fills: Fill[] = [];
  if (targets) tradeToTargetWeights(state, targets, session);
  else {
    spreadProceeds(state, session, {
      exits,
      selling: new Set(fillable.filter(({ side }) => side === 'sell').map(({ slot }) => slot)),
    });
    for (const order of fillable) fills.push(fillOrder(state, order, session));
  }
  // A portfolio keeps its spun-off shares while its value falls by costs. The market value over the new divisor is that
  // of an index, which keeps its index shares and has no costs.
  if (state.reinvested !== null && input.fills !== 'all' && position > 0) {
    const scale = (state.divisor[position]! / divisorBefore) * (valueBefore / value[position]!);
    for (const child of state.children) child.units *= scale;
  }
  roundShares(state, session);
  beginHoldingPeriod(state, session);
  state.costs[position] = valueBefore - value[position]!;
  if (before === null) return;
  state.events.push({
    at: position,
    valueBefore,
    before,
    exits,
    conversions: converted,
    rebalanced: targets !== undefined,
    fills: fills.toSorted((a, b) => a.slot - b.slot),
    ...(state.children.length > 0 ? { hasPendingSpinOff: true } : {}),
  });
}

/** Returns the held securities that convert into other securities at this close, by column. */
function listConversions(state: BookState, session: number): Map<number, number> {
  const { sm, today } = state;
  const conversions = new Map<number, number>();
  for (const [column, related] of today?.conversions ?? [])
    if (isHeldColumn(state, column)) conversions.set(column, related);
  for (const [column, related] of state.renamed) {
    const isHeld = isHeldColumn(state, column);
    if (isHeld && !sm.isRenamed(session, column, related)) continue;
    if (isHeld) conversions.set(column, related);
    state.renamed.delete(column);
  }
  return conversions;
}

interface LeavingSecuritiesInput {
  readonly targets: Targets | undefined;
  readonly conversions: ReadonlyMap<number, number>;
}

/** Returns the held columns that leave at this close, ascending. */
function listLeaving(state: BookState, session: number, { targets, conversions }: LeavingSecuritiesInput): number[] {
  const { sm, today, treatment } = state;
  const leavingColumns: number[] = [];
  for (const column of today?.exits.keys() ?? []) {
    if (isHeldColumn(state, column) && !conversions.has(column)) leavingColumns.push(column);
  }
  for (const column of state.droppedChildren)
    if (isHeldColumn(state, column) && !leavingColumns.includes(column) && targets?.columns.includes(column) !== true)
      leavingColumns.push(column);
  for (const column of state.missing) {
    if (!isHeldColumn(state, column) || leavingColumns.includes(column) || conversions.has(column)) continue;
    if (targets?.columns.includes(column)) continue;
    const isSilent = sm.isSilent(session, column, countStaleSessions(treatment));
    const isExcluded = treatment.missing_prices === 'exclude' && sm.isOpen(session, column);
    if (!isSilent && !isExcluded) continue;
    leavingColumns.push(column);
    if (isSilent) state.silent.push({ session, column });
  }
  return leavingColumns.length < 2 ? leavingColumns : leavingColumns.toSorted((a, b) => a - b);
}

interface ConversionOutcome {
  readonly converted: Conversion[];
  /** Weights of securities that mergers convert to cash. */
  readonly paid: WeightMove[];
}

function convertSecurities(state: BookState, conversions: ReadonlyMap<number, number>, row: number): ConversionOutcome {
  const { slotOf, weights, today } = state;
  const completedConversions: Conversion[] = [];
  const payments: WeightMove[] = [];
  for (const [column, related] of [...conversions].toSorted(([a], [b]) => a - b)) {
    const slot = slotOf[column]!;
    const successorSlot = slotOf[related]!;
    const weightBefore = weights[row + slot]!;
    const cash = weightBefore * (today?.conversions.has(column) ? today.exits.get(column)!.cashShare : 0);
    const weight = weightBefore - cash;
    if (cash !== 0) payments.push({ slot, change: -cash });
    completedConversions.push({ slot, into: successorSlot, weight });
    const heldWeight = state.isHeld[successorSlot] === 1 ? weights[row + successorSlot]! : null;
    const isRenamed = today?.conversions.has(column) !== true;
    if (heldWeight !== null || isRenamed)
      convertCounts(state, { slot, into: successorSlot, growth: heldWeight === null ? null : 1 + weight / heldWeight });
    weights[row + successorSlot]! += weight;
    dropSecurity(state, slot, row);
    holdSecurity(state, successorSlot);
  }
  return { converted: completedConversions, paid: payments };
}

interface LeavingSecurities {
  /** Columns of the securities that leave. */
  readonly leaving: readonly number[];
  readonly paid: readonly WeightMove[];
}

/**
 * Removes securities from the book at their prices. In a long-only book their market value leaves the book and the
 * divisor falls. A book with short positions keeps the exposure of each side, so no market value leaves.
 */
function releaseSecurities(state: BookState, { leaving, paid }: LeavingSecurities, session: number): WeightMove[] {
  const { input, slotOf, weights, cash, divisor } = state;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const worthlessExits = leaving.map((column): WeightMove => ({
    slot: slotOf[column]!,
    change: -weights[row + slotOf[column]!]!,
  }));
  const exits = paid.length === 0 ? worthlessExits : [...paid, ...worthlessExits];
  if (exits.length === 0) return exits;
  const isLong = !hasShort(state, row) && paid.every(({ change }) => change < 0);
  for (const { slot } of worthlessExits) dropSecurity(state, slot, row);
  if (isLong && state.count > 0) divisor[position]! *= 1 - sumExitsBySide(exits).long / (1 - cash[position]!);
  return exits;
}

function hasShort({ weights, heldSlots, count }: BookState, row: number): boolean {
  for (let k = 0; k < count; k++) if (weights[row + heldSlots[k]!]! < 0) return true;
  return false;
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

interface Proceeds {
  readonly exits: readonly WeightMove[];
  /** Slots that are sold at this close, to which nothing is added. */
  readonly selling: ReadonlySet<number>;
}

/**
 * Distributes the proceeds of securities that left over the remaining holdings of each side, and pays for the trades.
 * Short positions that left have a cost instead of proceeds.
 */
function spreadProceeds(state: BookState, session: number, { exits, selling }: Proceeds): void {
  const { input, weights, cash, value, heldSlots, count } = state;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const exitSides = sumExitsBySide(exits);
  if (exitSides.long === 0 && exitSides.short === 0) return;
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
  const keepsUnits = state.reinvested !== null && exitSides.short === 0 && remainders.short === 0;
  if (input.fills === 'all' && !keepsUnits)
    for (const child of state.children) child.units *= child.units > 0 ? scale * retained : short;
  cash[position] = (cash[position]! + change) / retained;
  value[position]! *= retained;
}

/** Returns the slots with a holding or a target, ascending. */
function computeTradedSlots({ targetWeights, before, slots }: BookState): Int32Array {
  let count = 0;
  for (let slot = 0; slot < slots.length; slot++)
    if (targetWeights[slot] !== 0 || before[slot] !== 0) slots[count++] = slot;
  return slots.subarray(0, count);
}

/** Trades to target weights at the close; keeps holdings that cannot be traded. */
function tradeToTargetWeights(state: BookState, targets: Targets, session: number): void {
  const { input, sm, rates, columns, slotOf, weights, cash, value } = state;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const { targetWeights, before } = state;
  targetWeights.fill(0);
  for (let k = 0; k < targets.columns.length; k++) {
    const column = targets.columns[k]!;
    if (rates.isForeign) requireRate(rates, sm, session, column);
    targetWeights[slotOf[column]!] = targets.weights[k]!;
  }
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
  else state.renamed = new Map();
  for (const earlier of state.waiting) earlier.replacedAt = position;
  state.waiting = [];
  state.count = 0;
  state.isHeld.fill(0);
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
  if (targets.entered !== undefined) state.divisor[position]! *= targets.entered;
  const { fixedShares } = targets;
  fixedShares?.forEach((shares, k) => (state.expectedShares[slotOf[targets.columns[k]!]!] = shares));
  // A basket that every security has left is cash.
  state.holdsBasket = targets.basket !== undefined && targets.columns.length > 0;
  if (state.holdsBasket) holdBasket(state, session, targets);
  for (const slot of waiting)
    openOrder(state, { session, slot, target: targetWeights[slot]!, heldWeight: weights[row + slot]! });
}

/** Sets the divisor to the market value of fixed numbers of shares over the level. */
function holdBasket(state: BookState, session: number, { columns, basket, fixedShares }: Targets): void {
  const { reinvested, divisor, index, sm } = state;
  if (reinvested === null) return;
  const position = session - state.input.from;
  const row = readPanelRow(sm, session);
  let money = fixedShares === undefined ? basket! : 0;
  fixedShares?.forEach((shares, k) => (money += shares * index[row + columns[k]!]!));
  divisor[position] = money / reinvested.levels.price[position]!;
}

/** Sets the weight of each of the `slots` to its target weight times `scale`. These slots become the only holdings. */
function holdTargets(
  state: BookState,
  slots: Int32Array,
  { row, scale }: { readonly row: number; readonly scale: number },
): void {
  const { targetWeights, weights, heldSlots, isHeld, everHeld } = state;
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
  state.count = count;
}

function hasShortSide({ before, targets, slots }: Pick<TradeInput, 'before' | 'targets' | 'slots'>): boolean {
  return slots.some((slot) => before[slot]! < 0 || targets[slot]! < 0);
}
