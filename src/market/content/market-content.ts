import { findLastAtMost } from '#domain/base/numbers.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { isCurrency, parsePair } from '#domain/market/rates.js';
import type {
  CorporateAction,
  MarketData,
  Membership,
  ReferenceTable,
  SeriesTable,
} from '#domain/market/market-data.js';
import { canPage, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { allocateGrowablePanel, computePanelBytes, type Panels } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';

/** Maximum rounding error of a dividend that is derived from closes. */
export interface DividendError {
  readonly identifier: string;
  readonly exDay: Day;
  readonly error: number;
}

/** Values of a store. They do not depend on the name and source of the store. */
export interface MarketContent extends Panels {
  readonly reference: ReferenceTable;
  readonly actions: readonly CorporateAction[];
  readonly universes: readonly Membership[];
  /** Absent if the store has no series. */
  readonly series?: SeriesTable;
}

export type ContentTables = Omit<MarketContent, keyof Panels>;

export const ROWS_MAX = 200_000_000;

/** Maximum number of identifiers of one store: twice the largest universe that a client may request. */
export const IDENTIFIERS_MAX = 50_000;

/** Maximum number of rows of the series dataset: a thousand daily series over twenty years. */
export const SERIES_ROWS_MAX = 5_000_000;

/** Maximum number of cells of a panel that is kept in files: 4 GiB of float64, 30 years of 50,000 securities. */
const PAGED_CELLS_MAX = 2 ** 29;

/**
 * Returns the maximum size in bytes of the panels of a store with this number of fields. It exceeds the memory if
 * panels can be kept in files.
 */
export function computePanelBytesMax(fields: number): number {
  const { panelBytes: inMemory } = findMemoryLimit();
  return canPage()
    ? Math.max(inMemory, computePanelBytes({ dates: 1, identifiers: PAGED_CELLS_MAX, fields }))
    : inMemory;
}

/** Thrown if a market has more rows than the limit of its reader. */
export class RowsFault extends Error {
  override readonly name = 'RowsFault';
}

/** Returns true and reports a finding if a market of this shape exceeds the limits of a store. */
export function refuseSize(
  shape: { readonly dates: number; readonly identifiers: number; readonly fields: number },
  problems: Problems,
): boolean {
  if (shape.identifiers > IDENTIFIERS_MAX) {
    problems.error({
      code: 'OUT_OF_RANGE',
      path: 'market',
      message: `The market has ${shape.identifiers} identifiers; at most ${IDENTIFIERS_MAX} are accepted.`,
    });
    return true;
  }
  const bytes = computePanelBytes(shape);
  if (bytes <= findMemoryLimit().panelBytes) return false;
  const bytesMax = computePanelBytesMax(shape.fields);
  if (bytes <= bytesMax) return false;
  problems.error({
    code: 'OUT_OF_RANGE',
    path: 'market',
    message: `${shape.dates} dates of ${shape.identifiers} identifiers and ${shape.fields} columns need ${bytes} bytes; at most ${Math.floor(bytesMax)} are accepted.`,
  });
  return true;
}

/** Returns an object with the series of a content. The object is empty if there are no series. */
export function getSeries(series: SeriesTable): Pick<MarketContent, 'series'> {
  return series.size === 0 ? {} : { series };
}

/**
 * Combines panels and tables into one content. If an identifier is both a security and a series, returns undefined and
 * adds a finding.
 */
export function joinContent(panels: Panels, tables: ContentTables, problems: Problems): MarketContent | undefined {
  reportSeries(panels.identifiers, tables.series, problems);
  return problems.errors > 0 ? undefined : { ...panels, ...tables };
}

/** Reports identifiers that are both securities and series, and exchange rates of 0 or less. */
export function reportSeries(
  identifiers: readonly string[],
  series: SeriesTable | undefined,
  problems: Problems,
): void {
  if (series === undefined) return;
  for (const identifier of identifiers) {
    if (series.has(identifier))
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier}]`,
        message: `${identifier} is in market and in series; an identifier must be in only one of them.`,
        value: identifier,
      });
  }
  for (const { identifier, first, count } of findRatesNotAboveZero(series)) {
    problems.warning({
      code: 'OUT_OF_RANGE',
      path: `series[${identifier}]`,
      message: `The exchange rate ${identifier} is ${first.value} on ${first.date}${count > 1 ? ` and 0 or less on ${count - 1} more days` : ''}. Computations that need it on such a day are refused.`,
      value: first.value,
    });
  }
}

/** Series of an exchange rate with invalid values. */
interface NonPositiveRate {
  readonly identifier: string;
  /** First value of 0 or less. */
  readonly first: { readonly date: string; readonly value: number };
  /** Number of days with such a value. */
  readonly count: number;
}

/** Returns the series that are named by a currency pair and have values of 0 or less. @cost O(values) */
export function findRatesNotAboveZero(series: SeriesTable): NonPositiveRate[] {
  return [...series.values()].flatMap(({ identifier, days, closes }) => {
    const isPair = parsePair(identifier)?.every(isCurrency) === true;
    const position = isPair ? closes.findIndex((close) => close <= 0) : -1;
    if (position < 0) return [];
    const first = { date: formatDay(days[position]!), value: closes[position]! };
    return [{ identifier, first, count: closes.filter((close) => close <= 0).length }];
  });
}

/** Security and date of a close. */
export interface PriceLocation {
  readonly identifier: string;
  readonly date: string;
}

type Closes = Pick<MarketData, 'identifiers' | 'dates' | 'fields'>;

/**
 * Returns a content with some closes replaced. Returns the same object if it has none of these securities and sessions.
 */
export function overridePrices<C extends Closes>(
  content: C,
  overrides: readonly (PriceLocation & { readonly price: number })[] = [],
): C {
  const cells = overrides.flatMap(({ price, ...place }) => {
    const cell = findCell(content, place);
    return cell === undefined ? [] : [{ cell, price }];
  });
  if (cells.length === 0) return content;
  const { identifiers, dates, fields } = content;
  const close = fields.get('CLOSE')!;
  const panel = new Float64Array(allocateGrowablePanel(dates.length, identifiers.length, fields.size), 0, close.length);
  panel.set(close);
  for (const { cell, price } of cells) panel[cell] = price;
  return { ...content, fields: new Map([...fields].map(([name, old]) => [name, name === 'CLOSE' ? panel : old])) };
}

export function copyCloses<C extends Closes>(content: C, otherCloses: Closes, places: readonly PriceLocation[]): C {
  const close = otherCloses.fields.get('CLOSE')!;
  return overridePrices(
    content,
    places.flatMap((place) => {
      const cell = findCell(otherCloses, place);
      return cell === undefined ? [] : [{ ...place, price: close[cell]! }];
    }),
  );
}

/** Returns the cell of a close in the panels. Returns undefined if the security or the session is missing. */
export function findCell({ identifiers, dates }: Closes, { identifier, date }: PriceLocation): number | undefined {
  const day = parseValidDay(date);
  const row = findLastAtMost(dates, day);
  const column = identifiers.indexOf(identifier);
  return column < 0 || row < 0 || dates[row] !== day ? undefined : row * identifiers.length + column;
}
