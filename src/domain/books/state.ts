import { allocateRetainedFloats, appendRow, createGrowingTable, type GrowingTable } from '#base/memory.js';
import { getValuePanel, SESSIONS_PER_CALL, type ValuePanel } from '#kernels/engines/value-panel.js';
import { sumHoldingValue, writeHoldingWeights } from '#kernels/sums/sums.js';
import { roundHalfAwayFromZero } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import { createCrossSections } from '../datapoints/cross-section.js';
import { createCountTerms, createShareCounts } from '../datapoints/series.js';
import { listTextSpans } from '../definition/amendments.js';
import { type IndexDocument, readDefinitions, type TreatmentSpec } from '../definition/index-document.js';
import { findCountedShares, findFloatExpression } from '../definition/rule-pipeline.js';
import {
  createDatedRounding,
  findRounding,
  findTreatment,
  readPriceSessions,
  roundsAny,
} from '../definition/treatment.js';
import {
  computeShareFactor,
  createEffectTable,
  type EffectTable,
  holdsShares,
  readEffect,
  requireWithholdingRates,
  toShortTerms,
} from '../market/action-effects.js';
import { computeValueIndex, findCarriedUnder } from '../market/growth.js';
import { RETURN_VARIANTS } from '../market/market-data.js';
import { createExchangeRates, requireRatesAboveZero } from '../market/rates.js';
import { type Absences, listAbsences, readPanelRow, type SessionMarket } from '../market/session-market.js';
import {
  type BookEnd,
  type BookEvent,
  type BookInput,
  type BookResume,
  clearCounts,
  computePriceLevel,
  type CountFactors,
  type CountState,
  type CountTimeline,
  createShareRecorder,
  type Gap,
  openCounts,
  type PendingSecurities,
  recordShares,
  type ReinvestedLevels,
  type SecurityCounts,
  selectHoldingCounts,
  type ShareChangeTerms,
  type ShareMoment,
  type ShareRecorder,
  type StatedLevel,
  type Targets,
  toShareTime,
  type Transfers,
  type UnfilledOrder,
} from './book.js';
import type { EventTerms, SessionEvents } from './events.js';

/** State of a book during its simulation, divided by what changes together. */
export interface BookState extends EventTerms {
  /** Treatment in force on the simulated session. */
  treatment: TreatmentSpec;
  readonly input: BookInput;
  /** Market columns that the book can hold, ascending: a slot is a position in them. */
  readonly columns: Int32Array;
  readonly slotOf: Int32Array;
  readonly targetsOn: ReadonlyMap<number, Targets>;
  /** Share counts that the book follows; null if shares change only at reviews. */
  readonly shareCounts: CountState | null;
  readonly tables: MarketTables;
  readonly series: BookSeries;
  readonly record: BookRecord;
  readonly holdings: Holdings;
  readonly period: HoldingPeriod;
  readonly running: RunningLevel;
  readonly pending: Pending;
  readonly today: SimulatedSession;
  /**
   * Target weights, held weights, and the slots with either, while targets are applied. The arrays are reused at each
   * rebalance, [H].
   */
  readonly scratch: { readonly targetWeights: Float64Array; readonly before: Float64Array; readonly slots: Int32Array };
}

/** Tables of the market under the terms of the book, computed before the first session. */
interface MarketTables {
  /** Value index, [S - first x N]. */
  readonly index: Float64Array;
  /** Kernels for sums over the value index, if available. */
  readonly panel: ValuePanel | undefined;
  readonly effects: EffectTable;
  /** Effects of corporate actions on short positions. If no tax is withheld, this is the table of long positions. */
  readonly ofShorts: EffectTable;
  readonly absences: Absences;
}

/** Values by session, [T], and the weights, [T x H]. */
interface BookSeries {
  readonly value: Float64Array;
  readonly gross: Float64Array;
  /** Growth from prices. Shares the array of `gross`, unless `gross` includes dividends that the index reinvests. */
  readonly drift: Float64Array;
  readonly paths: Float64Array;
  readonly begins: Uint8Array;
  readonly divisor: Float64Array;
  /** Ratio of the exact to the rounded divisor; null if the divisor is not rounded. */
  readonly exactDivisor: Float64Array | null;
  readonly costs: Float64Array;
  readonly cash: Float64Array;
  readonly counts: Int32Array;
  readonly weights: Float64Array;
  /**
   * Levels in each return variant before costs, and dividend points. Null if units are not shares, because dividends
   * are reinvested in the paying constituents.
   */
  readonly reinvested: ReinvestedLevels | null;
}

/** Lists to which a simulation only appends. */
interface BookRecord {
  readonly events: BookEvent[];
  readonly gaps: Gap[];
  readonly silent: Gap[];
  readonly orders: OpenOrder[];
  readonly transfers: TransferRecorder;
  /** Fractions of the value that securities release by leaving a long-only book, by position. */
  readonly exitShares: { readonly at: number; readonly share: number }[];
  /** Recorder of index shares; null if they are not recorded. */
  readonly shares: ShareRecorder | null;
  /** 1 for slots that were ever held, [H]. */
  readonly everHeld: Uint8Array;
}

interface Holdings {
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
  /**
   * Index shares of securities that are not held yet, or are held in another number, by slot, [H]; 0 if they follow
   * from the weight.
   */
  readonly expectedShares: Float64Array;
  /** True if the index holds fixed numbers of shares: see `Targets.basket`. */
  holdsBasket: boolean;
}

/** Start of the holding period: sessions over which a holding is a fixed number of units. */
interface HoldingPeriod {
  value: number;
  /** Level in the return variant of the book; 1 if units are not shares. */
  level: number;
  cash: number;
  /** Number of positions. */
  count: number;
  /** Number of holding periods so far. */
  number: number;
  /** Precomputed values of the units of a holding period on later sessions, `to` exclusive. */
  readonly ahead: { from: number; to: number; period: number; readonly values: Float64Array };
}

/** Numbers from which the level of each session follows. */
interface RunningLevel {
  /** Growth of the value since the start of the holding period; the market value if units are shares. */
  path: number;
  /** Factor on the value from adjusted closes that changed the divisor. 1 if units are shares. */
  carry: number;
  /** Level of the latest holdings; used if units are shares. */
  stated: StatedLevel;
  /** Growth of an index by reinvested dividends since its first session, before and after tax. */
  readonly reinvestedIncome: { total: number; net: number };
}

/** Orders and securities that wait for a price. */
interface Pending {
  /** Orders of the latest rebalance. */
  waiting: OpenOrder[];
  children: SpunOffSecurity[];
  /** Held securities whose ticker changed, by column, with the new column. */
  renamed: Map<number, number>;
}

interface SimulatedSession {
  /** Structural events. */
  events: SessionEvents | undefined;
  /** Held or targeted columns without a price bar. */
  missing: readonly number[];
  /** Columns of spun-off securities that leave at the close of the session, on which they have their first price. */
  droppedChildren: readonly number[];
  /** True if a spun-off security or reinvested cash changed index shares. */
  hasNewShares: boolean;
  /** Session whose weights row was written last. */
  rowSession: number;
}

/** Transfers in the order in which they are recorded. */
interface TransferRecorder {
  readonly rows: GrowingTable<Pick<Transfers, 'at' | 'slot' | 'dividends' | 'moved'>>;
  readonly keptRows: GrowingTable<Pick<Transfers, 'keptAt' | 'kept'>>;
}

export type OpenOrder = { -readonly [K in keyof UnfilledOrder]: UnfilledOrder[K] };

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
  state.pending.children = children.map((child) => ({ ...child, slot: state.slotOf[child.column]! }));
  state.pending.renamed = new Map(renamed);
}

/** Returns the securities for which a book waits for a price. */
export function listPending(state: BookState): PendingSecurities {
  const counts = selectHoldingCounts(state);
  return {
    children: state.pending.children.map(({ column, since, units }) => ({ column, since, units })),
    renamed: [...state.pending.renamed],
    ...(counts === undefined ? {} : { counts }),
  };
}

export function createBookEnd(state: BookState, session: number): BookEnd {
  const { columns, input } = state;
  const { heldSlots, count, units, holdsBasket } = state.holdings;
  const { weights, value, cash, divisor, exactDivisor, reinvested } = state.series;
  const { orders } = state.record;
  const { waiting } = state.pending;
  const { value: periodValue, cash: periodCash } = state.period;
  const { path, carry, reinvestedIncome } = state.running;
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
      stated: state.running.stated,
      reinvested: { ...reinvestedIncome },
      atStretchStart: state.period.level,
    },
    ...listPending(state),
    waiting: waiting.map((order) => orders.indexOf(order)),
  };
}

export const NO_COLUMNS: readonly number[] = [];

export function findRowOffset({ input, columns }: BookState, session: number): number {
  return input.isBrief ? 0 : (session - input.from) * columns.length;
}

export function isHeldColumn({ slotOf, holdings: { isHeld } }: BookState, column: number): boolean {
  const slot = slotOf[column]!;
  return slot >= 0 && isHeld[slot] === 1;
}

/** Returns the position of a column in the holding period. Returns -1 if it is not held. */
export function findSlot({ slotOf, holdings: { isHeld, places } }: BookState, column: number): number {
  const slot = slotOf[column]!;
  return slot >= 0 && isHeld[slot] === 1 ? places[slot]! : -1;
}

/** Writes the weights of a session, computed from the units. */
export function writeRow(state: BookState, session: number): void {
  const { sm } = state;
  const { index, panel } = state.tables;
  const { units, heldColumns, heldSlots, count } = state.holdings;
  const { weights } = state.series;
  const { ahead, cash, number } = state.period;
  if (state.today.rowSession === session) return;
  state.today.rowSession = session;
  const from = readPanelRow(sm, session);
  const row = { value: state.running.path, weights, to: findRowOffset(state, session) };
  if (panel?.has(ahead, number)) return panel.weights(from, row);
  clearRow(state, row.to);
  writeHoldingWeights(index, from, { columns: heldColumns, slots: heldSlots, units, count, money: cash }, row);
}

/** Clears a row of weights that is not overwritten as a whole and may have other contents. */
export function clearRow({ input, columns, holdings, series: { weights } }: BookState, row: number): void {
  const hasContents = input.isBrief || (input.roomForWeights !== undefined && !input.isSparse);
  if (hasContents && holdings.count < columns.length) weights.fill(0, row, row + columns.length);
}

export function appendSlot(state: BookState, slot: number): void {
  state.holdings.heldSlots[state.holdings.count++] = slot;
  state.holdings.isHeld[slot] = 1;
  state.record.everHeld[slot] = 1;
}

export function holdSecurity(state: BookState, slot: number): void {
  if (state.holdings.isHeld[slot] === 1) return;
  const { shareCounts } = state;
  const { heldSlots } = state.holdings;
  if (shareCounts !== null) shareCounts.isSettled = false;
  let k = state.holdings.count;
  while (k > 0 && heldSlots[k - 1]! > slot) k--;
  heldSlots.copyWithin(k + 1, k, state.holdings.count);
  heldSlots[k] = slot;
  state.holdings.count++;
  state.holdings.isHeld[slot] = 1;
  state.record.everHeld[slot] = 1;
}

export function dropSecurity(state: BookState, slot: number, row: number): void {
  const { heldSlots } = state.holdings;
  const { weights } = state.series;
  weights[row + slot] = 0;
  clearCounts(state, slot);
  if (state.holdings.isHeld[slot] === 0) return;
  const k = heldSlots.subarray(0, state.holdings.count).indexOf(slot);
  heldSlots.copyWithin(k, k + 1, state.holdings.count);
  state.holdings.count--;
  state.holdings.isHeld[slot] = 0;
}

/**
 * Number of correct digits in a product of weights, levels and prices. A product that is a half within these digits is
 * rounded as an exact half.
 */
const CORRECT_DIGITS = 13;

/** Relative change by rounding below which index shares are already whole. */
const WHOLE_TOLERANCE = 1e-12;

export function createBookRounding(
  document: IndexDocument,
  { calendar }: Pick<SessionMarket, 'calendar'>,
): Pick<BookInput, 'rounding' | 'baseDivisor'> {
  const { base_market_value: base, base_value: level } = document;
  const rounding = createDatedRounding(document, calendar);
  const isRounded = roundsAny(rounding, 'divisor') || roundsAny(rounding, 'shares');
  return {
    ...(rounding !== undefined && isRounded ? { rounding } : {}),
    ...(base === undefined ? {} : { baseDivisor: base / level }),
  };
}

/**
 * Returns the divisor of a session, rounded if the index rounds it and the session changes it. Levels include the
 * rounding difference from that session on.
 * @param exact divisor after the adjustments before the session's growth
 */
export function roundOpeningDivisor(state: BookState, session: number, exact: number): number {
  return roundDivisorValue(state, exact, { session, day: readDay(state, session) });
}

/** Rounds the divisor after a close, on which the levels of later sessions are based. */
export function roundDivisor(state: BookState, session: number): void {
  const { input } = state;
  const { divisor, exactDivisor } = state.series;
  if (exactDivisor === null) return;
  const position = session - input.from;
  const exact = divisor[position]!;
  const roundedDivisor = roundDivisorValue(state, exact, { session, day: readDay(state, session) + 1 });
  divisor[position] = roundedDivisor;
  exactDivisor[position] = exact / roundedDivisor;
}

/**
 * Returns the divisor, rounded if the index rounds it.
 * @throws Refusal NUMERIC_FAILURE if the rounded divisor is 0
 */
function roundDivisorValue(
  { input, sm, series: { exactDivisor } }: BookState,
  exact: number,
  { session, day }: RoundingDate,
): number {
  const decimals = findRounding(input.rounding, day).divisor;
  if (decimals === undefined || exactDivisor === null) return exact;
  const roundedValue = roundHalfAwayFromZero(Number(exact.toPrecision(CORRECT_DIGITS)), decimals);
  if (roundedValue > 0) return roundedValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} has the divisor ${exact.toPrecision(3)} on ${formatDay(sm.sessions[session]!)}, which is 0 with ${decimals} decimals; set base_market_value to get a larger divisor.`,
    { divisor: exact, decimals },
  );
}

/** Returns the decimals of index shares on a day. Returns undefined if index shares are not rounded. */
function findShareDecimals({ input }: BookState, day: Day): number | undefined {
  return input.rounding === undefined ? undefined : findRounding(input.rounding, day).shares;
}

interface RoundingDate {
  readonly session: number;
  /** Day of the close, or the following day for a rounding after the close. */
  readonly day: Day;
}

const readDay = ({ sm }: BookState, session: number): Day => sm.sessions[session]!;

/** Returns true if the index rounds its index shares. Fixed numbers of shares are not rounded. */
function isRounding({ series: { reinvested }, holdings: { holdsBasket } }: BookState): boolean {
  return reinvested !== null && !holdsBasket;
}

/** Rounds the index shares after a close. The divisor absorbs the difference in value, so the level is unchanged. */
export function roundShares(state: BookState, session: number): void {
  const { input, sm, columns } = state;
  const { index } = state.tables;
  const { divisor, weights, cash } = state.series;
  const { expectedShares } = state.holdings;
  const decimals = findShareDecimals(state, readDay(state, session) + 1);
  if (decimals === undefined || !isRounding(state)) return;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const money = state.series.reinvested!.levels.price[position]! * divisor[position]!;
  const prices = readPanelRow(sm, session);
  let sum = cash[position]!;
  for (const slot of state.holdings.heldSlots.slice(0, state.holdings.count)) {
    const price = index[prices + columns[slot]!]!;
    const exact = (weights[row + slot]! * money) / price;
    const shares = roundToDecimals(exact, decimals);
    const weight = Math.abs(shares / exact - 1) < WHOLE_TOLERANCE ? weights[row + slot]! : (shares * price) / money;
    if (weight === 0) dropSecurity(state, slot, row);
    weights[row + slot] = weight;
    expectedShares[slot] = shares;
    sum += weight;
  }
  if (sum === 1) return;
  assertHasHoldings(state, session, sum);
  for (let k = 0; k < state.holdings.count; k++) weights[row + state.holdings.heldSlots[k]!]! /= sum;
  cash[position]! /= sum;
  divisor[position]! *= sum;
}

function assertHasHoldings({ input, sm, holdings: { count } }: BookState, session: number, sum: number): void {
  if (sum > 0 && count > 0) return;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} has no index shares left on ${formatDay(sm.sessions[session]!)} with ${findRounding(input.rounding, sm.sessions[session]! + 1).shares} decimals; set a larger base_market_value.`,
  );
}

/** Returns a number of index shares after a change before a session's growth, rounded if the index rounds it. */
export function roundShareNumber(state: BookState, day: Day, shares: number): number {
  const decimals = findShareDecimals(state, day);
  return decimals === undefined || !isRounding(state) ? shares : roundToDecimals(shares, decimals);
}

function roundToDecimals(shares: number, decimals: number): number {
  return roundHalfAwayFromZero(Number(shares.toPrecision(CORRECT_DIGITS)), decimals);
}

interface BookSecuritiesInput {
  readonly sm: SessionMarket;
  readonly targets: readonly { readonly columns: ArrayLike<number> }[];
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the columns that a book can hold, ascending: target securities and their successors after spin-offs, mergers
 * and ticker changes.
 * @cost O(N + K), K the actions with a related identifier
 */
function listBookSecurities({ sm, targets, from, to }: BookSecuritiesInput): Int32Array {
  const isIncluded = new Uint8Array(sm.securityCount);
  for (const { columns } of targets) for (let k = 0; k < columns.length; k++) isIncluded[columns[k]!] = 1;
  let hasGrown = true;
  while (hasGrown) {
    hasGrown = false;
    for (const { session, column, action } of sm.actions.related) {
      if (session < from || session > to || !isIncluded[column]) continue;
      const relatedColumn = sm.columnOf(action.related!);
      if (relatedColumn < 0 || isIncluded[relatedColumn]) continue;
      isIncluded[relatedColumn] = 1;
      hasGrown = true;
    }
  }
  const columns: number[] = [];
  for (let column = 0; column < sm.securityCount; column++) if (isIncluded[column]) columns.push(column);
  return Int32Array.from(columns);
}

/** Returns the terms on which an index follows share counts. Returns undefined if its shares change only at reviews. */
export function createShareChangeTerms({
  sm,
  document,
  treatment,
}: {
  readonly sm: SessionMarket;
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
}): ShareChangeTerms | undefined {
  const texts = [{ after: -Infinity, text: { document } }, ...listTextSpans(document, sm.calendar)].map(
    ({ after, text }) => ({ after, document: text.document, ...findFollowedCounts(text.document) }),
  );
  const followed = texts.find((text) => text.counted !== null);
  if (followed === undefined || followed.counted === null) return undefined;
  const { counted, document: text } = followed;
  const maxStaleSessions = readPriceSessions(treatment);
  const expression = findFloatExpression(text.pipeline?.weighting);
  const definitions = readDefinitions(text);
  const float =
    expression === null
      ? null
      : createCrossSections(sm, createCountTerms(maxStaleSessions, definitions)).stated(expression);
  const counts = createShareCounts(sm, { counted, maxStaleSessions, float });
  if (counts === null) return undefined;
  const floatKey = expression === null ? '' : ` ${JSON.stringify([expression, [...definitions]])}`;
  return {
    counts,
    key: `${counted} ${maxStaleSessions}${floatKey}`,
    thresholdOn: (day) => texts.findLast(({ after }) => after < day)!.threshold,
  }; // the first version applies from the beginning
}

/** Returns the share counts that a version of a definition follows between reviews. Returns null if it follows none. */
function findFollowedCounts({ events, pipeline }: IndexDocument): {
  readonly counted: 'all' | 'float' | null;
  readonly threshold: number;
} {
  const countedShares = events?.share_changes === 'effective' ? findCountedShares(pipeline?.weighting) : null;
  return { counted: countedShares, threshold: countedShares === null ? Infinity : events!.threshold };
}

export function readCounts({ counts }: ShareChangeTerms, session: number, columns: Int32Array): SecurityCounts {
  const adoptedCounts = new Float64Array(columns.length);
  counts.fill(session, columns, adoptedCounts);
  return { adopted: adoptedCounts, latest: adoptedCounts };
}

/** Relative rounding error of a count that is the product of two numbers. */
const EPSILON = 1e-12;

/**
 * Computes share-count changes after the previous close as factors on holdings, by position. Returns null if there are
 * none. Counts are compared only on sessions on which they change in the data. A split or rights issue that reaches the
 * data late therefore changes nothing.
 * @cost O(changes of the session), O(H) on sessions after a change of the holdings
 */
export function countFactors(state: BookState, session: number): CountFactors | null {
  const { shareCounts: counts } = state;
  if (counts === null) return null;
  scaleCounts(state, session);
  const { factors, timeline, isSettled } = counts;
  factors.count = 0;
  const countAdoption: CountAdoption = {
    state,
    counts,
    session,
    threshold: counts.terms.thresholdOn(state.sm.sessions[session]!),
  };
  counts.isSettled =
    timeline !== null && isSettled ? adoptListedCounts(countAdoption, timeline) : adoptStatedCounts(countAdoption);
  return factors.count === 0 ? null : factors;
}

interface CountAdoption {
  readonly state: BookState;
  readonly counts: CountState;
  readonly session: number;
  readonly threshold: number;
}

/**
 * Applies the listed changes of a session.
 * @returns true if `latest` now equals the data for every holding
 */
function adoptListedCounts(taking: CountAdoption, { starts, slots, values }: CountTimeline): boolean {
  const { state, counts, session } = taking;
  const { input } = state;
  const { isHeld, places } = state.holdings;
  const position = session - input.from;
  let isSettled = true;
  for (let e = starts[position]!; e < starts[position + 1]!; e++) {
    const slot = slots[e]!;
    if (isHeld[slot] !== 1 || values[e] === counts.latest[slot]) continue;
    isSettled = adoptCount(taking, places[slot]!, values[e]!) && isSettled;
  }
  return isSettled;
}

/**
 * Compares the counts of all holdings with the data, and applies differences.
 * @returns true if `latest` now equals the data for every holding
 */
function adoptStatedCounts(taking: CountAdoption): boolean {
  const { state, counts, session } = taking;
  const { count, heldSlots, heldColumns } = state.holdings;
  const { latest, values, terms } = counts;
  const { panel } = terms.counts;
  const row = panel?.rowAt(session) ?? -1;
  // counts in a panel are compared without a copy
  const cells = panel === undefined || row < 0 ? null : panel.cells;
  if (cells === null) terms.counts.fill(session, heldColumns.subarray(0, count), values.subarray(0, count));
  let isSettled = true;
  for (let k = 0; k < count; k++) {
    const after = cells === null ? values[k]! : cells[row + heldColumns[k]!]!;
    if (after === latest[heldSlots[k]!]!) continue;
    isSettled = after > 0 && adoptCount(taking, k, after) && isSettled;
  }
  return isSettled;
}

/**
 * Applies a count that differs from the latest one.
 * @returns true if it is now the latest count in the data
 */
function adoptCount({ state, counts, session, threshold }: CountAdoption, place: number, after: number): boolean {
  const { heldSlots, heldColumns } = state.holdings;
  const { events } = state.today;
  const column = heldColumns[place]!;
  // When a merger issues shares, the counts are compared only after the merged security has converted.
  if (events !== undefined && isIssuing(events.conversions, column)) return false;
  const factor = updateCount(counts, { session, column, slot: heldSlots[place]!, after, threshold });
  if (factor === 1) return true;
  const { factors } = counts;
  factors.places[factors.count] = place;
  factors.values[factors.count++] = factor;
  return true;
}

interface ObservedCount {
  readonly session: number;
  readonly column: number;
  readonly slot: number;
  readonly after: number;
  readonly threshold: number;
}

/**
 * Adopts a count from the data.
 * @returns the factor on index shares. It is 1 for a first count, and for a change below the threshold.
 */
function updateCount(
  { adopted, latest, changes }: CountState,
  { session, column, slot, after, threshold }: ObservedCount,
): number {
  latest[slot] = after;
  const before = adopted[slot]!;
  if (!(before > 0)) {
    adopted[slot] = after;
    return 1;
  }
  const factor = after / before;
  if (factor === 1 || Math.abs(factor - 1) < threshold - EPSILON) return 1;
  adopted[slot] = after;
  const row = appendRow(changes.rows);
  changes.rows.columns.session[row] = session;
  changes.rows.columns.column[row] = column;
  changes.rows.columns.before[row] = before;
  changes.rows.columns.after[row] = after;
  changes.latest = session;
  return factor;
}

function isIssuing(conversions: ReadonlyMap<number, number>, column: number): boolean {
  for (const targetColumn of conversions.values()) if (targetColumn === column) return true;
  return false;
}

/** Scales share counts by splits and rights issues, like index shares. */
function scaleCounts(
  { shareCounts: counts, slotOf, sm, tables: { effects }, holdings: { isHeld } }: BookState,
  session: number,
): void {
  const { starts, columns, ratio, rights } = effects;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (ratio[e] === 1 && rights[e] === 0) continue;
    const column = columns[e]!;
    const slot = slotOf[column]!;
    if (slot < 0 || isHeld[slot] !== 1) continue;
    const before = findCarriedUnder(sm, effects, session - 1, column);
    counts!.adopted[slot]! *= computeShareFactor(readEffect(effects, e), before, effects.getTerms(session));
  }
}

export function adoptCounts(
  { shareCounts: counts, slotOf, holdings: { isHeld } }: BookState,
  { columns, counts: securityCounts }: { readonly columns: Int32Array; readonly counts?: SecurityCounts },
): void {
  if (counts === null) return;
  const { adopted, latest } = counts;
  counts.isSettled = false;
  for (let slot = 0; slot < isHeld.length; slot++) if (isHeld[slot] === 0) adopted[slot] = latest[slot] = Number.NaN;
  for (let k = 0; k < columns.length; k++) {
    const slot = slotOf[columns[k]!]!;
    adopted[slot] = securityCounts?.adopted[k] ?? Number.NaN;
    latest[slot] = securityCounts?.latest[k] ?? Number.NaN;
  }
}

/**
 * Sets the share counts of a security into which another security converted. If the security was held before, its
 * counts grow with its holding.
 */
export function convertCounts(state: BookState, { slot, into, growth }: CountConversion): void {
  const { shareCounts: counts } = state;
  if (counts === null) return;
  const { adopted, latest } = counts;
  counts.isSettled = false;
  if (growth !== null) adopted[into]! *= growth;
  else {
    adopted[into] = adopted[slot]!;
    latest[into] = latest[slot]!;
  }
}

interface CountConversion {
  readonly slot: number;
  readonly into: number;
  /**
   * Growth of the acquirer's holding. Null for a ticker change into a security that was not held; the new security then
   * gets the counts of the old one.
   */
  readonly growth: number | null;
}

/**
 * Returns the number of sessions over which holdings are summed ahead. It equals the number of sessions since the
 * latest share-count change: if changes are frequent, the next change would soon discard the sums.
 */
function countSessionsAhead({ shareCounts }: BookState, session: number): number {
  if (shareCounts === null) return Infinity;
  const { latest } = shareCounts.changes;
  return latest < 0 ? Infinity : 1 + session - latest;
}

/**
 * Creates the state of a book at its first session.
 * @throws Refusal NUMERIC_FAILURE for an exchange rate of 0 or less, NO_RATE if the withholding tax has no rate for the
 * dividends of a security
 */
export function openBook(input: BookInput): BookState {
  const { sm, from, to, growth, treatment, targets } = input;
  const { resume } = input;
  const columns = resume
    ? listBookSecurities({ sm, targets: [...targets, resume], from: resume.first, to })
    : listBookSecurities({ sm, targets: [...targets, ...listPendingColumns(input)], from, to });
  requireRatesAboveZero(sm, columns, { currency: growth.currency, from, to });
  requireTaxes(input, columns);
  const slotByColumn = new Int32Array(sm.securityCount).fill(-1);
  columns.forEach((column, slot) => (slotByColumn[column] = slot));
  const H = columns.length;
  const index = computeValueIndex(sm, growth);
  const effects = createEffectTable(sm, growth);
  const state: BookState = {
    input,
    sm,
    treatment: findTreatment(treatment, sm.sessions[from]!),
    growth,
    rates: createExchangeRates(sm, growth.currency),
    outside: input.outside,
    columns,
    slotOf: slotByColumn,
    targetsOn: new Map(targets.map((entry) => [entry.session, entry])),
    shareCounts: openCounts(input, columns),
    tables: {
      index,
      panel: getValuePanel(index),
      effects,
      ofShorts: createEffectTable(sm, toShortTerms(growth)),
      absences: listAbsences(sm),
    },
    series: allocateSeries(input, H),
    record: {
      events: [],
      gaps: [],
      silent: [],
      orders: [],
      transfers: createTransferRecorder(effects.starts[to + 1]! - effects.starts[from]!),
      exitShares: [],
      shares: holdsShares(growth) ? createShareRecorder(input, H) : null,
      everHeld: new Uint8Array(H),
    },
    holdings: {
      heldSlots: new Int32Array(H),
      isHeld: new Uint8Array(H),
      count: 0,
      units: new Float64Array(H),
      heldColumns: new Int32Array(H),
      places: new Int32Array(H),
      expectedShares: new Float64Array(H),
      holdsBasket: false,
    },
    period: {
      value: input.initialValue,
      level: 1,
      cash: 1,
      count: 0,
      number: 0,
      ahead: { from: 0, to: 0, period: -1, values: new Float64Array(SESSIONS_PER_CALL) },
    },
    running: {
      path: 1,
      carry: 1,
      stated: input.followed?.shares?.levels.stated ?? { marketValue: Number.NaN, divisor: 1, level: 1 },
      reinvestedIncome: { total: 1, net: 1, ...input.followed?.shares?.levels.reinvested },
    },
    pending: { waiting: [], children: [], renamed: new Map() },
    today: {
      events: undefined,
      missing: NO_COLUMNS,
      droppedChildren: NO_COLUMNS,
      hasNewShares: false,
      rowSession: from,
    },
    scratch: { targetWeights: new Float64Array(H), before: new Float64Array(H), slots: new Int32Array(H) },
  };
  if (resume) resumeState(state, resume);
  else state.series.divisor[0] = input.followed?.shares?.divisor ?? input.baseDivisor ?? 1;
  return state;
}

/** @param expected likely number of dividends */
const createTransferRecorder = (expected: number): TransferRecorder => ({
  rows: createGrowingTable(
    { at: new Int32Array(0), slot: new Int32Array(0), dividends: new Float64Array(0), moved: new Float64Array(0) },
    expected,
  ),
  keptRows: createGrowingTable({ keptAt: new Int32Array(0), kept: new Float64Array(0) }),
});

function requireTaxes({ sm, growth, from, to }: BookInput, columns: Int32Array): void {
  const [first, last] = [sm.sessions[from]!, sm.sessions[to]!];
  const { amended = [] } = growth;
  const spans = [{ after: first - 1, withholdingTax: growth.withholdingTax }, ...amended];
  spans.forEach(({ after, withholdingTax }, k) => {
    const span = { from: Math.max(first, after + (k === 0 ? 1 : 0)), to: Math.min(last, amended[k]?.after ?? last) };
    if (span.from <= span.to) requireWithholdingRates(sm.market, withholdingTax, { columns, ...span });
  });
}

function allocateSeries(input: BookInput, H: number): BookSeries {
  const { from, to, growth, isBrief = false, roomForWeights, rounding } = input;
  const length = to - from + 1;
  const sliceSeries = createSlicer(7, length);
  const hasDividends = holdsShares(growth) && growth.variant !== 'price';
  const weights = roomForWeights?.(length * H) ?? new Float64Array((isBrief ? 1 : length) * H);
  weights.fill(0, 0, H); // each further row is cleared before it is written
  const gross = sliceSeries(1).fill(1);
  return {
    value: sliceSeries(0),
    gross,
    drift: hasDividends ? sliceSeries(6).fill(1) : gross,
    paths: sliceSeries(2).fill(1),
    begins: new Uint8Array(length),
    divisor: sliceSeries(3).fill(1),
    exactDivisor: roundsAny(rounding, 'divisor') && holdsShares(growth) ? new Float64Array(length).fill(1) : null,
    costs: sliceSeries(4),
    cash: sliceSeries(5),
    counts: new Int32Array(length),
    weights,
    reinvested: holdsShares(growth) ? allocateLevels(input) : null,
  };
}

function createSlicer(count: number, length: number): (place: number) => Float64Array {
  const memory = allocateRetainedFloats(count * length);
  return (place) => memory.subarray(place * length, (place + 1) * length);
}

function allocateLevels({ followed, initialValue, from, to }: BookInput): ReinvestedLevels {
  const sliceSeries = createSlicer(5, to - from + 1);
  const levels = { price: sliceSeries(0), total: sliceSeries(1), net: sliceSeries(2) };
  for (const variant of RETURN_VARIANTS) levels[variant][0] = followed?.shares?.levels[variant] ?? initialValue;
  return { levels, points: sliceSeries(3), netPoints: sliceSeries(4) };
}

function resumeState(state: BookState, { end, orders }: BookResume): void {
  const { input, slotOf, columns } = state;
  const { weights } = state.series;
  const { heldSlots, heldColumns, places, units, isHeld } = state.holdings;
  const { everHeld } = state.record;
  state.holdings.count = end.held.length;
  for (let k = 0; k < end.held.length; k++) {
    const slot = slotOf[end.held[k]!]!;
    heldSlots[k] = slot;
    heldColumns[k] = columns[slot]!;
    places[slot] = k;
    units[k] = end.units[k]!;
    if (state.record.shares !== null) recordShares(state.record.shares, toShareTime(0, 'after'), slot, end.units[k]!);
    weights[slot] = end.weights[k]!;
    isHeld[slot] = 1;
    everHeld[slot] = 1;
  }
  state.period.count = state.holdings.count;
  adoptCounts(state, { columns: end.held, ...(end.counts ? { counts: end.counts } : {}) });
  state.series.value[0] = end.value;
  state.series.cash[0] = end.cash;
  state.series.divisor[0] = end.divisor;
  state.series.counts[0] = state.holdings.count;
  state.period.value = end.stretchValue;
  state.period.cash = end.stretchCash;
  state.running.path = end.path;
  state.running.carry = end.carry;
  state.holdings.holdsBasket = end.holdsBasket;
  if (state.series.exactDivisor) state.series.exactDivisor[0] = end.exactDivisor ?? 1;
  state.series.paths[0] = end.path * end.carry;
  if (state.series.reinvested && end.levels) {
    const { levels } = state.series.reinvested;
    levels.price[0] = end.levels.price;
    levels.total[0] = end.levels.total;
    levels.net[0] = end.levels.net;
    state.running.stated = end.levels.stated;
    Object.assign(state.running.reinvestedIncome, end.levels.reinvested);
    state.period.level = end.levels.atStretchStart;
  }
  copyPending(state, end);
  state.record.orders.push(...orders.map((order): OpenOrder => ({ ...order, slot: slotOf[order.slot]! })));
  state.pending.waiting = end.waiting.map((position) => state.record.orders[position]!);
  state.today.rowSession = input.from;
}

function listPendingColumns({ followed: pending }: BookInput): { readonly columns: readonly number[] }[] {
  return pending
    ? [{ columns: [...pending.children.map(({ column }) => column), ...pending.renamed.map(([, into]) => into)] }]
    : [];
}

/**
 * Returns the book value relative to the start of the holding period. The same pass sums later sessions on which the
 * units probably stay unchanged, so that the holdings are read only once.
 */
export function computeBookValue(state: BookState, session: number): number {
  const { sm, columns } = state;
  const { index, panel } = state.tables;
  const { heldColumns, heldSlots, units, count } = state.holdings;
  const { ahead } = state.period;
  if (ahead.period === state.period.number && session > ahead.from && session < ahead.to)
    return ahead.values[session - ahead.from]!;
  const row = readPanelRow(sm, session);
  const holding = { columns: heldColumns, slots: heldSlots, units, count, money: state.period.cash };
  if (panel === undefined) return sumHoldingValue(index, row, holding);
  if (!panel.has(ahead, state.period.number))
    panel.load(holding, { width: columns.length, owner: ahead, version: state.period.number });
  ahead.period = state.period.number;
  ahead.from = session;
  ahead.to = findNextUnitChange(state, session);
  panel.values(row, ahead.to - session, ahead.values);
  return ahead.values[0]!;
}

export function setUnits(
  { holdings: { units }, tables: { panel }, period: { ahead, number: periods } }: BookState,
  place: number,
  changedUnits: number,
): void {
  units[place] = changedUnits;
  if (panel?.has(ahead, periods)) panel.setUnits(place, units[place]!);
  ahead.to = ahead.from; // invalidates the precomputed sums, which used the old units
}

/**
 * Returns the end, exclusive, of the sessions on which no units of a holding are known to change, at most
 * `SESSIONS_PER_CALL` sessions later. An event that is only known at a close may change units earlier.
 */
function findNextUnitChange(state: BookState, session: number): number {
  const { input, sm, targetsOn } = state;
  const { ofShorts, effects } = state.tables;
  if (ofShorts !== effects) return session + 1;
  const { isOpening } = effects;
  const { isStructural } = sm.actions;
  const last = Math.min(input.to, session + Math.min(SESSIONS_PER_CALL, countSessionsAhead(state, session)) - 1);
  let periodEnd = session;
  while (
    periodEnd < last &&
    !targetsOn.has(periodEnd) &&
    isStructural[periodEnd + 1] === 0 &&
    isOpening[periodEnd + 1] === 0
  )
    periodEnd++;
  return periodEnd + 1;
}

/** Starts a holding period: the holdings after this close become units of the value index. */
export function beginHoldingPeriod(state: BookState, session: number): void {
  const { input } = state;
  const { value, cash } = state.series;
  const position = session - input.from;
  state.series.begins[position] = 1;
  state.period.number++;
  if (state.series.reinvested === null) holdUnits(state, session);
  else holdIndexShares(state, session);
  state.period.count = state.holdings.count;
  if (state.series.reinvested !== null) stateLevel(state, session);
  state.period.value = value[position]!;
  state.running.carry = 1;
  if (state.series.reinvested === null) state.period.cash = cash[position]!;
  else state.period.level = state.series.reinvested.levels[state.growth.variant][position]!;
}

function holdUnits(state: BookState, session: number): void {
  const { input, sm, columns } = state;
  const { index } = state.tables;
  const { units, heldColumns, heldSlots, places, count } = state.holdings;
  const { weights, value } = state.series;
  const position = session - input.from;
  const row = findRowOffset(state, session);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < count; k++) {
    const slot = heldSlots[k]!;
    const column = columns[slot]!;
    heldColumns[k] = column;
    places[slot] = k;
    units[k] = weights[row + slot]! / index[from + column]!;
  }
  // Without costs the first quotient is exactly 1.
  const scale =
    value[position]! > 0
      ? (state.period.value * (state.running.path * state.running.carry)) / value[position]! / state.running.path
      : 1;
  for (const child of state.pending.children) child.units *= scale;
  state.running.path = 1;
}

/** Maximum relative rounding error of index shares that are computed from weights. */
const SHARE_NOISE = 1e-12;

/**
 * Converts weights into index shares at the market value of the book. Index shares that the close does not change keep
 * their bits.
 */
function holdIndexShares(state: BookState, session: number): void {
  const { sm, columns } = state;
  const { index } = state.tables;
  const { units, heldColumns, heldSlots, places, count, expectedShares } = state.holdings;
  const { weights } = state.series;
  const position = session - state.input.from;
  const { levels } = state.series.reinvested!;
  // After a total loss the level stays 0, whatever the market value of later holdings.
  const exactDivisor = state.series.divisor[position]! * (state.series.exactDivisor?.[position] ?? 1);
  const money = levels.price[position]! * exactDivisor || 1;
  const row = findRowOffset(state, session);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.period.count; k++) {
    const slot = state.slotOf[heldColumns[k]!]!;
    if (expectedShares[slot] === 0) expectedShares[slot] = units[k]!;
  }
  state.period.cash = state.series.cash[position]! * money;
  for (let k = 0; k < count; k++) {
    const slot = heldSlots[k]!;
    const column = columns[slot]!;
    heldColumns[k] = column;
    places[slot] = k;
    const shares = (weights[row + slot]! * money) / index[from + column]!;
    const expected = expectedShares[slot]!;
    units[k] = Math.abs(shares / expected - 1) < SHARE_NOISE ? expected : shares;
  }
  expectedShares.fill(0);
}

/**
 * Records the level of the close as that of the market value, unless the level already follows from it. The levels after
 * a close whose divisor is rounded include the rounding difference, so they follow from the divisor.
 */
function stateLevel(state: BookState, session: number): void {
  const position = session - state.input.from;
  const divisor = state.series.divisor[position]!;
  const level = state.series.reinvested!.levels.price[position]!;
  state.running.path = computeBookValue(state, session);
  if (state.series.exactDivisor !== null) return;
  if (computePriceLevel(state.running.stated, state.running.path, divisor) !== level)
    state.running.stated = { marketValue: state.running.path, divisor, level };
}

/** Records the index shares of all holdings that changed. After a close, also records the securities that left. */
export function recordHoldings(state: BookState, session: number, moment: ShareMoment): void {
  const { slotOf } = state;
  const { shares: recorder } = state.record;
  const { heldColumns, units } = state.holdings;
  const { count: periodCount } = state.period;
  if (recorder === null) return;
  const time = toShareTime(session - state.input.from, moment);
  if (moment !== 'after') {
    for (let k = 0; k < periodCount; k++) recordShares(recorder, time, slotOf[heldColumns[k]!]!, units[k]!);
    return;
  }
  for (let slot = 0; slot < state.holdings.isHeld.length; slot++)
    recordShares(recorder, time, slot, state.holdings.isHeld[slot] === 1 ? units[state.holdings.places[slot]!]! : 0);
}

/** Removes all holdings after a total loss. */
export function clearSecurities(state: BookState, session: number): void {
  const { columns } = state;
  const { weights } = state.series;
  const row = findRowOffset(state, session);
  weights.fill(0, row, row + columns.length);
  state.holdings.count = 0;
  state.holdings.isHeld.fill(0);
  beginHoldingPeriod(state, session);
}
