import type { Day } from '../time/days.js';
import { readGrowthRow } from '../index-mathematics/growth.js';
import type { ReturnGaps } from '../market/return-gaps.js';
import type { SessionMarket } from '../market/session-market.js';
import { findLastAtMost } from '../numbers/search.js';
import { createAgeSeries } from './age-series.js';
import { createReferenceSeries } from './reference-series.js';
import { createDividendHistory, type DividendHistory } from './dividends.js';
import type { DerivedName, SessionReturn } from './field-request.js';
import { resolveName } from './resolution.js';
import { findValuedKind, type Valuation } from './valuation.js';
import type { ExpressionNode } from './expressions/tree.js';

/** Numeric datapoint as dated values. Each value is as stated on its session and is not carried forward. */
export interface Series {
  /**
   * Writes the values of one session for some columns; NaN is a missing value.
   * @param columns Columns, ascending, [n].
   * @param out [n], overwritten.
   */
  fill(session: number, columns: Int32Array, out: Float64Array): void;
  /**
   * Panel whose cells contain the values. Windows read the panel directly, without a copy. Absent if the values are not
   * in a panel.
   */
  readonly panel?: SeriesPanel;
}

export interface SeriesPanel {
  readonly cells: Float64Array;
  /** Returns the position of the first cell of a session; negative if the panel lacks the session. */
  rowAt(session: number): number;
  /** Constant to subtract from a cell to obtain its value. */
  readonly less: number;
  /** Cells that do not count as values, in addition to NaN; null if there are none. */
  readonly gaps: Pick<ReturnGaps, 'of' | 'clear'> | null;
}

export interface SeriesTerms {
  /** Asserts that the store has the exchange rates of some securities. @throws Refusal FX_MISSING */
  requireRates(session: number, columns: Int32Array): void;
  /**
   * Units of index currency per unit of the currency of a security, NaN for a missing rate. Null if every security is
   * in index currency.
   */
  readonly exchange: Series | null;
  /** Growth factors of the total return variant, [S - first x N]; computed at the first use. */
  readonly growth: () => Float64Array;
  /** Marks of cells that are not returns between two bars; computed at the first use. */
  readonly gaps: () => ReturnGaps;
  /** Price returns without dividends, and their growth factors. */
  readonly price: Pick<SeriesTerms, 'growth' | 'gaps'>;
  /**
   * Securities whose VOLATILITY, MOMENTUM and BETA are computed over rolling windows, ascending. Null if there are
   * none.
   */
  readonly followed: Int32Array | null;
  /** Maximum age of a FREE_FLOAT in sessions. */
  readonly maxStaleSessions: number;
  /**
   * Maximum number of sessions for which the latest bar prices a suspended constituent. Default: same as for other
   * securities.
   */
  readonly suspendedSessions?: number | undefined;
  /** Values of suspended securities; created at the first use. */
  readonly valuation: () => Valuation;
  /** Expressions that a document defines. They take precedence over datapoints of the market with the same name. */
  readonly datapoints: ReadonlyMap<string, ExpressionNode>;
}

/** Series of one market by name, each created once. */
export interface SeriesTable {
  market(name: string): Series;
  reference(name: string): Series;
  derived(name: Exclude<DerivedName, 'VOLATILITY' | 'MOMENTUM' | 'BETA'>): Series;
  shares(hasFloat: boolean): Series;
  /** Returns for windows: only returns between bars on two consecutive sessions. */
  returns(name: SessionReturn): Series;
  /** Growth factors, 1 plus each of `returns`. Their product is the return of several sessions. */
  growth(): Series;
  /**
   * Returns a series of amounts in index currency: the amounts in the currency of each security, times the exchange
   * rate.
   */
  inIndexCurrency(series: Series): Series;
}

export function createSeriesTable(sm: SessionMarket, terms: SeriesTerms): SeriesTable {
  const results = new Map<string, Series>();
  const convertedBySeries = new Map<Series, Series>();
  const computeOnce = (key: string, make: () => Series): Series => {
    const cachedSeries = results.get(key);
    if (cachedSeries !== undefined) return cachedSeries;
    const series = make();
    results.set(key, series);
    return series;
  };
  const table: SeriesTable = {
    market: (name) => computeOnce(`market ${name}`, () => createPanelSeries(sm, name, terms.valuation)),
    reference: (name) => computeOnce(`reference ${name}`, () => createReferenceSeries(sm, name)),
    derived: (name) => computeOnce(`derived ${name}`, () => deriveSeries(name)),
    shares(hasFloat) {
      const counts = sm.market.fields.has('SHARES_OUTSTANDING')
        ? createPanelSeries(sm, 'SHARES_OUTSTANDING')
        : table.reference('SHARES_OUTSTANDING');
      return hasFloat ? multiplySeries(counts, createFreeFloat()) : counts;
    },
    returns: (name) => computeOnce(`returns ${name}`, () => createGrowthBetweenBars(sm, findGrowth(name), 1)),
    growth: () => computeOnce('growth', () => createGrowthBetweenBars(sm, terms, 0)),
    inIndexCurrency(series) {
      if (terms.exchange === null) return series;
      const convertedSeries = convertedBySeries.get(series) ?? multiplySeries(series, terms.exchange);
      convertedBySeries.set(series, convertedSeries);
      return convertedSeries;
    },
  };
  const findGrowth = (name: SessionReturn) => (name === 'RETURN' ? terms : terms.price);
  const readSeries = (name: string): Series =>
    sm.market.fields.has(name) ? table.market(name) : table.reference(name);

  function deriveSeries(name: Exclude<DerivedName, 'VOLATILITY' | 'MOMENTUM' | 'BETA'>): Series {
    switch (name) {
      case 'MARKET_CAP':
        return table.inIndexCurrency(multiplySeries(table.market('CLOSE'), readSeries('SHARES_OUTSTANDING')));
      case 'FREE_FLOAT_MARKET_CAP':
        return multiplySeries(createMarketCap(), createFreeFloat());
      case 'VALUE_TRADED':
        return table.inIndexCurrency(multiplySeries(createPanelSeries(sm, 'CLOSE'), readSeries('VOLUME')));
      case 'RETURN':
      case 'PRICE_RETURN':
        return createReturnSeries(sm, findGrowth(name).growth());
      case 'DIVIDEND_YIELD':
        return createYieldSeries(sm, createDividendHistory(sm.market), table.market('CLOSE'));
      case 'AGE':
        return createAgeSeries(sm);
    }
  }

  function createMarketCap(): Series {
    const marketCapColumn = resolveName(sm.market, { name: 'MARKET_CAP', dataset: null });
    return 'dataset' in marketCapColumn && marketCapColumn.dataset !== 'derived'
      ? table.inIndexCurrency(readSeries('MARKET_CAP'))
      : table.derived('MARKET_CAP');
  }

  function createFreeFloat(): Series {
    const capSeries: Series[] = [];
    if (sm.market.fields.has('FREE_FLOAT'))
      capSeries.push(createCarriedSeries(table.market('FREE_FLOAT'), terms.maxStaleSessions));
    if (sm.market.reference.columns.includes('FREE_FLOAT')) capSeries.push(table.reference('FREE_FLOAT'));
    return createFallbackSeries([...capSeries, createConstantSeries(1)]);
  }

  return table;
}

/** @param valuation values of bars between two sessions. Default: such a bar has its stated value. */
function createPanelSeries(sm: SessionMarket, name: string, valuation?: SeriesTerms['valuation']): Series {
  const { market, rows } = sm;
  const panel = market.fields.get(name)!;
  const kind = valuation === undefined ? null : findValuedKind(name);
  const readMerged = (session: number, column: number): number => {
    const value = rows.valueAt(panel, session, column);
    const day = rows.dayOf(panel, session, column);
    const isOld = kind !== null && day < sm.sessions[session]!;
    return isOld ? valuation!().onSession({ kind, column, session, day, value }) : value;
  };
  return {
    // Values of several rows are not in one row of the panel.
    ...(rows.isAnyMerged ? {} : { panel: { cells: panel, rowAt: rows.startOf, less: 0, gaps: null } }),
    fill(session, columns, out) {
      if (rows.isMerged(session)) {
        for (let i = 0; i < columns.length; i++) out[i] = readMerged(session, columns[i]!);
        return;
      }
      const offset = rows.startOf(session);
      if (offset < 0) out.fill(NaN);
      else for (let i = 0; i < columns.length; i++) out[i] = panel[offset + columns[i]!]!;
    },
  };
}

export function multiplySeries(leftSeries: Series, right: Series): Series {
  if (isWholePanel(leftSeries) && isWholePanel(right)) return multiplyPanels(leftSeries.panel, right.panel);
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const factor = scratch.subarray(0, columns.length);
      leftSeries.fill(session, columns, out);
      right.fill(session, columns, factor);
      for (let i = 0; i < columns.length; i++) out[i]! *= factor[i]!;
    },
  };
}

interface PanelBacked {
  readonly panel: SeriesPanel;
}

/** Returns true if the values of a series are exactly the cells of a panel. */
function isWholePanel(series: Series): series is Series & PanelBacked {
  return series.panel?.less === 0 && series.panel.gaps === null;
}

function multiplyPanels(leftSeriesPanel: SeriesPanel, right: SeriesPanel): Series {
  const [lefts, rights] = [leftSeriesPanel.cells, right.cells];
  return {
    fill(session, columns, out) {
      const [a, b] = [leftSeriesPanel.rowAt(session), right.rowAt(session)];
      if (a < 0 || b < 0) out.fill(NaN);
      else multiplyCells({ lefts, a, rights, b }, columns, out);
    },
  };
}

interface TwoRows {
  readonly lefts: Float64Array;
  /** Start of the row in the left panel. */
  readonly a: number;
  readonly rights: Float64Array;
  readonly b: number;
}

function multiplyCells({ lefts, a, rights, b }: TwoRows, columns: Int32Array, out: Float64Array): void {
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!;
    out[i] = lefts[a + column]! * rights[b + column]!;
  }
}

export function createConstantSeries(value: number): Series {
  return { fill: (_session, _columns, out) => void out.fill(value) };
}

function hasGap(values: Float64Array): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) return true;
  return false;
}

/** Replaces missing values by the values of another row. */
function fillGaps(values: Float64Array, others: Float64Array): void {
  for (let i = 0; i < values.length; i++) if (values[i] !== values[i]) values[i] = others[i]!;
}

/** Returns a series with the value of the first series that has one. */
function createFallbackSeries(series: readonly Series[]): Series {
  if (series.length === 1) return series[0]!;
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const next = scratch.subarray(0, columns.length);
      series[0]!.fill(session, columns, out);
      for (let k = 1; k < series.length; k++) {
        if (!hasGap(out)) return;
        series[k]!.fill(session, columns, next);
        fillGaps(out, next);
      }
    },
  };
}

/** Returns a series of latest values that are at most `sessionsMax` sessions old. */
function createCarriedSeries(series: Series, sessionsMax: number): Series {
  let scratch = new Float64Array(0);
  return {
    fill(session, columns, out) {
      if (scratch.length < columns.length) scratch = new Float64Array(columns.length);
      const earlier = scratch.subarray(0, columns.length);
      series.fill(session, columns, out);
      for (let back = 1; back <= sessionsMax && session - back >= 0 && hasGap(out); back++) {
        series.fill(session - back, columns, earlier);
        fillGaps(out, earlier);
      }
    },
  };
}

/**
 * Returns the series of returns on every session (growth - 1). Without a price bar, the return consists of the cash of
 * corporate actions and the change of the exchange rate.
 */
function createReturnSeries(sm: SessionMarket, growth: Float64Array): Series {
  return {
    fill(session, columns, out) {
      const offset = readGrowthRow(sm, session);
      for (let i = 0; i < columns.length; i++) out[i] = growth[offset + columns[i]!]! - 1;
    },
  };
}

/**
 * Returns the series of growth between price bars on consecutive sessions, minus a number. The number is 1 for returns
 * and 0 for growth factors.
 */
function createGrowthBetweenBars(sm: SessionMarket, terms: Pick<SeriesTerms, 'growth' | 'gaps'>, less: number): Series {
  const growth = terms.growth();
  const { lastBar, securityCount } = sm;
  return {
    panel: { cells: growth, rowAt: (session) => readGrowthRow(sm, session), less, gaps: terms.gaps() },
    fill(session, columns, out) {
      const offset = readGrowthRow(sm, session);
      for (let i = 0; i < columns.length; i++) {
        const position = offset + columns[i]!;
        const isReturn = lastBar[position] === session && lastBar[position - securityCount] === session - 1;
        out[i] = isReturn ? growth[position]! - less : NaN;
      }
    },
  };
}

/**
 * Returns the series of dividend yields: ordinary dividends in the twelve months before the session, divided by its
 * close. 0 for a security that never paid.
 */
function createYieldSeries(
  { sessions, securityCount }: SessionMarket,
  dividends: DividendHistory,
  close: Series,
): Series {
  /** Sum for each security, and the day before which it applies. Sessions are read in order, so one sum suffices. */
  const sums = new Float64Array(securityCount);
  const endDays = new Float64Array(securityCount).fill(-Infinity);
  let [first, latest] = [Infinity, -Infinity];
  const computeSum = (column: number, day: Day): void => {
    if (day === first) {
      // Most callers need a single day.
      sums[column] = dividends.trailing(column, day);
      endDays[column] = day + 1;
      return;
    }
    const steps = dividends.steps(column);
    const position = findLastAtMost(steps.days, day);
    sums[column] = steps.sums[position] ?? 0;
    endDays[column] = steps.days[position + 1] ?? Infinity;
  };
  return {
    fill(session, columns, out) {
      const day = sessions[session]!;
      dividends.assertCovers(day);
      if (latest === -Infinity) first = day;
      if (day < latest) endDays.fill(-Infinity);
      latest = day;
      close.fill(session, columns, out);
      for (let i = 0; i < columns.length; i++) {
        const column = columns[i]!;
        if (day >= endDays[column]!) computeSum(column, day);
        out[i] = sums[column]! / out[i]!;
      }
    },
  };
}
