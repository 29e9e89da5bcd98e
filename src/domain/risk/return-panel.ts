import { selectColumns } from '#kernels/algebra/columns.js';
import type { Engine } from '#kernels/engines/engine.js';
import { LIMITS } from '../base/limits.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import type { CrossSections } from '../datapoints/cross-section.js';
import {
  addSpinOffValue,
  combineEffects,
  computeEffect,
  computeGrowthStep,
  convertEffect,
  countSharesOfPayments,
  createGrowthTermsKey,
  createWithholding,
  type GrowthTerms,
  NO_EFFECT,
  type SessionAmounts,
  type SessionEffect,
  spreadPayments,
} from '../market/action-effects.js';
import { readGrowthRow } from '../market/growth.js';
import {
  createReferenceSpells,
  findMissingBars,
  isBlank,
  listRowsWithBar,
  type MarketData,
} from '../market/market-data.js';
import { readRateSeries } from '../market/rates.js';
import { assertSecurity, readPanelRow, type SessionMarket } from '../market/session-market.js';

/** Effects of the actions of a market on prices, by ex-date, then in the order of the actions. */
interface EffectsByDay {
  /** Ex-dates, [E]. */
  readonly days: Int32Array;
  /** Columns of the securities, [E]. */
  readonly columns: Int32Array;
  /** Members of the effects, [E] each. */
  readonly terms: Readonly<Record<keyof SessionAmounts, Float64Array>>;
  readonly buysAt: SessionEffect['buysAt'];
}

/**
 * Maximum number of growth terms with cached effects. It suffices for the return variants of a risk model. Each entry
 * needs 72 bytes per action.
 */
const TERMS_MAX = 2;

const effectsByActions = new WeakMap<MarketData['actions'], Map<string, EffectsByDay>>();

/** Returns the effects of all actions that are not cancelled. @cost O(N + A log A), once per market and terms */
function createEffectsByDay(market: MarketData, terms: GrowthTerms): EffectsByDay {
  const key = `${market.adjustment} ${createGrowthTermsKey(terms)}`;
  const effectsByKey = effectsByActions.get(market.actions) ?? new Map<string, EffectsByDay>();
  effectsByActions.set(market.actions, effectsByKey);
  const effects = effectsByKey.get(key) ?? readEffects(market, terms);
  effectsByKey.delete(key);
  effectsByKey.set(key, effects);
  if (effectsByKey.size > TERMS_MAX) effectsByKey.delete(effectsByKey.keys().next().value!);
  return effects;
}

function readEffect({ terms, buysAt }: EffectsByDay, position: number): SessionEffect {
  return {
    ratio: terms.ratio[position]!,
    cash: terms.cash[position]!,
    rights: terms.rights[position]!,
    subscription: terms.subscription[position]!,
    special: terms.special[position]!,
    income: terms.income[position]!,
    spunOff: terms.spunOff[position]!,
    detached: terms.detached[position]!,
    ...(buysAt === undefined ? {} : { buysAt }),
  };
}

function readEffects(market: MarketData, terms: GrowthTerms): EffectsByDay {
  const { actions, identifiers, adjustment } = market;
  const findWithheldFraction = createWithholding(market, terms.withholdingTax);
  const columnByIdentifier = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const datedEffects = actions.flatMap((action) => {
    const column = columnByIdentifier.get(action.identifier);
    const effect =
      action.status === 'cancelled'
        ? undefined
        : computeEffect(
            action,
            adjustment,
            terms,
            findWithheldFraction(action.identifier, action.exDay),
            () => addSpinOffValue(market, action).worth!,
          );
    return column === undefined || effect === undefined ? [] : [{ day: action.exDay, column, effect }];
  });
  datedEffects.sort((a, b) => a.day - b.day);
  const getTerms = (term: keyof SessionAmounts): Float64Array =>
    Float64Array.from(datedEffects, ({ effect }) => effect[term]);
  return {
    days: Int32Array.from(datedEffects, ({ day }) => day),
    columns: Int32Array.from(datedEffects, ({ column }) => column),
    buysAt: terms.reinvestedAt,
    terms: {
      ratio: getTerms('ratio'),
      cash: getTerms('cash'),
      rights: getTerms('rights'),
      subscription: getTerms('subscription'),
      special: getTerms('special'),
      income: getTerms('income'),
      spunOff: getTerms('spunOff'),
      detached: getTerms('detached'),
    },
  };
}

/**
 * Bars and returns of securities by session. It stores only the few sessions without them. Windows must not begin
 * before the market.
 */
interface BarHistory {
  /** Returns the number of bars of a column from session `from` to `to`, both included. */
  bars(column: number, from: number, to: number): number;
  /** Returns the number of returns of a column on sessions after `from`, up to and including `to`. */
  returns(column: number, from: number, to: number): number;
  /** Returns the sessions after `from`, up to and including `to`, on which every column has a return, ascending. */
  complete(columns: ArrayLike<number>, from: number, to: number): Int32Array;
}

const NO_SESSIONS = new Int32Array(0);

const historyCache = new WeakMap<Float64Array, BarHistory>();

/**
 * Creates the history of a market's bars and of the returns in a growth panel. A return needs a bar on its session and
 * on the previous session. It also needs a growth factor, because an exchange rate may be missing where prices exist.
 * @param growth [S x N] from `computeGrowth`
 * @cost one pass over S x N, once per panel; then O(log) of the number of missing sessions
 */
export function createBarHistory(sm: SessionMarket, growth: Float64Array): BarHistory {
  const entry = historyCache.get(growth);
  if (entry) return entry;
  const history = buildBarHistory(sm, growth);
  historyCache.set(growth, history);
  return history;
}

function buildBarHistory(sm: SessionMarket, growth: Float64Array): BarHistory {
  const { sessions, securityCount, lastBar } = sm;
  const first = new Int32Array(securityCount).fill(sessions.length);
  const last = new Int32Array(securityCount).fill(-1);
  if (sm.first > 0) {
    // Before the first session of the market, only the existence of a bar matters.
    for (let column = 0; column < securityCount; column++)
      if (lastBar[column]! >= 0) first[column] = last[column] = lastBar[column]!;
  }
  const sessionsWithoutBar: number[][] = [];
  const sessionsWithoutReturn: number[][] = [];
  const addSession = (lists: number[][], column: number, session: number): void => {
    (lists[column] ??= []).push(session);
  };
  for (let s = sm.first; s < sessions.length; s++) {
    const row = readPanelRow(sm, s);
    for (let column = 0; column < securityCount; column++) {
      const position = row + column;
      const hasBar = lastBar[position] === s;
      if (last[column]! < 0) {
        if (hasBar) first[column] = last[column] = s;
        continue;
      }
      if (hasBar) last[column] = s;
      else addSession(sessionsWithoutBar, column, s);
      const factor = growth[position]!;
      // growth begins on the session after the first
      if (s > sm.first && (!hasBar || lastBar[position - securityCount] !== s - 1 || factor !== factor))
        addSession(sessionsWithoutReturn, column, s);
    }
  }
  return createSortedHistory({
    first,
    last,
    barless: packSessions(sessionsWithoutBar, last),
    returnless: packSessions(sessionsWithoutReturn, last),
  });
}

/**
 * First and last bar of each column. For the sessions in between, those without a bar and those without a return,
 * ascending.
 */
interface BarGaps {
  /** Session of the first bar, [N]; after the last session if there is no bar. */
  readonly first: Int32Array;
  /** Session of the last bar, [N]; -1 if there is no bar. */
  readonly last: Int32Array;
  readonly barless: readonly Int32Array[];
  readonly returnless: readonly Int32Array[];
}

function createSortedHistory({ first, last, barless, returnless }: BarGaps): BarHistory {
  const countMissing = (list: Int32Array, from: number, to: number): number =>
    findLastAtMost(list, to) - findLastAtMost(list, from - 1);
  const countPresent = (list: Int32Array, from: number, to: number): number =>
    from > to ? 0 : to - from + 1 - countMissing(list, from, to);
  return {
    bars: (column, from, to) =>
      countPresent(barless[column]!, Math.max(from, first[column]!), Math.min(to, last[column]!)),
    returns: (column, from, to) =>
      countPresent(returnless[column]!, Math.max(from, first[column]!) + 1, Math.min(to, last[column]!)),
    complete(columns, from, to) {
      let begin = from + 1;
      let end = to;
      for (let k = 0; k < columns.length; k++) {
        begin = Math.max(begin, first[columns[k]!]! + 1);
        end = Math.min(end, last[columns[k]!]!);
      }
      if (begin > end) return new Int32Array(0);
      const isMissing = new Uint8Array(end - begin + 1);
      for (let k = 0; k < columns.length; k++) {
        const list = returnless[columns[k]!]!;
        for (let i = findFirstAtLeast(list, begin); i < list.length && list[i]! <= end; i++)
          isMissing[list[i]! - begin] = 1;
      }
      const completeSessions: number[] = [];
      for (let i = 0; i < isMissing.length; i++) if (isMissing[i] === 0) completeSessions.push(begin + i);
      return Int32Array.from(completeSessions);
    },
  };
}

/** Returns the missing sessions of each column, up to its last bar. */
function packSessions(lists: readonly (readonly number[] | undefined)[], last: Int32Array): Int32Array[] {
  return Array.from(last, (until, column) => {
    const list = lists[column];
    return list === undefined ? NO_SESSIONS : Int32Array.from(list.slice(0, findLastAtMost(list, until) + 1));
  });
}

/** Maximum number of securities listed in a sentence. */
const NAMED_MAX = 5;

/** Describes the securities without an estimate, each with its reason; empty if there are none. */
export function describeExclusion(excluded: ReadonlyMap<string, string>): string {
  if (excluded.size === 0) return '';
  const namedExclusions = [...excluded].slice(0, NAMED_MAX).map(([name, why]) => `${name} (${why})`);
  const moreTexts = excluded.size > NAMED_MAX ? [`${excluded.size - NAMED_MAX} more`] : [];
  return `Excluded: ${[...namedExclusions, ...moreTexts].join(', ')}.`;
}

/** Minimum fraction of a window's sessions on which a security must have a price to be estimated. */
const COVERAGE_MIN = 0.8;

/** Window of growth factors, from which returns are computed. */
export interface ReturnWindow {
  readonly sm: SessionMarket;
  /** Growth factors of a unit of value, [S - first x N]: `computeGrowth(sm, createGrowthTerms(..., 'total'))`. */
  readonly growth: Float64Array;
  /** First session of the window; it has no return. */
  readonly from: number;
  /** Last session of the window. */
  readonly to: number;
  /** Datapoints of the market, for style factors. */
  readonly datapoints?: CrossSections;
}

/** Securities of a window that can be estimated together, with their common sessions. */
export interface Coverage {
  /** Market columns of the covered securities, in the requested order. */
  readonly columns: Int32Array;
  /** Sessions on which every covered security has a return, ascending, [T]. */
  readonly sessions: Int32Array;
  /** Largest number of returns of a requested security in the window. */
  readonly longest: number;
  /** Excluded columns with the reason. */
  readonly excluded: ReadonlyMap<number, string>;
}

/**
 * Determines the coverage of a window. A return needs a bar on its session and on the previous session, both inside the
 * window. First, securities with too few returns or prices are excluded. Then sessions are excluded on which a
 * remaining security has no return.
 * @param requestedColumns market columns without duplicates.
 * @cost O(sessions + securities log sessions) in addition to the missing sessions, once `createBarHistory` has read the
 * panel
 */
export function findCoverage({ sm, growth, from, to }: ReturnWindow, requestedColumns: ArrayLike<number>): Coverage {
  assertSecurity(sm, from);
  return findHistoryCoverage(createBarHistory(sm, growth), requestedColumns, { from, to });
}

/**
 * Determines the coverage from a history of bars.
 * @cost O(sessions + securities log sessions) in addition to the missing sessions
 */
function findHistoryCoverage(
  history: BarHistory,
  requestedColumns: ArrayLike<number>,
  { from, to }: Pick<ReturnWindow, 'from' | 'to'>,
): Coverage {
  const columns: number[] = [];
  const exclusionReasons = new Map<number, string>();
  const sessions = to - from + 1;
  let longest = 0;
  for (let k = 0; k < requestedColumns.length; k++) {
    const column = requestedColumns[k]!;
    const returns = history.returns(column, from, to);
    longest = Math.max(longest, returns);
    const why = findExclusionReason({ bars: history.bars(column, from, to), returns, sessions });
    if (why === undefined) columns.push(column);
    else exclusionReasons.set(column, why);
  }
  return {
    columns: Int32Array.from(columns),
    sessions: columns.length > 0 ? history.complete(columns, from, to) : new Int32Array(0),
    longest,
    excluded: exclusionReasons,
  };
}

/** Returns true if a coverage has securities, and enough data to estimate them. */
export function isEstimable({ columns, sessions }: Pick<Coverage, 'columns' | 'sessions'>): boolean {
  return columns.length >= 1 && sessions.length >= LIMITS.MIN_MODEL_OBSERVATIONS;
}

/**
 * Refuses a coverage that is too small for any estimate.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
export function assertEstimable({ sm }: { readonly sm: Pick<SessionMarket, 'identifiers'> }, coverage: Coverage): void {
  if (isEstimable(coverage)) return;
  const { columns, sessions, excluded } = coverage;
  const request = columns.length + excluded.size;
  const exclusionText = describeExclusion(
    new Map([...excluded].map(([column, why]) => [sm.identifiers[column]!, why])),
  );
  throw new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `${columns.length} of ${request} securities are covered, with ${sessions.length} complete observations; at least 1 security and ${LIMITS.MIN_MODEL_OBSERVATIONS} observations are required. ${exclusionText}`.trimEnd(),
    { assets: columns.length, observations: sessions.length, observations_needed: LIMITS.MIN_MODEL_OBSERVATIONS },
  );
}

/** First and last day with a return, and the number of sessions with a return. */
export interface ReturnSpan {
  readonly first: Day;
  readonly last: Day;
  readonly sessions: number;
}

export function findReturnSpan(
  { sessions: days }: Pick<SessionMarket, 'sessions'>,
  { sessions }: Pick<Coverage, 'sessions'>,
): ReturnSpan {
  return { first: days[sessions[0]!]!, last: days[sessions.at(-1)!]!, sessions: sessions.length };
}

export interface ReturnSource {
  readonly sm: Pick<SessionMarket, 'identifiers' | 'sessions'>;
  readonly coverage: Coverage;
  /**
   * Writes the returns of the coverage row by row.
   * @param out [T x n], overwritten
   */
  readonly read: (out: Float64Array, engine: SelectingEngine) => void;
  /** Window of the returns; absent for returns from other sources. */
  readonly window?: ReturnWindow;
}

/**
 * Creates the source of the returns of a window, for given market columns.
 * @cost of `findCoverage`
 */
export function createReturnSource(window: ReturnWindow, requestedColumns: ArrayLike<number>): ReturnSource {
  const coverage = findCoverage(window, requestedColumns);
  return { sm: window.sm, coverage, read: (out, engine) => readReturns(window, coverage, out, engine), window };
}

/** Number of sessions that are read at a time. The returns of 1,000 securities then fit into a second-level cache. */
const BAND_SESSIONS = 64;

/** Engine functions for reading returns. Default: plain loops. */
type SelectingEngine = Pick<Engine, 'selectColumns'>;

const PLAIN_ENGINE: SelectingEngine = { selectColumns };

/**
 * Writes the returns of a coverage row by row.
 * @param out [T x n], overwritten
 * @cost one pass over the growth of the sessions
 */
export function readReturns(
  { sm, growth }: ReturnWindow,
  { columns, sessions }: Coverage,
  out: Float64Array,
  engine: SelectingEngine = PLAIN_ENGINE,
): void {
  const n = columns.length;
  const selection = { width: sm.securityCount, columns, less: 1 };
  for (let t = 0; t < sessions.length;) {
    let end = t + 1;
    while (end < sessions.length && end < t + BAND_SESSIONS && sessions[end] === sessions[end - 1]! + 1) end++;
    const row = readGrowthRow(sm, sessions[t]!);
    engine.selectColumns(
      growth.subarray(row, row + (end - t) * sm.securityCount),
      selection,
      out.subarray(t * n, end * n),
    );
    t = end;
  }
}

/**
 * Sums the returns of a coverage over its sessions, from the first to the last, [n].
 * @cost one pass over the growth of the sessions
 */
export function sumReturns({ sm, growth }: ReturnWindow, { columns, sessions }: Coverage): Float64Array {
  const sums = new Float64Array(columns.length);
  for (const session of sessions) {
    const row = readGrowthRow(sm, session);
    for (let i = 0; i < columns.length; i++) sums[i]! += growth[row + columns[i]!]! - 1;
  }
  return sums;
}

function findExclusionReason({
  bars,
  returns,
  sessions,
}: {
  readonly bars: number;
  readonly returns: number;
  readonly sessions: number;
}): string | undefined {
  if (bars === 0) return 'no price in the window';
  if (returns < LIMITS.MIN_NAME_OBSERVATIONS)
    return `${returns} returns in the window; at least ${LIMITS.MIN_NAME_OBSERVATIONS} are required`;
  if (bars < COVERAGE_MIN * sessions)
    return `prices on ${bars} of ${sessions} sessions; at least ${Math.ceil(COVERAGE_MIN * sessions)} are required`;
  return undefined;
}

/** Securities of a market with a range of days. */
export interface DailySecurities {
  /** Market columns without duplicates, in the order of the matrix. */
  readonly columns: ArrayLike<number>;
  /** First and last day; null for an open end. */
  readonly from: Day | null;
  readonly to: Day | null;
}

interface ClosePositions {
  readonly close: Float64Array;
  /** Number of market columns. */
  readonly width: number;
  /** Row of the field for each session. */
  readonly rows: Int32Array;
  readonly columns: Int32Array;
}

/**
 * Computes the returns of securities on the days on which any of them has a bar, each in the currency of its prices. On
 * the day of a change of currency, the previous close is converted at the last rate before it.
 * Reads closes directly; the returns are bit-identical to growth over the aligned market. Columns of the result are
 * positions among the requested securities.
 * @cost one pass over the closes of the window for the gaps, one for the returns, and the actions of the securities
 */
export function computeDailyReturns(market: MarketData, names: DailySecurities, terms: GrowthTerms): ReturnSource {
  const columns = Int32Array.from(names.columns);
  const { rows, gaps } = findBars(market, { ...names, columns });
  const closes = { close: market.fields.get('CLOSE')!, width: market.identifiers.length, rows, columns };
  const sessions = rows.map((row) => market.dates[row]!);
  const coverage = findHistoryCoverage(
    createSortedHistory(gaps),
    columns.map((_, place) => place),
    {
      from: 0,
      to: rows.length - 1,
    },
  );
  return {
    sm: { identifiers: Array.from(columns, (column) => market.identifiers[column]!), sessions },
    coverage,
    read(out) {
      const changes = listCurrencyChanges(market, columns);
      readRows({ closes, sessions, coverage, effects: createEffectsByDay(market, terms), changes, terms }, out);
    },
  };
}

function findBars(
  market: MarketData,
  { columns, from, to }: DailySecurities & Pick<ClosePositions, 'columns'>,
): { readonly rows: Int32Array; readonly gaps: BarGaps } {
  const first = from === null ? 0 : findFirstAtLeast(market.dates, from);
  const last = to === null ? market.dates.length - 1 : findLastAtMost(market.dates, to);
  const missingRows = findMissingBars(market, { columns, from: first, to: last });
  const isWhole = missingRows.some(({ length }) => length === 0);
  const rows = isWhole
    ? Int32Array.from({ length: Math.max(0, last - first + 1) }, (_, s) => first + s)
    : listRowsWithBar(market, { columns, from, to });
  const sessions = isWhole
    ? missingRows.map((own) => own.map((row) => row - first))
    : missingRows.map((own) => own.map((row) => findLastAtMost(rows, row)).filter((s, i) => rows[s] === own[i]));
  return { rows, gaps: createGaps(sessions, rows.length) };
}

/**
 * Converts sessions without a bar to gaps.
 * @param missing sessions without a bar of each security, ascending
 * @param count number of sessions
 */
function createGaps(missing: readonly Int32Array[], count: number): BarGaps {
  const first = new Int32Array(missing.length);
  const last = new Int32Array(missing.length);
  const barless = missing.map((missingPositions, k) => {
    let begin = 0;
    while (begin < missingPositions.length && missingPositions[begin] === begin) begin++;
    let end = missingPositions.length;
    while (end > begin && missingPositions[end - 1] === count - 1 - (missingPositions.length - end)) end--;
    first[k] = begin;
    last[k] = begin === count ? -1 : count - 1 - (missingPositions.length - end);
    return missingPositions.subarray(begin, end);
  });
  return { first, last, barless, returnless: barless.map(addNextSessions) };
}

/** Returns the sessions without a return: those without a bar, and the session after each of them. */
function addNextSessions(barless: Int32Array): Int32Array {
  const lostColumns: number[] = [];
  for (const session of barless) {
    if (lostColumns.at(-1) !== session) lostColumns.push(session);
    lostColumns.push(session + 1);
  }
  return Int32Array.from(lostColumns);
}

/** Data from which the returns of a coverage are computed. */
interface ReturnReader {
  readonly closes: ClosePositions;
  /** Day of each session. */
  readonly sessions: Int32Array;
  readonly coverage: Pick<ReturnSource['coverage'], 'columns' | 'sessions'>;
  readonly effects: EffectsByDay;
  readonly changes: readonly CurrencyChange[];
  readonly terms: GrowthTerms;
}

interface CurrencyChange {
  readonly day: Day;
  readonly column: number;
  /** Returns the factor on a price of an earlier day. @throws Refusal FX_MISSING */
  readonly findFactor: (day: Day) => number;
}

function listCurrencyChanges(market: MarketData, columns: Int32Array): CurrencyChange[] {
  const spells = createReferenceSpells(market, 'CURRENCY');
  return Array.from(columns).flatMap((column) =>
    spells[column]!.flatMap(({ from: day, value: to }, k): CurrencyChange[] => {
      const from = k === 0 ? null : spells[column]![k - 1]!.value;
      if (typeof from !== 'string' || typeof to !== 'string' || isBlank(from) || isBlank(to)) return [];
      const findFactor = (on: Day): number =>
        requireFactor(market, { identifier: market.identifiers[column]!, from, to, on });
      return [{ day, column, findFactor }];
    }),
  );
}

interface ConvertedPrice {
  readonly identifier: string;
  readonly from: string;
  readonly to: string;
  readonly on: Day;
}

function requireFactor(market: MarketData, { identifier, from, to, on }: ConvertedPrice): number {
  const columnOf = (name: string): number => market.identifiers.indexOf(name);
  const day = { sessions: Int32Array.of(on), market, columnOf, securityCount: market.identifiers.length };
  const factor = readRateSeries(day, from, to)?.[0];
  if (factor !== undefined && factor > 0) return factor;
  const message = `${identifier} changes its currency from ${from} to ${to}, and the data contains no exchange rate ${from}${to} on ${formatDay(on)}.`;
  throw new Refusal('FX_MISSING', message, { identifier, pair: `${from}${to}` });
}

/**
 * Writes returns row by row: each close over the previous session's close, less 1; then the effects of corporate
 * actions.
 * @param out [T x n], overwritten
 */
function readRows({ closes, sessions, coverage, effects, changes, terms }: ReturnReader, out: Float64Array): void {
  const { close, width, rows, columns } = closes;
  const coveredColumns = coverage.columns.map((place) => columns[place]!);
  const n = coveredColumns.length;
  const placeEffects = createEffectWriter({ effects, changes, terms, close, width, columns: coveredColumns });
  const divideRows = coveredColumns.every((column, place) => column === coveredColumns[0]! + place)
    ? divideContiguous
    : divideRow;
  for (let t = 0; t < coverage.sessions.length; t++) {
    const session = coverage.sessions[t]!;
    const [from, to] = [rows[session - 1]! * width, rows[session]! * width];
    divideRows(close, { from, to, columns: coveredColumns }, out, t * n);
    // Effects on days between two sessions apply on the later session.
    const first = findFirstAtLeast(effects.days, sessions[session - 1]! + 1);
    placeEffects({ session, first, before: sessions[session - 1]!, day: sessions[session]!, from, to }, out, t * n);
  }
}

interface RowOfCloses {
  /** Offsets of the previous session's row and of the session's row in the field. */
  readonly from: number;
  readonly to: number;
  readonly columns: Int32Array;
}

function divideRow(close: Float64Array, { from, to, columns }: RowOfCloses, out: Float64Array, position: number): void {
  for (let k = 0; k < columns.length; k++) {
    const column = columns[k]!;
    out[position + k] = close[to + column]! / close[from + column]! - 1;
  }
}

function divideContiguous(
  close: Float64Array,
  { from, to, columns }: RowOfCloses,
  out: Float64Array,
  position: number,
): void {
  const before = from + columns[0]!;
  const after = to + columns[0]!;
  for (let k = 0; k < columns.length; k++) out[position + k] = close[after + k]! / close[before + k]! - 1;
}

interface EffectWriterInput extends Pick<ReturnReader, 'effects' | 'changes' | 'terms'> {
  readonly close: Float64Array;
  /** Number of market columns. */
  readonly width: number;
  readonly columns: Int32Array;
}

interface EffectsOfSession extends Omit<RowOfCloses, 'columns'> {
  readonly session: number;
  readonly first: number;
  /** Day of the previous session, and the last day whose effects apply on the session. */
  readonly before: Day;
  readonly day: Day;
}

/** Returns a function that writes the returns of the securities with effects or a change of currency on a session. */
function createEffectWriter({ effects, changes, terms, close, width, columns }: EffectWriterInput) {
  const positionByColumn = new Int32Array(width).fill(-1);
  columns.forEach((column, place) => (positionByColumn[column] = place));
  const latestSessions = new Int32Array(columns.length); // session 0 has no return
  return ({ session, first, before, day, from, to }: EffectsOfSession, out: Float64Array, position: number): void => {
    const changed = changes.filter((change) => change.day > before && change.day <= day);
    for (let e = first; e < effects.days.length && effects.days[e]! <= day; e++) {
      const column = effects.columns[e]!;
      const securityPosition = positionByColumn[column]!;
      if (securityPosition < 0 || changed.some((change) => change.column === column)) continue;
      const effect =
        latestSessions[securityPosition] === session
          ? combineColumnEffects(effects, column, first, e)
          : readEffect(effects, e);
      latestSessions[securityPosition] = session;
      out[position + securityPosition] = computeReturn(effect, close[from + column]!, close[to + column]!, terms);
    }
    for (const change of changed) {
      const { column } = change;
      if (positionByColumn[column]! < 0) continue;
      const price = close[from + column]! * change.findFactor(before);
      const effect = combineAcrossCurrencies(effects, change, { first, before, day });
      out[position + positionByColumn[column]!] = computeReturn(effect, price, close[to + column]!, terms);
    }
  };
}

/** Returns the return of a security over a session with an effect. Payments are made on the shares before a rights issue. */
function computeReturn(effect: SessionEffect, before: number, close: number, terms: GrowthTerms): number {
  const paid = spreadPayments(effect, countSharesOfPayments(effect, before, terms));
  return computeGrowthStep(paid, before, close).factor - 1;
}

/** Returns the combined effect of a column's effects from one index to another, both included. */
function combineColumnEffects(effects: EffectsByDay, column: number, first: number, last: number): SessionEffect {
  let sessionEffect: SessionEffect | undefined;
  for (let e = first; e <= last; e++) {
    if (effects.columns[e] !== column) continue;
    sessionEffect =
      sessionEffect === undefined ? readEffect(effects, e) : combineEffects(sessionEffect, readEffect(effects, e));
  }
  return sessionEffect!; // the last effect belongs to the column
}

function combineAcrossCurrencies(
  effects: EffectsByDay,
  change: CurrencyChange,
  { first, before, day }: Pick<EffectsOfSession, 'first' | 'before' | 'day'>,
): SessionEffect {
  let combined = NO_EFFECT;
  for (let e = first; e < effects.days.length && effects.days[e]! <= day; e++) {
    if (effects.columns[e] !== change.column) continue;
    const effect = readEffect(effects, e);
    const factor = effects.days[e]! < change.day ? change.findFactor(before) : 1;
    combined = combineEffects(combined, convertEffect(effect, factor));
  }
  return combined;
}
