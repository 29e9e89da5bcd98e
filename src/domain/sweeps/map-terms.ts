import { toCanonicalJson } from '../json/canonical-json.js';
import type { Variation } from './variants.js';
import type { RankingName } from './rankings.js';

/** Parameter of a sweep with the values of its variants. */
export interface SweptParameter {
  readonly pointer: string;
  /** Values in the requested order. */
  readonly values: readonly unknown[];
}

/** Explanation of a map of a sweep over some of its parameters. */
export interface MapTerms {
  readonly aggregation: 'first_by_rank';
  readonly sentence: string;
  readonly parameters: readonly SweptParameter[];
}

export function createMapTerms(variation: Variation, rankBy: RankingName): MapTerms {
  const values = new Map<string, Map<string, unknown>>();
  const addValue = (pointer: string, value: unknown): void => {
    const valueByText = values.get(pointer) ?? new Map<string, unknown>();
    const text = toCanonicalJson(value);
    valueByText.set(text, valueByText.get(text) ?? value);
    values.set(pointer, valueByText);
  };
  for (const patch of variation.patches ?? [])
    for (const [pointer, value] of Object.entries(patch)) addValue(pointer, value);
  for (const [pointer, all] of Object.entries(variation.grid ?? {})) for (const value of all) addValue(pointer, value);
  const parameters = Array.from(values, ([pointer, own]) => ({ pointer, values: [...own.values()] }));
  const sentence = `If a map omits parameters, a cell shows the variant that ranks first by ${rankBy.replaceAll('_', ' ')} over their values. Fix these parameters to show a single variant.`;
  return { aggregation: 'first_by_rank', sentence, parameters };
}
