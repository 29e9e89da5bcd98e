import type { ValuePanel } from '#kernels/engines/value-panel.js';
import type { GrowingNumbers } from '#base/memory/growing-numbers.js';
import type { Absences } from '../market/absences.js';
import type { EffectTable } from '../index-mathematics/session-effects.js';
import { readPanelRow } from '../market/session-market.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import type { BookEnd, BookEvent, BookInput, Gap, PendingSecurities, Targets, UnfilledOrder } from './book.js';
import type { ReinvestedLevels, StatedLevel } from './share-record.js';
import type { EventTerms, SessionEvents } from './book-events.js';
import type { ShareRecorder } from './share-record.js';
import { clearCounts, selectHoldingCounts, type CountState } from './security-counts.js';

export interface BookState extends EventTerms {
  /** Treatment in force on the simulated session. */
  treatment: TreatmentSpec;
  readonly input: BookInput;
  /** Value index, [S - first x N]. */
  readonly index: Float64Array;
  readonly effects: EffectTable;
  /** Effects of corporate actions that the value index includes. Null if they equal the effects in the book. */
  readonly inIndex: EffectTable | null;
  /** Effects of corporate actions on short positions. If no tax is withheld, this is the table of long positions. */
  readonly ofShorts: EffectTable;
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
  /**
   * Growth from prices, [T]. Shares the array of `gross`, unless `gross` includes dividends that the index reinvests.
   */
  readonly drift: Float64Array;
  readonly transfers: TransferRecorder;
  /**
   * Levels in each return variant before costs, and dividend points, [T]. Null if units are not shares, because
   * dividends are reinvested in the paying constituents.
   */
  readonly reinvested: ReinvestedLevels | null;
  /** Recorder of index shares; null if they are not recorded. */
  readonly shareRecorder: ShareRecorder | null;
  /** Share counts that the book follows; null if shares change only at reviews. */
  readonly shareCounts: CountState | null;
  readonly weights: Float64Array;
  readonly cash: Float64Array;
  readonly counts: Int32Array;
  readonly everHeld: Uint8Array;
  readonly events: BookEvent[];
  readonly gaps: Gap[];
  readonly silent: Gap[];
  readonly orders: Order[];
  /** Orders of the latest rebalance that are waiting for a price bar. */
  waiting: Order[];
  /** Number of positions in the holding period. */
  periodCount: number;
  /** Held slots, ascending, in the first `count` positions. */
  readonly heldSlots: Int32Array;
  /** 1 for held slots, [H]. */
  readonly isHeld: Uint8Array;
  count: number;
  /** Units of the value index and market column of each position in the holding period. */
  readonly units: Float64Array;
  readonly heldColumns: Int32Array;
  /** Position of each slot held since the start of the holding period, [H]. */
  readonly places: Int32Array;
  /** True if the holdings are contiguous both in the market columns and in the weights row. */
  isOneRun: boolean;
  /**
   * Target weights, held weights, and the slots with either, while targets are applied. The arrays are reused at each
   * rebalance, [H].
   */
  readonly targetWeights: Float64Array;
  readonly before: Float64Array;
  readonly slots: Int32Array;
  /** Value and cash at the start of the holding period, and growth of the value since (`path`). */
  periodValue: number;
  /** Level in the return variant of the book at the start of the holding period; 1 if units are not shares. */
  periodLevel: number;
  periodCash: number;
  path: number;
  /**
   * Factor on the value from adjusted closes that changed the divisor. 1 if units are shares; `path` is then the market
   * value.
   */
  carry: number;
  /** True if the index holds fixed numbers of shares: see `Targets.basket`. */
  holdsBasket: boolean;
  /** Level of the latest holdings; used if units are shares. */
  stated: StatedLevel;
  /** Growth of an index by reinvested dividends since its first session, before and after tax. */
  readonly reinvestedIncome: { total: number; net: number };
  /** Ratio of the exact to the rounded divisor by session, [T]; null if the divisor is not rounded. */
  readonly exactDivisor: Float64Array | null;
  /** Number of holding periods so far. */
  periods: number;
  /** Kernels for sums over the value index, if available. */
  readonly panel: ValuePanel | undefined;
  /** Precomputed values of the units of a holding period on later sessions, `to` exclusive. */
  readonly ahead: { from: number; to: number; period: number; readonly values: Float64Array };
  /** Session whose weights row was written last. */
  rowSession: number;
  /** Held or targeted columns without a price bar on the session. */
  missing: readonly number[];
  /** Spun-off securities that have no price yet. */
  children: SpunOffSecurity[];
  /** True if a spun-off security or reinvested cash changed index shares on the session. */
  hasNewShares: boolean;
  /**
   * Index shares of securities that are not held yet, or are held in another number, by slot, [H]; 0 if they follow
   * from the weight.
   */
  readonly expectedShares: Float64Array;
  /** Columns of spun-off securities that leave at the close of the session, on which they have their first price. */
  droppedChildren: readonly number[];
  /** Held securities whose ticker changed, by column, with the new column; kept until the new ticker has a price. */
  renamed: Map<number, number>;
  /** Structural events of the current session. */
  today: SessionEvents | undefined;
}

/** Transfers in the order in which they are recorded. */
export interface TransferRecorder {
  readonly at: GrowingNumbers<Int32Array>;
  readonly slot: GrowingNumbers<Int32Array>;
  readonly dividends: GrowingNumbers<Float64Array>;
  readonly moved: GrowingNumbers<Float64Array>;
  readonly keptAt: GrowingNumbers<Int32Array>;
  readonly kept: GrowingNumbers<Float64Array>;
}

export type Order = { -readonly [K in keyof UnfilledOrder]: UnfilledOrder[K] };

export interface SpunOffSecurity {
  readonly slot: number;
  readonly column: number;
  readonly since: number;
  /**
   * Units per unit of value at the start of the holding period. In this form, results do not depend on the initial
   * value.
   */
  units: number;
}

/**
 * Copies pending spin-offs and ticker changes from another book. Both books must have equal holdings per unit of value.
 */
export function copyPending(state: BookState, { children, renamed }: PendingSecurities): void {
  state.children = children.map((child) => ({ ...child, slot: state.slotOf[child.column]! }));
  state.renamed = new Map(renamed);
}

/** Returns the securities for which a book waits for a price. */
export function listPending(state: BookState): PendingSecurities {
  const counts = selectHoldingCounts(state);
  return {
    children: state.children.map(({ column, since, units }) => ({ column, since, units })),
    renamed: [...state.renamed],
    ...(counts === undefined ? {} : { counts }),
  };
}

/** Returns the end state of a book after a session. */
export function createBookEnd(state: BookState, session: number): BookEnd {
  const {
    columns,
    heldSlots,
    count,
    units,
    weights,
    value,
    cash,
    divisor,
    orders,
    waiting,
    periodValue,
    periodCash,
    path,
    carry,
    holdsBasket,
    exactDivisor,
    reinvested,
    reinvestedIncome,
    input,
  } = state;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const heldNow = new Int32Array(count);
  const weightsNow = new Float64Array(count);
  for (let k = 0; k < count; k++) {
    heldNow[k] = columns[heldSlots[k]!]!;
    weightsNow[k] = weights[row + heldSlots[k]!]!;
  }
  return {
    held: heldNow,
    units: units.slice(0, count),
    weights: weightsNow,
    value: value[position]!,
    cash: cash[position]!,
    divisor: divisor[position]!,
    stretchValue: periodValue,
    stretchCash: periodCash,
    path,
    carry,
    holdsBasket,
    ...(exactDivisor === null ? {} : { exactDivisor: exactDivisor[position]! }),
    levels: reinvested && {
      price: reinvested.levels.price[position]!,
      total: reinvested.levels.total[position]!,
      net: reinvested.levels.net[position]!,
      stated: state.stated,
      reinvested: { ...reinvestedIncome },
      atStretchStart: state.periodLevel,
    },
    ...listPending(state),
    waiting: waiting.map((order) => orders.indexOf(order)),
  };
}

export const NO_COLUMNS: readonly number[] = [];

/** Returns the offset of a session's weights row. */
export function findRowOffset({ input, columns }: BookState, session: number): number {
  return input.isBrief ? 0 : (session - input.from) * columns.length;
}

export function isHeldColumn({ slotOf, isHeld }: BookState, column: number): boolean {
  const slot = slotOf[column]!;
  return slot >= 0 && isHeld[slot] === 1;
}

/** Returns the position of a column in the holding period. Returns -1 if it is not held. */
export function findSlot({ slotOf, isHeld, places }: BookState, column: number): number {
  const slot = slotOf[column]!;
  return slot >= 0 && isHeld[slot] === 1 ? places[slot]! : -1;
}

/** Clears the weights row of a session. A book that holds every security overwrites the whole row anyway. */
export function clearRow(state: BookState, session: number): void {
  const { input, count, columns, weights } = state;
  if (input.roomForWeights === undefined || input.isBrief || input.isSparse || count === columns.length) return;
  const row = findRowOffset(state, session);
  weights.fill(0, row, row + columns.length);
}

/** Writes the weights of a session, computed from the units. */
export function writeRow(state: BookState, session: number): void {
  const { input, index, sm, units, heldColumns, heldSlots, count, weights, columns, path } = state;
  if (state.rowSession === session) return;
  state.rowSession = session;
  const from = readPanelRow(sm, session);
  const row = findRowOffset(state, session);
  if (input.isBrief) weights.fill(0, row, row + columns.length);
  if (state.isOneRun) {
    const to = row + heldSlots[0]!;
    const position = from + heldColumns[0]!;
    for (let k = 0; k < count; k++) weights[to + k] = (units[k]! * index[position + k]!) / path;
  } else {
    for (let k = 0; k < count; k++) weights[row + heldSlots[k]!] = (units[k]! * index[from + heldColumns[k]!]!) / path;
  }
}

/**
 * Returns true if the holdings are contiguous. Columns and slots both ascend, and slots are never further apart than
 * columns.
 */
export function isOneRunOf(heldColumns: Int32Array, count: number): boolean {
  return count > 0 && count - 1 === heldColumns[count - 1]! - heldColumns[0]!;
}

/** Appends a slot to the held slots. */
export function appendSlot(state: BookState, slot: number): void {
  state.heldSlots[state.count++] = slot;
  state.isHeld[slot] = 1;
  state.everHeld[slot] = 1;
}

export function holdSecurity(state: BookState, slot: number): void {
  if (state.isHeld[slot] === 1) return;
  const { heldSlots, shareCounts } = state;
  if (shareCounts !== null) shareCounts.isSettled = false;
  let k = state.count;
  while (k > 0 && heldSlots[k - 1]! > slot) k--;
  heldSlots.copyWithin(k + 1, k, state.count);
  heldSlots[k] = slot;
  state.count++;
  state.isHeld[slot] = 1;
  state.everHeld[slot] = 1;
}

export function dropSecurity(state: BookState, slot: number, row: number): void {
  const { heldSlots, weights } = state;
  weights[row + slot] = 0;
  clearCounts(state, slot);
  if (state.isHeld[slot] === 0) return;
  const k = heldSlots.subarray(0, state.count).indexOf(slot);
  heldSlots.copyWithin(k, k + 1, state.count);
  state.count--;
  state.isHeld[slot] = 0;
}
