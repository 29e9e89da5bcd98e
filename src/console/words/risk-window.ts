import { count } from './numbers.js';
import { isObject, type Json } from './paths.js';

/** Schemas of the contract used here, by name. */
type Described = Readonly<
  Record<string, { readonly properties?: Readonly<Record<string, { readonly description?: string }>> }>
>;

/**
 * Which returns the risk behind solved weights is estimated from, in a sentence.
 * @param model as the terms have it: a stored one by its id, settings, or nothing
 * @returns null while the contract is not known
 */
export function riskWindow(model: Json | undefined, schemas: Described | undefined): string | null {
  if (typeof model === 'string') return `Risk of the stored model ${model}.`;
  const sessions = isObject(model) ? model['sessions'] : undefined;
  if (typeof sessions === 'number') return `Risk of the last ${count(sessions)} returns.`;
  const told = schemas?.['RiskEstimator']?.properties?.['sessions']?.description;
  if (told === undefined) return null;
  return `Weights as a derived index has them. Their risk is from ${told.charAt(0).toLowerCase()}${told.slice(1)}`;
}
