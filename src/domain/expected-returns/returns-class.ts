import type { z } from 'zod';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/** What a model of expected returns may ask. Arrays follow `identifiers`. */
export interface ReturnsContext {
  /** Names of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** Annualised covariance. */
  readonly metric: Metric;
  /** What cash earns a year by the objective, which takes it off again: models of returns above cash add it. */
  readonly cash: number;
  /**
   * Annualised arithmetic means over the window of the risk model, [N]; those of a name it does not cover are the mean
   * of the others.
   */
  means(): Float64Array;
  /** A numeric datapoint as of the decision, NaN where missing, [N]. */
  numbers(field: DatapointExpression): Float64Array;
  /** @param at Of the parameter that it is about, with its dot. */
  warn(message: string, at?: string): void;
}

/** One model of expected returns: everything the service knows of it. */
export interface ReturnsClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'expected_returns';
  /** Whether the model knows returns above cash alone: what an objective takes cash to earn is added. */
  readonly isAboveCash: boolean;
  readonly params: P;
  /** Datapoints it reads. */
  reads(params: z.output<P>): readonly FieldUse[];
  /** What the returns are, as the middle of a sentence of a methodology. */
  sentence(params: z.output<P>): string;
  /** Annualised expected returns, [N]. @throws Refusal VALIDATION_FAILED where views contradict each other */
  returns(params: z.output<P>, context: ReturnsContext): Float64Array;
}

type Optional = 'reads' | 'isAboveCash';

/** Keeps the parameter types of an entry for its behaviour. */
export function returnsClass<P extends z.ZodObject>(
  entry: Omit<ReturnsClass<P>, 'category' | Optional> & Partial<Pick<ReturnsClass<P>, Optional>>,
): ReturnsClass<P> {
  return { category: 'expected_returns', isAboveCash: false, reads: () => [], ...entry };
}
