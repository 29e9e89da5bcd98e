import { canonicalJson } from '../json/canonical-json.js';
import type { Patch } from './variants.js';
import type { RankingName } from './rankings.js';

/** A parameter of a sweep with the values that its variants have. */
export interface SweptParameter {
  readonly pointer: string;
  /** In the order in which they were asked for. */
  readonly values: readonly unknown[];
}

/** How a map of a sweep over some of its parameters is to be read. */
export interface MapTerms {
  readonly aggregation: 'first_by_rank';
  readonly sentence: string;
  readonly parameters: readonly SweptParameter[];
}

/** @param patches by variant */
export function mapTerms(patches: readonly Patch[], rankBy: RankingName): MapTerms {
  const values = new Map<string, Map<string, unknown>>();
  for (const patch of patches)
    for (const [pointer, value] of Object.entries(patch)) {
      const known = values.get(pointer) ?? new Map<string, unknown>();
      known.set(canonicalJson(value), known.get(canonicalJson(value)) ?? value);
      values.set(pointer, known);
    }
  const parameters = Array.from(values, ([pointer, own]) => ({ pointer, values: [...own.values()] }));
  const sentence = `Where a map leaves parameters out, a cell shows the variant that ranks first by ${rankBy.replaceAll('_', ' ')} over their values; fixing them shows one slice.`;
  return { aggregation: 'first_by_rank', sentence, parameters };
}
