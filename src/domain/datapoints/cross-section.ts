import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { Day } from '../time/days.js';
import type { ReferenceValue } from '../market/market-data.js';
import { createReferenceSpells, type ReferenceSpell } from '../market/reference-spells.js';
import type { SessionMarket } from '../market/session-market.js';
import { STATISTICS, type Statistic } from './aggregates.js';
import { computeBetas, createMarketReturns } from './beta.js';
import { type DatapointDates, readExpression } from './datapoint-read.js';
import {
  GROWTH_DATAPOINTS,
  isMoney,
  isText,
  createSource,
  readTexts,
  createTrailingReader,
  type SharedState,
} from './datapoint-sources.js';
import { createDividendHistory, type DividendHistory } from './dividends.js';
import { DEFAULT_WINDOW, createLatestRequest, createRequestKey, type FieldRequest } from './field-request.js';
import { createSampleReader } from './sample-series.js';
import { createDatedGroups, groupByValue, type DatedGroups, type Grouping } from './groups.js';
import type { WindowReader } from './window-layout.js';
import { writeLatestValues, computeLatestValues } from './latest-values.js';
import { findReferenceKind, type ValueKind } from './resolution.js';
import { createRollingStatistics } from './rolling-statistics.js';
import { createSeriesTable, type Series, type SeriesTerms } from './series.js';
import { createTally, type Tally } from './tally.js';
import { createTrail } from './trail.js';
import { transformValues } from './transforms.js';
import { createVectorCache, type Ordering } from './vector-cache.js';
import { countOver, computeHalf, computeOverWindow, readTrailingValues } from './windows.js';
import { isField, toFieldRequest, type DatapointExpression, type ExpressionNode } from './expressions/tree.js';
import { listExpressionReads } from './expressions/reads.js';
import { createExpressionSeries } from './expression-series.js';
import {
  createExpressionSection,
  createDatapointsByName,
  EMPTY_CONTEXT,
  type DecisionContext,
  type LeafReader,
  type DatapointsByName,
} from './expression-section.js';

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
  /** Returns the type of the values of a datapoint. */
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
  /** Returns the sessions from which the datapoint of a security was read. */
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
    texts: (field, session, columns) => readTexts(state, { field, session, columns }),
    isNumber: (field) => !isText(state, field),
  });
  return {
    at(session, universe) {
      firstSession ??= session;
      return createCrossSection({ shared: state, named: datapointsByName, seriesOf, isConverted }, session, universe);
    },
    latest(name) {
      if (terms.datapoints.has(name)) return null;
      const source = createSource(state, createLatestRequest(name));
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
    numbers: (field, columns) => computeNumbers(field, columns, false),
    values(field, columns) {
      if (isText(shared, field)) return readTexts(shared, { field, session: session - field.lag, columns });
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
      read: (field, column) => readExpression(shared, { field, column, session }),
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
  const source = createSource(shared, field);
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
