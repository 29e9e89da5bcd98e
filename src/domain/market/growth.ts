import { allocateRetainedFloats, releaseAtRest } from '#base/memory.js';
import { createValuePanel } from '#kernels/engines/value-panel.js';
import { isWorkPaged } from '#kernels/memory/paged-memory.js';
import { formatPrices } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import type { Calendars } from '../calendars/calendar.js';
import {
  adjustClose,
  carryClose,
  combineEffects,
  computeEffect,
  computeGrowthStep,
  createEffectTable,
  createGrowthKey,
  createGrowthTermsKey,
  createSecurityTerms,
  createTermsBySession,
  type EffectTable,
  findEffect,
  findEffectAfter,
  type GrowthTerms,
  holdsShares,
  NO_EFFECT,
  readEffect,
  type SecurityEffect,
  selectTermsUntil,
  type SessionEffect,
  shareEffects,
  toCloseTerms,
  toHoldingTerms,
  withoutSpinOffs,
} from './action-effects.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction, type MarketData } from './market-data.js';
import { createExchangeRates, type ExchangeRates, findRedenomination, requireRate, shareRates } from './rates.js';
import {
  BeforeMarketError,
  changeSecurities,
  findBasis,
  type MarketBasis,
  type MarketMark,
  readPanelRow,
  type SessionActions,
  type SessionMarket,
  shareAbsences,
  type TermsMark,
} from './session-market.js';

/** Maximum number of growth panels cached per aligned market: enough for a definition and those compared with it. */
const PANELS_MAX = 3;

interface CachedPanels {
  readonly panels: Map<string, Float64Array>;
  readonly indices: Map<string, Float64Array>;
}

let cache = new WeakMap<SessionMarket, CachedPanels>();
releaseAtRest(() => {
  cache = new WeakMap();
});

function findCachedGrowth(sm: SessionMarket): CachedPanels {
  let cachedPanels = cache.get(sm);
  if (!cachedPanels) cache.set(sm, (cachedPanels = { panels: new Map(), indices: new Map() }));
  return cachedPanels;
}

/**
 * Returns growth factors of one unit of value from the previous close to the close of each session, in the index
 * currency, [S - first x N]. They are NaN on the first session, up to the first bar of a security, and if a rate is
 * missing. On a later session without a bar they contain only cash and the change of the exchange rate.
 * @param used columns whose exchange rates are required.
 * @throws Refusal FX_MISSING
 * @cost O(S N), once per market and terms
 */
export function computeGrowth(sm: SessionMarket, terms: GrowthTerms, used: Iterable<number> = []): Float64Array {
  const rates = createExchangeRates(sm, terms.currency);
  for (const column of used) requireRate(rates, sm, sm.sessions.length - 1, column);
  const settledTerms = sm.actions.all.some(({ action }) => action.type === 'SPIN_OFF') ? terms : withoutSpinOffs(terms);
  return readCached(findCachedGrowth(sm).panels, createGrowthKey(settledTerms), () =>
    computeGrowthPanel(sm, settledTerms, {
      growth: allocateRetainedFloats((sm.sessions.length - sm.first) * sm.securityCount),
      columns: listColumns(sm),
    }),
  );
}

/**
 * Returns the value of one unit of each security in the index currency, [S - first x N]. The value of a holding is its
 * units times this value. If the index reinvests dividends, a unit is a share: its value is the carried price, and
 * corporate actions change the units. Otherwise it is one unit held since the first bar, the cumulative product of
 * growth, which restarts at 1 after a missing rate. It is NaN before the first bar and while a rate is missing.
 * @cost O(S N), once per market and terms
 */
export function computeValueIndex(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const growthTerms = toHoldingTerms(terms);
  const compute = holdsShares(growthTerms) ? computePricePanel : computeIndexPanel;
  return readCached(findCachedGrowth(sm).indices, createGrowthKey(growthTerms), () => compute(sm, growthTerms));
}

/**
 * Returns a cached panel. If there is none, creates it and removes the panel that was not used for the longest time.
 */
function readCached(panels: Map<string, Float64Array>, key: string, make: () => Float64Array): Float64Array {
  const panel = panels.get(key) ?? make();
  panels.delete(key);
  panels.set(key, panel);
  if (panels.size > PANELS_MAX) panels.delete(panels.keys().next().value!);
  return panel;
}

function computeIndexPanel(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const { securityCount, sessions, lastBar } = sm;
  const rates = createExchangeRates(sm, terms.currency);
  const columns = listColumns(sm, findBasis(sm));
  const panel = computeGrowthPanel(sm, terms, { growth: allocateIndex(sm, terms), columns });
  if (sm.mark) panel.set(findTermsMark(sm, sm.mark, terms).index);
  for (let s = findFirstComputed(sm); s < sessions.length; s++) {
    const row = readPanelRow(sm, s);
    for (let k = 0; k < columns.length; k++) {
      const i = columns[k]!;
      const value = s === 0 ? Number.NaN : panel[row - securityCount + i]! * panel[row + i]!;
      if (value === value) panel[row + i] = value;
      else panel[row + i] = lastBar[row + i]! >= 0 && rates.rateAt(s, i) > 0 ? 1 : Number.NaN;
    }
  }
  return panel;
}

/** Returns the columns that are computed: those that differ from a basis, or all. */
const listColumns = ({ securityCount }: SessionMarket, basis?: MarketBasis): Int32Array =>
  Int32Array.from(basis?.columns ?? Array.from({ length: securityCount }).keys());

/** Allocates a value index. The columns that are those of a basis are known. */
function allocateIndex(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const { sessions, first, securityCount } = sm;
  const basis = findBasis(sm);
  const panel = allocateIndexMemory((sessions.length - first) * securityCount, securityCount);
  if (basis !== undefined) panel.set(computeValueIndex(basis.sm, terms));
  return panel;
}

/** Computes the carried price of each security on each session, in the index currency. */
function computePricePanel(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const { rows, sessions, market } = sm;
  const close = market.fields.get('CLOSE')!;
  const table = createEffectTable(sm, terms);
  const panel = allocateIndex(sm, terms);
  const rates = createExchangeRates(sm, terms.currency);
  const carriedPrices = findBasePrices(sm, terms);
  const columns = listColumns(sm, findBasis(sm));
  if (sm.mark) panel.set(findTermsMark(sm, sm.mark, terms).index);
  for (let s = findFirstComputed(sm); s < sessions.length; s++) {
    const touchedCells = listTouchedCells(table, rates, carriedPrices, s);
    const { cells, from } = rows.read(close, s);
    for (let k = 0; k < (from < 0 ? 0 : columns.length); k++) {
      const i = columns[k]!;
      const price = cells[from + i]!;
      if (price === price) carriedPrices[i] = price;
    }
    for (const { effect, before } of touchedCells) {
      const bar = readSessionClose(sm, table, s, effect.column);
      if (bar === bar) carriedPrices[effect.column] = bar;
      else if (before > 0)
        carriedPrices[effect.column] =
          carryClose(effect, before) * findRedenomination(rates.redenominations, s, effect.column);
    }
    const row = readPanelRow(sm, s);
    for (let k = 0; k < columns.length; k++) panel[row + columns[k]!] = carriedPrices[columns[k]!]!;
  }
  for (const i of columns) {
    if (rates.isNative(i)) continue;
    const series = rates.seriesOf(i);
    for (let s = findFirstComputed(sm); s < sessions.length; s++) panel[readPanelRow(sm, s) + i]! *= series[s]!;
  }
  return panel;
}

/** Allocates memory for a value index. The memory is available to kernels unless it is paged or too small. */
function allocateIndexMemory(cells: number, securityCount: number): Float64Array {
  const isPaged = isWorkPaged(8 * cells);
  return (isPaged ? undefined : createValuePanel(cells, securityCount)) ?? allocateRetainedFloats(cells);
}

interface GrowthColumns {
  /** Zeros, or cells of columns that are not computed; in rows of all securities. */
  readonly growth: Float64Array;
  readonly columns: Int32Array;
}

/** Computes growth factors of some columns in rows of a panel. */
function computeGrowthPanel(sm: SessionMarket, terms: GrowthTerms, { growth, columns }: GrowthColumns): Float64Array {
  const { rows, sessions, market } = sm;
  const close = market.fields.get('CLOSE')!;
  const table = createEffectTable(sm, terms);
  const rates = createExchangeRates(sm, terms.currency);
  // Last price of each security on the share basis and in the currency of the previous session.
  const carriedPrices = findBasePrices(sm, terms);
  for (let s = findFirstComputed(sm); s < sessions.length; s++) {
    const touchedCells = listTouchedCells(table, rates, carriedPrices, s);
    const row = readPanelRow(sm, s);
    const { cells, from } = rows.read(close, s);
    growOverSession({ close: cells, growth, carried: carriedPrices, from, to: row, columns });
    for (const { effect, before } of touchedCells) {
      if (!(before > 0)) continue;
      const bar = readSessionClose(sm, table, s, effect.column);
      const step = computeGrowthStep(effect, before, bar);
      const factor = bar === bar ? 1 : findRedenomination(rates.redenominations, s, effect.column);
      growth[row + effect.column] = step.factor + (factor - 1);
      carriedPrices[effect.column] = step.carried * factor;
    }
  }
  if (!sm.mark && growth.length > 0) for (const i of columns) growth[i] = Number.NaN;
  convertGrowth(sm, terms.currency, { growth, columns });
  return growth;
}

/**
 * Returns the close of a session on its share basis and in its currency. A bar between two sessions may be older than an
 * event of the session, which then adjusts it. Returns NaN without a bar.
 */
export function readSessionClose(
  sm: SessionMarket,
  { terms, getTerms }: Pick<EffectTable, 'terms' | 'getTerms'>,
  session: number,
  column: number,
): number {
  const bar = sm.closeAt(session, column);
  if (bar !== bar || !sm.rows.isMerged(session)) return bar;
  const day = sm.rows.dayOf(sm.market.fields.get('CLOSE')!, session, column);
  const later = findEffectAfter(sm, getTerms(session), { session, column, day });
  const wanted = sm.sessions[session]!;
  const price = later === undefined ? bar : carryClose(later, bar);
  return createExchangeRates(sm, terms.currency).convert(price, { column, stated: day, wanted, session });
}

function findFirstComputed({ mark }: SessionMarket): number {
  return mark ? mark.session + 1 : 0;
}

function findBasePrices(sm: SessionMarket, terms: GrowthTerms): Float64Array {
  const { mark, securityCount } = sm;
  if (mark === null) return new Float64Array(securityCount).fill(Number.NaN);
  if (mark.terms === null) return findCarriedPrices(sm, terms, { session: mark.session, bars: mark.lastBar });
  return findTermsMark(sm, mark, terms).carried.slice();
}

/** Returns the prices of terms at a mark. @throws BeforeMarketError if the mark has none under these terms */
function findTermsMark(sm: SessionMarket, { terms: byKey, session }: MarketMark, terms: GrowthTerms): TermsMark {
  const key = createMarkKey(sm, session, terms);
  const mark = byKey?.get(key);
  if (!mark) throw new BeforeMarketError(`the mark of the market has no terms ${key}`);
  return mark;
}

/**
 * Returns the prices that any terms with the same adjustments of closes carry after the session of a mark. Returns
 * undefined for other terms, whose prices follow from the bars and actions before the mark.
 */
function findCarriedMark(
  sm: SessionMarket,
  { terms: byKey, session }: MarketMark,
  terms: GrowthTerms,
): Float64Array | undefined {
  const key = createCloseKey(sm, session, terms);
  for (const { closeKey, carried } of byKey?.values() ?? []) if (closeKey === key) return carried;
  return undefined;
}

/** Returns a key of the terms that determine carried prices up to a session. */
const createCloseKey = (sm: SessionMarket, session: number, terms: GrowthTerms): string =>
  createGrowthTermsKey(toCloseTerms(selectTermsUntil(withoutSpinOffs(terms), sm.sessions[session]!)));

/** Returns a key of the effect of terms on a market up to a session. Later amendments do not change the key. */
function createMarkKey({ sessions }: SessionMarket, session: number, terms: GrowthTerms): string {
  return createGrowthTermsKey(toHoldingTerms(selectTermsUntil(withoutSpinOffs(terms), sessions[session]!)));
}

/**
 * Returns the carried close of the security of an effect, on the session of the effect. It is looked up only once,
 * because the cells of a session are far apart in memory.
 */
export function findCarriedAtEffect(sm: SessionMarket, table: EffectTable, position: number): number {
  const cachedClose = table.carried[position]!;
  return cachedClose === cachedClose
    ? cachedClose
    : (table.carried[position] = findCarriedUnder(sm, table, table.sessions[position]!, table.columns[position]!));
}

/**
 * Returns the carried close of a security on a session. This is its latest close after all later adjustments, under the
 * terms of a table.
 */
export function findCarriedUnder(sm: SessionMarket, table: EffectTable, session: number, column: number): number {
  const bar = sm.lastBar[readPanelRow(sm, session) + column]!;
  if (bar < 0) return Number.NaN;
  const { mark } = sm;
  const marked = mark !== null && bar <= mark.session ? findCarriedMark(sm, mark, table.terms) : undefined;
  let price = marked?.[column] ?? readSessionClose(sm, table, bar, column);
  const first = (marked ? mark!.session : bar) + 1;
  if (first > session) return price;
  const { redenominations } = createExchangeRates(sm, table.terms.currency);
  for (let s = first; s <= session; s++) {
    const effect = findEffect(table, s, column);
    if (effect !== undefined) price = carryClose(effect, price);
    price *= findRedenomination(redenominations, s, column);
  }
  return price;
}

/**
 * Returns the price of a security on a session as holdings are valued: its latest close after all later corporate
 * actions, in its currency on the session.
 */
export function readCarriedClose(sm: SessionMarket, terms: GrowthTerms, session: number, column: number): number {
  return findCarriedUnder(sm, createEffectTable(sm, terms), session, column);
}

/**
 * Returns the start of the row of a session in `computeGrowth`. A market that does not begin with the first session has
 * no growth on its first session.
 * @throws BeforeMarketError
 */
export function readGrowthRow(sm: Pick<SessionMarket, 'first' | 'securityCount'>, session: number): number {
  if (session === sm.first && session > 0)
    throw new BeforeMarketError(`the growth of session ${session} begins before the market is there`);
  return readPanelRow(sm, session);
}

/** Returns the state of a market after a session, from which computations can resume. @cost O(N + A) per terms */
export function markMarket(sm: SessionMarket, session: number, terms: readonly GrowthTerms[]): MarketMark {
  const { securityCount, lastBar } = sm;
  const row = readPanelRow(sm, session);
  const bars = Int32Array.from(lastBar.subarray(row, row + securityCount));
  const termsByKey = new Map(
    terms.map(toHoldingTerms).map((ownGrowthTerms) => [createMarkKey(sm, session, ownGrowthTerms), ownGrowthTerms]),
  );
  const mark = (ownGrowthTerms: GrowthTerms) => ({
    closeKey: createCloseKey(sm, session, ownGrowthTerms),
    carried: findCarriedPrices(sm, ownGrowthTerms, { session, bars }),
    index: computeValueIndex(sm, ownGrowthTerms).slice(row, row + securityCount),
  });
  return {
    session,
    lastBar: bars,
    terms: new Map([...termsByKey].map(([key, ownGrowthTerms]) => [key, mark(ownGrowthTerms)])),
  };
}

/**
 * Returns the last price of each security on the share basis of a session. Growth on the next session starts from these
 * prices.
 */
function findCarriedPrices(
  sm: SessionMarket,
  terms: GrowthTerms,
  { session, bars }: { readonly session: number; readonly bars: Int32Array },
): Float64Array {
  const priced = { terms, getTerms: createTermsBySession(sm, terms) };
  // Cash that was paid before the stored state may be missing, because the state contains the carried prices.
  const mark = sm.mark?.terms ? { session: sm.mark.session, ...findTermsMark(sm, sm.mark, terms) } : null;
  const isOfMark = (column: number): boolean => mark !== null && bars[column]! <= mark.session;
  const carriedCloses = Float64Array.from(bars, (bar, column) =>
    isOfMark(column) ? mark!.carried[column]! : bar < 0 ? Number.NaN : readSessionClose(sm, priced, bar, column),
  );
  if (bars.every((bar) => bar === session || bar < 0)) return carriedCloses;
  const table = createEffectTable(sm, terms);
  const { columns, starts } = table;
  const { redenominations } = createExchangeRates(sm, terms.currency);
  for (let s = mark === null ? 0 : mark.session + 1; s <= session; s++) {
    for (let e = starts[s]!; e < starts[s + 1]!; e++) {
      const column = columns[e]!;
      const before = carriedCloses[column]!;
      if (s > bars[column]! && before > 0) carriedCloses[column] = carryClose(readEffect(table, e), before);
    }
    for (const { column, factor } of redenominations.get(s) ?? [])
      if (s > bars[column]!) carriedCloses[column]! *= factor;
  }
  return carriedCloses;
}

interface TouchedCell {
  readonly effect: SecurityEffect;
  /** Carried close before the session. */
  readonly before: number;
}

/** Returns the cells of a session whose previous close an effect or a change of currency adjusts. */
function listTouchedCells(
  table: EffectTable,
  { redenominations }: ExchangeRates,
  carried: Float64Array,
  session: number,
): TouchedCell[] {
  const { columns, starts } = table;
  const touchedCells: TouchedCell[] = [];
  for (let e = starts[session]!; e < starts[session + 1]!; e++)
    touchedCells.push({ effect: readEffect(table, e), before: carried[columns[e]!]! });
  for (const { column } of redenominations.get(session) ?? [])
    if (!touchedCells.some(({ effect }) => effect.column === column))
      touchedCells.push({ effect: { ...NO_EFFECT, column }, before: carried[column]! });
  return touchedCells;
}

interface GrowthStep {
  readonly close: Float64Array;
  readonly growth: Float64Array;
  readonly carried: Float64Array;
  /** Start of the bars of the session in `close`, negative without bars. */
  readonly from: number;
  /** Start of the factors of the session in `growth`. */
  readonly to: number;
  readonly columns: Int32Array;
}

function growOverSession({ close, growth, carried, from, to, columns }: GrowthStep): void {
  for (let k = 0; k < columns.length; k++) {
    const i = columns[k]!;
    const before = carried[i]!;
    const price = from < 0 ? Number.NaN : close[from + i]!;
    if (price === price) {
      growth[to + i] = price / before;
      carried[i] = price;
    } else {
      growth[to + i] = before === before ? 1 : Number.NaN;
    }
  }
}

/** Multiplies growth by the change of the exchange rate of each security. */
function convertGrowth(sm: SessionMarket, currency: string, { growth, columns }: GrowthColumns): void {
  const { sessions } = sm;
  const rates = createExchangeRates(sm, currency);
  for (const i of columns) {
    if (rates.isNative(i)) continue;
    const series = rates.seriesOf(i);
    for (let s = Math.max(1, findFirstComputed(sm)); s < sessions.length; s++)
      growth[readPanelRow(sm, s) + i]! *= series[s]! / series[s - 1]!;
  }
}

/**
 * Returns the growth by reinvested dividends after a session: `G[t] = G[t-1] (1 + DP[t] / PR[t])`. The total return is
 * `TR[t] = PR[t] G[t]`, which equals `TR[t-1] (PR[t] + DP[t]) / PR[t-1]`. In this form a price of one session has no
 * effect on later levels.
 * @source S&P DJI, Index Mathematics Methodology: total return calculations
 */
export function computeReinvestedIncome(income: number, dividendReturn: number): number {
  return income * (1 + dividendReturn);
}

/**
 * Returns the factor on the growth by reinvested dividends if they are reinvested at the previous close:
 * `1 / (1 - DP[t] / PR[t-1])`. The total return then is `TR[t] = TR[t-1] PR[t] / (PR[t-1] - DP[t])`. Dividends that are
 * not smaller than the previous level are reinvested at the close.
 * @param dividendReturn dividends as a fraction of the market value at the close
 * @param drift price return of the session, `PR[t] / PR[t-1]`
 * @source FTSE Russell, Guide to Calculation: total return index
 */
export function computeEarlyIncome(dividendReturn: number, drift: number): number {
  const paid = dividendReturn * drift;
  return paid < 1 ? 1 / (1 - paid) : 1 + dividendReturn;
}

/**
 * Converts ordinary dividends of a session from a fraction of the market value at its close to points of the price
 * return.
 */
export function computeDividendPoints(priceReturn: number, dividendReturn: number): number {
  return priceReturn * dividendReturn;
}

/**
 * Returns a market between two sessions. Values of units do not depend on earlier sessions, so simulations are
 * bit-identical wherever the original market begins.
 */
export function cutMarket(
  sm: SessionMarket,
  terms: GrowthTerms,
  { from, to }: { readonly from: number; readonly to: number },
): SessionMarket {
  const { securityCount, lastBar, sessions } = sm;
  const begin = readPanelRow(sm, from);
  const view: SessionMarket = {
    ...sm,
    sessions: sessions.subarray(0, to + 1),
    first: from,
    lastBar: lastBar.subarray(begin, begin + (to + 1 - from) * securityCount),
    actions: selectActions(sm.actions, { from, to }),
    mark: createMark(sm, terms, from),
  };
  shareRates(sm, view);
  return view;
}

/**
 * Returns a market after changes of the actions and closes of some securities, with the growth of the others. Missing
 * bars, exchange rates and reference data must be those of the market.
 * @cost O(S + A), and O(S) per changed security when its growth is used
 */
export function replaceSecurities(
  sm: SessionMarket,
  input: { readonly market: MarketData; readonly calendars: Calendars },
  columns: readonly number[],
): SessionMarket {
  const changed = changeSecurities(sm, input, columns);
  shareAbsences(sm, changed);
  shareRates(sm, changed);
  return changed;
}

/** Returns a market with other fields than CLOSE. Its growth is that of the market, because growth reads only closes. */
export function replaceFields(sm: SessionMarket, fields: SessionMarket['market']['fields']): SessionMarket {
  const view: SessionMarket = { ...sm, market: { ...sm.market, fields } };
  shareRates(sm, view);
  shareEffects(sm, view);
  shareAbsences(sm, view);
  cache.set(view, findCachedGrowth(sm));
  return view;
}

function createMark(sm: SessionMarket, terms: GrowthTerms, session: number): MarketMark {
  const { securityCount, lastBar } = sm;
  const begin = readPanelRow(sm, session);
  const bars = Int32Array.from(lastBar.subarray(begin, begin + securityCount));
  const rates = createExchangeRates(sm, terms.currency);
  const growthTerms = toHoldingTerms(terms);
  const carriedPrices = findCarriedPrices(sm, growthTerms, { session, bars });
  const index = Float64Array.from(bars, (bar, column) => {
    const rate = rates.rateAt(session, column);
    if (!(bar >= 0 && rate > 0)) return Number.NaN;
    return holdsShares(growthTerms) ? carriedPrices[column]! * rate : 1;
  });
  const mark = { closeKey: createCloseKey(sm, session, growthTerms), carried: carriedPrices, index };
  return { session, lastBar: bars, terms: new Map([[createMarkKey(sm, session, growthTerms), mark]]) };
}

function selectActions(
  { all, starts, isStructural }: SessionActions,
  { from, to }: { readonly from: number; readonly to: number },
): SessionActions {
  const first = starts[from + 1]!;
  const selectedActions = all.slice(first, starts[to + 1]);
  const selectedStarts = new Int32Array(to + 2);
  for (let s = from + 1; s <= to; s++) selectedStarts[s + 1] = starts[s + 1]! - first;
  return {
    all: selectedActions,
    starts: selectedStarts,
    related: selectedActions.filter(({ action }) => action.related !== null),
    unpricedRights: [],
    isStructural: isStructural.subarray(0, to + 1),
  };
}

/** Maximum difference of a growth from 1 without a warning, if no action explains the growth. */
export const JUMP_MAX = 0.5;

/** Minimum growth in addition to the effect of an action without a warning: the inverse of the maximum growth. */
const EXPLAINED_MIN = 1 / (1 + JUMP_MAX);

/** Maximum relative move of a close that does not reflect an action. */
const UNMOVED_MAX = 0.2;

/**
 * Limits between which a growth without actions is not a jump under any rounding. A product, which is cheaper than a
 * quotient, decides this for most bars.
 */
const ORDINARY_MIN = 1.01 - JUMP_MAX;
const ORDINARY_MAX = 0.99 + JUMP_MAX;

/** Terms under which a holder receives everything that an action pays. */
const WHOLE_RETURN = createSecurityTerms('total', '');

/** Closes of a security on two successive bars. */
export interface CloseStep {
  readonly before: number;
  readonly close: number;
  /** Actions that take effect after the first bar, up to the second, ascending by ex-date and without cancelled ones. */
  readonly actions: readonly CorporateAction[];
  readonly adjustment: Adjustment;
  /** Returns the price of the other security of an action in the currency of this one. Returns NaN if it is unknown. */
  readonly findRelatedPrice: (action: CorporateAction) => number;
}

/** Growth that remains in addition to the effect of actions. Both ends differ if an action states no amount. */
interface Growth {
  readonly low: number;
  readonly high: number;
}

export interface UnexplainedGrowth {
  /** Growth without cash, shares and rights, followed by that against each price that an ending action pays. */
  readonly growths: readonly Growth[];
  /** True if an action has an effect on the close. */
  readonly isAdjusted: boolean;
}

/**
 * Returns the growth from bar to bar that the actions in between leave unexplained: the return of a holder who receives
 * all cash, shares and rights, as an index computes it. A change of ticker explains no growth.
 */
export function computeUnexplainedGrowth(step: CloseStep): UnexplainedGrowth {
  const [low, high] = [computeStepGrowth(step, Math.min), computeStepGrowth(step, Math.max)];
  const ends = findEndingGrowths(step);
  const isAdjusted =
    ends.length > 0 || step.actions.some((action) => chooseEffect(step, action, Math.max) !== undefined);
  return { growths: [{ low, high }, ...ends], isAdjusted };
}

/** Returns true if a growth in addition to the effect of actions is so large that data or actions are probably wrong. */
export function isJump({ growths, isAdjusted }: UnexplainedGrowth): boolean {
  return growths.every(
    ({ low, high }) => low - 1 > JUMP_MAX || (isAdjusted ? high < EXPLAINED_MIN : 1 - high > JUMP_MAX),
  );
}

/** Returns true if a move without actions is so small that it is no jump. */
export const isOrdinaryMove = (before: number, close: number): boolean =>
  close > ORDINARY_MIN * before && close < ORDINARY_MAX * before;

export const isMoved = ({ before, close }: Pick<CloseStep, 'before' | 'close'>): boolean =>
  Math.abs(close / before - 1) > UNMOVED_MAX;

/** Returns the unexplained growth that is nearest to 1. */
export function findNearestGrowth({ growths }: UnexplainedGrowth): number {
  const nearest = growths.map(({ low, high }) => Math.min(Math.max(1, low), high));
  return nearest.reduce((best, growth) => (Math.abs(Math.log(growth)) < Math.abs(Math.log(best)) ? growth : best));
}

/** Returns the smaller or larger of two effects that are both consistent with an action. */
type Choice = (effect: number, otherEffect: number) => number;

function computeStepGrowth(step: CloseStep, choose: Choice): number {
  const { before, close, actions } = step;
  let [carried, factor, effect, exDay] = [before, 1, NO_EFFECT, actions[0]?.exDay];
  for (const action of actions) {
    if (action.exDay !== exDay) {
      factor *= computeGrowthStep(effect, carried, Number.NaN).factor;
      [carried, effect, exDay] = [adjustClose(effect, carried), NO_EFFECT, action.exDay];
    }
    effect = combineEffects(effect, chooseEffect(step, action, choose) ?? NO_EFFECT);
  }
  return factor * computeGrowthStep(effect, carried, close).factor;
}

function chooseEffect(
  { close, adjustment, findRelatedPrice }: CloseStep,
  action: CorporateAction,
  choose: Choice,
): SessionEffect | undefined {
  if (adjustment === 'total') return undefined;
  const { type, value, subscriptionPrice } = action;
  // Rights without a price are worth between nothing and their whole share of the close.
  if (type === 'RIGHTS_ISSUE' && subscriptionPrice === null) return { ...NO_EFFECT, cash: choose(0, value * close) };
  if (type !== 'SPIN_OFF') return computeEffect(action, adjustment, WHOLE_RETURN, 0);
  const worth = value * findRelatedPrice(action);
  if (Number.isNaN(worth)) return { ...NO_EFFECT, cash: choose(0, Number.POSITIVE_INFINITY) };
  // Vendors differ in whether closes that are adjusted for splits are adjusted for spin-offs.
  return { ...NO_EFFECT, cash: adjustment === 'splits' ? choose(0, worth) : worth };
}

/** Returns the growths in relation to the payments of actions that end the security. */
function findEndingGrowths({ before, close, actions, findRelatedPrice }: CloseStep): Growth[] {
  return actions.flatMap((action) => {
    const { type, value, cash = 0 } = action;
    const isPaid = type === 'DELISTING' || (type === 'ACQUISITION' && value > 0);
    if (!isPaid && type !== 'MERGER') return [];
    const worth = isPaid ? value : value * findRelatedPrice(action) + cash;
    if (Number.isNaN(worth)) return [{ low: 0, high: Number.POSITIVE_INFINITY }];
    // A delisting without a payment explains every fall.
    if (worth === 0) return [{ low: close / before, high: Number.POSITIVE_INFINITY }];
    return [{ low: close / worth, high: close / worth }];
  });
}

interface DatedStep extends CloseStep {
  /** Days of both bars. */
  readonly fromDay: Day;
  readonly toDay: Day;
  /** Code of the second bar, if a change of ticker gave the security another one. */
  readonly renamedTo?: string;
}

/** Describes a move of a close that its actions do not explain. */
export function describeJump(step: DatedStep, { growths, isAdjusted }: UnexplainedGrowth): string {
  const { before, close, actions, fromDay, toDay, renamedTo } = step;
  const [beforeText, closeText] = formatPrices([before, close]);
  const move = `CLOSE went from ${beforeText} on ${formatDay(fromDay)} to ${closeText}${renamedTo === undefined ? '' : ` of ${renamedTo}`} on ${formatDay(toDay)}`;
  if (actions.length === 0) return `${move} without a corporate action in between.`;
  const list = actions.map(
    ({ type, value, exDay, related }) =>
      `${type}${type === 'TICKER_CHANGE' ? ` to ${related}` : ` of ${value}`} on ${formatDay(exDay)}`,
  );
  const [{ low, high }] = growths as [UnexplainedGrowth['growths'][number]];
  const impliedText =
    low === high && low > 0 && isAdjusted
      ? `which implies ${formatPrices([findImpliedClose(step, low)])[0]}`
      : 'which does not explain it';
  return `${move} with ${list.join(' and ')}, ${impliedText}.${suggestInverse(step)}`;
}

/** Returns the close at which actions explain the whole move. The growth is linear in the close. */
function findImpliedClose(step: CloseStep, growth: number): number {
  const paid = computeUnexplainedGrowth({ ...step, close: 0 }).growths[0]!.low;
  return (step.close * (1 - paid)) / (growth - paid);
}

/** Suggests the inverse of the ratio of a split if it explains the move. */
function suggestInverse(step: CloseStep): string {
  const [action] = step.actions;
  if (step.actions.length !== 1 || action === undefined || ACTION_KINDS[action.type] !== 'ratio') return '';
  const ratio = 1 / action.value;
  const isExplained = !isJump(computeUnexplainedGrowth({ ...step, actions: [{ ...action, value: ratio }] }));
  return isExplained ? ` A ratio of ${Number(ratio.toPrecision(12))} explains the move.` : '';
}
