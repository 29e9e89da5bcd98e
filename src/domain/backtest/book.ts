import type { TreatmentSpec } from '../documents/index-document.js';
import { exchangeRates, requireRate } from '../market/exchange-rates.js';
import { effectOn, effectTable, growthOf, type EffectTable, type GrowthTerms } from '../market/growth.js';
import type { SessionMarket } from '../market/session-market.js';
import { formatDay } from '../days.js';
import { Refusal } from '../refusal.js';
import { eventsOn, exitFactor, valueInUnitsOf, type EventTerms, type SessionEvents } from './book-events.js';
import { bookNames } from './book-names.js';
import { trade } from './trade.js';

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
  /** A name is traded only when its weight is further than this from its target. */
  readonly tolerance?: number;
  /** Only the level is wanted: weights are not kept from session to session, nor what was traded. */
  readonly isBrief?: boolean;
  /**
   * A book that this one is expected to equal weight for weight: as long as it does, its weights are shared instead of
   * being kept a second time.
   */
  readonly like?: Book;
  /** Terms of the factors to start from when they differ from `growth` in cash alone: one panel then serves every variant. */
  readonly factorsOf?: GrowthTerms;
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
 * The return of a session is earned by the weights held before it.
 * @throws Refusal FX_MISSING when a name's exchange rate is not known when it is bought
 * @cost O(T H)
 */
export function simulateBook(input: BookInput): Book {
  const shared = input.like && shareWeights(input, input.like);
  if (shared) return shared;
  return simulate(input);
}

/** Simulates with the other book's weights in place of own ones; undefined when they turn out not to be equal. */
function shareWeights(input: BookInput, like: Book): Book | undefined {
  const book = simulate(input, like);
  if (!book) return undefined;
  const names = like.columns.length;
  const first = (input.from - like.from) * names;
  return { ...book, weights: like.weights.subarray(first, first + book.length * names) };
}

function simulate(input: BookInput): Book;
function simulate(input: BookInput, like: Book): Book | undefined;
function simulate(input: BookInput, like?: Book): Book | undefined {
  const state = openBook(input, like);
  const { from, to, tick } = input;
  for (let session = from; session <= to; session++) {
    if (session > from) driftTo(state, session);
    const targets = state.targetsOn.get(session);
    findGaps(state, session, targets);
    closeSession(state, session, targets);
    state.counts[session - from] = state.count;
    if (like && !equalsRow(state, like, session)) return undefined;
    if (tick && (session - from) % TICK_SESSIONS === 0) tick((session - from) / (to - from + 1));
  }
  const { sm, columns, value, gross, divisor, costs, cash, counts, everHeld, events, gaps, silent } = state;
  return {
    sm, from, length: to - from + 1, columns, value, gross, divisor, costs, cash, counts, everHeld, events, gaps, silent,
    weights: input.isBrief ? state.weights.slice(rowOf(state, to - from), rowOf(state, to - from) + columns.length) : state.weights,
    unfilled: state.orders,
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
  /** Whether only the latest rows of weights are kept. */
  readonly isRing: boolean;
  readonly factors: Float64Array;
  readonly effects: EffectTable;
  /** Effects that the factors have in them, when those differ. */
  readonly inFactors: EffectTable | null;
  readonly columns: Int32Array;
  readonly slotOf: Int32Array;
  readonly targetsOn: ReadonlyMap<number, Targets>;
  readonly value: Float64Array;
  readonly gross: Float64Array;
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
  count: number;
  /** Held columns that may have no bar on the session: nothing moved them, or their factor does not tell. */
  suspects: number[];
  /** Columns among the held ones, and targets, that have no bar on the session. */
  missing: number[];
  /** Spun-off names that have had no price yet. */
  children: Child[];
  /** Held names whose ticker has changed but whose new one had no price yet. */
  renamed: Map<number, number>;
  /** Structural events of the session being closed. */
  today: SessionEvents | undefined;
}

/** Whether the weights held after a close are those of another book, bit for bit. */
function equalsRow(state: State, { from, weights }: Book, session: number): boolean {
  const names = state.columns.length;
  const own = rowOf(state, session - state.input.from);
  const other = (session - from) * names;
  for (let slot = 0; slot < names; slot++) if (state.weights[own + slot] !== weights[other + slot]) return false;
  return true;
}

function openBook(input: BookInput, like: Book | undefined): State {
  const { sm, from, to, growth, treatment, targets } = input;
  const columns = like?.columns ?? bookNames({ sm, targets: targetColumns(targets), from, to });
  const slotOf = new Int32Array(sm.names).fill(-1);
  columns.forEach((column, slot) => (slotOf[column] = slot));
  const length = to - from + 1;
  const { factorsOf = growth, isBrief = false } = input;
  const isRing = isBrief || like !== undefined;
  return {
    isRing,
    input, sm, treatment, growth, columns, slotOf,
    rates: exchangeRates(sm, growth.currency),
    factors: growthOf(sm, factorsOf),
    effects: effectTable(sm, growth),
    inFactors: factorsOf === growth ? null : effectTable(sm, factorsOf),
    targetsOn: new Map(targets.map((entry) => [entry.session, entry])),
    value: new Float64Array(length),
    gross: new Float64Array(length).fill(1),
    divisor: new Float64Array(length).fill(1),
    costs: new Float64Array(length),
    weights: new Float64Array((isRing ? ROWS_KEPT : length) * columns.length),
    cash: new Float64Array(length),
    counts: new Int32Array(length),
    everHeld: new Uint8Array(columns.length),
    events: [], gaps: [], silent: [], orders: [], waiting: [],
    held: new Int32Array(columns.length),
    count: 0,
    suspects: [],
    missing: [],
    children: [],
    renamed: new Map(),
    today: undefined,
  };
}

/** Rows of a book that does not keep its weights: the session and the one before. */
const ROWS_KEPT = 2;

/** Beginning of a session's row of weights. */
function rowOf({ isRing, columns }: State, at: number): number {
  return (isRing ? at % ROWS_KEPT : at) * columns.length;
}

function targetColumns(targets: readonly Targets[]): Set<number> {
  const wanted = new Set<number>();
  for (const { columns } of targets) for (const column of columns) wanted.add(column);
  return wanted;
}

/** Moves the book from the close before to this close: growth, proceeds of names that leave, spun-off names. */
function driftTo(state: State, session: number): void {
  const { input, sm, columns, weights, cash, value, gross, divisor, held } = state;
  const at = session - input.from;
  const row = rowOf(state, at);
  const before = rowOf(state, at - 1);
  if (state.isRing) weights.fill(0, row, row + columns.length);
  state.today = eventsOn(state, session);
  growHeld(state, { session, row, before });
  noteRenamed(state, session, row);
  for (const [column, proceeds] of state.today?.exits ?? []) {
    if (proceeds !== undefined && slotHeld(state, column, row)) scaleHeld(state, { column, factor: exitFactor({ ...state, session, column, proceeds }), row });
  }
  enterChildren(state, session, { row, before });
  const { count } = state;
  let sum = cash[at - 1]!;
  for (let k = 0; k < count; k++) sum += weights[row + held[k]!]!;
  if (!Number.isFinite(sum)) throw new Refusal('NUMERIC_FAILURE', `The growth of the book is not finite on ${formatDay(sm.sessions[session]!)}.`);
  gross[at] = sum;
  value[at] = value[at - 1]! * sum;
  cash[at] = sum > 0 ? cash[at - 1]! / sum : 1;
  for (let k = 0; k < count; k++) {
    const slot = held[k]!;
    weights[row + slot] = sum > 0 ? weights[row + slot]! / sum : 0;
  }
  if (!(sum > 0)) state.count = 0;
  divisor[at] = divisor[at - 1]! * reinvested(state, session, row);
}

interface GrowInput {
  readonly session: number;
  readonly row: number;
  readonly before: number;
}

/** Grows the held weights; names that did not move, or whose factor has more in it than the price, may lack a bar. */
function growHeld(state: State, { session, row, before }: GrowInput): void {
  const { sm, columns, weights, held, count, factors, effects, inFactors, rates } = state;
  const from = session * sm.names;
  const suspects: number[] = [];
  for (let k = 0; k < count; k++) {
    const slot = held[k]!;
    const factor = factors[from + columns[slot]!]!;
    weights[row + slot] = weights[before + slot]! * factor;
    if (factor === 1) suspects.push(columns[slot]!);
  }
  if (rates.isForeign) for (let k = 0; k < count; k++) if (!rates.isNative(columns[held[k]!]!)) suspects.push(columns[held[k]!]!);
  for (const table of inFactors ? [effects, inFactors] : [effects]) {
    for (let e = table.starts[session]!; e < table.starts[session + 1]!; e++) {
      const { column } = table.effects[e]!;
      if (!slotHeld(state, column, before)) continue;
      suspects.push(column);
      if (inFactors) adjustCash(state, session, { column, row, before });
    }
  }
  state.suspects = suspects;
}

/** Replaces the cash in a factor by that of the book's own terms. */
function adjustCash({ sm, slotOf, columns, weights, factors, effects, inFactors }: State, session: number, { column, row, before }: Omit<GrowInput, 'session'> & { readonly column: number }): void {
  const own = effectOn(effects, session, column)?.cash ?? 0;
  const other = effectOn(inFactors!, session, column)?.cash ?? 0;
  const price = sm.carriedClose(session, column);
  const slot = slotOf[column]!;
  const factor = factors[session * sm.names + columns[slot]!]! * ((price + own) / (price + other));
  weights[row + slot] = weights[before + slot]! * factor;
}

function scaleHeld({ slotOf, weights }: State, { column, factor, row }: { readonly column: number; readonly factor: number; readonly row: number }): void {
  weights[row + slotOf[column]!]! *= factor;
}

function slotHeld({ slotOf, weights }: State, column: number, row: number): boolean {
  const slot = slotOf[column]!;
  return slot >= 0 && weights[row + slot]! > 0;
}

/** Spun-off names enter at zero; they are worth something from their first bar on. */
function enterChildren(state: State, session: number, { row, before }: Omit<GrowInput, 'session'>): void {
  const { sm, rates, input, slotOf, weights, value, treatment, effects } = state;
  const valueBefore = value[session - 1 - input.from]!;
  for (const child of state.children) child.units *= effectOn(effects, session, child.column)?.ratio ?? 1;
  for (const { parent, child, units } of state.today?.spinOffs ?? []) {
    if (!slotHeld(state, parent, before)) continue;
    const money = weights[before + slotOf[parent]!]! * valueBefore;
    const price = sm.carriedClose(session - 1, parent) * rates.rateAt(session - 1, parent);
    const ratio = effectOn(effects, session, parent)?.ratio ?? 1;
    state.children.push({ slot: slotOf[child]!, column: child, since: session, units: (money / price) * ratio * units });
  }
  if (state.children.length === 0) return;
  state.children = state.children.filter((child) => {
    if (!sm.isPriceable(session, child.column, treatment.max_stale_sessions)) return session - child.since < treatment.max_stale_sessions;
    requireRate(rates, sm, session, child.column);
    weights[row + child.slot]! += (child.units * sm.carriedClose(session, child.column) * rates.rateAt(session, child.column)) / valueBefore;
    hold(state, child.slot);
    return false;
  });
}

/** Factor on the divisor for money that left or entered at this close without a price move and stays invested in its name. */
function reinvested({ sm, effects: { effects, starts }, slotOf, weights }: State, session: number, row: number): number {
  let kept = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const { column, ratio, cash, rights, subscription } = effects[e]!;
    const slot = slotOf[column]!;
    const weight = slot < 0 ? 0 : weights[row + slot]!;
    if (weight === 0) continue;
    if (cash > 0) kept -= (weight * cash) / (sm.carriedClose(session, column) + cash);
    if (rights > 0) kept += (weight * ratio * rights * subscription) / sm.carriedClose(session - 1, column);
  }
  return kept;
}

/** Notes which of the names held into the session, and of its targets, have a gap. */
function findGaps(state: State, session: number, targets: Targets | undefined): void {
  const { sm, gaps, suspects } = state;
  const bars = session * sm.names;
  const missing = new Set<number>();
  for (const column of suspects) if (sm.lastBar[bars + column] !== session) missing.add(column);
  if (targets) for (const column of targets.columns) if (sm.lastBar[bars + column] !== session) missing.add(column);
  state.missing = missing.size === 0 ? NONE : [...missing].toSorted((a, b) => a - b);
  state.suspects = NONE;
  for (const column of state.missing) {
    if (!sm.isOpen(session, column)) continue;
    if (state.treatment.missing_prices === 'fail') throw missingPrice(sm, { session, column });
    gaps.push({ session, column });
  }
}

const NONE: number[] = [];

function missingPrice(sm: SessionMarket, { session, column }: Gap): Refusal {
  const identifier = sm.identifiers[column]!;
  const date = formatDay(sm.sessions[session]!);
  return new Refusal('MISSING_PRICE', `${identifier} has no price on ${date}, a session of its exchange, and missing_prices is fail.`, { identifier, date });
}

/** Everything that happens at a close: names leave or turn into others, targets are taken, waiting orders are filled. */
function closeSession(state: State, session: number, targets: Targets | undefined): void {
  const { input, columns, weights, value } = state;
  const at = session - input.from;
  const row = rowOf(state, at);
  if (at === 0) {
    value[0] = input.initialValue;
    state.cash[0] = 1;
  }
  const conversions = conversionsOn(state, session);
  const leaving = leavingOn(state, session, { targets, conversions });
  const fillable = targets ? [] : fillableOn(state, session);
  if (!targets && conversions.size === 0 && leaving.length === 0 && fillable.length === 0) return;
  const before = input.isBrief ? null : weights.slice(row, row + columns.length);
  const valueBefore = value[at]!;
  const moves = convertNames(state, conversions, row);
  const sold = releaseNames(state, leaving, at);
  if (targets) takeTargets(state, targets, at);
  else {
    spreadProceeds(state, sold, at);
    for (const order of fillable) fillOrder(state, order, at);
  }
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
  const { sm, today, slotOf, treatment } = state;
  const conversions = new Map<number, number>();
  for (const [column, related] of today?.conversions ?? []) if (isHeld(state, slotOf[column]!)) conversions.set(column, related);
  for (const [column, related] of state.renamed) {
    if (!isHeld(state, slotOf[column]!) || !sm.hasEnded(session, column)) state.renamed.delete(column);
    else if (sm.isPriceable(session, related, treatment.max_stale_sessions)) {
      conversions.set(column, related);
      state.renamed.delete(column);
    }
  }
  return conversions;
}

/** A held name whose ticker changed without a bar of its own since is worth what its new one is once that has a price. */
function noteRenamed(state: State, session: number, row: number): void {
  const { sm, slotOf, treatment } = state;
  const { all, starts } = sm.actions;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const related = action.type === 'TICKER_CHANGE' && action.related !== null ? sm.columnOf(action.related) : -1;
    if (related >= 0 && related !== column && slotOf[column]! >= 0 && isHeld(state, slotOf[column]!)) state.renamed.set(column, related);
  }
  for (const [column, related] of state.renamed) {
    if (!slotHeld(state, column, row) || !sm.hasEnded(session, column) || !sm.isPriceable(session, related, treatment.max_stale_sessions)) continue;
    const proceeds = valueInUnitsOf(state, session, { priced: related, quoted: column });
    scaleHeld(state, { column, factor: exitFactor({ ...state, session, column, proceeds }), row });
  }
}

interface LeavingInput {
  readonly targets: Targets | undefined;
  readonly conversions: ReadonlyMap<number, number>;
}

/** Held columns that leave at this close, ascending. */
function leavingOn(state: State, session: number, { targets, conversions }: LeavingInput): number[] {
  const { sm, today, slotOf, treatment } = state;
  const leaving: number[] = [];
  for (const column of today?.exits.keys() ?? []) {
    if (isHeld(state, slotOf[column]!) && !conversions.has(column)) leaving.push(column);
  }
  const patience = Math.max(1, treatment.max_stale_sessions);
  for (const column of state.missing) {
    if (!isHeld(state, slotOf[column]!) || leaving.includes(column) || conversions.has(column)) continue;
    if (targets?.columns.includes(column)) continue;
    const isSilent = sm.barAge(session, column) >= patience;
    const isExcluded = treatment.missing_prices === 'exclude' && sm.isOpen(session, column);
    if (!isSilent && !isExcluded) continue;
    leaving.push(column);
    if (isSilent) state.silent.push({ session, column });
  }
  return leaving.toSorted((a, b) => a - b);
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
function releaseNames(state: State, leaving: readonly number[], at: number): Move[] {
  const { slotOf, weights, cash, divisor } = state;
  const row = rowOf(state, at);
  const sold = leaving.map((column): Move => ({ slot: slotOf[column]!, change: -weights[row + slotOf[column]!]! }));
  for (const { slot } of sold) drop(state, slot, row);
  if (sold.length > 0 && state.count > 0) divisor[at]! *= 1 - proceedsOf(sold) / (1 - cash[at]!);
  return sold;
}

function proceedsOf(sold: readonly Move[]): number {
  return sold.reduce((sum, { change }) => sum - change, 0);
}

/** Spreads proceeds over what is left in proportion to the weights, paying for the purchase; without a name left they stay cash. */
function spreadProceeds(state: State, sold: readonly Move[], at: number): void {
  const { input, weights, cash, value, held, count } = state;
  const row = rowOf(state, at);
  const proceeds = proceedsOf(sold);
  if (proceeds === 0) return;
  let rest = 0;
  for (let k = 0; k < count; k++) rest += weights[row + held[k]!]!;
  if (!(rest > 0)) {
    cash[at]! += proceeds;
    return;
  }
  const bought = proceeds / (1 + input.costRate);
  const kept = 1 - (proceeds - bought);
  const scale = cash[at] === 0 ? 1 / rest : (1 + bought / rest) / kept;
  for (let k = 0; k < count; k++) weights[row + held[k]!]! *= scale;
  cash[at]! /= kept;
  value[at]! *= kept;
}

/** Takes target weights at the close, around whatever cannot be traded. */
function takeTargets(state: State, targets: Targets, at: number): void {
  const { input, sm, rates, columns, slotOf, weights, cash, value, held } = state;
  const session = input.from + at;
  const row = rowOf(state, at);
  const asked = new Float64Array(columns.length);
  targets.columns.forEach((column, k) => {
    requireRate(rates, sm, session, column);
    asked[slotOf[column]!] = targets.weights[k]!;
  });
  const before = weights.slice(row, row + columns.length);
  const slots: number[] = [];
  for (let slot = 0; slot < columns.length; slot++) if (asked[slot]! > 0 || before[slot]! > 0) slots.push(slot);
  const { frozen, unpriced } = frozenSlots(state, session, { slots, before, asked });
  const { kept, scale, cash: left } = trade({ before, targets: asked, slots, frozen, costRate: input.costRate });
  state.children = [];
  state.renamed.clear();
  state.waiting = [];
  state.count = 0;
  for (const slot of slots) {
    const weight = frozen.has(slot) ? before[slot]! / kept : asked[slot]! * scale;
    weights[row + slot] = weight;
    if (weight > 0) {
      held[state.count++] = slot;
      state.everHeld[slot] = 1;
    }
  }
  value[at]! *= kept;
  cash[at] = left;
  for (const slot of unpriced) openOrder(state, { at, slot, target: asked[slot]!, held: weights[row + slot]! });
}

interface FrozenInput {
  readonly slots: readonly number[];
  readonly before: Float64Array;
  readonly asked: Float64Array;
}

function frozenSlots({ input, sm, columns, treatment }: State, session: number, { slots, before, asked }: FrozenInput): { readonly frozen: ReadonlySet<number>; readonly unpriced: readonly number[] } {
  const frozen = new Set<number>();
  const unpriced: number[] = [];
  const { fills, tolerance } = input;
  if (fills === 'all' && tolerance === undefined) return { frozen, unpriced };
  for (const slot of slots) {
    const column = columns[slot]!;
    const hasBar = sm.lastBar[session * sm.names + column] === session;
    if (fills === 'priceable' && !hasBar && !sm.isPriceable(session, column, treatment.max_stale_sessions)) {
      frozen.add(slot);
      if (before[slot] !== asked[slot]) unpriced.push(slot);
    } else if (tolerance !== undefined && Math.abs(asked[slot]! - before[slot]!) <= tolerance) {
      frozen.add(slot);
    }
  }
  return { frozen, unpriced };
}

interface OpenOrderInput {
  readonly at: number;
  readonly slot: number;
  readonly target: number;
  readonly held: number;
}

function openOrder(state: State, { at, slot, target, held }: OpenOrderInput): void {
  const { input, sm, columns, value } = state;
  const session = input.from + at;
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
  return waiting.filter(({ slot }) => {
    const column = columns[slot]!;
    return sm.lastBar[session * sm.names + column] === session && !sm.hasEnded(session, column);
  });
}

/** Fills an order with what waits for it, or sells down to the weight that was asked for. */
function fillOrder(state: State, order: Order, at: number): void {
  const { input, columns, weights, cash, value } = state;
  const row = rowOf(state, at);
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

function isHeld({ held, count }: State, slot: number): boolean {
  for (let k = 0; k < count; k++) if (held[k] === slot) return true;
  return false;
}

function hold(state: State, slot: number): void {
  const { held } = state;
  let k = state.count;
  while (k > 0 && held[k - 1]! > slot) k--;
  if (k > 0 && held[k - 1] === slot) return;
  held.copyWithin(k + 1, k, state.count);
  held[k] = slot;
  state.count++;
  state.everHeld[slot] = 1;
}

function drop(state: State, slot: number, row: number): void {
  const { held, weights } = state;
  weights[row + slot] = 0;
  let k = 0;
  while (k < state.count && held[k] !== slot) k++;
  if (k === state.count) return;
  held.copyWithin(k, k + 1, state.count);
  state.count--;
}
