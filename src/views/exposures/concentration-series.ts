import type { Side } from './sides.js';

export interface ConcentrationSeries {
  /** Sum of squared weights. */
  readonly herfindahl: Float64Array;
  /** 1 over it; 0 without a weight. */
  readonly effective: Float64Array;
  /** Largest weight, by its magnitude. */
  readonly largest: Float64Array;
}

/** Concentration of what a side holds on each of so many dates. */
export function concentrations(side: Side, dates: number): ConcentrationSeries {
  const herfindahl = new Float64Array(dates);
  const largest = new Float64Array(dates);
  const weightsAt = side.pass();
  for (let k = 0; k < dates; k++) {
    const weights = weightsAt(k);
    let squares = 0;
    let most = 0;
    for (let i = 0; i < weights.length; i++) {
      const weight = Math.abs(weights[i]!);
      squares += weight * weight;
      if (weight > most) most = weight;
    }
    herfindahl[k] = squares;
    largest[k] = most;
  }
  return { herfindahl, effective: herfindahl.map((value) => (value === 0 ? 0 : 1 / value)), largest };
}

/** Half the sum of the differences between the weights of two sides, over the names of both, on each date. */
export function activeShares(own: Side, benchmark: Side, dates: number): Float64Array {
  const places = new Map(own.names.map((name, place) => [name, place]));
  const placeOf = Int32Array.from(benchmark.names, (name) => places.get(name) ?? -1);
  const [ownAt, otherAt] = [own.pass(), benchmark.pass()];
  const active = new Float64Array(own.names.length);
  return Float64Array.from({ length: dates }, (_, k) => {
    active.set(ownAt(k));
    const other = otherAt(k);
    let outside = 0;
    for (let i = 0; i < other.length; i++) {
      if (placeOf[i]! >= 0) active[placeOf[i]!]! -= other[i]!;
      else outside += Math.abs(other[i]!);
    }
    return active.reduce((sum, value) => sum + Math.abs(value), outside) / 2;
  });
}
