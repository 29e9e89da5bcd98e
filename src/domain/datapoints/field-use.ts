import type { ReferenceValue } from '../market/market-data.js';
import { latest } from './field-request.js';
import type { ComparisonNode, DatapointExpression, ExpressionNode } from './expressions/tree.js';

/** One reading of a datapoint by a rule or weighting. */
export interface FieldUse {
  readonly field: DatapointExpression;
  /** Parameter that names the field, below `params`; empty when the class itself names it. */
  readonly path: string;
  /** What the class makes of it: a number, a category, or whatever the datapoint is. */
  readonly as: 'number' | 'category' | 'any' | 'condition';
  /** Whether the value is read as money in index currency whatever the datapoint. */
  readonly money: boolean;
  /** The comparison that the value meets, when there is one. */
  readonly comparison?: ComparisonNode;
}

/** A numeric datapoint. */
export function numeric(field: DatapointExpression | string, path = '', money = false): FieldUse {
  return { field: requested(field), path, as: 'number', money };
}

/** A datapoint as a parameter names it: by its name alone the latest value. */
export function requested(field: DatapointExpression | string): DatapointExpression {
  return typeof field === 'string' ? latest(field) : field;
}

/** A condition on datapoints. */
export function conditional(field: ExpressionNode, path: string): FieldUse {
  return { field, path, as: 'condition', money: false };
}

/** A datapoint whose values are groups. */
export function category(name: string, path = ''): FieldUse {
  return { field: latest(name), path, as: 'category', money: false };
}

/** The group of a value: its text; names without a value form one group of their own, null. */
export function groupOf(value: ReferenceValue): string | null {
  return value === null ? null : String(value);
}
