import { weightedPercentiles } from '#domain/analytics/weighted-percentiles.js';
import type { Day } from '#domain/days.js';
import type { Side } from './sides.js';

/** What a datapoint is weighted by: the holdings of the run, or those of the benchmark. */
export type SideName = 'own' | 'benchmark';

/** Reads datapoints as known at the close of a day. */
export interface FieldReader {
  readonly fields: readonly string[];
  /**
   * @param held Weights of the run on the day: what a datapoint is relative to, BETA for instance, are these names.
   */
  on(day: Day, held: Float64Array): FieldsOfDay;
}

export interface FieldsOfDay {
  /**
   * Values of a side's names, [names], NaN where missing or without a weight; valid until the next call.
   * @param field Position in the fields.
   */
  values(field: number, side: SideName, weights: Float64Array): Float64Array;
}

const PERCENTILES = { p10: 0.1, p25: 0.25, p50: 0.5, p75: 0.75, p90: 0.9 } as const;
type Percentile = keyof typeof PERCENTILES;
const PERCENTILE_NAMES = Object.keys(PERCENTILES) as Percentile[]; // Object.keys returns plain strings.

/** A datapoint on dates, weighted by what is held; NaN where nothing held has a value. */
export interface FieldSeries {
  readonly mean: Float64Array;
  /** Share of the weights, by their magnitude, that has a value. */
  readonly coverage: Float64Array;
  readonly percentiles: Readonly<Record<Percentile, Float64Array>>;
}

/** The fields of both sides on dates, [fields]. */
export function fieldSeries(
  reader: FieldReader,
  { own, benchmark }: { readonly own: Side; readonly benchmark: Side | null },
  days: readonly Day[],
): { readonly own: FieldSeries[]; readonly benchmark: FieldSeries[] | null } {
  const { fields } = reader;
  if (fields.length === 0) return { own: [], benchmark: benchmark && [] };
  const ownSeries = fields.map(() => collected(own, days.length));
  const others = benchmark && fields.map(() => collected(benchmark, days.length));
  const heldAt = own.pass();
  const othersAt = benchmark?.pass();
  days.forEach((day, k) => {
    const held = heldAt(k);
    const read = reader.on(day, held);
    ownSeries.forEach((series, field) => series.add(k, read.values(field, 'own', held), held));
    if (!othersAt || !others) return;
    const weights = othersAt(k);
    others.forEach((series, field) => series.add(k, read.values(field, 'benchmark', weights), weights));
  });
  return {
    own: ownSeries.map(({ series }) => series),
    benchmark: others && others.map(({ series }) => series),
  };
}

interface Collected {
  readonly series: FieldSeries;
  add(k: number, values: Float64Array, weights: Float64Array): void;
}

function collected(side: Side, dates: number): Collected {
  const mean = new Float64Array(dates);
  const coverage = new Float64Array(dates);
  const percentiles = {
    p10: new Float64Array(dates),
    p25: new Float64Array(dates),
    p50: new Float64Array(dates),
    p75: new Float64Array(dates),
    p90: new Float64Array(dates),
  };
  const ordered = weightedPercentiles(side.names.length, Object.values(PERCENTILES));
  const row = new Float64Array(PERCENTILE_NAMES.length);
  return {
    series: { mean, coverage, percentiles },
    add(k, values, weights) {
      let total = 0;
      let covered = 0;
      let gross = 0;
      let sum = 0;
      for (let i = 0; i < weights.length; i++) {
        const weight = weights[i]!;
        gross += Math.abs(weight);
        if (weight === 0 || Number.isNaN(values[i]!)) continue;
        covered += Math.abs(weight);
        total += weight;
        sum += weight * values[i]!;
      }
      mean[k] = total === 0 ? NaN : sum / total;
      coverage[k] = gross === 0 ? 0 : covered / gross;
      ordered.into(row, values, weights);
      PERCENTILE_NAMES.forEach((name, p) => (percentiles[name][k] = row[p]!));
    },
  };
}
