import type { z } from 'zod';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { Goal } from './goal.js';
import type { ScenarioTerms } from './scenario-terms.js';

/** Data from which an objective creates its goal. Arrays follow `identifiers`. */
export interface GoalContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** Annualised covariance of the securities. */
  readonly metric: Metric;
  readonly algebra: DenseAlgebra;
  /** 1 for securities that may be held, [N]. */
  readonly eligible: Uint8Array;
  /** Returns a category as of the rebalance date, null if missing, [N]. */
  categories(field: string): readonly (string | null)[];
  /** Returns annualised expected returns, [N]. Only objectives that need them call this function. */
  expectedReturns(): Float64Array;
  /** Returns simple returns of the securities by scenario, [T x N]. Only objectives on scenarios call this function. */
  scenarios(terms: ScenarioTerms): Float64Array;
  /**
   * Reports a warning.
   * @param path path of the parameter, with its leading dot.
   */
  warn(message: string, path?: string): void;
}

/** Forms in which the value of an objective is reported. */
export const MEASURE_FORMS = {
  root: 'the root of a variance, a fraction per year',
  return: 'the value itself, a fraction per year',
  loss: 'the value itself, a fraction lost',
  number: 'the value itself, without a unit',
} as const;

/** Reported figure of an objective and of changes to it. */
export interface Measure {
  /** Name within a sentence, for example `the tracking error`. */
  readonly name: string;
  readonly form: keyof typeof MEASURE_FORMS;
  readonly unit: 'basis points' | 'number';
  /** Converts the value of the objective into the reported figure. */
  of(value: number): number;
}

/** Estimates that an objective can replace by their worst case. */
export const UNCERTAIN_ESTIMATES = ['returns', 'covariance'] as const;

/** Objective with all its operations. */
export interface ObjectiveClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'objective';
  readonly sense: 'minimise' | 'maximise';
  /** True if the objective requires expected returns. */
  readonly needsReturns: boolean;
  /** Returns the annual cash return that the objective subtracts from returns. */
  cash(params: z.output<P>): number;
  /** Estimates that the objective can replace by their worst case. */
  readonly uncertain: readonly (typeof UNCERTAIN_ESTIMATES)[number][];
  readonly params: P;
  readonly measure: Measure;
  /**
   * Returns the datapoints that the objective reads.
   * @param isSecurity returns true for an identifier of the market
   */
  reads(params: z.output<P>, isSecurity: (name: string) => boolean): readonly FieldUse[];
  /**
   * Explains why weights may not exist although the rows are feasible.
   * @param most largest numerator of a ratio after costs. Null if unknown.
   */
  readonly unattainable: ((params: z.output<P>, most: number | null) => string) | null;
  /** Describes the objective, for the end of a sentence in a methodology. */
  sentence(params: z.output<P>): string;
  toGoal(params: z.output<P>, context: GoalContext): Goal;
}

type OptionalMember = 'reads' | 'unattainable' | 'uncertain' | 'cash';

/** Defines an objective; infers the parameter types from its schema. */
export function defineObjectiveClass<P extends z.ZodObject>(
  entry: Omit<ObjectiveClass<P>, 'category' | OptionalMember> & Partial<Pick<ObjectiveClass<P>, OptionalMember>>,
): ObjectiveClass<P> {
  return { category: 'objective', cash: () => 0, reads: () => [], unattainable: null, uncertain: [], ...entry };
}

/** Formats a number for a sentence. */
export const formatForSentence = (value: number): string => String(Number(value.toPrecision(6)));

/** Creates the measure of an objective whose figure is the root of a variance, in basis points. */
export const createRootMeasure = (name: string): Measure => ({
  name,
  form: 'root',
  unit: 'basis points',
  of: (value) => 1e4 * Math.sqrt(Math.max(value, 0)),
});

/** Creates the measure of an objective whose figure is a return, in basis points. */
export const createReturnMeasure = (name: string): Measure => ({
  name,
  form: 'return',
  unit: 'basis points',
  of: (value) => 1e4 * value,
});

/** Creates the measure of an objective whose figure is a loss, in basis points. */
export const createLossMeasure = (name: string): Measure => ({ ...createReturnMeasure(name), form: 'loss' });

/** Creates the measure of an objective whose figure has no unit. */
export const createPlainMeasure = (name: string): Measure => ({
  name,
  form: 'number',
  unit: 'number',
  of: (value) => value,
});
