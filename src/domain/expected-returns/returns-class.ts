import type { z } from 'zod';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/** Data available to a model of expected returns. Arrays follow `identifiers`. */
export interface ReturnsContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** Annualised covariance of the securities. */
  readonly metric: Metric;
  /**
   * Annual return of cash, which the objective subtracts from expected returns. Models of returns above cash add it.
   */
  readonly cash: number;
  /**
   * Annualised arithmetic mean returns over the window of the risk model, [N]. If a security is not in the model, it
   * has the mean of the other securities.
   */
  means(): Float64Array;
  /** Returns a numeric datapoint as of the decision, NaN if missing, [N]. */
  numbers(field: DatapointExpression): Float64Array;
  /**
   * Reports a warning.
   * @param path path of the parameter, with its leading dot.
   */
  warn(message: string, path?: string): void;
}

/** Model of expected returns with all its operations. */
export interface ReturnsClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'expected_returns';
  /** True if the model computes returns in excess of cash. The cash return of the objective is then added to them. */
  readonly isAboveCash: boolean;
  readonly params: P;
  /** Returns the datapoints that the model reads. */
  reads(params: z.output<P>): readonly FieldUse[];
  /** Describes the returns, for the middle of a sentence in a methodology. */
  sentence(params: z.output<P>): string;
  /**
   * Returns annualised expected returns, [N].
   * @throws Refusal VALIDATION_FAILED if views contradict each other
   */
  returns(params: z.output<P>, context: ReturnsContext): Float64Array;
}

type OptionalMember = 'reads' | 'isAboveCash';

/** Defines a model of expected returns; infers the parameter types from its schema. */
export function defineReturnsClass<P extends z.ZodObject>(
  entry: Omit<ReturnsClass<P>, 'category' | OptionalMember> & Partial<Pick<ReturnsClass<P>, OptionalMember>>,
): ReturnsClass<P> {
  return { category: 'expected_returns', isAboveCash: false, reads: () => [], ...entry };
}
