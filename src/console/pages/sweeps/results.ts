import type { SeriesPayload, SweepRow } from '#clients/typescript/divisor.js';
import type { Line } from '../../components/chart/series.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { computeMedian } from '../../words/statistics.js';
import { formatPatch } from './variants.js';

/** JSON pointers of the two parameters of a map. */
export interface MapAxes {
  readonly across: string;
  readonly down: string;
}

/** Varied parameter that is not an axis of the map. Its values are in the order of the request. */
export interface HiddenParameter {
  readonly pointer: string;
  readonly values: readonly string[];
  /** Value for which the map is shown. If it is null, each cell shows its best variant over all values. */
  readonly fixed: string | null;
}

/**
 * Returns the varied parameters that are not axes of the map.
 * @param fixed selected values as text, by pointer
 */
export function listHiddenParameters(
  rows: readonly SweepRow[],
  pointers: readonly string[],
  { across, down, fixed }: MapAxes & { readonly fixed: JsonObject },
): readonly HiddenParameter[] {
  return pointers
    .filter((pointer) => pointer !== across && pointer !== down)
    .map((pointer) => {
      const values = listValues(rows, pointer);
      return { pointer, values, fixed: values.find((value) => value === fixed[pointer]) ?? null };
    });
}

/** Returns the values of a parameter in the requested order. */
export function listValues(rows: readonly SweepRow[], pointer: string): readonly string[] {
  const inOrder = rows.toSorted((a, b) => a.variant - b.variant);
  return [...new Set(inOrder.filter(({ patch }) => pointer in patch).map(({ patch }) => formatPatch(patch[pointer])))];
}

interface Cell extends MapAxes {
  readonly column: string;
  readonly line: string;
  readonly hidden: readonly HiddenParameter[];
}

/** Returns the best variant of a cell. Returns undefined if none of its variants is ranked. */
export function findShownVariant(
  rows: readonly SweepRow[],
  { across, down, column, line, hidden }: Cell,
): SweepRow | undefined {
  return rows
    .filter(
      ({ patch, rank }) =>
        rank !== null &&
        formatPatch(patch[across]) === column &&
        formatPatch(patch[down]) === line &&
        hidden.every(({ pointer, fixed }) => fixed === null || formatPatch(patch[pointer]) === fixed),
    )
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))[0];
}

/** Match the end of the pointers to the number of selected securities and to the cap. */
const COUNT_POINTER = /\/params\/count$/;
const CAP_POINTER = /\/weighting\/cap$/;

/**
 * Returns the weight of all selected securities if each has its cap. If it is below 1, the cap cannot be kept. Returns
 * null for a variant that does not set both.
 */
export function findCapacity(patch: SweepRow['patch']): number | null {
  const getValueAt = (end: RegExp) => Object.entries(patch).find(([pointer]) => end.test(pointer))?.[1];
  const [count, cap] = [getValueAt(COUNT_POINTER), getValueAt(CAP_POINTER)];
  return typeof count === 'number' && typeof cap === 'number' ? count * cap : null;
}

/** Values at the two ends and in the middle of the colour scale. */
export interface Scale {
  readonly worst: number;
  /** Median of all variants. */
  readonly median: number;
  readonly best: number;
}

/** Strength of the colour at the ends of the scale, in percent. */
const STRONGEST_PERCENT = 55;

/** Creates the scale of a metric. @param values known values, at least one */
export const createScale = (values: readonly number[], isLowBetter: boolean): Scale => {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const ends = isLowBetter ? { worst: most, best: least } : { worst: least, best: most };
  return { ...ends, median: computeMedian(values) };
};

/**
 * Returns the colour of a value. Values better than the median have the colour of the first variant by rank in the chart
 * of levels, and worse ones the colour of the index. The colour is stronger the further the value is from the median.
 */
export function getColourAt(value: number | null, { worst, median, best }: Scale): string {
  if (value === null) return 'transparent';
  const isBetter = value === median || value > median === best > median;
  const span = Math.abs((isBetter ? best : worst) - median);
  const strength = span === 0 ? 0 : Math.round((Math.abs(value - median) / span) * STRONGEST_PERCENT);
  return `color-mix(in srgb, var(--series-${isBetter ? FIRST_COLOUR : WORSE_COLOUR}) ${strength}%, transparent)`;
}

/** Number of the series colour of the first variant by rank. */
export const FIRST_COLOUR = 1;
/** Number of the series colour of variants that are worse than the median. */
const WORSE_COLOUR = 2;

/** Newest run of the index that a sweep varies. */
export interface ReferenceRun {
  /** Name of the line, with the terms that differ from those of the sweep. */
  readonly label: string;
  /** Level of the portfolio after costs, as that of the variants. */
  readonly level: SeriesPayload;
}

/** Number of the series colour of the index. */
export const REFERENCE_COLOUR = 2;
/** Width in pixels. It is below that of solid lines: dashes on top of them are visible also where lines coincide. */
const REFERENCE_WIDTH = 1.9;

/** Terms that change the level of a portfolio. Dates do not: the level begins at 100 on the first date of the sweep. */
const LEVEL_TERMS = ['transaction_cost_bps', 'as_known', 'store_id'] as const;
const DEFAULTS: JsonObject = { transaction_cost_bps: 0 };

/** Returns the terms of a run that differ from those of a sweep, with their defaults. */
export const selectDifferentTerms = (run: JsonObject, sweep: JsonObject): JsonObject =>
  Object.fromEntries(
    LEVEL_TERMS.flatMap((name): (readonly [string, Json])[] => {
      const [own, other] = [run, sweep].map((terms) => terms[name] ?? DEFAULTS[name] ?? null);
      return own === other ? [] : [[name, own ?? null]];
    }),
  );

/**
 * Creates the line of the index, 100 on the first date. Returns no line if the run does not cover this date: it would
 * begin at another level.
 */
export function createReferenceLine(dates: readonly string[], reference: ReferenceRun | null): readonly Line[] {
  if (reference === null) return [];
  const { label, level } = reference;
  const byDate = new Map(level.index.map((date, at) => [date, level.data[at] ?? null]));
  const base = byDate.get(dates[0] ?? '') ?? null;
  if (base === null) return [];
  return [
    {
      id: 'index',
      label,
      values: dates.map((date) => {
        const value = byDate.get(date) ?? null;
        return value === null ? null : (100 * value) / base;
      }),
      colour: REFERENCE_COLOUR,
      isDashed: true,
      width: REFERENCE_WIDTH,
    },
  ];
}
