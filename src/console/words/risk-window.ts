import type { WeightsView } from '#clients/typescript/divisor.js';
import { formatCount } from './numbers.js';
import { getValueAt, isObject, type Json } from './paths.js';

/** Parts of the contract schemas that are needed here, by schema name. */
type SchemaDefaults = Readonly<
  Record<string, { readonly properties?: Readonly<Record<string, { readonly default?: unknown }>> }>
>;

/**
 * Describes the returns from which the risk of optimised weights is estimated, for example "last 504 returns".
 * @param model id of a stored model, settings of a model, or undefined
 * @returns null while the contract, which has the default, is not loaded
 */
export function formatRiskWindow(model: Json | undefined, schemas: SchemaDefaults | undefined): string | null {
  if (typeof model === 'string') return `stored model ${model}`;
  const sessions = (isObject(model) ? model['sessions'] : undefined) ?? findDefaultSessions(schemas);
  return typeof sessions === 'number' ? `last ${formatCount(sessions)} returns` : null;
}

type Estimate = Pick<NonNullable<WeightsView['risk']>, 'observations' | 'risk_model' | 'window_start' | 'window_end'>;

/** Describes the returns from which a forecast is estimated, for example `504 daily returns, 2020-01-02 to 2021-12-31`. */
export function formatEstimation({ observations, risk_model: model, window_start: start, window_end: end }: Estimate) {
  const dates = start === end ? `of ${end}` : `${start} to ${end}`;
  return model === null ? `${formatCount(observations ?? 0)} daily returns, ${dates}` : `model ${model}, ${dates}`;
}

/** Returns the default number of returns of the risk model of a derived index. */
const findDefaultSessions = (schemas: SchemaDefaults | undefined): Json | undefined =>
  getValueAt(schemas?.['DerivationPayload']?.properties?.['risk_model']?.default as Json | undefined, ['sessions']);
