export interface ConcentrationPayload {
  readonly constituents: number;
  readonly effective_assets: number;
  readonly herfindahl: number;
  readonly largest: number;
  readonly top_weights: Readonly<Record<string, number>>;
}

const TOPS = [1, 5, 10, 20] as const;

/**
 * How concentrated weights are. A short position counts by its magnitude. Names without weight do not count; without
 * any name every figure is 0.
 */
export function concentration(weights: Iterable<number>): ConcentrationPayload {
  const held = Array.from(weights, Math.abs)
    .filter((weight) => weight > 0)
    .toSorted((a, b) => b - a);
  const herfindahl = held.reduce((sum, weight) => sum + weight * weight, 0);
  const gross = held.reduce((sum, weight) => sum + weight, 0);
  return {
    constituents: held.length,
    effective_assets: effectiveNames(gross, herfindahl),
    herfindahl,
    largest: held[0] ?? 0,
    top_weights: Object.fromEntries(
      TOPS.map((count) => [String(count), held.slice(0, count).reduce((sum, weight) => sum + weight, 0)]),
    ),
  };
}

/**
 * Effective number of names: as many equal ones would be as concentrated. Of what is held, whatever of it is cash or
 * borrowed: the square of the gross weight over the sum of squared weights, n for n equal ones; 0 without any.
 */
export function effectiveNames(gross: number, squares: number): number {
  return squares > 0 ? (gross * gross) / squares : 0;
}

export interface DriftFigures {
  readonly maximum: number;
  readonly total_absolute: number;
  readonly turnover: number;
}

/** How far held weights have moved from their targets, both over the union of names. */
export function drift(held: Float64Array, target: Float64Array): DriftFigures {
  let maximum = 0;
  let total = 0;
  for (let i = 0; i < held.length; i++) {
    const move = Math.abs(held[i]! - target[i]!);
    if (move > maximum) maximum = move;
    total += move;
  }
  return { maximum, total_absolute: total, turnover: total / 2 };
}
