import type { ReferenceValue } from '../market/market-data.js';
import { createLatestRequest } from './field-request.js';
import type { ComparisonNode, DatapointExpression, ExpressionNode } from './expressions/tree.js';

/** Use of a datapoint by a rule or weighting. */
export interface FieldUse {
  readonly field: DatapointExpression;
  /**
   * Path of the parameter that names the datapoint, below `params`. Empty if no parameter names it, because the class
   * determines it.
   */
  readonly path: string;
  /** Use of the values: as numbers, as categories, or of any type. */
  readonly as: 'number' | 'category' | 'any' | 'condition';
  /** True if values are read as money in index currency, regardless of the datapoint. */
  readonly money: boolean;
  /** Comparison that uses the values, if any. */
  readonly comparison?: ComparisonNode;
}

/** Returns the use of a numeric datapoint. */
export function useNumber(field: DatapointExpression | string, path = '', money = false): FieldUse {
  return { field: toRequest(field), path, as: 'number', money };
}

/** Returns the datapoint of a parameter. A plain name means its latest value. */
export function toRequest(field: DatapointExpression | string): DatapointExpression {
  return typeof field === 'string' ? createLatestRequest(field) : field;
}

/** Returns the use of the datapoints in a condition. */
export function useCondition(field: ExpressionNode, path: string): FieldUse {
  return { field, path, as: 'condition', money: false };
}

/** Returns the use of a datapoint whose values are groups. */
export function useCategory(name: string, path = ''): FieldUse {
  return { field: createLatestRequest(name), path, as: 'category', money: false };
}

/** Returns the group of a value as text. A missing value (null) forms a separate group. */
export function readGroup(value: ReferenceValue): string | null {
  return value === null ? null : String(value);
}
