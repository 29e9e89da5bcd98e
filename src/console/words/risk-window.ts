import { formatCount } from './numbers.js';
import { isObject, type Json } from './paths.js';

/** The parts of the contract schemas that are read here, by schema name. */
type DescribedModel = Readonly<
  Record<string, { readonly properties?: Readonly<Record<string, { readonly description?: string }>> }>
>;

/**
 * Describes the risk model of a derived index for the note of a figure.
 * @returns null while the contract is not loaded
 */
export function formatRiskSource(model: Json | undefined, schemas: DescribedModel | undefined): string | null {
  if (typeof model === 'string') return `model ${model}`;
  const sessions = isObject(model) ? model['sessions'] : undefined;
  if (typeof sessions === 'number') return `last ${formatCount(sessions)} returns`;
  const usual = /(\d{1,6}) in a derived index/.exec(
    schemas?.['RiskEstimator']?.properties?.['sessions']?.description ?? '',
  )?.[1];
  return usual === undefined ? null : `last ${formatCount(Number(usual))} returns`;
}

/**
 * Describes the returns from which the risk of optimised weights is estimated.
 * @param model id of a stored model, settings of a model, or undefined
 * @returns null while the contract is not loaded
 */
export function formatRiskWindow(model: Json | undefined, schemas: DescribedModel | undefined): string | null {
  if (typeof model === 'string') return `Risk of the stored model ${model}.`;
  const sessions = isObject(model) ? model['sessions'] : undefined;
  if (typeof sessions === 'number') return `Risk of the last ${formatCount(sessions)} returns.`;
  const [, usual] = schemas?.['RiskEstimator']?.properties?.['sessions']?.description?.split('Default: ') ?? [];
  return usual === undefined ? null : `Risk is a forecast from past returns: ${usual}`;
}
