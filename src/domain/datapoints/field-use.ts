import type { ReferenceValue } from '../market/market-data.js';
import { requestLatest } from './field-request.js';
import type { ComparisonNode, DatapointExpression, ExpressionNode } from './expressions/tree.js';

/** Use of a datapoint by a rule or weighting. */
export interface FieldUse {
  readonly field: DatapointExpression;
  /** Parameter that names the field, below `params`; empty if the class itself determines the field. */
  readonly path: string;
  /** Use by the class: as a number, as a category, or of any type. */
  readonly as: 'number' | 'category' | 'any' | 'condition';
  /** True if the value is read as money in index currency, regardless of the datapoint. */
  readonly money: boolean;
  /** Comparison that uses the value, if there is one. */
  readonly comparison?: ComparisonNode;
}

/** Returns the use of a numeric datapoint. */
export function useNumber(field: DatapointExpression | string, path = '', money = false): FieldUse {
  return { field: toRequest(field), path, as: 'number', money };
}

/** Returns a datapoint from a parameter: a plain name refers to its latest value. */
export function toRequest(field: DatapointExpression | string): DatapointExpression {
  return typeof field === 'string' ? requestLatest(field) : field;
}

/** Returns the use of a condition on datapoints. */
export function conditional(field: ExpressionNode, path: string): FieldUse {
  return { field, path, as: 'condition', money: false };
}

/** Returns the use of a datapoint whose values are groups. */
export function category(name: string, path = ''): FieldUse {
  return { field: requestLatest(name), path, as: 'category', money: false };
}

/** Returns the group of a value, as text; null for securities without a value, which form one group. */
export function readGroup(value: ReferenceValue): string | null {
  return value === null ? null : String(value);
}
