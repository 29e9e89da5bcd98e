import { sumHoldingValue } from '#kernels/sums/sums.js';
import { Refusal } from '../base/refusals.js';
import { formatDay } from '../base/time.js';
import { countStaleSessions, findTreatment, readPriceSessions, roundsAny } from '../definition/treatment.js';
import {
  addKeptCash,
  computeBoughtValue,
  computeOpening,
  computeShareFactor,
  findEffect,
  NO_EFFECT,
  readEffect,
} from '../market/action-effects.js';
import { holdsShares, toShortTerms } from '../market/growth-terms.js';
import {
  computeDividendPoints,
  computeEarlyIncome,
  computeReinvestedIncome,
  findCarriedAtEffect,
  findCarriedUnder,
} from '../market/growth.js';
import { requireRate } from '../market/rates.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import {
  type Book,
  type BookInput,
  computePriceLevel,
  type Conversion,
  type CountFactors,
  type Fill,
  finishShareRecord,
  type FollowedClose,
  type Gap,
  listAdoptedChanges,
  type PendingSecurities,
  type Targets,
  type Transfers,
  type WeightMove,
} from './book.js';
import { computeExitFactor, convertPrice, listEvents } from './events.js';
import {
  beginHoldingPeriod,
  clearSecurities,
  computeBookValue,
  expectShares,
  recordHoldings,
  setUnits,
} from './holdings.js';
import {
  adoptCounts,
  appendSlot,
  type BookState,
  clearRow,
  convertCounts,
  copyPending,
  countFactors,
  createBookEnd,
  dropSecurity,
  findRowOffset,
  findSlot,
  holdSecurity,
  isHeldColumn,
  listPending,
  NO_COLUMNS as NO_STATE_COLUMNS,
  openBook,
  roundDivisor,
  roundOpeningDivisor,
  roundShareNumber,
  roundShares,
  type SpunOffSecurity,
  type TransferRecorder,
  writeRow,
} from './state.js';
import {
  fillOrder,
  findFrozenSlots,
  listFillableOrders,
  openOrder,
  type Sides,
  spreadSides,
  type TradeInput,
  tradeToTargets,
  tradeUnpriced,
} from './trading.js';

/**
 * Checks that the value of a book is not negative. Short positions can lose more than the value.
 * @throws Refusal NUMERIC_FAILURE if the value is negative
 */
function assertWorth({ input, sm, value }: BookState, session: number, worth: number): void {
  if (!(worth < 0)) return;
  const date = formatDay(sm.sessions[session]!);
  const before = value[session - input.from - 1] ?? input.initialValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} is worth ${worth} on ${date} after ${before} the session before: its short positions lost more than its value. Choose an end date before ${date}.`,
    { date },
  );
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

/** Processes a close: removes securities that leave or convert, applies target weights, and fills waiting orders. */
function closeSession(state: BookState, session: number, targets: Targets | undefined): void {
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
  keepChildValues(state, session, { value: valueBefore, divisor: divisorBefore });
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

/**
 * Keeps the shares of spun-off securities without a price that a portfolio holds. Its units are index shares, whose value
 * in money changes with costs and with the divisor.
 */
function keepChildValues(
  { input, reinvested, children, value, divisor }: BookState,
  session: number,
  before: { readonly value: number; readonly divisor: number },
): void {
  if (input.fills === 'all' || reinvested === null || session === input.from) return;
  const position = session - input.from;
  const factor = (divisor[position]! / before.divisor) * (before.value / value[position]!);
  for (const child of children) child.units *= factor;
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

/** Change of a holding by an adjustment of the previous close. */
interface OpenedHolding {
  readonly units: number;
  /** Value after the adjustment over value before it. */
  readonly factor: number;
}

/** Previous close after its adjustment. */
interface OpenedSession {
  /** Factor on the divisor: market value after the adjustment over market value before it. */
  readonly growth: number;
  readonly marketValue: number;
}

/**
 * Adjusts the previous close before growth is computed. Share-count changes come first; special dividends, rights
 * issues and splits follow.
 * @param ofCounts factors, by position, of share-count changes after the previous close
 */
function openSession(state: BookState, session: number, ofCounts: CountFactors | null = null): OpenedSession {
  const { effects, units } = state;
  const countGrowth = ofCounts === null ? 1 : changeShares(state, session, ofCounts);
  const before = state.path * countGrowth;
  if (effects.isOpening[session] === 0) return { growth: countGrowth, marketValue: before };
  const { columns, starts } = effects;
  const opened = new Map<number, OpenedHolding>();
  let openingGrowth = 1;
  let marketValue = before;
  let isValueMoved = false;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const place = findSlot(state, columns[e]!);
    if (place < 0) continue;
    const holding = openHolding(state, session, { effect: e, place });
    const { factor } = holding;
    if (factor !== factor || (factor === 1 && holding.units === units[place])) continue;
    opened.set(place, holding);
    if (factor === 1) continue;
    isValueMoved = true;
    const value = computeValueAt(state, session - 1, place);
    openingGrowth += (value / before) * (factor - 1);
    marketValue += value * (factor - 1);
  }
  if (isValueMoved) recordMoves(state, session, { opened, growth: openingGrowth, before });
  for (const [place, holding] of opened) setUnits(state, place, holding.units);
  return { growth: openingGrowth * countGrowth, marketValue };
}

/**
 * Returns the divisor after the previous close was adjusted. That of fixed numbers of shares is their market value over
 * the level.
 */
function computeOpeningDivisor(state: BookState, session: number, { growth, marketValue }: OpenedSession): number {
  const { divisor, reinvested, holdsBasket } = state;
  const before = session - state.input.from - 1;
  const level = reinvested?.levels.price[before] ?? 0;
  return holdsBasket && growth !== 1 && level > 0 ? marketValue / level : divisor[before]! * growth;
}

/** Returns a holding after an effect has adjusted the previous close. */
function openHolding(
  state: BookState,
  session: number,
  { effect: e, place }: { readonly effect: number; readonly place: number },
): OpenedHolding {
  const { effects, sm, growth } = state;
  const units = state.units[place]!;
  const before = findCarriedUnder(sm, effects, session - 1, effects.columns[e]!);
  const factor = computeOpening(effects, e, before);
  if (!holdsShares(growth)) return { units: units * factor, factor };
  const shareFactor = computeShareFactor(readEffect(effects, e), before, effects.getTerms(session));
  if (shareFactor === 1) return { units, factor };
  const exact = units * shareFactor;
  const rounded = roundShareNumber(state, sm.sessions[session]!, exact);
  return rounded === exact ? { units: exact, factor } : { units: rounded, factor: factor * (rounded / exact) };
}

/**
 * Adds the shares that special dividends buy, if the security that pays them keeps them. The cash is part of
 * the market value, so the divisor does not change.
 */
function reinvestCash(state: BookState, session: number): void {
  const { effects, sm, units } = state;
  if (effects.isOpening[session] === 0) return;
  const { columns, starts, cash, special } = effects;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (cash[e] === 0 && special[e] === 0) continue;
    const place = findSlot(state, columns[e]!);
    if (place < 0) continue;
    const before = findCarriedUnder(sm, effects, session - 1, columns[e]!);
    const price = findCarriedAtEffect(sm, effects, e);
    const grown = addKeptCash(readEffect(effects, e), before, price);
    if (!(grown > price) || !(price > 0)) continue;
    setUnits(state, place, units[place]! * (grown / price));
    state.hasNewShares = true;
  }
  if (state.hasNewShares) recordHoldings(state, session, 'close');
}

/** Changes the share-count factors and their records so that rounded index shares result. */
function roundShareFactors(state: BookState, session: number, factors: CountFactors | null): void {
  if (factors === null || state.input.rounding === undefined) return;
  const { places, values, count } = factors;
  const { before, after } = state.shareCounts!.changes;
  const day = state.sm.sessions[session]!;
  for (let i = 0, changeIndex = after.length - count; i < count; i++, changeIndex++) {
    const exact = state.units[places[i]!]! * values[i]!;
    const rounded = roundShareNumber(state, day, exact);
    if (rounded === exact) continue;
    values[i]! *= rounded / exact;
    after.values()[changeIndex] = before.values()[changeIndex]! * values[i]!;
  }
}

/**
 * Multiplies index shares by the factors of share-count changes.
 * @returns market value after the change over market value before it
 */
function changeShares(state: BookState, session: number, { places, values, count }: CountFactors): number {
  const { path, heldColumns, slotOf, transfers, input, units, sm } = state;
  let countGrowth = 1;
  for (let i = 0; i < count; i++)
    countGrowth += (computeValueAt(state, session - 1, places[i]!) / path) * (values[i]! - 1);
  const isRecorded = !input.isBrief && !input.isSparse;
  if (isRecorded) {
    transfers.keptAt.push(session - input.from);
    transfers.kept.push(1 / countGrowth);
  }
  for (let i = 0; i < count; i++) {
    const heldPosition = places[i]!;
    const factor = values[i]!;
    if (isRecorded) {
      const value = computeValueAt(state, session - 1, heldPosition) / path / countGrowth;
      recordTransfer(state, session, {
        slot: slotOf[heldColumns[heldPosition]!]!,
        dividends: 0,
        moved: value * (1 - factor),
      });
    }
    setUnits(state, heldPosition, roundShareNumber(state, sm.sessions[session]!, units[heldPosition]! * factor));
  }
  return countGrowth;
}

/** Returns the value of a position relative to the start of the holding period. */
function computeValueAt({ sm, units, index, heldColumns }: BookState, session: number, place: number): number {
  return units[place]! * index[readPanelRow(sm, session) + heldColumns[place]!]!;
}

interface Opening {
  /** Adjusted holdings by position. */
  readonly opened: ReadonlyMap<number, OpenedHolding>;
  readonly growth: number;
  /** Total value at the previous close, relative to the start of the holding period. */
  readonly before: number;
}

/** Records the weights that an adjustment of closes moves: the payment of one security is spread over all holdings. */
function recordMoves(state: BookState, session: number, { opened, growth, before }: Opening): void {
  if (state.input.isBrief || state.input.isSparse) return;
  for (let k = 0; k < state.count; k++) {
    const slot = state.heldSlots[k]!;
    const heldPosition = state.places[slot]!;
    const weight = computeValueAt(state, session - 1, heldPosition) / before;
    recordTransfer(state, session, {
      slot,
      dividends: 0,
      moved: weight - (weight * (opened.get(heldPosition)?.factor ?? 1)) / growth,
    });
  }
}

interface Transfer {
  readonly slot: number;
  readonly dividends: number;
  readonly moved: number;
}

function recordTransfer({ transfers, input }: BookState, session: number, { slot, dividends, moved }: Transfer): void {
  transfers.at.push(session - input.from);
  transfers.slot.push(slot);
  transfers.dividends.push(dividends);
  transfers.moved.push(moved);
}

/** Dividends of a session as fractions of the market value at its close. */
interface DividendReturns {
  /** Before and after tax. */
  readonly total: number;
  readonly net: number;
}

/**
 * Adds up and records the dividends of a session.
 * @param drift growth of the holdings from prices
 */
function sumDividends(state: BookState, session: number, drift: number): DividendReturns {
  const { effects, path, input } = state;
  const { columns, starts, income, ordinary, net } = effects;
  const { variant, reinvestedAt } = effects.terms;
  const isRecorded = variant !== 'price' && !input.isBrief && !input.isSparse;
  const returns = { total: 0, net: 0 };
  const paid: { readonly slot: number; readonly dividends: number }[] = [];
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (ordinary[e] === 0) continue;
    const heldPosition = findSlot(state, columns[e]!);
    if (heldPosition < 0) continue;
    const worth = computeValueAt(state, session, heldPosition);
    const shareCount = worth / findCarriedAtEffect(state.sm, effects, e);
    if (!(Math.abs(shareCount) < Infinity) || !(path > 0)) continue;
    // short positions pay dividends in full
    returns.total += (shareCount * ordinary[e]!) / path;
    returns.net += (shareCount * (worth < 0 ? ordinary[e]! : net[e]!)) / path;
    if (!isRecorded) continue;
    const dividendReturn = (shareCount * (worth < 0 ? ordinary[e]! : income[e]!)) / path;
    paid.push({ slot: state.slotOf[columns[e]!]!, dividends: dividendReturn * drift });
  }
  // The contribution of a dividend is the value at the close of the part of the index that it bought.
  const grown =
    reinvestedAt === undefined || variant === 'price' ? 1 : drift * computeEarlyIncome(returns[variant], drift);
  for (const { slot, dividends } of paid)
    recordTransfer(state, session, { slot, dividends: dividends * grown, moved: 0 });
  return returns;
}

/**
 * Computes the levels of a book with index shares after the growth of a session: market value over divisor, and the
 * dividends that were reinvested since the first session. Neither index shares nor the divisor depend on ordinary
 * dividends.
 * @param marketValue market value at the close
 */
function growShares(state: BookState, session: number, marketValue: number): void {
  const { input, drift, gross, value, paths, divisor, growth, reinvestedIncome, periodValue, periodLevel } = state;
  const { levels, points, netPoints } = state.reinvested!;
  const own = levels[growth.variant];
  const position = session - input.from;
  const before = levels.price[position - 1]!;
  const price = before === 0 ? 0 : computePriceLevel(state.stated, marketValue, divisor[position]!);
  state.path = marketValue;
  drift[position] = before === 0 ? 1 : price / before;
  const returns = sumDividends(state, session, drift[position]!);
  for (const taxed of ['total', 'net'] as const)
    reinvestedIncome[taxed] =
      growth.reinvestedAt === undefined
        ? computeReinvestedIncome(reinvestedIncome[taxed], returns[taxed])
        : reinvestedIncome[taxed] * computeEarlyIncome(returns[taxed], drift[position]!);
  levels.price[position] = price;
  levels.total[position] = price * reinvestedIncome.total;
  levels.net[position] = price * reinvestedIncome.net;
  points[position] = computeDividendPoints(price, returns.total);
  netPoints[position] = computeDividendPoints(price, returns.net);
  gross[position] = before === 0 ? 1 : own[position]! / own[position - 1]!;
  paths[position] = periodLevel === 0 ? 1 : own[position]! / periodLevel;
  value[position] = input.fills === 'all' ? own[position]! : periodValue * paths[position]!;
}

/**
 * Moves the book from the previous close to this close: applies growth, proceeds of securities that leave, and
 * spin-offs.
 */
function driftToClose(state: BookState, session: number): void {
  const { treatment } = state.input;
  if (treatment.amended) state.treatment = findTreatment(treatment, state.sm.sessions[session]!);
  const { input, sm, value, cash, divisor } = state;
  const position = session - input.from;
  clearRow(state, session);
  const worthlessColumns = listWorthlessSecurities(state, session);
  const isStructural =
    sm.actions.isStructural[session] === 1 ||
    state.children.length > 0 ||
    state.renamed.size > 0 ||
    worthlessColumns.length > 0;
  state.today = isStructural ? listEvents(state, session) : undefined;
  state.droppedChildren = NO_STATE_COLUMNS;
  const shareFactors = countFactors(state, session);
  roundShareFactors(state, session, shareFactors);
  const spunOffSecurities = state.today === undefined ? NO_CHILDREN : listSpunOff(state, session, shareFactors);
  const opened = openSession(state, session, shareFactors);
  if (state.reinvested !== null) {
    if (state.effects.isOpening[session] === 1 || shareFactors !== null) recordHoldings(state, session, 'opening');
    reinvestCash(state, session);
  }
  if (state.ofShorts !== state.effects) adjustShorts(state, session);
  const openingDivisor = roundOpeningDivisor(state, session, computeOpeningDivisor(state, session, opened));
  divisor[position] = openingDivisor;
  const sum = isStructural
    ? growThroughEvents(state, session, { spunOff: spunOffSecurities, written: worthlessColumns })
    : computeBookValue(state, session);
  if (!Number.isFinite(sum))
    throw new Refusal(
      'NUMERIC_FAILURE',
      `The growth of the book is not finite on ${formatDay(sm.sessions[session]!)}.`,
    );
  if (state.reinvested === null) growValue(state, session, { sum, openingGrowth: opened.growth });
  else growShares(state, session, sum);
  assertWorth(state, session, value[position]!);
  cash[position] = sum > 0 ? state.periodCash / sum : 1;
  if (!(sum > 0)) clearSecurities(state, session);
  else if (isStructural) scaleRow(state, session, 1 / sum);
  else if (!input.isBrief && !input.isSparse) writeRow(state, session);
  if (state.reinvested === null) divisor[position] = openingDivisor * computeReinvestmentFactor(state, session);
  if (isStructural) beginHoldingPeriod(state, session);
}

interface SessionGrowth {
  /** Value of the holdings and cash relative to the start of the holding period. */
  readonly sum: number;
  readonly openingGrowth: number;
}

/** Grows the value of a book whose units are not shares. */
function growValue(state: BookState, session: number, { sum, openingGrowth }: SessionGrowth): void {
  const position = session - state.input.from;
  const before = state.path * state.carry;
  state.carry /= openingGrowth;
  state.path = sum;
  state.drift[position] = (sum * state.carry) / before;
  const growth = sum * state.carry;
  state.paths[position] = growth;
  state.gross[position] = growth / before;
  state.value[position] = state.periodValue * growth;
}

const NO_CHILDREN: readonly SpunOffSecurity[] = [];

function scaleRow({ weights, columns, input, heldSlots, count }: BookState, session: number, factor: number): void {
  const row = input.isBrief ? 0 : (session - input.from) * columns.length;
  for (let k = 0; k < count; k++) weights[row + heldSlots[k]!]! *= factor;
}

/** Returns true if a position has separate dividend terms: a short position under a withholding tax. */
function hasSeparateTerms({ ofShorts, effects, units }: BookState, place: number): boolean {
  return ofShorts !== effects && units[place]! < 0;
}

/**
 * Changes the units of short positions on a session so that they pay dividends in full. The value index contains
 * dividends after tax.
 */
function adjustShorts(state: BookState, session: number): void {
  const { sm, effects, ofShorts } = state;
  for (let e = ofShorts.starts[session]!; e < ofShorts.starts[session + 1]!; e++) {
    const column = ofShorts.columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0 || !hasSeparateTerms(state, heldPosition)) continue;
    const price = findCarriedAtEffect(sm, ofShorts, e);
    const before = findCarriedUnder(sm, ofShorts, session - 1, column);
    const own = addKeptCash(readEffect(ofShorts, e), before, price);
    const inOthers = addKeptCash(findEffect(effects, session, column) ?? NO_EFFECT, before, price);
    setUnits(state, heldPosition, state.units[heldPosition]! * (own / inOthers));
  }
}

interface EventOutcome {
  readonly spunOff: readonly SpunOffSecurity[];
  /** Columns whose value becomes zero at this close. */
  readonly written: readonly number[];
}

/**
 * Grows the holdings of a session one by one through all corporate actions. Afterwards the weights row contains values
 * relative to the start of the holding period. Returns their sum, including cash.
 */
function growThroughEvents(state: BookState, session: number, { spunOff, written }: EventOutcome): number {
  const { input, index, sm, units, heldColumns, heldSlots, weights, columns, periodCash } = state;
  const row = findRowOffset(state, session);
  state.rowSession = session;
  if (input.isBrief) weights.fill(0, row, row + columns.length);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.count; k++) weights[row + heldSlots[k]!] = units[k]! * index[from + heldColumns[k]!]!;
  valueRenamed(state, session);
  for (const [column, { proceeds }] of state.today?.exits ?? []) {
    if (proceeds !== undefined && isHeldColumn(state, column)) valueAtProceeds(state, session, { column, proceeds });
  }
  for (const column of written) weights[row + state.slotOf[column]!] = 0;
  enterChildren(state, session, spunOff);
  if (state.reinvested !== null) return sumRow(state, row);
  let sum = periodCash;
  for (let k = 0; k < state.count; k++) sum += weights[row + heldSlots[k]!]!;
  return sum;
}

/** Adds up the values of a row and the cash, in the order of sessions without events. */
function sumRow({ weights, heldSlots, count, periodCash }: BookState, row: number): number {
  const ones = new Float64Array(count).fill(1);
  return sumHoldingValue(weights, row, { columns: heldSlots, units: ones, count, money: periodCash });
}

/**
 * Returns the constituents that are written off at this close. A constituent is written off if it has had no price for
 * longer than the treatment allows, or if it is suspended and a review removes it.
 */
function listWorthlessSecurities(state: BookState, session: number): number[] {
  const { sm, treatment, targetsOn, columns, heldSlots, count } = state;
  if (treatment.suspension !== 'zero') return [];
  const targets = targetsOn.get(session);
  const results: number[] = [];
  for (let k = 0; k < count; k++) {
    const column = columns[heldSlots[k]!]!;
    if (sm.hasEnded(session, column) || targets?.columns.includes(column) === true) continue;
    const longest = targets === undefined ? countStaleSessions(treatment) : readPriceSessions(treatment);
    if (sm.isSilent(session, column, longest)) results.push(column);
  }
  return results;
}

interface ProceedsOfSecurity {
  readonly column: number;
  /** Price per share in money. */
  readonly proceeds: number;
}

/** Values a held security at its proceeds instead of its close. */
function valueAtProceeds(state: BookState, session: number, { column, proceeds }: ProceedsOfSecurity): void {
  const { weights, slotOf, growth } = state;
  const position = findRowOffset(state, session) + slotOf[column]!;
  weights[position]! *= computeExitFactor({
    ...state,
    growth: weights[position]! < 0 ? toShortTerms(growth) : growth,
    session,
    column,
    proceeds,
  });
}

/** Values held securities whose ticker changed by the price of the new ticker as soon as it has a price bar. */
function valueRenamed(state: BookState, session: number): void {
  const { sm } = state;
  const { all, starts } = sm.actions;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const relatedColumn = action.type === 'TICKER_CHANGE' && action.related !== null ? sm.columnOf(action.related) : -1;
    const isPaid = state.today?.exits.get(column)?.proceeds !== undefined;
    if (relatedColumn >= 0 && relatedColumn !== column && !isPaid && isHeldColumn(state, column))
      state.renamed.set(column, relatedColumn);
  }
  for (const [column, related] of state.renamed) {
    if (!isHeldColumn(state, column) || !sm.isRenamed(session, column, related)) continue;
    const proceeds = convertPrice(state, session, { priced: related, quoted: column });
    valueAtProceeds(state, session, { column, proceeds });
  }
}

function findFactor(factors: CountFactors | null, place: number): number {
  const position = factors === null ? -1 : factors.places.subarray(0, factors.count).indexOf(place);
  return position < 0 ? 1 : factors!.values[position]!;
}

/** Returns the spun-off securities that the holdings of the previous close receive. */
function listSpunOff(state: BookState, session: number, ofCounts: CountFactors | null): SpunOffSecurity[] {
  const { sm, rates, slotOf, effects, units, index, today, growth } = state;
  return (today?.spinOffs ?? []).flatMap(({ parent, child, units: perUnit }): SpunOffSecurity[] => {
    const heldPosition = findSlot(state, parent);
    if (heldPosition < 0) return [];
    const heldUnits = units[heldPosition]! * findFactor(ofCounts, heldPosition);
    const ratio =
      effects.getTerms(session).splitShares === 'keep' ? 1 : (findEffect(effects, session, parent)?.ratio ?? 1);
    const computeShares = (): number =>
      (heldUnits * index[readPanelRow(sm, session - 1) + parent]!) /
      (findCarriedUnder(sm, effects, session - 1, parent) * rates.rateAt(session - 1, parent));
    const shares = holdsShares(growth) ? heldUnits : computeShares();
    return [{ slot: slotOf[child]!, column: child, since: session, units: shares * ratio * perUnit }];
  });
}

/**
 * Adds spun-off securities with value zero; their value begins with their first price bar, or is what holders receive if
 * the security ends before.
 */
function enterChildren(state: BookState, session: number, spunOff: readonly SpunOffSecurity[]): void {
  const { sm, rates, weights, treatment, effects } = state;
  const droppedColumns: number[] = [];
  const row = findRowOffset(state, session);
  for (const child of state.children) child.units *= findEffect(effects, session, child.column)?.ratio ?? 1;
  state.children.push(...spunOff);
  if (state.children.length === 0) return;
  state.children = state.children
    .map((child) => followTicker(state, session, child))
    .filter((child) => {
      const isPriced = sm.isPriceable(session, child.column, Infinity);
      const proceeds = isPriced ? undefined : state.today?.exits.get(child.column)?.proceeds;
      if (!isPriced && proceeds === undefined) {
        const isWaiting = session - child.since < countStaleSessions(treatment);
        if (!isWaiting) state.silent.push({ session, column: child.column });
        return isWaiting;
      }
      requireRate(rates, sm, session, child.column);
      const price = proceeds ?? findCarriedUnder(sm, effects, session, child.column);
      weights[row + child.slot]! += child.units * price * rates.rateAt(session, child.column);
      expectShares(state, session, child);
      if (treatment.spin_offs === 'drop_after_first_session' && state.isHeld[child.slot] === 0)
        droppedColumns.push(child.column);
      holdSecurity(state, child.slot);
      state.hasNewShares = true;
      return false;
    });
  state.droppedChildren = droppedColumns;
}

/** Returns spun-off shares under the ticker that they have from a session on. */
function followTicker({ sm, slotOf }: BookState, session: number, child: SpunOffSecurity): SpunOffSecurity {
  const change = sm.actions.related.find(
    (one) => one.session === session && one.column === child.column && one.action.type === 'TICKER_CHANGE',
  );
  const column =
    change === undefined || sm.lastBar[readPanelRow(sm, session) + child.column]! >= 0
      ? -1
      : sm.columnOf(change.action.related!);
  return column < 0 ? child : { ...child, column, slot: slotOf[column]! };
}

/**
 * Returns the factor on the divisor for money that left or entered a security at this close without a price change,
 * such as a dividend or a subscription. The money is reinvested in that security.
 */
function computeReinvestmentFactor(state: BookState, session: number): number {
  const { sm, effects: ownEffectTable, ofShorts, slotOf, weights, units, index, path } = state;
  const { columns, rights, starts } = ofShorts;
  const isForAll = ofShorts === ownEffectTable;
  let factor = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const column = columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0) continue;
    const weight =
      state.rowSession === session
        ? weights[findRowOffset(state, session) + slotOf[column]!]!
        : (units[heldPosition]! * index[readPanelRow(sm, session) + column]!) / path;
    const effect =
      weight < 0 || isForAll ? readEffect(ofShorts, e) : (findEffect(ownEffectTable, session, column) ?? NO_EFFECT);
    if (effect.cash > 0)
      factor -= computeBoughtValue(effect, {
        before: findCarriedUnder(sm, ofShorts, session - 1, column),
        price: findCarriedAtEffect(sm, ofShorts, e),
        value: weight,
      });
    if (rights[e]! > 0 && ownEffectTable.terms.rights === 'constituent')
      factor +=
        (weight * ofShorts.ratio[e]! * rights[e]! * ofShorts.subscription[e]!) /
        findCarriedUnder(sm, ofShorts, session - 1, column);
  }
  return factor;
}

/** Records the missing price bars of securities that are held at the start of a session or targeted on it. */
function findGaps(state: BookState, session: number, targets: Targets | undefined): void {
  const { sm, gaps, absences, treatment, missing: earlier } = state;
  state.missing = NO_COLUMNS;
  const isLong = countStaleSessions(treatment) > LISTED_SESSIONS_MAX;
  const mayBeLong = isLong && (earlier.length > 0 || haveHoldingsChanged(state, session));
  if (!targets && !mayBeLong && absences.starts[session] === absences.starts[session + 1]) return;
  const absentColumns = listAbsentHoldings(state, session);
  if (mayBeLong) addLongAbsent(state, session, { missing: absentColumns, earlier });
  if (targets) {
    const { columns } = targets;
    for (let k = 0; k < columns.length; k++) {
      const column = columns[k]!;
      if (!sm.hasBar(session, column) && !absentColumns.includes(column)) absentColumns.push(column);
    }
  }
  state.missing = absentColumns.length === 0 ? NO_COLUMNS : absentColumns.sort((a, b) => a - b);
  for (const column of absentColumns) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw createMissingPriceRefusal(sm, { session, column });
    gaps.push({ session, column });
  }
}

const NO_COLUMNS: readonly number[] = [];

/** Largest limit on sessions without a price for which `listAbsences` lists every absent holding. */
const LISTED_SESSIONS_MAX = 60;

function listAbsentHoldings(state: BookState, session: number): number[] {
  const { starts, columns } = state.absences;
  const absentColumns: number[] = [];
  for (let a = starts[session]!; a < starts[session + 1]!; a++)
    if (isHeldColumn(state, columns[a]!)) absentColumns.push(columns[a]!);
  return absentColumns;
}

interface AbsenceInput {
  readonly missing: number[];
  /** Held or targeted columns without a price bar on the previous session. */
  readonly earlier: readonly number[];
}

/**
 * Adds holdings whose absence is too long to be listed. Such a holding had no price bar on the previous session either,
 * unless it was bought since then.
 */
function addLongAbsent(state: BookState, session: number, { missing, earlier }: AbsenceInput): void {
  const { sm, columns, heldSlots, count } = state;
  const addMissing = (column: number): void => {
    if (!sm.hasBar(session, column) && !missing.includes(column)) missing.push(column);
  };
  if (haveHoldingsChanged(state, session)) for (let k = 0; k < count; k++) addMissing(columns[heldSlots[k]!]!);
  else for (const column of earlier) if (isHeldColumn(state, column)) addMissing(column);
}

/** Returns true if the holdings may have changed since the previous search for gaps. */
function haveHoldingsChanged({ begins, input: { from, resume } }: BookState, session: number): boolean {
  const position = session - from;
  return position <= (resume ? 1 : 0) || begins[position] === 1 || begins[position - 1] === 1;
}

function createMissingPriceRefusal(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal(
    'MISSING_PRICE',
    `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is "fail".`,
    { identifier, date },
  );
}

/** Number of sessions between two checks for cancellation. */
const TICK_SESSIONS = 64;

/**
 * Simulates a book: weights drift by growth, securities leave and enter through corporate actions, and targets take
 * effect at the close. The return of a session is that of the weights held before it. Between sessions with events a
 * holding is a fixed number of units of the value index, so a session costs one product per security.
 * @throws Refusal FX_MISSING if the exchange rate of a security is unknown at its purchase, MISSING_PRICE,
 * NUMERIC_FAILURE
 * @cost O(T H)
 */
export function simulateBook(input: BookInput): Book {
  const state = openBook(input);
  const { from, to, tick, sm, resume } = input;
  let pending: FollowedClose | null = null;
  for (let session = resume ? from + 1 : from; session <= to; session++) {
    const position = session - from;
    if (position > 0) driftToClose(state, session);
    const targets = state.targetsOn.get(session);
    findGaps(state, session, targets);
    closeSession(state, session, targets);
    if (state.hasNewShares) roundNewShares(state, session);
    if (state.begins[position] === 1) recordHoldings(state, session, 'after');
    roundDivisor(state, session);
    if (session === input.followedFrom) pending = startFollowing(state, session);
    state.counts[position] = state.count;
    if (tick && position % TICK_SESSIONS === 0) tick(position / (to - from + 1));
  }
  const {
    columns,
    value,
    gross,
    paths,
    begins,
    divisor,
    costs,
    weights,
    cash,
    counts,
    everHeld,
    events,
    gaps,
    silent,
    orders,
  } = state;
  if (input.isBrief || input.isSparse) writeRow(state, to);
  return {
    sm,
    from,
    length: to - from + 1,
    columns,
    value,
    gross,
    begins,
    divisor,
    costs,
    cash,
    counts,
    everHeld,
    events,
    gaps,
    silent,
    weights,
    end: createBookEnd(state, to),
    pending,
    path: paths,
    unfilled: orders,
    ...listGrowthFields(state),
    ...listShareFields(state),
  };
}

/** Returns the adopted share-count changes and the index shares. */
function listShareFields(state: BookState): Pick<Book, 'shareChanges' | 'shares'> {
  const shareChanges = listAdoptedChanges(state);
  return {
    ...(shareChanges === undefined ? {} : { shareChanges }),
    ...(state.shareRecorder === null ? {} : { shares: finishShareRecord(state.shareRecorder) }),
  };
}

/** Rounds index shares that a spin-off or reinvested cash changed on the session. */
function roundNewShares(state: BookState, session: number): void {
  state.hasNewShares = false;
  if (!roundsAny(state.input.rounding, 'shares')) return;
  writeRow(state, session);
  roundShares(state, session);
  beginHoldingPeriod(state, session);
}

/**
 * Starts a holding period at a close, so that a portfolio can follow the book from there.
 * @returns the state at that close
 */
function startFollowing(state: BookState, session: number): FollowedClose {
  writeRow(state, session);
  if (state.path !== 1 || state.carry !== 1) beginHoldingPeriod(state, session);
  const pending = listPending(state);
  const { levels, divisor, held, units, exactDivisor = 1 } = createBookEnd(state, session);
  if (levels === null) return pending;
  return { ...pending, shares: { levels, divisor: divisor * exactDivisor, columns: held, units } };
}

function finishTransfers({ at, slot, dividends, moved, keptAt, kept }: TransferRecorder): Transfers {
  return {
    at: at.values(),
    slot: slot.values(),
    dividends: dividends.values(),
    moved: moved.values(),
    keptAt: keptAt.values(),
    kept: kept.values(),
  };
}

/**
 * Returns the growth of a book that does not follow from its weights: price growth, transfers, reinvested dividends and
 * the rounding of the divisor.
 */
function listGrowthFields({
  drift,
  gross,
  transfers,
  reinvested,
  exactDivisor,
  input,
}: BookState): Pick<Book, 'drift' | 'transfers' | 'reinvested' | 'exactDivisor'> {
  return {
    ...(drift === gross ? {} : { drift }),
    ...(transfers.at.length + transfers.keptAt.length === 0 ? {} : { transfers: finishTransfers(transfers) }),
    ...(reinvested === null || input.fills !== 'all' ? {} : { reinvested }),
    ...(exactDivisor === null ? {} : { exactDivisor }),
  };
}
