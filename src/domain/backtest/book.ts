import { formatDay } from '../days.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import { absencesOf, type Absences } from '../market/absences.js';
import { exchangeRates, requireRate } from '../market/exchange-rates.js';
import { effectOn, effectTable, valueIndexOf, type EffectTable, type GrowthTerms } from '../market/growth.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusal.js';
import { eventsOn, exitFactor, valueInUnitsOf, type EventTerms, type SessionEvents } from './book-events.js';
import { bookNames } from './book-names.js';
import { trade } from './trade.js';
import { tradeBeyond } from './trade-beyond.js';

/** Weights that a book takes at the close of a session. */
export interface Targets {
  readonly session: number;
  /** Columns, ascending. */
  readonly columns: Int32Array;
  /** One per column; their sum is the fraction invested. */
  readonly weights: Float64Array;
}

export interface BookInput {
  readonly sm: SessionMarket;
  readonly treatment: TreatmentSpec;
  readonly growth: GrowthTerms;
  /** First and last session simulated. */
  readonly from: number;
  readonly to: number;
  /** Ascending by session, the first at `from`; of several on one session the last counts. */
  readonly targets: readonly Targets[];
  readonly initialValue: number;
  /** Cost of a unit of traded notional; 0 for an index. */
  readonly costRate: number;
  /** An index takes every name at its carried price; a portfolio trades what is priceable. */
  readonly fills: 'all' | 'priceable';
  /** After the first session a name is traded only when its weight is further than this from its target. */
  readonly tolerance?: number;
  /** Only the level is wanted: weights are kept of the last session alone, and nothing of what was traded. */
  readonly isBrief?: boolean;
  /** Terms of the value index to read when they differ from `growth` in cash alone: one panel then serves every variant. */
  readonly indexTerms?: GrowthTerms;
  /** A session at whose close a stretch begins though nothing happens: that of a portfolio which follows the book from there. */
  readonly followedFrom?: number;
  /** Stops between sessions when the run was cancelled. */
  readonly tick?: (fraction: number) => void;
}

/** A simulated book: T sessions from `from`, H names. Everything is of the close, after trades. */
export interface Book {
  readonly sm: SessionMarket;
  readonly from: number;
  readonly length: number;
  /** Columns of the names it held or could have come to hold, ascending, [H]. */
  readonly columns: Int32Array;
  /** [T] */
  readonly value: Float64Array;
  /** Growth of the value over the session, before costs; 1 on the first, [T]. */
  readonly gross: Float64Array;
  /** Value before what happened at the close over that at the beginning of the stretch, [T]. */
  readonly path: Float64Array;
  /** 1 where a stretch begins at the close: up to its end nothing but growth changes the value, [T]. */
  readonly begins: Uint8Array;
  /** Market value divided by value, 1 on the first session, [T]. */
  readonly divisor: Float64Array;
  /** Costs paid on the session, [T]. */
  readonly costs: Float64Array;
  /** Held weights, 0 where not held, [T x H]; of the last session alone in a brief book. */
  readonly weights: Float64Array;
  /** Fraction held in cash, [T]. */
  readonly cash: Float64Array;
  /** Names held, [T]. */
  readonly counts: Int32Array;
  /** 1 for names held at some close, [H]. */
  readonly everHeld: Uint8Array;
  /** Sessions on which something but drift happened, ascending. */
  readonly events: readonly BookEvent[];
  readonly unfilled: readonly UnfilledOrder[];
  /** Names without a bar on a session on which their exchange was open, held or asked for; by session, then column. */
  readonly gaps: readonly Gap[];
  /** Names that left because their bars stopped without an action. */
  readonly silent: readonly Gap[];
}

export interface BookEvent {
  /** Position from the first session of the book. */
  readonly at: number;
  /** Whether targets were taken. */
  readonly rebalanced: boolean;
  /** Value and weights after drift, before anything was traded. */
  readonly valueBefore: number;
  readonly before: Float64Array;
  /** Weights that left at a price or turned into another name, before anything was paid for. */
  readonly moves: readonly Move[];
  /** Slots traded because an earlier order could be filled now. */
  readonly retried: readonly number[];
}

export interface Move {
  readonly slot: number;
  /** Change of the weight, of the value before trades. */
  readonly change: number;
}

export interface UnfilledOrder {
  readonly at: number;
  readonly slot: number;
  readonly side: 'buy' | 'sell';
  readonly target: number;
  readonly held: number;
  readonly notional: number;
  readonly reason: 'no_price' | 'stale_price' | 'delisted';
  /** Position of the session it was filled on, null if never. */
  readonly filledAt: number | null;
}

/** A name on a session of the market's axis. */
export interface Gap {
  readonly session: number;
  readonly column: number;
}

/** Sessions between two looks at the cancel flag. */
const TICK_SESSIONS = 64;

/**
 * Simulates a book: weights drift by growth, names leave and enter by corporate actions, targets are taken at the close.
 * The return of a session is earned by the weights held before it. Between sessions on which something happens a holding
 * is a number of units of the value index, so that a session costs one product per name.
 * @throws Refusal FX_MISSING when a name's exchange rate is not known when it is bought, MISSING_PRICE, NUMERIC_FAILURE
 * @cost O(T H)
 */
export function simulateBook(input: BookInput): Book {
  const state = openBook(input);
  const { from, to, tick, sm } = input;
  for (let session = from; session <= to; session++) {
    const at = session - from;
    if (at > 0) driftTo(state, session);
    const targets = state.targetsOn.get(session);
    findGaps(state, session, targets);
    closeSession(state, session, targets);
    if (session === input.followedFrom && state.path !== 1) beginStretch(state, session);
    state.counts[at] = state.count;
    if (tick && at % TICK_SESSIONS === 0) tick(at / (to - from + 1));
  }
  const { columns, value, gross, paths, begins, divisor, costs, weights, cash, counts, everHeld, events, gaps, silent, orders } = state;
  if (input.isBrief) writeRow(state, to);
  return {
    sm, from, length: to - from + 1, columns, value, gross, begins, divisor, costs, cash, counts, everHeld, events, gaps, silent, weights,
    path: paths,
    unfilled: orders,
  };
}

type Order = { -readonly [K in keyof UnfilledOrder]: UnfilledOrder[K] };

interface Child {
  readonly slot: number;
  readonly column: number;
  readonly since: number;
  units: number;
}

interface State extends EventTerms {
  readonly input: BookInput;
  /** Value index, [S x N]. */
  readonly index: Float64Array;
  readonly effects: EffectTable;
  /** Effects that the value index has in it, when those differ. */
  readonly inIndex: EffectTable | null;
  readonly absences: Absences;
  readonly columns: Int32Array;
  readonly slotOf: Int32Array;
  readonly targetsOn: ReadonlyMap<number, Targets>;
  readonly value: Float64Array;
  readonly gross: Float64Array;
  readonly paths: Float64Array;
  readonly begins: Uint8Array;
  readonly divisor: Float64Array;
  readonly costs: Float64Array;
  readonly weights: Float64Array;
  readonly cash: Float64Array;
  readonly counts: Int32Array;
  readonly everHeld: Uint8Array;
  readonly events: BookEvent[];
  readonly gaps: Gap[];
  readonly silent: Gap[];
  readonly orders: Order[];
  /** Orders of the latest rebalance that wait for a bar. */
  waiting: Order[];
  /** Slots held, ascending, in the first `count` places. */
  readonly held: Int32Array;
  /** 1 for the slots among them, [H]. */
  readonly isHeld: Uint8Array;
  count: number;
  /** Units of the value index and column of each place: what is held since the stretch began. */
  readonly units: Float64Array;
  readonly heldColumns: Int32Array;
  /** Value and cash at the beginning of the stretch, and growth since. */
  stretchValue: number;
  stretchCash: number;
  path: number;
  /** Session whose row of weights was written last. */
  rowSession: number;
  /** Columns among the held ones, and targets, that have no bar on the session. */
  missing: readonly number[];
  /** Spun-off names that have had no price yet. */
  children: Child[];
  /** Held names whose ticker has changed but whose new one had no price yet. */
  renamed: Map<number, number>;
  /** Structural events of the session being closed. */
  today: SessionEvents | undefined;
}

function openBook(input: BookInput): State {
  const { sm, from, to, growth, treatment, targets, isBrief = false, indexTerms = growth } = input;
  const columns = bookNames({ sm, targets, from, to });
  const slotOf = new Int32Array(sm.names).fill(-1);
  columns.forEach((column, slot) => (slotOf[column] = slot));
  const length = to - from + 1;
  const H = columns.length;
  return {
    input, sm, treatment, growth, columns, slotOf,
    rates: exchangeRates(sm, growth.currency),
    index: valueIndexOf(sm, indexTerms),
    effects: effectTable(sm, growth),
    inIndex: indexTerms === growth ? null : effectTable(sm, indexTerms),
    absences: absencesOf(sm),
    targetsOn: new Map(targets.map((entry) => [entry.session, entry])),
    value: new Float64Array(length),
    gross: new Float64Array(length).fill(1),
    paths: new Float64Array(length).fill(1),
    begins: new Uint8Array(length),
    divisor: new Float64Array(length).fill(1),
    costs: new Float64Array(length),
    weights: new Float64Array((isBrief ? 1 : length) * H),
    cash: new Float64Array(length),
    counts: new Int32Array(length),
    everHeld: new Uint8Array(H),
    events: [], gaps: [], silent: [], orders: [], waiting: [],
    held: new Int32Array(H),
    isHeld: new Uint8Array(H),
    count: 0,
    units: new Float64Array(H),
    heldColumns: new Int32Array(H),
    stretchValue: input.initialValue,
    stretchCash: 1,
    path: 1,
    rowSession: from,
    missing: NONE,
    children: [],
    renamed: new Map(),
    today: undefined,
  };
}

const NONE: readonly number[] = [];

/** Beginning of a session's row of weights. */
function rowOf({ input, columns }: State, session: number): number {
  return input.isBrief ? 0 : (session - input.from) * columns.length;
}

/** Moves the book from the close before to this close: growth, proceeds of names that leave, spun-off names. */
function driftTo(state: State, session: number): void {
  const { input, sm, value, gross, cash, divisor } = state;
  const at = session - input.from;
  if (state.inIndex) adjustCash(state, session);
  const isStructural = sm.actions.isStructural[session] === 1 || state.children.length > 0 || state.renamed.size > 0;
  state.today = undefined;
  const before = state.path;
  const sum = isStructural ? growThroughEvents(state, session) : growUnits(state, session);
  if (!Number.isFinite(sum)) throw new Refusal('NUMERIC_FAILURE', `The growth of the book is not finite on ${formatDay(sm.sessions[session]!)}.`);
  state.path = sum;
  state.paths[at] = sum;
  gross[at] = sum / before;
  value[at] = state.stretchValue * sum;
  cash[at] = sum > 0 ? state.stretchCash / sum : 1;
  if (!(sum > 0)) dropAll(state, session);
  else if (isStructural) scaleRow(state, session, 1 / sum);
  else if (!input.isBrief) writeRow(state, session);
  divisor[at] = divisor[at - 1]! * reinvested(state, session);
  if (isStructural) beginStretch(state, session);
}

/** Value of the book since the stretch began. */
function growUnits({ index, sm, units, heldColumns, count, stretchCash }: State, session: number): number {
  const row = session * sm.names;
  let sum = stretchCash;
  for (let k = 0; k < count; k++) sum += units[k]! * index[row + heldColumns[k]!]!;
  return sum;
}

/** Writes the weights of the session from the units. */
function writeRow(state: State, session: number): void {
  const { input, index, sm, units, heldColumns, held, count, weights, columns, path } = state;
  if (state.rowSession === session) return;
  state.rowSession = session;
  const from = session * sm.names;
  const row = rowOf(state, session);
  if (input.isBrief) weights.fill(0, row, row + columns.length);
  for (let k = 0; k < count; k++) weights[row + held[k]!] = (units[k]! * index[from + heldColumns[k]!]!) / path;
}

function scaleRow({ weights, columns, input, held, count }: State, session: number, factor: number): void {
  const row = input.isBrief ? 0 : (session - input.from) * columns.length;
  for (let k = 0; k < count; k++) weights[row + held[k]!]! *= factor;
}

/** From this close on, holdings are units of what they are worth now. */
function beginStretch(state: State, session: number): void {
  const { input, index, sm, units, heldColumns, held, count, weights, columns, value, cash } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  for (let k = 0; k < count; k++) {
    const column = columns[held[k]!]!;
    heldColumns[k] = column;
    units[k] = weights[row + held[k]!]! / index[session * sm.names + column]!;
  }
  state.begins[at] = 1;
  state.stretchValue = value[at]!;
  state.stretchCash = cash[at]!;
  state.path = 1;
}

/** Replaces the cash that the value index has on a session by that of the book's own terms. */
function adjustCash(state: State, session: number): void {
  const { sm, effects, inIndex } = state;
  for (const table of [effects, inIndex!]) {
    for (let e = table.starts[session]!; e < table.starts[session + 1]!; e++) {
      const { column } = table.effects[e]!;
      // A name with an effect in both tables is looked at once, from its own.
      const own = effectOn(effects, session, column);
      if (table === inIndex && own) continue;
      const place = placeOf(state, column);
      if (place < 0) continue;
      const price = sm.carriedClose(session, column);
      state.units[place]! *= (price + (own?.cash ?? 0)) / (price + (effectOn(inIndex!, session, column)?.cash ?? 0));
    }
  }
}

/** Place of a column among the held ones, -1 when it is not held. */
function placeOf({ slotOf, isHeld, held, count }: State, column: number): number {
  const slot = slotOf[column]!;
  if (slot < 0 || isHeld[slot] === 0) return -1;
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (held[middle]! < slot) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Grows the row of the session name by name, through whatever happens to the names; leaves values since the stretch began in it. */
function growThroughEvents(state: State, session: number): number {
  const { input, index, sm, units, heldColumns, held, weights, columns, stretchCash } = state;
  const row = rowOf(state, session);
  state.rowSession = session;
  if (input.isBrief) weights.fill(0, row, row + columns.length);
  for (let k = 0; k < state.count; k++) weights[row + held[k]!] = units[k]! * index[session * sm.names + heldColumns[k]!]!;
  state.today = eventsOn(state, session);
  noteRenamed(state, session);
  for (const [column, proceeds] of state.today?.exits ?? []) {
    if (proceeds !== undefined && isHeldColumn(state, column)) weights[row + state.slotOf[column]!]! *= exitFactor({ ...state, session, column, proceeds });
  }
  enterChildren(state, session);
  let sum = stretchCash;
  for (let k = 0; k < state.count; k++) sum += weights[row + held[k]!]!;
  return sum;
}

function isHeldColumn({ slotOf, isHeld }: State, column: number): boolean {
  const slot = slotOf[column]!;
  return slot >= 0 && isHeld[slot] === 1;
}

/** A held name whose ticker changed without a bar of its own since is worth what its new one is once that has a price. */
function noteRenamed(state: State, session: number): void {
  const { sm, slotOf, treatment, weights } = state;
  const { all, starts } = sm.actions;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const related = action.type === 'TICKER_CHANGE' && action.related !== null ? sm.columnOf(action.related) : -1;
    if (related >= 0 && related !== column && isHeldColumn(state, column)) state.renamed.set(column, related);
  }
  for (const [column, related] of state.renamed) {
    if (!isHeldColumn(state, column) || !sm.hasEnded(session, column) || !sm.isPriceable(session, related, treatment.max_stale_sessions)) continue;
    const proceeds = valueInUnitsOf(state, session, { priced: related, quoted: column });
    weights[rowOf(state, session) + slotOf[column]!]! *= exitFactor({ ...state, session, column, proceeds });
  }
}

/** Spun-off names enter at zero; they are worth something from their first bar on. */
function enterChildren(state: State, session: number): void {
  const { sm, rates, slotOf, weights, treatment, effects, units, index, stretchValue } = state;
  const row = rowOf(state, session);
  for (const child of state.children) child.units *= effectOn(effects, session, child.column)?.ratio ?? 1;
  for (const { parent, child, units: perUnit } of state.today?.spinOffs ?? []) {
    const place = placeOf(state, parent);
    if (place < 0) continue;
    const money = stretchValue * units[place]! * index[(session - 1) * sm.names + parent]!;
    const price = sm.carriedClose(session - 1, parent) * rates.rateAt(session - 1, parent);
    const ratio = effectOn(effects, session, parent)?.ratio ?? 1;
    state.children.push({ slot: slotOf[child]!, column: child, since: session, units: (money / price) * ratio * perUnit });
  }
  if (state.children.length === 0) return;
  state.children = state.children.filter((child) => {
    if (!sm.isPriceable(session, child.column, treatment.max_stale_sessions)) return session - child.since < treatment.max_stale_sessions;
    requireRate(rates, sm, session, child.column);
    weights[row + child.slot]! += (child.units * sm.carriedClose(session, child.column) * rates.rateAt(session, child.column)) / stretchValue;
    hold(state, child.slot);
    return false;
  });
}

/** Factor on the divisor for money that left or entered at this close without a price move and stays invested in its name. */
function reinvested(state: State, session: number): number {
  const { sm, effects: { effects, starts }, slotOf, weights, units, index, path } = state;
  let kept = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const { column, ratio, cash, rights, subscription } = effects[e]!;
    const place = placeOf(state, column);
    if (place < 0) continue;
    const weight = state.rowSession === session ? weights[rowOf(state, session) + slotOf[column]!]! : (units[place]! * index[session * sm.names + column]!) / path;
    if (cash > 0) kept -= (weight * cash) / (sm.carriedClose(session, column) + cash);
    if (rights > 0) kept += (weight * ratio * rights * subscription) / sm.carriedClose(session - 1, column);
  }
  return kept;
}

/** Notes which of the names held into the session, and of its targets, have a gap. */
function findGaps(state: State, session: number, targets: Targets | undefined): void {
  const { sm, gaps, absences, treatment } = state;
  const missing: number[] = [];
  for (let a = absences.starts[session]!; a < absences.starts[session + 1]!; a++) {
    const column = absences.columns[a]!;
    if (isHeldColumn(state, column)) missing.push(column);
  }
  for (const column of targets?.columns ?? []) {
    if (sm.lastBar[session * sm.names + column] !== session && !missing.includes(column)) missing.push(column);
  }
  state.missing = missing.sort((a, b) => a - b);
  for (const column of missing) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw missingPrice(sm, { session, column });
    gaps.push({ session, column });
  }
}

function missingPrice(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal('MISSING_PRICE', `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is fail.`, { identifier, date });
}

/** Everything that happens at a close: names leave or turn into others, targets are taken, waiting orders are filled. */
function closeSession(state: State, session: number, targets: Targets | undefined): void {
  const { input, columns, weights, value, cash } = state;
  const at = session - input.from;
  if (at === 0) {
    value[0] = input.initialValue;
    cash[0] = 1;
  }
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
function conversionsOn(state: State, session: number): Map<number, number> {
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
function leavingOn(state: State, session: number, { targets, conversions }: LeavingInput): number[] {
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

function convertNames(state: State, conversions: ReadonlyMap<number, number>, row: number): Move[] {
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
function releaseNames(state: State, leaving: readonly number[], session: number): Move[] {
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
function spreadProceeds(state: State, session: number, { sold, selling }: Proceeds): void {
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

/** Takes target weights at the close, around whatever cannot be traded. */
function takeTargets(state: State, targets: Targets, session: number): void {
  const { input, sm, rates, columns, slotOf, weights, cash, value } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  const asked = new Float64Array(columns.length);
  targets.columns.forEach((column, k) => {
    requireRate(rates, sm, session, column);
    asked[slotOf[column]!] = targets.weights[k]!;
  });
  const before = weights.slice(row, row + columns.length);
  const slots: number[] = [];
  for (let slot = 0; slot < columns.length; slot++) if (asked[slot]! > 0 || before[slot]! > 0) slots.push(slot);
  const { frozen, unpriced } = frozenSlots({ input, columns, session, slots, before, asked });
  const order = { before, targets: asked, slots, frozen, costRate: input.costRate };
  const { kept, scale, bought, cash: left } = input.tolerance === undefined ? { ...trade(order), bought: 1 } : { ...tradeBeyond(order), scale: 1 };
  state.children = [];
  state.renamed.clear();
  state.waiting = [];
  state.count = 0;
  state.isHeld.fill(0);
  for (const slot of slots) {
    const held = before[slot]! / kept;
    const isPart = bought < 1 && asked[slot]! > held;
    const weight = frozen.has(slot) ? held : isPart ? held + bought * (asked[slot]! - held) : asked[slot]! * scale;
    weights[row + slot] = weight;
    if (weight > 0) append(state, slot);
  }
  value[at]! *= kept;
  cash[at] = left;
  for (const slot of unpriced) openOrder(state, { session, slot, target: asked[slot]!, held: weights[row + slot]! });
}

export interface FrozenInput {
  readonly input: Pick<BookInput, 'sm' | 'from' | 'fills' | 'tolerance' | 'treatment'>;
  readonly columns: Int32Array;
  readonly session: number;
  /** Slots held or asked for. */
  readonly slots: readonly number[];
  readonly before: Float64Array;
  readonly asked: Float64Array;
}

/** Slots that stay as they are held: without a price to trade at, or close enough to their target. */
export function frozenSlots({ input, columns, session, slots, before, asked }: FrozenInput): { readonly frozen: ReadonlySet<number>; readonly unpriced: readonly number[] } {
  const { sm, from, fills, treatment } = input;
  const tolerance = session === from ? undefined : input.tolerance;
  const frozen = new Set<number>();
  const unpriced: number[] = [];
  if (fills === 'all' && tolerance === undefined) return { frozen, unpriced };
  for (const slot of slots) {
    const column = columns[slot]!;
    const hasBar = sm.lastBar[session * sm.names + column] === session;
    const distance = Math.abs(asked[slot]! - before[slot]!);
    if (fills === 'priceable' && !hasBar && !sm.isPriceable(session, column, treatment.max_stale_sessions)) {
      frozen.add(slot);
      if (distance > (tolerance ?? 0)) unpriced.push(slot);
    } else if (tolerance !== undefined && distance <= tolerance) {
      frozen.add(slot);
    }
  }
  return { frozen, unpriced };
}

interface OpenOrderInput {
  readonly session: number;
  readonly slot: number;
  readonly target: number;
  readonly held: number;
}

function openOrder(state: State, { session, slot, target, held }: OpenOrderInput): void {
  const { input, sm, columns, value } = state;
  const at = session - input.from;
  const column = columns[slot]!;
  const bar = sm.lastBar[session * sm.names + column]!;
  const order: Order = {
    at, slot, target, held,
    side: target > held ? 'buy' : 'sell',
    notional: Math.abs(target - held) * value[at]!,
    reason: sm.hasEnded(session, column) ? 'delisted' : bar < 0 ? 'no_price' : 'stale_price',
    filledAt: null,
  };
  state.orders.push(order);
  state.waiting.push(order);
}

/** Waiting orders whose name has a bar on the session. */
function fillableOn({ sm, columns, waiting }: State, session: number): Order[] {
  if (waiting.length === 0) return waiting;
  return waiting.filter(({ slot }) => {
    const column = columns[slot]!;
    return sm.lastBar[session * sm.names + column] === session && !sm.hasEnded(session, column);
  });
}

/** Fills an order with what waits for it, or sells down to the weight that was asked for. */
function fillOrder(state: State, order: Order, session: number): void {
  const { input, columns, weights, cash, value } = state;
  const at = session - input.from;
  const row = rowOf(state, session);
  const { slot, side, target } = order;
  const weight = weights[row + slot]!;
  const spend = side === 'buy' ? Math.min(order.notional / value[at]!, cash[at]!) : 0;
  const bought = spend / (1 + input.costRate);
  const sold = side === 'sell' ? Math.max(0, weight - target) : 0;
  const kept = 1 - input.costRate * (bought + sold);
  for (let k = 0; k < columns.length; k++) weights[row + k]! /= kept;
  weights[row + slot] = (weight + bought - sold) / kept;
  cash[at] = (cash[at]! - spend + sold * (1 - input.costRate)) / kept;
  value[at]! *= kept;
  if (weights[row + slot]! > 0) hold(state, slot);
  else drop(state, slot, row);
  order.filledAt = at;
  state.waiting = state.waiting.filter((other) => other !== order);
}

/** Adds the slot behind all that are held. */
function append(state: State, slot: number): void {
  state.held[state.count++] = slot;
  state.isHeld[slot] = 1;
  state.everHeld[slot] = 1;
}

function hold(state: State, slot: number): void {
  if (state.isHeld[slot] === 1) return;
  const { held } = state;
  let k = state.count;
  while (k > 0 && held[k - 1]! > slot) k--;
  held.copyWithin(k + 1, k, state.count);
  held[k] = slot;
  state.count++;
  state.isHeld[slot] = 1;
  state.everHeld[slot] = 1;
}

function drop(state: State, slot: number, row: number): void {
  const { held, weights } = state;
  weights[row + slot] = 0;
  if (state.isHeld[slot] === 0) return;
  const k = held.subarray(0, state.count).indexOf(slot);
  held.copyWithin(k, k + 1, state.count);
  state.count--;
  state.isHeld[slot] = 0;
}

/** Nothing is worth anything any more. */
function dropAll(state: State, session: number): void {
  const { weights, columns } = state;
  const row = rowOf(state, session);
  weights.fill(0, row, row + columns.length);
  state.count = 0;
  state.isHeld.fill(0);
  beginStretch(state, session);
}
