import type { Day } from '../../days.js';
import { formatDay } from '../../days.js';
import { LIMITS } from '../../limits.js';
import type { ReferenceValue } from '../../market/market-data.js';
import { referenceSpells, spellAt, type ReferenceSpell } from '../../market/reference-spells.js';
import { panelRow, type SessionMarket } from '../../market/session-market.js';
import { deviation, product, STATISTICS, type Statistic } from './aggregates.js';
import { equalWeightedReturns, betas } from './beta.js';
import { dividendHistory, type DividendHistory } from './dividends.js';
import { requestKey, type DerivedName, type FieldRequest } from './field-request.js';
import { glanceAt } from './glance.js';
import { datedGroups, groupsOfValues, type DatedGroups, type Grouping } from './groups.js';
import type { WindowReader } from './laid-out.js';
import { referenceKind, resolve, type ValueKind } from './resolution.js';
import { createSeriesBook, type Series, type SeriesBook, type SeriesTerms } from './series.js';
import { createTally, type Tally } from './tally.js';
import { createTrail } from './trail.js';
import { transformed } from './transforms.js';
import { countOver, halfOf, overWindow } from './windows.js';

/** Window of VOLATILITY, MOMENTUM and BETA where none is asked for: a year of sessions. */
export const DEFAULT_WINDOW = 252;

/** Every datapoint of the market as known at the close of one session. */
export interface CrossSection {
  readonly session: number;
  readonly day: Day;
  readonly market: SessionMarket;
  /** Names of the universe at the decision, columns ascending. */
  readonly universe: Int32Array;
  readonly dividends: DividendHistory;
  /**
   * A numeric datapoint for some names, NaN where missing; the values of another kind of column are missing.
   * @param columns Survivors, ascending, [n]: a transform is taken across them.
   * @returns       [n]
   */
  numbers(field: FieldRequest, columns: Int32Array): Float64Array;
  /** As `numbers`, in index currency: a price read as money. */
  money(field: FieldRequest, columns: Int32Array): Float64Array;
  /** Any datapoint as stored, null where missing, [n]. */
  values(field: FieldRequest, columns: Int32Array): readonly ReferenceValue[];
  /** The groups that a datapoint splits the names into: each distinct value's text, names without one together. */
  groups(field: FieldRequest, columns: Int32Array): Grouping;
  /** What a datapoint's values are. */
  kindOf(field: FieldRequest): ValueKind;
  /** How many values a datapoint has over its trailing sessions, down to none, [n]. */
  count(field: FieldRequest, columns: Int32Array): Float64Array;
  /** A statistic of a datapoint that no request can name, over its trailing sessions. */
  statistic(field: FieldRequest, statistic: Statistic, observationsMin: number, columns: Int32Array): Float64Array;
  /** Growth factors of the total variant, [S - first x N], for the use of some names. */
  growth(columns: Int32Array): Float64Array;
  /** From which sessions a name's datapoint was read. */
  read(field: FieldRequest, column: number): DatapointRead;
}

/** The dates behind one value: of the bars, rows or events it was read from. */
export interface DatapointRead {
  /** First date read; equals `to` for a single value; null when nothing was found. */
  readonly from: string | null;
  readonly to: string | null;
  /** Values found between them. */
  readonly observations: number;
}

export interface CrossSections {
  at(session: number, universe: Int32Array): CrossSection;
}

/** Cross-sections of one market; what does not depend on the session is computed once. */
export function createCrossSections(sm: SessionMarket, terms: SeriesTerms): CrossSections {
  const book = createSeriesBook(sm, terms);
  const spells = new Map<string, readonly (readonly ReferenceSpell[])[]>();
  const groups = new Map<string, DatedGroups>();
  const kinds = new Map<string, ValueKind>();
  const trails = new Map<Series, WindowReader>();
  const tallies = new Map<Series, Tally>();
  let dividends: DividendHistory | undefined;
  let firstSession: number | undefined;
  const shared: Shared = {
    sm,
    book,
    terms,
    spellsOf(name) {
      const known = spells.get(name) ?? referenceSpells(sm.market, name);
      spells.set(name, known);
      return known;
    },
    groupsOf(name) {
      const known = groups.get(name) ?? datedGroups(shared.spellsOf(name));
      groups.set(name, known);
      return known;
    },
    referenceKindOf(name) {
      const known = kinds.get(name) ?? referenceKind(sm.market, name);
      kinds.set(name, known);
      return known;
    },
    windowsOf(series, session) {
      // Most questions are about one decision: only from the second on are windows kept for those to come.
      if (session === firstSession) return glanceAt(series);
      const known = trails.get(series) ?? createTrail(series, sm.names);
      trails.set(series, known);
      return known;
    },
    tallyOf(series) {
      const known = tallies.get(series) ?? createTally(series, sm.names);
      tallies.set(series, known);
      return known;
    },
    dividends: () => (dividends ??= dividendHistory(sm.market)),
  };
  return {
    at(session, universe) {
      firstSession ??= session;
      return crossSection(shared, session, universe);
    },
  };
}

interface Shared {
  readonly sm: SessionMarket;
  readonly book: SeriesBook;
  readonly terms: SeriesTerms;
  spellsOf(name: string): readonly (readonly ReferenceSpell[])[];
  groupsOf(name: string): DatedGroups;
  referenceKindOf(name: string): ValueKind;
  /** Windows for a decision on a session. */
  windowsOf(series: Series, session: number): WindowReader;
  tallyOf(series: Series): Tally;
  dividends(): DividendHistory;
}

function crossSection(shared: Shared, session: number, universe: Int32Array): CrossSection {
  const { sm, book, terms } = shared;
  const cache = new Map<string, { readonly columns: Int32Array; readonly values: Float64Array }>();

  /** Survivors only ever shrink, so a vector computed for earlier ones still holds the later ones. */
  const cached = (key: string, columns: Int32Array, compute: () => Float64Array): Float64Array => {
    const known = cache.get(key);
    const picked = known === undefined ? undefined : pick(known.columns, known.values, columns);
    if (picked !== undefined) return picked;
    const values = compute();
    cache.set(key, { columns, values });
    return values;
  };

  const plain = (field: FieldRequest, columns: Int32Array, convert: boolean): Float64Array => {
    const key = `${convert ? '$' : ''}${requestKey({ ...field, transform: 'none' })}`;
    return cached(key, columns, () => compute(field, columns, convert));
  };

  const compute = (field: FieldRequest, columns: Int32Array, convert: boolean): Float64Array => {
    const end = session - field.lag;
    if (end < 0) return new Float64Array(columns.length).fill(NaN);
    const source = sourceOf(shared, field);
    if (convert || isMoney(field.name) || GROWTH_BASED.has(field.name)) terms.requireRates(session, columns);
    const length = field.window ?? DEFAULT_WINDOW;
    const from = Math.max(0, end - length + 1);
    const window = { end, length, observationsMin: halfOf(length) };
    if (source.kind === 'beta') {
      const of = { returns: shared.windowsOf(book.returns(), session), from, end };
      return betas(of, { market: equalWeightedReturns(of, universe), length, columns });
    }
    if (source.kind === 'windowed') {
      const values = overWindow(shared.windowsOf(book.growth(), session), source.statistic, window, columns);
      if (source.isWhole) {
        terms.gaps().multiplyGrowth(values, columns, { from, to: end });
        for (let k = 0; k < values.length; k++) values[k]! -= 1;
      }
      return values;
    }
    if (field.aggregate !== 'last') {
      const series = convert ? book.inIndexCurrency(source.trailing) : source.trailing;
      if (field.aggregate === 'count') return countOver(shared.tallyOf(series), window, columns);
      return overWindow(shared.windowsOf(series, session), STATISTICS[field.aggregate], window, columns);
    }
    const series = convert ? book.inIndexCurrency(source.series) : source.series;
    return latestValues({ sm, series, end, columns, maxStaleSessions: terms.maxStaleSessions, rebase: source.isClose });
  };

  const numbers = (field: FieldRequest, columns: Int32Array, convert: boolean) =>
    transformed(plain(field, columns, convert), field.transform);

  const values = (field: FieldRequest, columns: Int32Array): readonly ReferenceValue[] => {
    if (isText(shared, field)) {
      const day = sm.sessions[Math.max(0, session - field.lag)]!;
      const rows = shared.spellsOf(field.name);
      return Array.from(columns, (column) => (session < field.lag ? null : spellAt(rows[column]!, day)));
    }
    return Array.from(numbers(field, columns, false), (value) => (Number.isNaN(value) ? null : value));
  };

  return {
    session,
    day: sm.sessions[session]!,
    market: sm,
    universe,
    get dividends() {
      return shared.dividends();
    },
    numbers: (field, columns) => numbers(field, columns, false),
    money: (field, columns) => numbers(field, columns, true),
    values,
    groups(field, columns) {
      if (!isText(shared, field) || session < field.lag) return groupsOfValues(values(field, columns));
      return shared.groupsOf(field.name)(sm.sessions[session - field.lag]!, columns);
    },
    kindOf: (field) => (isText(shared, field) ? shared.referenceKindOf(field.name) : 'number'),
    count(field, columns) {
      const end = session - field.lag;
      return countOver(
        shared.tallyOf(trailingOf(shared, field)),
        { end, length: field.window!, observationsMin: 0 },
        columns,
      );
    },
    statistic(field, statistic, observationsMin, columns) {
      const series = trailingOf(shared, field);
      if (GROWTH_BASED.has(field.name)) terms.requireRates(session, columns);
      return overWindow(
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
    read: (field, column) => datapointRead(shared, { field, column, session }),
  };
}

/** Whether the datapoint is a reference column read as it stands, whose values need not be numbers. */
function isText({ sm, referenceKindOf }: Shared, field: FieldRequest): boolean {
  const found = resolve(sm.market, field);
  return (
    'dataset' in found &&
    found.dataset === 'reference' &&
    field.aggregate === 'last' &&
    field.transform === 'none' &&
    referenceKindOf(field.name) !== 'number'
  );
}

type Source =
  | {
      readonly kind: 'series';
      readonly series: Series;
      /** What a window reads of it. */
      readonly trailing: Series;
      readonly isClose: boolean;
    }
  | {
      readonly kind: 'windowed';
      readonly statistic: Statistic;
      /** Whether it is of the growth over gaps as well. */
      readonly isWhole: boolean;
    }
  | { readonly kind: 'beta' };

/** Datapoints that are amounts of money: converted to index currency wherever they come from. */
const MONEY: ReadonlySet<string> = new Set(['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP', 'VALUE_TRADED']);
const isMoney = (name: string): boolean => MONEY.has(name);

/** Datapoints made of growth factors, which are in index currency. */
export const GROWTH_BASED: ReadonlySet<string> = new Set(['RETURN', 'VOLATILITY', 'MOMENTUM', 'BETA']);

const annualised: Statistic = (windows, out) => {
  deviation(windows, out);
  for (let k = 0; k < out.length; k++) out[k]! *= Math.sqrt(LIMITS.PERIODS_PER_YEAR);
};

function sourceOf({ sm, book }: Shared, field: FieldRequest): Source {
  const found = resolve(sm.market, field);
  if ('missing' in found) throw new Error(`the market has no ${found.missing}: fields are checked before a decision`);
  if (found.dataset !== 'derived') {
    const stored = found.dataset === 'market' ? book.market(field.name) : book.reference(field.name);
    const series = isMoney(field.name) ? book.inIndexCurrency(stored) : stored;
    return { kind: 'series', series, trailing: series, isClose: field.name === 'CLOSE' };
  }
  const name = field.name as DerivedName; // resolved as derived
  if (name === 'BETA') return { kind: 'beta' };
  // A return is its growth factor less one, so both deviate alike.
  if (name === 'VOLATILITY') return { kind: 'windowed', statistic: annualised, isWhole: false };
  if (name === 'MOMENTUM') return { kind: 'windowed', statistic: product, isWhole: true };
  const series = book.derived(name);
  return { kind: 'series', series, trailing: name === 'RETURN' ? book.returns() : series, isClose: false };
}

/** What windows read of a datapoint that is not a statistic itself. */
function trailingOf(shared: Shared, field: FieldRequest): Series {
  const source = sourceOf(shared, field);
  if (source.kind !== 'series') throw new Error(`${field.name} is a statistic already`);
  return source.trailing;
}

interface Latest {
  readonly sm: SessionMarket;
  readonly series: Series;
  readonly end: number;
  readonly columns: Int32Array;
  readonly maxStaleSessions: number;
  /** Carry a close on the share basis of the session. */
  readonly rebase: boolean;
}

/** The latest value of each name on or before a session, missing when it is too old to price the name. */
function latestValues({ sm, series, end, columns, maxStaleSessions, rebase }: Latest): Float64Array {
  const values = new Float64Array(columns.length);
  series.fill(end, columns, values);
  const one = new Int32Array(1);
  const cell = new Float64Array(1);
  for (let i = 0; i < columns.length; i++) {
    if (!Number.isNaN(values[i]!)) continue;
    one[0] = columns[i]!;
    const session = latestSession({ sm, series, end, column: columns[i]!, maxStaleSessions });
    if (session < 0) continue;
    series.fill(session, one, cell);
    values[i] = rebase ? cell[0]! * shareBasis(sm, { session, end, column: columns[i]! }) : cell[0]!;
  }
  return values;
}

/**
 * Session of the latest value that still counts: at most so many sessions old, or of the latest bar while that prices the name
 * (its own exchange may have been closed for longer); -1 when there is none.
 */
function latestSession({
  sm,
  series,
  end,
  column,
  maxStaleSessions,
}: Omit<Latest, 'columns' | 'rebase'> & { readonly column: number }): number {
  const one = Int32Array.of(column);
  const cell = new Float64Array(1);
  const has = (session: number): boolean => {
    series.fill(session, one, cell);
    return !Number.isNaN(cell[0]!);
  };
  for (let session = end; session >= Math.max(0, end - maxStaleSessions); session--) if (has(session)) return session;
  const bar = sm.lastBar[panelRow(sm, end) + column]!;
  return bar >= 0 && sm.barAge(end, column) <= maxStaleSessions && has(bar) ? bar : -1;
}

/** Carried close on the share basis of `end` over the close as traded at `session`. */
function shareBasis(
  sm: SessionMarket,
  { session, end, column }: { readonly session: number; readonly end: number; readonly column: number },
): number {
  return sm.carriedClose(end, column) / sm.closeAt(session, column);
}

function datapointRead(
  shared: Shared,
  { field, column, session }: { readonly field: FieldRequest; readonly column: number; readonly session: number },
): DatapointRead {
  const { sm, terms } = shared;
  const nothing: DatapointRead = { from: null, to: null, observations: 0 };
  const end = session - field.lag;
  if (end < 0) return nothing;
  const dateOf = (position: number) => formatDay(sm.sessions[position]!);
  const found = resolve(sm.market, field);
  if ('dataset' in found && found.dataset === 'reference' && field.aggregate === 'last') {
    const spell = shared.spellsOf(field.name)[column]!.findLast(({ from }) => from <= sm.sessions[end]!);
    if (spell === undefined || spell.value === null) return nothing;
    const since = spell.from === -Infinity ? null : formatDay(spell.from);
    return { from: since, to: since, observations: 1 };
  }
  const source = sourceOf(shared, field);
  if (source.kind === 'series' && field.aggregate === 'last') {
    const { series } = source;
    const at = latestSession({ sm, series, end, column, maxStaleSessions: terms.maxStaleSessions });
    return at < 0 ? nothing : { from: dateOf(at), to: dateOf(at), observations: 1 };
  }
  const trailing = source.kind === 'series' ? source.trailing : shared.book.returns();
  const length = field.window ?? DEFAULT_WINDOW;
  const cell = new Float64Array(1);
  const one = Int32Array.of(column);
  const read: number[] = [];
  for (let position = Math.max(0, end - length + 1); position <= end; position++) {
    trailing.fill(position, one, cell);
    if (!Number.isNaN(cell[0]!)) read.push(position);
  }
  return read.length === 0 ? nothing : { from: dateOf(read[0]!), to: dateOf(read.at(-1)!), observations: read.length };
}

/** Values of a subset of columns, both ascending; undefined when a column is not among those known. */
function pick(known: Int32Array, values: Float64Array, columns: Int32Array): Float64Array | undefined {
  if (known === columns) return values;
  const picked = new Float64Array(columns.length);
  let position = 0;
  for (let i = 0; i < columns.length; i++) {
    while (position < known.length && known[position]! < columns[i]!) position++;
    if (known[position] !== columns[i]) return undefined;
    picked[i] = values[position]!;
  }
  return picked;
}
