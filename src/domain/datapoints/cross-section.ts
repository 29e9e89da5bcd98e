import { findFirstAtLeast } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import { createReferenceSpells, type ReferenceSpell, type ReferenceValue } from '../market/market-data.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import {
  computeBetas,
  computeHalf,
  computeOverWindow,
  countOver,
  createMarketReturns,
  createSampleReader,
  createTally,
  createTrail,
  readTrailingValues,
  type Tally,
  type WindowReader,
} from './windows.js';
import {
  createDatedGroups,
  createDividendHistory,
  createSeriesTable,
  type DatedGroups,
  type DividendHistory,
  groupByValue,
  type Grouping,
  type Series,
  type SeriesTerms,
  type ValuedKind,
} from './series.js';
import {
  createDatapointsByName,
  createExpressionSection,
  createExpressionSeries,
  createDatapointSource,
  createTrailingReader,
  type DatapointsByName,
  type DatapointSource,
  type DecisionContext,
  EMPTY_CONTEXT,
  GROWTH_DATAPOINTS,
  isMoney,
  isText,
  type LeafReader,
  readReferenceTexts,
  type SharedState,
} from './evaluation.js';
import { countReviewsBack, listExpressionReads } from './expression-checks.js';
import { type DatapointExpression, type ExpressionNode, isField, toFieldRequest, toNode } from './expression-tree.js';
import {
  createLatestRequest,
  createRequestKey,
  DEFAULT_WINDOW,
  type FieldRequest,
  findReferenceKind,
  resolveName,
  type ValueKind,
} from './fields.js';
import { createRollingStatistics } from './rolling-statistics.js';
import {
  createPositions,
  rankPositions,
  selectPositionsWithValue,
  type Statistic,
  STATISTICS,
  transformValues,
} from './statistics.js';

interface LatestInput {
  readonly sm: SessionMarket;
  /**
   * Maximum number of sessions for which the latest bar prices a security, and a suspended constituent, and the values of
   * suspended securities.
   */
  readonly terms: Pick<SeriesTerms, 'maxStaleSessions' | 'suspendedSessions' | 'valuation'>;
  readonly series: Series;
  readonly end: number;
  readonly columns: Int32Array;
  /** Kind of a value that corporate actions change; null for other values. */
  readonly valued: ValuedKind | null;
  /** True if values are in index currency. */
  readonly isConverted: boolean;
}

/**
 * Returns the latest value of each security on or before a session. A value that is too old to price the security is
 * missing.
 */
function computeLatestValues(latest: LatestInput): Float64Array {
  const values = new Float64Array(latest.columns.length);
  writeLatestValues(values, latest);
  return values;
}

/** Writes the latest values to memory of the caller, [n]. */
function writeLatestValues(values: Float64Array, latest: LatestInput): void {
  const { series, end, columns } = latest;
  series.fill(end, columns, values);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value !== value) values[i] = findCarriedValue(latest, columns[i]!);
  }
}

/** Returns the latest value of a security that has none on the session. Returns NaN if no value is valid. */
function findCarriedValue(latest: LatestInput, column: number): number {
  const { sm, series, end, valued, isConverted } = latest;
  const session = findLatestSession({ ...latest, column });
  if (session < 0) return NaN;
  const cell = new Float64Array(1);
  series.fill(session, Int32Array.of(column), cell);
  // The value of a suspended security changes with its actions and its exchange rate, as in a level.
  const isSuspended = sm.lastBar[readPanelRow(sm, end) + column] !== end;
  if (valued === null || !isSuspended) return cell[0]!;
  return valued === 'yield'
    ? latest.terms.valuation().yieldAt(end, column)
    : cell[0]! * latest.terms.valuation().ratio({ kind: valued, column, from: session, to: end, isConverted });
}

/**
 * Returns the session of the latest valid value. Returns -1 if there is none. A value is valid within a maximum age. It
 * is also valid if it belongs to the latest bar and this bar still prices the security, whose exchange may have been
 * closed for longer.
 */
function findLatestSession({
  sm,
  series,
  end,
  column,
  terms: { maxStaleSessions, suspendedSessions = maxStaleSessions },
}: Pick<LatestInput, 'sm' | 'series' | 'end' | 'terms'> & { readonly column: number }): number {
  const singleColumn = Int32Array.of(column);
  const cell = new Float64Array(1);
  const hasValue = (session: number): boolean => {
    series.fill(session, singleColumn, cell);
    return !Number.isNaN(cell[0]!);
  };
  for (let session = end; session >= Math.max(0, end - maxStaleSessions); session--)
    if (hasValue(session)) return session;
  const bar = sm.lastBar[readPanelRow(sm, end) + column]!;
  return bar >= 0 && sm.barAge(end, column) <= suspendedSessions && hasValue(bar) ? bar : -1;
}

/** Dates of the bars, rows or events on which a value is based. */
export interface DatapointDates {
  /**
   * First date read. It equals `to` for a single value. Both are null if no value was found, or if the value was always
   * valid.
   */
  readonly from: string | null;
  readonly to: string | null;
  /** Number of values found between the two dates. */
  readonly observations: number;
  /** First later session on which the security can have enough history. Null if it has enough now. */
  readonly knownFrom: string | null;
}

/** Returns the dates on which an expression is based: the union over all datapoints that it reads. */
function readExpression(
  shared: SharedState,
  request: { readonly field: DatapointExpression; readonly column: number; readonly session: number },
): DatapointDates {
  const { field, column, session } = request;
  const { datapoints } = shared.terms;
  if (isField(field) && !datapoints.has(field.name))
    return readDatapoint(shared, { field: toFieldRequest(field), column, session });
  const reads = listExpressionReads(field, datapoints).map((read) =>
    readDatapoint(shared, { field: read.field, column, session }),
  );
  const sortDays = (days: readonly (string | null)[]): string[] => days.filter((day) => day !== null).toSorted();
  return {
    from: sortDays(reads.map(({ from }) => from))[0] ?? null,
    to: sortDays(reads.map(({ to }) => to)).at(-1) ?? null,
    observations: reads.reduce((sum, { observations }) => sum + observations, 0),
    knownFrom: sortDays(reads.map(({ knownFrom }) => knownFrom)).at(-1) ?? null,
  };
}

function readDatapoint(
  shared: SharedState,
  { field, column, session }: { readonly field: FieldRequest; readonly column: number; readonly session: number },
): DatapointDates {
  const { sm, terms } = shared;
  const end = session - field.lag;
  const source = createDatapointSource(shared, field);
  const earliest = findEarliestSession(sm, { field, source, column });
  const knownFrom = earliest > session ? formatSessionDay(sm, earliest) : null;
  const emptyDates: DatapointDates = { from: null, to: null, observations: 0, knownFrom };
  if (end < 0) return emptyDates;
  const formatSession = (position: number) => formatDay(sm.sessions[position]!);
  const result = resolveName(sm.market, field);
  if ('dataset' in result && result.dataset === 'reference' && field.aggregate === 'last') {
    const spell = shared.spellsOf(field.name)[column]!.findLast(({ from }) => from <= sm.sessions[end]!);
    if (spell === undefined || spell.value === null) return { ...emptyDates, knownFrom: null };
    const spellStart = spell.from === -Infinity ? null : formatDay(spell.from);
    return { from: spellStart, to: spellStart, observations: 1, knownFrom: null };
  }
  if (source.kind === 'series' && field.aggregate === 'last') {
    const { series } = source;
    const position = findLatestSession({ sm, series, end, column, terms });
    return position < 0
      ? emptyDates
      : { from: formatSession(position), to: formatSession(position), observations: 1, knownFrom: null };
  }
  const trailingSeries = source.kind === 'series' ? source.trailing : shared.table.returns('RETURN');
  const length = field.window ?? DEFAULT_WINDOW;
  const cell = new Float64Array(1);
  const singleColumn = Int32Array.of(column);
  const read: number[] = [];
  for (let position = Math.max(0, end - length + 1); position <= end; position++) {
    trailingSeries.fill(position, singleColumn, cell);
    if (!Number.isNaN(cell[0]!)) read.push(position);
  }
  if (read.length === 0) return emptyDates;
  return { from: formatSession(read[0]!), to: formatSession(read.at(-1)!), observations: read.length, knownFrom };
}

/**
 * Returns the first session on which a datapoint of a security can have a value. Assumes that the security trades on
 * every session from its first price bar on; a statistic needs half of its window. Returns NaN before the first price
 * bar.
 */
function findEarliestSession(
  sm: SessionMarket,
  {
    field,
    source,
    column,
  }: { readonly field: FieldRequest; readonly source: DatapointSource; readonly column: number },
): number {
  const isStatistic = source.kind !== 'series' || field.aggregate !== 'last';
  const observationsRequired = isStatistic ? Math.max(1, computeHalf(field.window ?? DEFAULT_WINDOW)) : 1;
  const begin = findFirstBar(sm, column) + (GROWTH_DATAPOINTS.has(field.name) ? 1 : 0); // a return needs an earlier price bar
  return begin + observationsRequired - 1 + field.lag;
}

function findFirstBar({ lastBar, securityCount }: SessionMarket, column: number): number {
  for (let cell = column; cell < lastBar.length; cell += securityCount) if (lastBar[cell]! >= 0) return lastBar[cell]!;
  return NaN;
}

/**
 * Returns the date of a session. The session may be after the last session of the data. Returns null beyond the
 * calendar.
 */
function formatSessionDay({ sessions, calendar }: SessionMarket, session: number): string | null {
  const from = findFirstAtLeast(calendar.sessions, sessions[0]!);
  const day = calendar.sessions[from + session];
  return day === undefined ? null : formatDay(day);
}

/**
 * Returns the values of a subset of columns, both ascending. Returns undefined if a column is not in `valueColumns`.
 */
function pickValues(valueColumns: Int32Array, values: Float64Array, columns: Int32Array): Float64Array | undefined {
  if (valueColumns === columns) return values;
  const pickedValues = new Float64Array(columns.length);
  let position = 0;
  for (let i = 0; i < columns.length; i++) {
    while (position < valueColumns.length && valueColumns[position]! < columns[i]!) position++;
    if (valueColumns[position] !== columns[i]) return undefined;
    pickedValues[i] = values[position]!;
  }
  return pickedValues;
}

interface Ordering {
  readonly ascending: boolean;
  /** True to place positions without a value last; false to omit them. */
  readonly withMissing: boolean;
}

function createVectorCache() {
  const cache = new Map<string, { readonly columns: Int32Array; readonly values: Float64Array }>();
  const orders = new WeakMap<Float64Array, Map<string, Int32Array>>();
  return {
    /**
     * Returns a vector, computed once. The selection of securities only shrinks, so a vector that was computed for an
     * earlier selection contains all later values.
     */
    value(key: string, columns: Int32Array, compute: () => Float64Array): Float64Array {
      const cachedEntry = cache.get(key);
      const pickedValues =
        cachedEntry === undefined ? undefined : pickValues(cachedEntry.columns, cachedEntry.values, columns);
      if (pickedValues !== undefined) return pickedValues;
      const values = compute();
      cache.set(key, { columns, values });
      orders.set(values, new Map());
      return values;
    },
    /**
     * Returns the positions of values in the order of `rankPositions`, best first. Results are cached for each array of
     * values.
     */
    ordered(values: Float64Array, { ascending, withMissing }: Ordering): Int32Array {
      const valueOrders = orders.get(values);
      const key = `${ascending} ${withMissing}`;
      const positions = createPositions(values);
      const order =
        valueOrders?.get(key) ??
        rankPositions(values, withMissing ? positions : selectPositionsWithValue(values, positions), ascending);
      valueOrders?.set(key, order);
      return order;
    },
  };
}

/** Datapoints of the market as known at the close of one session. */
export interface CrossSection {
  readonly session: number;
  readonly day: Day;
  readonly market: SessionMarket;
  /** Securities of the universe at the decision, columns ascending. */
  readonly universe: Int32Array;
  readonly dividends: DividendHistory;
  /**
   * Returns a numeric datapoint for some securities, NaN if missing. A column that is not numeric is missing for every
   * security.
   * @param columns Selected securities, ascending, [n]; a transform is computed across them.
   * @returns [n]
   */
  numbers(field: DatapointExpression, columns: Int32Array): Float64Array;
  /** Returns values in the currency of the index. Prices are converted into that currency. */
  money(field: DatapointExpression, columns: Int32Array): Float64Array;
  /** Returns FALSE, TRUE or UNKNOWN for a condition by security, [n]. */
  truths(condition: ExpressionNode, columns: Int32Array): Uint8Array;
  /** Returns any datapoint as stored, null if missing, [n]. */
  values(field: DatapointExpression, columns: Int32Array): readonly ReferenceValue[];
  /** Returns the ranks of values, best first, as `rankPositions` does. Results are cached for each array of values. */
  ordered(values: Float64Array, order: Ordering): Int32Array;
  /** Returns the groups of the securities by a datapoint: one group per value, and one for missing values. */
  groups(field: DatapointExpression, columns: Int32Array): Grouping;
  kindOf(field: DatapointExpression): ValueKind;
  /**
   * Returns the number of values of a datapoint in its trailing window, even if they are fewer than half of the
   * sessions, [n].
   */
  count(field: FieldRequest, columns: Int32Array): Float64Array;
  /** Returns a statistic over trailing sessions. It may use a datapoint that requests cannot name. */
  statistic(field: FieldRequest, statistic: Statistic, observationsMin: number, columns: Int32Array): Float64Array;
  /** Returns growth factors of the total return variant for some securities, [S - first x N]. */
  growth(columns: Int32Array): Float64Array;
  read(field: DatapointExpression, column: number): DatapointDates;
  /** Returns a cross-section with additional data known at a decision. */
  given(context: DecisionContext): CrossSection;
}

export interface CrossSections {
  at(session: number, universe: Int32Array): CrossSection;
  /**
   * Returns a reader of the values of a datapoint by session, as `numbers` returns them. Returns null for a datapoint
   * over a window, because it must be requested session by session.
   */
  latest(name: string): LatestValues | null;
  /** Returns the values of an expression of columns as stated on each session, without carrying them forward. */
  stated(expression: DatapointExpression): Series;
}

/**
 * Function that writes the latest values on a session. @param columns ascending, [n] @param out [n], overwritten; NaN
 * if missing @throws Refusal FX_MISSING
 */
export type LatestValues = (session: number, columns: Int32Array, out: Float64Array) => void;

/** Creates the cross-sections of a market. Results that do not depend on the session are computed once. */
export function createCrossSections(sm: SessionMarket, terms: SeriesTerms): CrossSections {
  const table = createSeriesTable(sm, terms);
  const spells = new Map<string, readonly (readonly ReferenceSpell[])[]>();
  const groups = new Map<string, DatedGroups>();
  const kinds = new Map<string, ValueKind>();
  const trails = new Map<Series, WindowReader>();
  const tallies = new Map<Series, Tally>();
  const marketReturns = createMarketReturns();
  let dividends: DividendHistory | undefined;
  let firstSession: number | undefined;
  const state: SharedState = {
    sm,
    table,
    terms,
    spellsOf(name) {
      const columnSpells = spells.get(name) ?? createReferenceSpells(sm.market, name);
      spells.set(name, columnSpells);
      return columnSpells;
    },
    groupsOf(name) {
      const datedGroups = groups.get(name) ?? createDatedGroups(state.spellsOf(name));
      groups.set(name, datedGroups);
      return datedGroups;
    },
    referenceKindOf(name) {
      const valueKind = kinds.get(name) ?? findReferenceKind(sm.market, name);
      kinds.set(name, valueKind);
      return valueKind;
    },
    windowsOf(series, session) {
      // Most callers need a single decision, so windows are cached only from the second decision on.
      if (session === firstSession) return createSampleReader(series);
      const windowReader = trails.get(series) ?? createTrail(series, sm.securityCount);
      trails.set(series, windowReader);
      return windowReader;
    },
    tallyOf(series) {
      const tally = tallies.get(series) ?? createTally(series, sm.securityCount);
      tallies.set(series, tally);
      return tally;
    },
    marketReturns,
    rolling:
      terms.followed && createRollingStatistics(table, terms.followed, estimatePeriodsPerYear(sm.calendar.sessions)),
    dividends: () => (dividends ??= createDividendHistory(sm.market)),
  };
  const datapointsByName = createDatapointsByName(terms.datapoints);
  const conversionCache = new WeakMap<DatapointExpression, boolean>();
  const isConverted = (expression: DatapointExpression): boolean => {
    const cachedRequest =
      conversionCache.get(expression) ??
      listExpressionReads(expression, terms.datapoints).some(({ field }) => isInIndexCurrency(field.name));
    conversionCache.set(expression, cachedRequest);
    return cachedRequest;
  };
  const seriesOf = createExpressionSeries({
    expanded: datapointsByName.expanded,
    trailing: (field) => createTrailingReader(state, field),
    texts: (field, session, columns) => readReferenceTexts(state, { field, session, columns }),
    isNumber: (field) => !isText(state, field),
  });
  return {
    stated: (expression) => seriesOf(toNode(expression)),
    at(session, universe) {
      firstSession ??= session;
      return createCrossSection({ shared: state, named: datapointsByName, seriesOf, isConverted }, session, universe);
    },
    latest(name) {
      if (terms.datapoints.has(name)) return null;
      const source = createDatapointSource(state, createLatestRequest(name));
      if (source.kind !== 'series') return null;
      const { series, valued } = source;
      const needsRates = isInIndexCurrency(name);
      return (session, columns, out) => {
        if (needsRates) terms.requireRates(session, columns);
        writeLatestValues(out, { sm, terms, series, end: session, columns, valued, isConverted: valued === 'money' });
      };
    },
  };
}

/** Returns true if the values of a datapoint use exchange rates. */
const isInIndexCurrency = (name: string): boolean => isMoney(name) || GROWTH_DATAPOINTS.has(name);

interface SectionTerms {
  readonly shared: SharedState;
  readonly named: DatapointsByName;
  readonly seriesOf: LeafReader['seriesOf'];
  /** Returns true if an expression reads values that use exchange rates. */
  isConverted(expression: DatapointExpression): boolean;
}

function createCrossSection(
  { shared, named, seriesOf, isConverted }: SectionTerms,
  session: number,
  universe: Int32Array,
): CrossSection {
  const { sm, terms } = shared;
  const vectors = createVectorCache();
  const moment: SectionMoment = { shared, session, universe };

  const readField = (field: FieldRequest, columns: Int32Array, convert: boolean): Float64Array => {
    const key = `${convert ? '$' : ''}${createRequestKey({ ...field, transform: 'none' })}`;
    return vectors.value(key, columns, () => computeField(moment, field, columns, convert));
  };

  const computeNumbers = (field: FieldRequest, columns: Int32Array, convert: boolean) =>
    transformValues(readField(field, columns, convert), field.transform);

  const leaves: LeafReader = {
    day: sm.sessions[session]!,
    universe,
    dividends: shared.dividends,
    sessions: sm.calendar.sessions,
    numbers: (field, columns) => computeNumbers(field, columns, false),
    values(field, columns) {
      if (isText(shared, field)) return readReferenceTexts(shared, { field, session: session - field.lag, columns });
      return Array.from(computeNumbers(field, columns, false), (value) => (Number.isNaN(value) ? null : value));
    },
    groups(field, columns) {
      if (!isText(shared, field) || session < field.lag) return groupByValue(leaves.values(field, columns));
      return shared.groupsOf(field.name)(sm.sessions[session - field.lag]!, columns);
    },
    isNumber: (field) => !isText(shared, field),
    overSessions(series, { statistic, length, lag, observationsMin }, columns) {
      const least = observationsMin === 'half' ? computeHalf(length) : observationsMin;
      const window = { end: session - lag, length, observationsMin: least };
      return computeOverWindow(shared.windowsOf(series, session), statistic, window, columns);
    },
    history: (series, length, columns) =>
      readTrailingValues(shared.windowsOf(series, session), { end: session, length }, columns),
    seriesOf,
    onSession(series, columns) {
      const values = new Float64Array(columns.length);
      series.fill(session, columns, values);
      return values;
    },
  };

  const createSectionOfValues = (context: DecisionContext): CrossSection => {
    const section = createExpressionSection(leaves, named, context);
    const requireRates = (field: DatapointExpression, columns: Int32Array): void => {
      if (isField(field) && !terms.datapoints.has(field.name)) return; // Fields of leaves are checked when they are read.
      if (isConverted(field)) terms.requireRates(session, columns);
    };
    const readNumbers = (field: DatapointExpression, columns: Int32Array): Float64Array => {
      requireRates(field, columns);
      return section.numbers(field, columns);
    };
    return {
      session,
      day: sm.sessions[session]!,
      market: sm,
      universe,
      get dividends() {
        return shared.dividends();
      },
      numbers: readNumbers,
      money: (field, columns) =>
        isField(field) && !terms.datapoints.has(field.name)
          ? computeNumbers(toFieldRequest(field), columns, true)
          : readNumbers(field, columns),
      truths(condition, columns) {
        requireRates(condition, columns);
        return section.truths(condition, columns);
      },
      values: section.values,
      ordered: vectors.ordered,
      groups: (field, columns) => section.groups(field, columns) ?? groupByValue(section.values(field, columns)),
      kindOf(field) {
        const text = section.textField(field);
        return text === undefined ? 'number' : shared.referenceKindOf(text.name);
      },
      count(field, columns) {
        const end = session - field.lag;
        return countOver(
          shared.tallyOf(createTrailingReader(shared, field)),
          { end, length: field.window!, observationsMin: 0 },
          columns,
        );
      },
      statistic(field, statistic, observationsMin, columns) {
        const series = createTrailingReader(shared, field);
        if (GROWTH_DATAPOINTS.has(field.name)) terms.requireRates(session, columns);
        return computeOverWindow(
          shared.windowsOf(series, session),
          statistic,
          { end: session - field.lag, length: field.window!, observationsMin },
          columns,
        );
      },
      growth(columns) {
        terms.requireRates(session, columns);
        return terms.growth();
      },
      read(field, column) {
        const dates = readExpression(shared, { field, column, session });
        const reviewsBack = countReviewsBack(field, terms.datapoints);
        const oldest = reviewsBack === 0 ? null : (context.earlier?.(reviewsBack) ?? context.earlier?.(1) ?? null);
        if (oldest === null) return dates;
        return {
          ...dates,
          from: readExpression(shared, { field, column, session: oldest.session }).from ?? dates.from,
        };
      },
      given: createSectionOfValues,
    };
  };
  return createSectionOfValues(EMPTY_CONTEXT);
}

/** Session whose values are read, with the universe of a decision. */
interface SectionMoment {
  readonly shared: SharedState;
  readonly session: number;
  readonly universe: Int32Array;
}

/** Computes a field on a session. @param isConverted true to convert prices into the currency of the index */
function computeField(
  { shared, session, universe }: SectionMoment,
  field: FieldRequest,
  columns: Int32Array,
  isConverted: boolean,
): Float64Array {
  const { sm, table, terms } = shared;
  const end = session - field.lag;
  if (end < 0) return new Float64Array(columns.length).fill(NaN);
  const source = createDatapointSource(shared, field);
  if (isConverted || isInIndexCurrency(field.name)) terms.requireRates(session, columns);
  const length = field.window ?? DEFAULT_WINDOW;
  const from = Math.max(0, end - length + 1);
  const window = { end, length, observationsMin: computeHalf(length) };
  if (source.kind === 'beta') {
    const rollingBetas = shared.rolling?.betas({ ...window, columns, universe });
    if (rollingBetas) return rollingBetas;
    const returnWindow = { returns: shared.windowsOf(table.returns('RETURN'), session), from, end };
    return computeBetas(returnWindow, { market: shared.marketReturns(returnWindow, universe), length, columns });
  }
  if (source.kind === 'windowed') {
    const computeRolling = source.isWhole ? shared.rolling?.growth : shared.rolling?.volatilities;
    const values =
      computeRolling?.({ ...window, columns }) ??
      computeOverWindow(shared.windowsOf(table.growth(), session), source.statistic, window, columns);
    if (source.isWhole) {
      terms.gaps().multiplyGrowth(values, columns, { from, to: end });
      for (let k = 0; k < values.length; k++) values[k]! -= 1;
    }
    return values;
  }
  if (field.aggregate !== 'last') {
    const series = isConverted ? table.inIndexCurrency(source.trailing) : source.trailing;
    if (field.aggregate === 'count') return countOver(shared.tallyOf(series), window, columns);
    return computeOverWindow(shared.windowsOf(series, session), STATISTICS[field.aggregate], window, columns);
  }
  const series = isConverted ? table.inIndexCurrency(source.series) : source.series;
  const latest = { sm, terms, series, end, columns, valued: source.valued };
  return computeLatestValues({ ...latest, isConverted: isConverted || source.valued === 'money' });
}
