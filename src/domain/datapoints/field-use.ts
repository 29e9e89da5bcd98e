import type { ReferenceValue } from '../market/market-data.js';
import { latest, type FieldRequest } from './field-request.js';

/** One reading of a datapoint by a rule or weighting. */
export interface FieldUse {
  readonly field: FieldRequest;
  /** Parameter that names the field, below `params`; empty when the class itself names it. */
  readonly path: string;
  /** What the class makes of it: a number, a category, or whatever the datapoint is. */
  readonly as: 'number' | 'category' | 'any';
  /** Whether the value is read as money in index currency whatever the datapoint. */
  readonly money: boolean;
}

/** A numeric datapoint. */
export function numeric(field: FieldRequest | string, path = '', money = false): FieldUse {
  return { field: requested(field), path, as: 'number', money };
}

/** A datapoint as a parameter names it: by its name alone the latest value. */
export function requested(field: FieldRequest | string): FieldRequest {
  return typeof field === 'string' ? latest(field) : field;
}

/** A datapoint whose values are groups. */
export function category(name: string, path = ''): FieldUse {
  return { field: latest(name), path, as: 'category', money: false };
}

/** The group of a value: its text; names without a value form one group of their own, null. */
export function groupOf(value: ReferenceValue): string | null {
  return value === null ? null : String(value);
}
