import type { SeriesPayload } from '#clients/typescript/divisor.js';
import type { Line } from '../../components/chart/series.js';
import type { Json, JsonObject } from '../../words/paths.js';

/** Newest run of the index that a sweep varies. */
export interface Reference {
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
export function createReferenceLine(dates: readonly string[], reference: Reference | null): readonly Line[] {
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
