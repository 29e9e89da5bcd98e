import { formatDay } from '../../days.js';
import { requireRate } from '../../market/exchange-rates.js';
import { panelRow, type SessionMarket } from '../../market/session-market.js';
import { Refusal } from '../../refusal.js';
import type { Gap, Move, Targets } from './book.js';
import { fillableOn, fillOrder, frozenSlots, openOrder } from './book-orders.js';
import { append, beginStretch, drop, hold, isHeldColumn, rowOf, writeRow, type BookState } from './book-state.js';
import { trade } from './trade.js';
import { tradeBeyond } from './trade-beyond.js';

/** Notes which of the names held into the session, and of its targets, have a gap. */
export function findGaps(state: BookState, session: number, targets: Targets | undefined): void {
  const { sm, gaps, absences, treatment } = state;
  state.missing = NONE;
  if (!targets && absences.starts[session] === absences.starts[session + 1]) return;
  const missing: number[] = [];
  for (let a = absences.starts[session]!; a < absences.starts[session + 1]!; a++) {
    const column = absences.columns[a]!;
    if (isHeldColumn(state, column)) missing.push(column);
  }
  for (const column of targets?.columns ?? []) {
    if (sm.lastBar[panelRow(sm, session) + column] !== session && !missing.includes(column)) missing.push(column);
  }
  state.missing = missing.sort((a, b) => a - b);
  for (const column of missing) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw missingPrice(sm, { session, column });
    gaps.push({ session, column });
  }
}

const NONE: readonly number[] = [];

function missingPrice(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal('MISSING_PRICE', `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is fail.`, { identifier, date });
}

/** Everything that happens at a close: names leave or turn into others, targets are taken, waiting orders are filled. */
export function closeSession(state: BookState, session: number, targets: Targets | undefined): void {
  const { input, columns, weights, value, cash } = state;
  const at = session - input.from;
  if (at === 0) {
    value[0] = input.initialValue;
    cash[0] = 1;
  }
  const isQuiet = !targets && state.today === undefined && state.missing.length === 0 && state.renamed.size === 0 && state.waiting.length === 0;
  if (isQuiet) return;
  const conversions = conversionsOn(state, session);
  const leaving = leavingOn(state, session, { targets, conversions });
  const fillable = targets ? [] : fillableOn(state, session);
  if (!targets && conversions.size === 0 && leaving.length === 0 && fillable.length === 0) return;
  if (state.rowSession !== session) writeRow(state, session);
  const row = rowOf(state, session);
  const before = input.isBrief ? null : weights.slice(row, row + columns.length);
  const valueBefore = value[at]!;
  const moves = convertNames(state, conversions, row);
  const sold = releaseNames(state, leaving, session);
  if (targets) takeTargets(state, targets, session);
  else {
    spreadProceeds(state, session, { sold, selling: new Set(fillable.filter(({ side }) => side === 'sell').map(({ slot }) => slot)) });
    for (const order of fillable) fillOrder(state, order, session);
  }
  beginStretch(state, session);
  state.costs[at] = valueBefore - value[at]!;
  if (before === null) return;
  state.events.push({
    at, valueBefore, before,
    moves: [...moves, ...sold],
    rebalanced: targets !== undefined,
    retried: fillable.map(({ slot }) => slot).toSorted((a, b) => a - b),
  });
}

/** Held names that turn into others at this close, by column. */
function conversionsOn(state: BookState, session: number): Map<number, number> {
  const { sm, today, treatment } = state;
  const conversions = new Map<number, number>();
  for (const [column, related] of today?.conversions ?? []) if (isHeldColumn(state, column)) conversions.set(column, related);
  for (const [column, related] of state.renamed) {
    if (!isHeldColumn(state, column) || !sm.hasEnded(session, column)) state.renamed.delete(column);
    else if (sm.isPriceable(session, related, treatment.max_stale_sessions)) {
      conversions.set(column, related);
      state.renamed.delete(column);
    }
  }
  return conversions;
}

interface LeavingInput {
  readonly targets: Targets | undefined;
  readonly conversions: ReadonlyMap<number, number>;
}

/** Held columns that leave at this close, ascending. */
function leavingOn(state: BookState, session: number, { targets, conversions }: LeavingInput): number[] {
  const { sm, today, treatment } = state;
  const leaving: number[] = [];
  for (const column of today?.exits.keys() ?? []) {
    if (isHeldColumn(state, column) && !conversions.has(column)) leaving.push(column);
  }
  const patience = Math.max(1, treatment.max_stale_sessions);
  for (const column of state.missing) {
    if (!isHeldColumn(state, column) || leaving.includes(column) || conversions.has(column)) continue;
    if (targets?.columns.includes(column)) continue;
    const isSilent = sm.barAge(session, column) >= patience;
    const isExcluded = treatment.missing_prices === 'exclude' && sm.isOpen(session, column);
    if (!isSilent && !isExcluded) continue;
    leaving.push(column);
    if (isSilent) state.silent.push({ session, column });
  }
  return leaving.length < 2 ? leaving : leaving.toSorted((a, b) => a - b);
}

function convertNames(state: BookState, conversions: ReadonlyMap<number, number>, row: number): Move[] {
  const { slotOf, weights } = state;
  const moves: Move[] = [];
  for (const [column, related] of [...conversions].toSorted(([a], [b]) => a - b)) {
    const slot = slotOf[column]!;
    const into = slotOf[related]!;
    const weight = weights[row + slot]!;
    moves.push({ slot, change: -weight }, { slot: into, change: weight });
    weights[row + into]! += weight;
    drop(state, slot, row);
    hold(state, into);
  }
  return moves;
}

/** Takes names out at their price. */
function releaseNames(state: BookState, leaving: readonly number[], session: number): Move[] {
  const { input, slotOf, weights, cash, divisor } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  const sold = leaving.map((column): Move => ({ slot: slotOf[column]!, change: -weights[row + slotOf[column]!]! }));
  for (const { slot } of sold) drop(state, slot, row);
  if (sold.length > 0 && state.count > 0) divisor[at]! *= 1 - proceedsOf(sold) / (1 - cash[at]!);
  return sold;
}

/** What names that were sold brought, as a fraction of the value. */
export function proceedsOf(sold: readonly Move[]): number {
  return sold.reduce((sum, { change }) => sum - change, 0);
}

interface Proceeds {
  readonly sold: readonly Move[];
  /** Slots that are about to be sold themselves: nothing more is bought of them. */
  readonly selling: ReadonlySet<number>;
}

/** Spreads proceeds over what is left in proportion to the weights, paying for the purchase; without a name left they stay cash. */
function spreadProceeds(state: BookState, session: number, { sold, selling }: Proceeds): void {
  const { input, weights, cash, value, held, count } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  const proceeds = proceedsOf(sold);
  if (proceeds === 0) return;
  let rest = 0;
  for (let k = 0; k < count; k++) if (!selling.has(held[k]!)) rest += weights[row + held[k]!]!;
  if (!(rest > 0)) {
    cash[at]! += proceeds;
    return;
  }
  const bought = proceeds / (1 + input.costRate);
  const kept = 1 - (proceeds - bought);
  const isAll = cash[at] === 0 && selling.size === 0;
  const scale = isAll ? 1 / rest : (1 + bought / rest) / kept;
  for (let k = 0; k < count; k++) weights[row + held[k]!]! *= selling.has(held[k]!) ? 1 / kept : scale;
  cash[at]! /= kept;
  value[at]! *= kept;
}

/** Slots that are held or asked for, ascending. */
function tradedSlots({ asked, before, slots }: BookState): Int32Array {
  let count = 0;
  for (let slot = 0; slot < slots.length; slot++) if (asked[slot]! > 0 || before[slot]! > 0) slots[count++] = slot;
  return slots.subarray(0, count);
}

/** Takes target weights at the close, around whatever cannot be traded. */
function takeTargets(state: BookState, targets: Targets, session: number): void {
  const { input, sm, rates, columns, slotOf, weights, cash, value } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  const { asked, before } = state;
  asked.fill(0);
  for (let k = 0; k < targets.columns.length; k++) {
    const column = targets.columns[k]!;
    if (rates.isForeign) requireRate(rates, sm, session, column);
    asked[slotOf[column]!] = targets.weights[k]!;
  }
  before.set(weights.subarray(row, row + columns.length));
  const slots = tradedSlots(state);
  const { frozen, unpriced } = frozenSlots({ input, columns, session, slots, before, asked });
  const order = { before, targets: asked, slots, frozen, costRate: input.costRate };
  const { kept, scale, bought, cash: left } = input.tolerance === undefined ? { ...trade(order), bought: 1 } : { ...tradeBeyond(order), scale: 1 };
  state.children = [];
  state.renamed.clear();
  state.waiting = [];
  state.count = 0;
  state.isHeld.fill(0);
  const areFree = frozen.size === 0;
  for (let k = 0; k < slots.length; k++) {
    const slot = slots[k]!;
    const held = before[slot]! / kept;
    const isPart = bought < 1 && asked[slot]! > held;
    const weight = !areFree && frozen.has(slot) ? held : isPart ? held + bought * (asked[slot]! - held) : asked[slot]! * scale;
    weights[row + slot] = weight;
    if (weight > 0) append(state, slot);
  }
  value[at]! *= kept;
  cash[at] = left;
  for (const slot of unpriced) openOrder(state, { session, slot, target: asked[slot]!, held: weights[row + slot]! });
}
