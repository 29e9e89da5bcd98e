import type { MissingValues } from './constraint-class.js';

/** Securities without a value, and their total weight. */
export interface SecuritiesWithoutValue {
  readonly identifiers: readonly string[];
  readonly weight: number;
}

/**
 * Returns the securities of a portfolio without a value.
 * @param candidates [N] each
 */
export function listMissingValues(
  { values }: MissingValues,
  candidates: { readonly identifiers: readonly string[]; readonly weights: Float64Array },
): SecuritiesWithoutValue {
  const positions = Array.from(values.keys()).filter((place) => Number.isNaN(values[place]!));
  return {
    identifiers: positions.map((place) => candidates.identifiers[place]!),
    weight: positions.reduce((sum, place) => sum + Math.abs(candidates.weights[place]!), 0),
  };
}

/**
 * Describes how many securities lack a value, and how much weight they have.
 * @param whole portfolio that the weight refers to, for example `the index`
 */
export function describeLackingValues(
  { field, effect }: MissingValues,
  { identifiers, weight }: SecuritiesWithoutValue,
  { count, whole }: { readonly count: number; readonly whole: string },
): string {
  return `${identifiers.length} of ${count} securities, ${Number((weight * 100).toPrecision(4))}% of ${whole}, have no ${field}; ${effect}.`;
}
