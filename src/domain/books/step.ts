import { appendRow, takeRows } from '#base/memory.js';
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
  holdsShares,
  NO_EFFECT,
  readEffect,
  toShortTerms,
} from '../market/action-effects.js';
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
  type FollowedClose,
  type Gap,
  listAdoptedChanges,
  recordShares,
  type Targets,
  toShareTime,
  type WeightMove,
} from './book.js';
import { computeExitFactor, convertPrice, listEvents } from './events.js';
import {
  beginHoldingPeriod,
  type BookState,
  clearRow,
  clearSecurities,
  computeBookValue,
  convertCounts,
  countFactors,
  createBookEnd,
  dropSecurity,
  findRowOffset,
  findSlot,
  holdSecurity,
  isHeldColumn,
  listPending,
  NO_COLUMNS,
  openBook,
  recordHoldings,
  roundDivisor,
  roundOpeningDivisor,
  roundShareNumber,
  roundShares,
  setUnits,
  type SpunOffSecurity,
  writeRow,
} from './state.js';
import { fillOrder, listFillableOrders, tradeToTargetWeights, spreadProceeds, sumExitsBySide } from './trading.js';

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
    step(state, session);
    if (session === input.followedFrom) pending = startFollowing(state, session);
    state.series.counts[session - from] = state.holdings.count;
    if (tick && (session - from) % TICK_SESSIONS === 0) tick((session - from) / (to - from + 1));
  }
  if (input.isBrief || input.isSparse) writeRow(state, to);
  const { value, gross, paths, begins, divisor, costs, weights, cash, counts } = state.series;
  const { everHeld, events, gaps, silent, orders } = state.record;
  return {
    sm,
    from,
    length: to - from + 1,
    columns: state.columns,
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

/** Simulates a session: from the previous close to this close, and at this close. */
function step(state: BookState, session: number): void {
  const targets = state.targetsOn.get(session);
  if (session > state.input.from) driftToClose(state, session);
  findGaps(state, session, targets);
  closeSession(state, session, targets);
  if (state.today.hasNewShares) roundNewShares(state, session);
  if (state.series.begins[session - state.input.from] === 1) recordHoldings(state, session, 'after');
  roundDivisor(state, session);
}

/** Moves the book from the previous close to this close: adjustments of the previous close, growth, events, payouts. */
function driftToClose(state: BookState, session: number): void {
  const { input } = state;
  const { value, cash, divisor, reinvested } = state.series;
  const { effects, ofShorts } = state.tables;
  const position = session - input.from;
  const { isStructural, written } = beginSession(state, session);
  const shareFactors = countFactors(state, session);
  roundShareFactors(state, session, shareFactors);
  const spunOff = listSpunOff(state, session, shareFactors);
  const opened = openSession(state, session, shareFactors);
  if (reinvested !== null) {
    if (effects.isOpening[session] === 1 || shareFactors !== null) recordHoldings(state, session, 'opening');
    reinvestCash(state, session);
  }
  if (ofShorts !== effects) adjustShorts(state, session);
  const openingDivisor = roundOpeningDivisor(state, session, computeOpeningDivisor(state, session, opened));
  divisor[position] = openingDivisor;
  const sum = isStructural ? growThroughEvents(state, session, { spunOff, written }) : computeBookValue(state, session);
  assertFinite(state, session, sum);
  if (reinvested === null) growValue(state, session, { sum, openingGrowth: opened.growth });
  else growShares(state, session, sum);
  assertWorth(state, session, value[position]!);
  cash[position] = sum > 0 ? state.period.cash / sum : 1;
  if (!(sum > 0)) clearSecurities(state, session);
  else if (isStructural) scaleRow(state, session, 1 / sum);
  else if (!input.isBrief && !input.isSparse) writeRow(state, session);
  if (reinvested === null) divisor[position] = openingDivisor * computeReinvestmentFactor(state, session);
  if (isStructural) beginHoldingPeriod(state, session);
}

/** Processes a close: removes securities that leave or convert, applies target weights, and fills waiting orders. */
function closeSession(state: BookState, session: number, targets: Targets | undefined): void {
  const { input, columns } = state;
  const { weights, value, cash, costs, divisor } = state.series;
  const position = session - input.from;
  if (position === 0) {
    value[0] = input.initialValue;
    cash[0] = 1;
  }
  if (!targets && isQuiet(state)) return;
  const conversions = listConversions(state, session);
  const leaving = listLeaving(state, session, { targets, conversions });
  const fillable = targets ? [] : listFillableOrders(state, session);
  if (!targets && conversions.size === 0 && leaving.length === 0 && fillable.length === 0) return;
  if (state.today.rowSession !== session) writeRow(state, session);
  const row = findRowOffset(state, session);
  const before = input.isBrief ? null : weights.slice(row, row + columns.length);
  const atClose = { value: value[position]!, divisor: divisor[position]! };
  const { converted, paid } = convertSecurities(state, conversions, row);
  const exits = releaseSecurities(state, { leaving, paid }, session);
  const fills: Fill[] = [];
  if (targets) tradeToTargetWeights(state, targets, session);
  else {
    spreadProceeds(state, session, { exits, fillable });
    for (const order of fillable) fills.push(fillOrder(state, order, session));
  }
  keepChildValues(state, session, atClose);
  roundShares(state, session);
  beginHoldingPeriod(state, session);
  costs[position] = atClose.value - value[position]!;
  if (before === null) return;
  state.record.events.push({
    at: position,
    valueBefore: atClose.value,
    before,
    exits,
    conversions: converted,
    rebalanced: targets !== undefined,
    fills: fills.toSorted((a, b) => a.slot - b.slot),
    ...(state.pending.children.length > 0 ? { hasPendingSpinOff: true } : {}),
  });
}

/**
 * Starts a holding period at a close, so that a portfolio can follow the book from there.
 * @returns the state at that close
 */
function startFollowing(state: BookState, session: number): FollowedClose {
  writeRow(state, session);
  if (state.running.path !== 1 || state.running.carry !== 1) beginHoldingPeriod(state, session);
  const pending = listPending(state);
  const { levels, divisor, held, units, exactDivisor = 1 } = createBookEnd(state, session);
  if (levels === null) return pending;
  return { ...pending, shares: { levels, divisor: divisor * exactDivisor, columns: held, units } };
}

/** Number of sessions between two checks for cancellation. */
const TICK_SESSIONS = 64;

/**
 * Returns the growth of a book that does not follow from its weights: price growth, transfers, reinvested dividends and
 * the rounding of the divisor.
 */
function listGrowthFields({
  input,
  series: { drift, gross, reinvested, exactDivisor },
  record: { transfers, exitShares },
}: BookState): Pick<Book, 'drift' | 'transfers' | 'exitShares' | 'reinvested' | 'exactDivisor'> {
  return {
    ...(drift === gross ? {} : { drift }),
    ...(exitShares.length === 0 ? {} : { exitShares: createExitSeries(exitShares, gross.length) }),
    ...(transfers.rows.length + transfers.keptRows.length === 0
      ? {}
      : { transfers: { ...takeRows(transfers.rows), ...takeRows(transfers.keptRows) } }),
    ...(reinvested === null || input.fills !== 'all' ? {} : { reinvested }),
    ...(exactDivisor === null ? {} : { exactDivisor }),
  };
}

function createExitSeries(exitShares: BookState['record']['exitShares'], length: number): Float64Array {
  const series = new Float64Array(length);
  for (const { at, share } of exitShares) series[at] = share;
  return series;
}

/** Returns the adopted share-count changes and the index shares. */
function listShareFields(state: BookState): Pick<Book, 'shareChanges' | 'shares'> {
  const shareChanges = listAdoptedChanges(state);
  return {
    ...(shareChanges === undefined ? {} : { shareChanges }),
    ...(state.record.shares === null ? {} : { shares: takeRows(state.record.shares.changes) }),
  };
}

/** Largest limit on sessions without a price for which `listAbsences` lists every absent holding. */
const LISTED_SESSIONS_MAX = 60;

/** Records the missing price bars of securities that are held at the start of a session or targeted on it. */
function findGaps(state: BookState, session: number, targets: Targets | undefined): void {
  const { sm, treatment } = state;
  const { gaps } = state.record;
  const { absences } = state.tables;
  const { missing: earlier } = state.today;
  state.today.missing = NO_COLUMNS;
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
  state.today.missing = absentColumns.length === 0 ? NO_COLUMNS : absentColumns.sort((a, b) => a - b);
  for (const column of absentColumns) {
    if (!sm.isOpen(session, column)) continue;
    if (treatment.missing_prices === 'fail') throw createMissingPriceRefusal(sm, { session, column });
    gaps.push({ session, column });
  }
}

/** Returns true if the holdings may have changed since the previous search for gaps. */
function haveHoldingsChanged({ input: { from, resume }, series: { begins } }: BookState, session: number): boolean {
  const position = session - from;
  return position <= (resume ? 1 : 0) || begins[position] === 1 || begins[position - 1] === 1;
}

function listAbsentHoldings(state: BookState, session: number): number[] {
  const { starts, columns } = state.tables.absences;
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
  const { sm, columns } = state;
  const { heldSlots, count } = state.holdings;
  const addMissing = (column: number): void => {
    if (!sm.hasBar(session, column) && !missing.includes(column)) missing.push(column);
  };
  if (haveHoldingsChanged(state, session)) for (let k = 0; k < count; k++) addMissing(columns[heldSlots[k]!]!);
  else for (const column of earlier) if (isHeldColumn(state, column)) addMissing(column);
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

/** Rounds index shares that a spin-off or reinvested cash changed on the session. */
function roundNewShares(state: BookState, session: number): void {
  state.today.hasNewShares = false;
  if (!roundsAny(state.input.rounding, 'shares')) return;
  writeRow(state, session);
  roundShares(state, session);
  beginHoldingPeriod(state, session);
}

/** Finds the structural events of a session, and the constituents that are written off at its close. */
function beginSession(
  state: BookState,
  session: number,
): { readonly isStructural: boolean; readonly written: readonly number[] } {
  const { treatment } = state.input;
  if (treatment.amended) state.treatment = findTreatment(treatment, state.sm.sessions[session]!);
  const written = listWorthlessSecurities(state, session);
  const isStructural =
    state.sm.actions.isStructural[session] === 1 ||
    state.pending.children.length > 0 ||
    state.pending.renamed.size > 0 ||
    written.length > 0;
  state.today.events = isStructural ? listEvents(state, session) : undefined;
  state.today.droppedChildren = NO_COLUMNS;
  return { isStructural, written };
}

/**
 * Returns the constituents that are written off at this close. A constituent is written off if it has had no price for
 * longer than the treatment allows, or if it is suspended and a review removes it.
 */
function listWorthlessSecurities(state: BookState, session: number): number[] {
  const { sm, treatment, targetsOn, columns } = state;
  const { heldSlots, count } = state.holdings;
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

/** Changes the share-count factors and their records so that rounded index shares result. */
function roundShareFactors(state: BookState, session: number, factors: CountFactors | null): void {
  if (factors === null || state.input.rounding === undefined) return;
  const { places, values, count } = factors;
  const { rows } = state.shareCounts!.changes;
  const { before, after } = rows.columns;
  const day = state.sm.sessions[session]!;
  for (let i = 0, changeIndex = rows.length - count; i < count; i++, changeIndex++) {
    const exact = state.holdings.units[places[i]!]! * values[i]!;
    const rounded = roundShareNumber(state, day, exact);
    if (rounded === exact) continue;
    values[i]! *= rounded / exact;
    after[changeIndex] = before[changeIndex]! * values[i]!;
  }
}

/** Previous close after its adjustment. */
interface OpenedSession {
  /** Factor on the divisor: market value after the adjustment over market value before it. */
  readonly growth: number;
  readonly marketValue: number;
}

/** Change of a holding by an adjustment of the previous close. */
interface OpenedHolding {
  readonly units: number;
  /** Value after the adjustment over value before it. */
  readonly factor: number;
}

/**
 * Adjusts the previous close before growth is computed. Share-count changes come first; special dividends, rights
 * issues and splits follow.
 * @param ofCounts factors, by position, of share-count changes after the previous close
 */
function openSession(state: BookState, session: number, ofCounts: CountFactors | null = null): OpenedSession {
  const { effects } = state.tables;
  const { units } = state.holdings;
  const countGrowth = ofCounts === null ? 1 : changeShares(state, session, ofCounts);
  const before = state.running.path * countGrowth;
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
 * Multiplies index shares by the factors of share-count changes.
 * @returns market value after the change over market value before it
 */
function changeShares(state: BookState, session: number, { places, values, count }: CountFactors): number {
  const { slotOf, input, sm } = state;
  const { path } = state.running;
  const { heldColumns, units } = state.holdings;
  const { transfers } = state.record;
  let countGrowth = 1;
  for (let i = 0; i < count; i++)
    countGrowth += (computeValueAt(state, session - 1, places[i]!) / path) * (values[i]! - 1);
  const isRecorded = !input.isBrief && !input.isSparse;
  if (isRecorded) {
    const kept = appendRow(transfers.keptRows);
    transfers.keptRows.columns.keptAt[kept] = session - input.from;
    transfers.keptRows.columns.kept[kept] = 1 / countGrowth;
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
function computeValueAt(
  { sm, holdings: { units, heldColumns }, tables: { index } }: BookState,
  session: number,
  place: number,
): number {
  return units[place]! * index[readPanelRow(sm, session) + heldColumns[place]!]!;
}

function recordTransfer(
  {
    input,
    record: {
      transfers: { rows },
    },
  }: BookState,
  session: number,
  { slot, dividends, moved }: { readonly slot: number; readonly dividends: number; readonly moved: number },
): void {
  const row = appendRow(rows);
  rows.columns.at[row] = session - input.from;
  rows.columns.slot[row] = slot;
  rows.columns.dividends[row] = dividends;
  rows.columns.moved[row] = moved;
}

/** Returns a holding after an effect has adjusted the previous close. */
function openHolding(
  state: BookState,
  session: number,
  { effect: e, place }: { readonly effect: number; readonly place: number },
): OpenedHolding {
  const { sm, growth } = state;
  const { effects } = state.tables;
  const units = state.holdings.units[place]!;
  const before = findCarriedUnder(sm, effects, session - 1, effects.columns[e]!);
  const factor = computeOpening(effects, e, before);
  if (!holdsShares(growth)) return { units: units * factor, factor };
  const shareFactor = computeShareFactor(readEffect(effects, e), before, effects.getTerms(session));
  if (shareFactor === 1) return { units, factor };
  const exact = units * shareFactor;
  const rounded = roundShareNumber(state, sm.sessions[session]!, exact);
  return rounded === exact ? { units: exact, factor } : { units: rounded, factor: factor * (rounded / exact) };
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
  for (let k = 0; k < state.holdings.count; k++) {
    const slot = state.holdings.heldSlots[k]!;
    const heldPosition = state.holdings.places[slot]!;
    const weight = computeValueAt(state, session - 1, heldPosition) / before;
    recordTransfer(state, session, {
      slot,
      dividends: 0,
      moved: weight - (weight * (opened.get(heldPosition)?.factor ?? 1)) / growth,
    });
  }
}

/**
 * Adds the shares that special dividends buy, if the security that pays them keeps them. The cash is part of
 * the market value, so the divisor does not change.
 */
function reinvestCash(state: BookState, session: number): void {
  const { sm } = state;
  const { effects } = state.tables;
  const { units } = state.holdings;
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
    state.today.hasNewShares = true;
  }
  if (state.today.hasNewShares) recordHoldings(state, session, 'close');
}

/**
 * Changes the units of short positions on a session so that they pay dividends in full. The value index contains
 * dividends after tax.
 */
function adjustShorts(state: BookState, session: number): void {
  const { sm } = state;
  const { effects, ofShorts } = state.tables;
  for (let e = ofShorts.starts[session]!; e < ofShorts.starts[session + 1]!; e++) {
    const column = ofShorts.columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0 || !hasSeparateTerms(state, heldPosition)) continue;
    const price = findCarriedAtEffect(sm, ofShorts, e);
    const before = findCarriedUnder(sm, ofShorts, session - 1, column);
    const own = addKeptCash(readEffect(ofShorts, e), before, price);
    const inOthers = addKeptCash(findEffect(effects, session, column) ?? NO_EFFECT, before, price);
    setUnits(state, heldPosition, state.holdings.units[heldPosition]! * (own / inOthers));
  }
}

/** Returns true if a position has separate dividend terms: a short position under a withholding tax. */
function hasSeparateTerms({ tables: { ofShorts, effects }, holdings: { units } }: BookState, place: number): boolean {
  return ofShorts !== effects && units[place]! < 0;
}

/**
 * Returns the divisor after the previous close was adjusted. Without rounding, that of fixed numbers of shares is their
 * market value over the level.
 */
function computeOpeningDivisor(state: BookState, session: number, { growth, marketValue }: OpenedSession): number {
  const { divisor, exactDivisor, reinvested } = state.series;
  const { holdsBasket } = state.holdings;
  const before = session - state.input.from - 1;
  const level = reinvested?.levels.price[before] ?? 0;
  const followsLevel = holdsBasket && exactDivisor === null && growth !== 1 && level > 0;
  return followsLevel ? marketValue / level : divisor[before]! * growth;
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
  const { sm } = state;
  const { index } = state.tables;
  const { units, heldColumns, heldSlots } = state.holdings;
  const { weights } = state.series;
  const { cash: periodCash } = state.period;
  const row = findRowOffset(state, session);
  state.today.rowSession = session;
  clearRow(state, row);
  const from = readPanelRow(sm, session);
  for (let k = 0; k < state.holdings.count; k++)
    weights[row + heldSlots[k]!] = units[k]! * index[from + heldColumns[k]!]!;
  valueRenamed(state, session);
  for (const [column, { proceeds }] of state.today.events?.exits ?? []) {
    if (proceeds !== undefined && isHeldColumn(state, column)) valueAtProceeds(state, session, { column, proceeds });
  }
  for (const column of written) weights[row + state.slotOf[column]!] = 0;
  enterChildren(state, session, spunOff);
  if (state.series.reinvested !== null) return sumRow(state, row);
  let sum = periodCash;
  for (let k = 0; k < state.holdings.count; k++) sum += weights[row + heldSlots[k]!]!;
  return sum;
}

/** Values held securities whose ticker changed by the price of the new ticker as soon as it has a price bar. */
function valueRenamed(state: BookState, session: number): void {
  const { sm } = state;
  const { all, starts } = sm.actions;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const relatedColumn = action.type === 'TICKER_CHANGE' && action.related !== null ? sm.columnOf(action.related) : -1;
    const isPaid = state.today.events?.exits.get(column)?.proceeds !== undefined;
    if (relatedColumn >= 0 && relatedColumn !== column && !isPaid && isHeldColumn(state, column))
      state.pending.renamed.set(column, relatedColumn);
  }
  for (const [column, related] of state.pending.renamed) {
    if (!isHeldColumn(state, column) || !sm.isRenamed(session, column, related)) continue;
    const proceeds = convertPrice(state, session, { priced: related, quoted: column });
    valueAtProceeds(state, session, { column, proceeds });
  }
}

interface ProceedsOfSecurity {
  readonly column: number;
  /** Price per share in money. */
  readonly proceeds: number;
}

/** Values a held security at its proceeds instead of its close. */
function valueAtProceeds(state: BookState, session: number, { column, proceeds }: ProceedsOfSecurity): void {
  const { slotOf, growth } = state;
  const { weights } = state.series;
  const position = findRowOffset(state, session) + slotOf[column]!;
  weights[position]! *= computeExitFactor({
    ...state,
    growth: weights[position]! < 0 ? toShortTerms(growth) : growth,
    session,
    column,
    proceeds,
  });
}

/** Adds up the values of a row and the cash, in the order of sessions without events. */
function sumRow(
  { series: { weights }, holdings: { heldSlots, count }, period: { cash: periodCash } }: BookState,
  row: number,
): number {
  const ones = new Float64Array(count).fill(1);
  return sumHoldingValue(weights, row, { columns: heldSlots, units: ones, count, money: periodCash });
}

function assertFinite({ sm }: BookState, session: number, sum: number): void {
  if (Number.isFinite(sum)) return;
  throw new Refusal('NUMERIC_FAILURE', `The growth of the book is not finite on ${formatDay(sm.sessions[session]!)}.`);
}

interface SessionGrowth {
  /** Value of the holdings and cash relative to the start of the holding period. */
  readonly sum: number;
  readonly openingGrowth: number;
}

/** Grows the value of a book whose units are not shares. */
function growValue(state: BookState, session: number, { sum, openingGrowth }: SessionGrowth): void {
  const position = session - state.input.from;
  const before = state.running.path * state.running.carry;
  state.running.carry /= openingGrowth;
  state.running.path = sum;
  state.series.drift[position] = (sum * state.running.carry) / before;
  const growth = sum * state.running.carry;
  state.series.paths[position] = growth;
  state.series.gross[position] = growth / before;
  state.series.value[position] = state.period.value * growth;
}

/**
 * Computes the levels of a book with index shares after the growth of a session: market value over divisor, and the
 * dividends that were reinvested since the first session. Neither index shares nor the divisor depend on ordinary
 * dividends.
 * @param marketValue market value at the close
 */
function growShares(state: BookState, session: number, marketValue: number): void {
  const { input, growth } = state;
  const { drift, gross, value, paths, divisor } = state.series;
  const { reinvestedIncome } = state.running;
  const { value: periodValue, level: periodLevel } = state.period;
  const { levels, points, netPoints } = state.series.reinvested!;
  const own = levels[growth.variant];
  const position = session - input.from;
  const before = levels.price[position - 1]!;
  const price = before === 0 ? 0 : computePriceLevel(state.running.stated, marketValue, divisor[position]!);
  state.running.path = marketValue;
  drift[position] = before === 0 ? 1 : price / before;
  const returns = sumDividends(state, session, drift[position]!);
  const growIncome = (income: number, dividendReturn: number): number =>
    growth.reinvestedAt === undefined
      ? computeReinvestedIncome(income, dividendReturn)
      : income * computeEarlyIncome(dividendReturn, drift[position]!);
  reinvestedIncome.total = growIncome(reinvestedIncome.total, returns.total);
  reinvestedIncome.net = growIncome(reinvestedIncome.net, returns.net);
  levels.price[position] = price;
  levels.total[position] = price * reinvestedIncome.total;
  levels.net[position] = price * reinvestedIncome.net;
  points[position] = computeDividendPoints(price, returns.total);
  netPoints[position] = computeDividendPoints(price, returns.net);
  gross[position] = before === 0 ? 1 : own[position]! / own[position - 1]!;
  paths[position] = periodLevel === 0 ? 1 : own[position]! / periodLevel;
  value[position] = input.fills === 'all' ? own[position]! : periodValue * paths[position]!;
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
  const { input, sm, slotOf } = state;
  const { effects, index } = state.tables;
  const { isHeld, places, units } = state.holdings;
  const { path } = state.running;
  const { columns, starts, income, ordinary, net, carried } = effects;
  const { variant, reinvestedAt } = effects.terms;
  const isRecorded = variant !== 'price' && !input.isBrief && !input.isSparse;
  let totalReturn = 0;
  let netReturn = 0;
  const { rows } = state.record.transfers;
  const first = rows.length;
  const row = readPanelRow(sm, session);
  const end = starts[session + 1]!;
  for (let e = starts[session]!; e < end; e++) {
    if (ordinary[e] === 0) continue;
    const column = columns[e]!;
    const slot = slotOf[column]!;
    if (slot < 0 || isHeld[slot] === 0) continue;
    const worth = units[places[slot]!]! * index[row + column]!;
    const price = carried[e]!;
    const shareCount = worth / (price === price ? price : findCarriedAtEffect(sm, effects, e));
    if (!(Math.abs(shareCount) < Infinity) || !(path > 0)) continue;
    // short positions pay dividends in full
    totalReturn += (shareCount * ordinary[e]!) / path;
    netReturn += (shareCount * (worth < 0 ? ordinary[e]! : net[e]!)) / path;
    if (!isRecorded) continue;
    const dividendReturn = (shareCount * (worth < 0 ? ordinary[e]! : income[e]!)) / path;
    recordTransfer(state, session, { slot, dividends: dividendReturn * drift, moved: 0 });
  }
  const returns = { total: totalReturn, net: netReturn };
  if (reinvestedAt === undefined || variant === 'price') return returns;
  // The contribution of a dividend is the value at the close of the part of the index that it bought.
  const grown = drift * computeEarlyIncome(returns[variant], drift);
  for (let i = first; i < rows.length; i++) rows.columns.dividends[i]! *= grown;
  return returns;
}

/**
 * Checks that the value of a book is not negative. Short positions can lose more than the value.
 * @throws Refusal NUMERIC_FAILURE if the value is negative
 */
function assertWorth({ input, sm, series: { value } }: BookState, session: number, worth: number): void {
  if (!(worth < 0)) return;
  const date = formatDay(sm.sessions[session]!);
  const before = value[session - input.from - 1] ?? input.initialValue;
  throw new Refusal(
    'NUMERIC_FAILURE',
    `${input.title} is worth ${worth} on ${date} after ${before} the session before: its short positions lost more than its value. Choose an end date before ${date}.`,
    { date },
  );
}

function scaleRow(
  { columns, input, series: { weights }, holdings: { heldSlots, count } }: BookState,
  session: number,
  factor: number,
): void {
  const row = input.isBrief ? 0 : (session - input.from) * columns.length;
  for (let k = 0; k < count; k++) weights[row + heldSlots[k]!]! *= factor;
}

/**
 * Returns the factor on the divisor for money that left or entered a security at this close without a price change,
 * such as a dividend or a subscription. The money is reinvested in that security.
 */
function computeReinvestmentFactor(state: BookState, session: number): number {
  const { sm, slotOf } = state;
  const { effects: ownEffectTable, ofShorts, index } = state.tables;
  const { weights } = state.series;
  const { units } = state.holdings;
  const { path } = state.running;
  const { columns, rights, starts } = ofShorts;
  const isForAll = ofShorts === ownEffectTable;
  let factor = 1;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    const column = columns[e]!;
    const heldPosition = findSlot(state, column);
    if (heldPosition < 0) continue;
    const weight =
      state.today.rowSession === session
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

/** Returns true if no security can leave at the close, and no order waits. */
function isQuiet({ today, pending }: BookState): boolean {
  return (
    today.events === undefined &&
    today.droppedChildren.length === 0 &&
    today.missing.length === 0 &&
    pending.renamed.size === 0 &&
    pending.waiting.length === 0
  );
}

/**
 * Returns the held securities that convert into other securities at this close, by column. A book of one share of each
 * member gets no second share of an acquirer: the acquired member leaves, and its value is spread.
 */
function listConversions(state: BookState, session: number): Map<number, number> {
  const { sm } = state;
  const { events } = state.today;
  const conversions = new Map<number, number>();
  const hasOneShare = state.tables.effects.getTerms(session).splitShares === 'keep';
  for (const [column, related] of events?.conversions ?? [])
    if (isHeldColumn(state, column) && !(hasOneShare && isHeldColumn(state, related))) conversions.set(column, related);
  for (const [column, related] of state.pending.renamed) {
    const isHeld = isHeldColumn(state, column);
    if (isHeld && !sm.isRenamed(session, column, related)) continue;
    if (isHeld) conversions.set(column, related);
    state.pending.renamed.delete(column);
  }
  return conversions;
}

/** Returns the held columns that leave at this close, ascending. */
function listLeaving(
  state: BookState,
  session: number,
  {
    targets,
    conversions,
  }: { readonly targets: Targets | undefined; readonly conversions: ReadonlyMap<number, number> },
): number[] {
  const { sm, treatment } = state;
  const { events } = state.today;
  const leavingColumns: number[] = [];
  for (const column of events?.exits.keys() ?? []) {
    if (isHeldColumn(state, column) && !conversions.has(column)) leavingColumns.push(column);
  }
  for (const column of state.today.droppedChildren)
    if (isHeldColumn(state, column) && !leavingColumns.includes(column) && targets?.columns.includes(column) !== true)
      leavingColumns.push(column);
  for (const column of state.today.missing) {
    if (!isHeldColumn(state, column) || leavingColumns.includes(column) || conversions.has(column)) continue;
    if (targets?.columns.includes(column)) continue;
    const isSilent = sm.isSilent(session, column, countStaleSessions(treatment));
    const isExcluded = treatment.missing_prices === 'exclude' && sm.isOpen(session, column);
    if (!isSilent && !isExcluded) continue;
    leavingColumns.push(column);
    if (isSilent) state.record.silent.push({ session, column });
  }
  return leavingColumns.length < 2 ? leavingColumns : leavingColumns.toSorted((a, b) => a - b);
}

interface ConversionOutcome {
  readonly converted: Conversion[];
  /** Weights of securities that mergers convert to cash. */
  readonly paid: WeightMove[];
}

function convertSecurities(state: BookState, conversions: ReadonlyMap<number, number>, row: number): ConversionOutcome {
  const { slotOf } = state;
  const { weights } = state.series;
  const { events } = state.today;
  const completedConversions: Conversion[] = [];
  const payments: WeightMove[] = [];
  for (const [column, related] of [...conversions].toSorted(([a], [b]) => a - b)) {
    const slot = slotOf[column]!;
    const successorSlot = slotOf[related]!;
    const weightBefore = weights[row + slot]!;
    const cash = weightBefore * (events?.conversions.has(column) ? events.exits.get(column)!.cashShare : 0);
    const weight = weightBefore - cash;
    if (cash !== 0) payments.push({ slot, change: -cash });
    completedConversions.push({ slot, into: successorSlot, weight });
    const heldWeight = state.holdings.isHeld[successorSlot] === 1 ? weights[row + successorSlot]! : null;
    const isRenamed = events?.conversions.has(column) !== true;
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
  const { input, slotOf } = state;
  const { weights, cash, divisor } = state.series;
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
  if (!isLong) return exits;
  const { long } = sumExitsBySide(exits);
  state.record.exitShares.push({ at: position, share: long });
  if (state.holdings.count > 0) divisor[position]! *= 1 - long / (1 - cash[position]!);
  return exits;
}

function hasShort({ series: { weights }, holdings: { heldSlots, count } }: BookState, row: number): boolean {
  for (let k = 0; k < count; k++) if (weights[row + heldSlots[k]!]! < 0) return true;
  return false;
}

/** Returns the spun-off securities that the holdings of the previous close receive. */
function listSpunOff(state: BookState, session: number, ofCounts: CountFactors | null): readonly SpunOffSecurity[] {
  const { sm, rates, slotOf, growth } = state;
  const { effects, index } = state.tables;
  const { units } = state.holdings;
  const { events } = state.today;
  if (events === undefined) return NO_CHILDREN;
  return events.spinOffs.flatMap(({ parent, child, units: perUnit }): SpunOffSecurity[] => {
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

const NO_CHILDREN: readonly SpunOffSecurity[] = [];

function findFactor(factors: CountFactors | null, place: number): number {
  const position = factors === null ? -1 : factors.places.subarray(0, factors.count).indexOf(place);
  return position < 0 ? 1 : factors!.values[position]!;
}

/**
 * Keeps the shares of spun-off securities without a price that a portfolio holds. Its units are index shares, whose value
 * in money changes with costs and with the divisor.
 */
function keepChildValues(
  { input, series: { reinvested, value, divisor }, pending: { children } }: BookState,
  session: number,
  before: { readonly value: number; readonly divisor: number },
): void {
  if (input.fills === 'all' || reinvested === null || session === input.from) return;
  const position = session - input.from;
  const factor = (divisor[position]! / before.divisor) * (before.value / value[position]!);
  for (const child of children) child.units *= factor;
}

/**
 * Adds spun-off securities with value zero; their value begins with their first price bar, or is what holders receive if
 * the security ends before.
 */
function enterChildren(state: BookState, session: number, spunOff: readonly SpunOffSecurity[]): void {
  const { sm, rates, treatment } = state;
  const { weights } = state.series;
  const { effects } = state.tables;
  const droppedColumns: number[] = [];
  const row = findRowOffset(state, session);
  for (const child of state.pending.children) child.units *= findEffect(effects, session, child.column)?.ratio ?? 1;
  state.pending.children.push(...spunOff);
  if (state.pending.children.length === 0) return;
  state.pending.children = state.pending.children
    .map((child) => followTicker(state, session, child))
    .filter((child) => {
      const isPriced = sm.isPriceable(session, child.column, Infinity);
      const proceeds = isPriced ? undefined : state.today.events?.exits.get(child.column)?.proceeds;
      if (!isPriced && proceeds === undefined) {
        const isWaiting = session - child.since < countStaleSessions(treatment);
        if (!isWaiting) state.record.silent.push({ session, column: child.column });
        return isWaiting;
      }
      requireRate(rates, sm, session, child.column);
      const price = proceeds ?? findCarriedUnder(sm, effects, session, child.column);
      weights[row + child.slot]! += child.units * price * rates.rateAt(session, child.column);
      expectShares(state, session, child);
      if (treatment.spin_offs === 'drop_after_first_session' && state.holdings.isHeld[child.slot] === 0)
        droppedColumns.push(child.column);
      holdSecurity(state, child.slot);
      state.today.hasNewShares = true;
      return false;
    });
  state.today.droppedChildren = droppedColumns;
}

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

function expectShares(state: BookState, session: number, { slot, units: added }: SpunOffSecurity): void {
  const { isHeld, units, places, expectedShares } = state.holdings;
  const heldUnits = expectedShares[slot]! || (isHeld[slot] === 1 ? units[places[slot]!]! : 0);
  expectedShares[slot] = heldUnits + added;
  if (state.record.shares !== null)
    recordShares(state.record.shares, toShareTime(session - state.input.from, 'close'), slot, heldUnits + added);
}
