import { z } from 'zod';
import { AssetIdentifier } from '../base/schema.js';
import { NumberExpression } from '../datapoints/expression-checks.js';
import { Datapoint, LAG_SESSIONS_MAX } from '../datapoints/fields.js';

/** Parameters shared by several classes. */

export const missing = z.enum(['exclude', 'include']).default('exclude').meta({
  label: 'Missing values',
  help: 'Treatment of a security without a value of the datapoint. In a ranking, an included security without a value is last.',
});

export const ascending = z
  .boolean()
  .default(false)
  .meta({ label: 'Ascending', help: 'True ranks the smallest values first.' });

export const groupBy = z.string().min(1).max(64).nullable().default(null).meta({
  label: 'Group by',
  help: 'Column whose values define groups. The rule is applied to each group separately. Securities without a value form one group.',
});

/** Parameter with the name of a datapoint, whose latest value is used. */
export const fieldName = z.string().min(1).max(64).meta({ label: 'Field', help: 'Column or derived datapoint.' });

export const pluginName = z.string().min(1).max(64).meta({
  label: 'Plug-in',
  help: 'Name of the plug-in among the `plugins` of the document.',
});

/**
 * Parameter with a datapoint: a name, an object with window, lag, aggregate and transform, or an expression of
 * datapoints.
 */
export const field = z.union([z.string().min(1).max(64), Datapoint, NumberExpression]).meta({
  label: 'Field',
  help: 'Name of a column or derived datapoint, an expression as text or as nodes, or an object with name, window, lag, aggregate and transform.',
  ref: 'Datapoint',
  format: 'expression',
});

export const defaultToField = (fallback: string) => field.default(fallback);

export const count = z
  .int()
  .min(1)
  .max(20_000)
  .meta({ label: 'Count', help: 'Number of securities that are kept.', unit: 'securities' });

export const identifiers = z
  .array(AssetIdentifier)
  .max(20_000)
  .meta({ label: 'Identifiers', help: 'Asset identifiers.' });

export const defineWindow = (fallback: number) =>
  z.int().min(1).max(LAG_SESSIONS_MAX).default(fallback).meta({
    label: 'Window',
    help: 'Number of trailing sessions of the calendar up to the decision date. Sessions without a price bar have no value.',
    unit: 'sessions',
  });

const MONEY_MAX = 1e18;
const money = z.number().min(0).max(MONEY_MAX);

/** Returns the schema of an optional amount in index currency. */
export const defineMoneyBound = (label: string, help: string) =>
  money.nullable().default(null).meta({ label, help, unit: 'money in index currency' });
export const defineMoneyRequired = (label: string, help: string, unit: string) => money.meta({ label, help, unit });
export const defineMoneyPerDay = (label: string, help: string) =>
  money.nullable().default(null).meta({ label, help, unit: 'money per day in index currency' });

const BOUND_MAX = 1e300;
export const defineBound = (label: string, help: string, unit?: string) =>
  z
    .number()
    .min(-BOUND_MAX)
    .max(BOUND_MAX)
    .nullable()
    .default(null)
    .meta({ label, help, ...(unit === undefined ? {} : { unit }) });

/** Returns a refinement that requires the lower bound not to exceed the upper bound. */
export function requireOrder<K extends string>(low: K, high: K) {
  return {
    check: (params: Readonly<Record<K, number | null>>) =>
      params[low] === null || params[high] === null || params[low] <= params[high],
    issue: { path: [low], params: { finding: 'EMPTY_RANGE' }, error: `is above ${high}` },
  };
}
