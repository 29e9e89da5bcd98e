import type { FieldUse } from '../datapoints/field-use.js';
import type { ComparisonNode } from './expressions/expression.js';

/** One reading of a datapoint, with the comparison that its value meets in an expression. */
export interface ComparedUse extends FieldUse {
  readonly comparison?: ComparisonNode;
}
