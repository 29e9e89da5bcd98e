import { estimatePeriodsPerYear } from '../calendars/periods-per-year.js';
import type { ReferenceValue } from '../market/market-data.js';
import { findSpell, type ReferenceSpell } from '../market/reference-spells.js';
import { isConstant } from '../numbers/constant.js';
import type { SessionMarket } from '../market/session-market.js';
import { computeDeviation, computeProduct, type Statistic } from './aggregates.js';
import type { MarketReturns } from './beta.js';
import type { DividendHistory } from './dividends.js';
import { isSessionReturn, type DerivedName, type FieldRequest } from './field-request.js';
import type { DatedGroups } from './groups.js';
import { findValuedKind, type ValuedKind } from './valuation.js';
import type { WindowReader } from './window-layout.js';
import { resolveName, type ValueKind } from './resolution.js';
import type { RollingStatistics } from './rolling-statistics.js';
import type { Series, SeriesTable, SeriesTerms } from './series.js';
import type { Tally } from './tally.js';

/** State shared by the cross-sections of all sessions. */
export interface SharedState {
  readonly sm: SessionMarket;
  readonly table: SeriesTable;
  readonly terms: SeriesTerms;
  spellsOf(name: string): readonly (readonly ReferenceSpell[])[];
  groupsOf(name: string): DatedGroups;
  referenceKindOf(name: string): ValueKind;
  /** Returns the reader of windows for a decision on a session. */
  windowsOf(series: Series, session: number): WindowReader;
  tallyOf(series: Series): Tally;
  /** Returns the market returns to which BETA is relative. */
  readonly marketReturns: MarketReturns;
  /** Statistics of rolling windows. Null if each window is computed separately. */
  readonly rolling: RollingStatistics | null;
  dividends: () => DividendHistory;
}

/** Returns true if a datapoint is an unmodified reference column. The values of such a column need not be numbers. */
export function isText({ sm, referenceKindOf }: SharedState, field: FieldRequest): boolean {
  const result = resolveName(sm.market, field);
  return (
    'dataset' in result &&
    result.dataset === 'reference' &&
    field.aggregate === 'last' &&
    field.transform === 'none' &&
    referenceKindOf(field.name) !== 'number'
  );
}

/** Returns the values of a text column known on a session. */
export function readTexts(
  { sm, spellsOf }: SharedState,
  { field, session, columns }: { readonly field: FieldRequest; readonly session: number; readonly columns: Int32Array },
): readonly ReferenceValue[] {
  if (session < 0) return Array.from(columns, () => null);
  const rows = spellsOf(field.name);
  return Array.from(columns, (column) => findSpell(rows[column]!, sm.sessions[session]!));
}

/** Source of a datapoint. */
export type DatapointSource =
  | {
      readonly kind: 'series';
      readonly series: Series;
      /** Series from which its windows are computed. */
      readonly trailing: Series;
      /** Kind of a value that corporate actions change; null for other values. */
      readonly valued: ValuedKind | null;
    }
  | {
      readonly kind: 'windowed';
      readonly statistic: Statistic;
      /** True if growth over gaps is included. */
      readonly isWhole: boolean;
    }
  | { readonly kind: 'beta' };

/** Datapoints that are amounts of money; they are always converted to index currency. */
const MONEY_DATAPOINTS: ReadonlySet<string> = new Set(['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'VALUE_TRADED']);
export const isMoney = (name: string): boolean => MONEY_DATAPOINTS.has(name);

/** Datapoints computed from growth factors, which are in index currency. */
export const GROWTH_DATAPOINTS: ReadonlySet<string> = new Set([
  'RETURN',
  'PRICE_RETURN',
  'VOLATILITY',
  'MOMENTUM',
  'BETA',
]);

const createAnnualisation =
  (periodsPerYear: number): Statistic =>
  (windows, out) => {
    computeDeviation(windows, out);
    for (let k = 0; k < out.length; k++) out[k] = isConstant(out[k]!) ? 0 : out[k]! * Math.sqrt(periodsPerYear);
  };

export function createSource({ sm, table }: SharedState, field: FieldRequest): DatapointSource {
  const result = resolveName(sm.market, field);
  if ('missing' in result) throw new Error(`the market has no ${result.missing}: fields are checked before a decision`);
  if (result.dataset !== 'derived') {
    const storedSeries = result.dataset === 'market' ? table.market(field.name) : table.reference(field.name);
    const series = isMoney(field.name) ? table.inIndexCurrency(storedSeries) : storedSeries;
    const isMarket = result.dataset === 'market';
    return { kind: 'series', series, trailing: series, valued: isMarket ? findValuedKind(field.name) : null };
  }
  const name = field.name as DerivedName; // derived datapoints have been resolved before
  if (name === 'BETA') return { kind: 'beta' };
  // A return is its growth factor minus one, so both have the same deviation.
  if (name === 'VOLATILITY') {
    const statistic = createAnnualisation(estimatePeriodsPerYear(sm.calendar.sessions));
    return { kind: 'windowed', statistic, isWhole: false };
  }
  if (name === 'MOMENTUM') return { kind: 'windowed', statistic: computeProduct, isWhole: true };
  const series = table.derived(name);
  return {
    kind: 'series',
    series,
    trailing: isSessionReturn(name) ? table.returns(name) : series,
    valued: findValuedKind(name),
  };
}

/** Returns the series from which windows over a datapoint are read. The datapoint must not itself be a statistic. */
export function createTrailingReader(shared: SharedState, field: FieldRequest): Series {
  const source = createSource(shared, field);
  if (source.kind !== 'series') throw new Error(`${field.name} is already a statistic`);
  return source.trailing;
}
