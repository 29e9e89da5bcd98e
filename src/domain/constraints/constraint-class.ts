import { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { TailGoal, TailMeasure } from '../objectives/tail.js';
import type { ProgramRow } from './program-row.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/**
 * Portfolio from which a row measures trades. This is the index, the previous solved weights, or the drifted weights
 * just before the rebalance.
 */
export type Reference = 'index' | 'previous' | 'held';

/** Reference portfolio, with its weights in the securities of the problem and outside them. */
export interface ReferencePortfolio {
  /** Weights of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Sum of the absolute weights of securities outside the problem. */
  readonly outside: number;
}

/** Datapoint that a row needs, with its missing values. */
export interface MissingValues {
  readonly field: string;
  /** Values of the datapoint, NaN if missing, [N]. */
  readonly values: Float64Array;
  /** Clause for a sentence that states how securities without a value are treated. */
  readonly effect: string;
}

/** Data from which a constraint class creates the rows of the program. All arrays follow `identifiers`. */
export interface RowContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /**
   * Returns a reference portfolio. For `previous`, returns the index if no portfolio has been solved yet. Returns null
   * if there are no holdings yet.
   */
  reference(reference: Reference): ReferencePortfolio | null;
  /** Returns a numeric datapoint or an expression as of the rebalance date, NaN if missing, [N]. */
  numbers(field: string | DatapointExpression): Float64Array;
  /** Returns a category as of the rebalance date, null if missing, [N]. */
  categories(field: string): readonly (string | null)[];
  /** Returns the median of VALUE_TRADED over the trailing sessions, NaN if missing, [N]. */
  medianValueTraded(window: number): Float64Array;
  /** Returns covariance times the index weights, [N]. */
  covarianceTimesIndex(): Float64Array;
  /**
   * Returns the annualised expected returns, [N]. Without expected returns, warns that the constraint has no effect and
   * returns null.
   */
  expectedReturns(): Float64Array | null;
  /** Returns the goal whose value is the mean of the worst scenarios. */
  tail(measure: TailMeasure, confidence: number, terms: ScenarioTerms): TailGoal;
  /** Reports securities without a value of a datapoint. */
  missing(lack: MissingValues): void;
  /** Returns true if a row without a scope covers a security and its group. Default: it covers all. */
  covers?(name: number): boolean;
}

/** Portfolio with the datapoints of its securities. */
export interface MeasuredPortfolio {
  readonly weights: Float64Array;
  /** Returns a numeric datapoint or an expression, NaN if missing. */
  numbers(field: string | DatapointExpression): Float64Array;
  /** Returns a category, null if missing. */
  categories(field: string): readonly (string | null)[];
}

/** Constraint class, with all its operations. */
export interface ConstraintClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'constraint';
  readonly kind: 'eq' | 'ineq';
  /** Unit of the slack of its rows. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly convex: boolean;
  /** True if its rows always measure trades from the previous solved weights. */
  readonly tradesFromPrevious?: true;
  /** True if its rows measure scenarios, which its parameters select. */
  readonly readsScenarios?: true;
  /** True if its rows measure expected returns. */
  readonly needsReturns?: true;
  /** True if one parameter limits both sides; `lower` is then its negative. */
  readonly isSymmetric?: true;
  readonly params: P;
  /**
   * Schema for the parameters of a monitored row. Present if a monitored row may have wider bounds than an optimised
   * row.
   */
  readonly watched?: P;
  /** Returns rows of the program. A class that covers several members returns one row per member. */
  toRows(params: z.output<P>, context: RowContext): ProgramRow[];
  /**
   * Returns the bounded quantity of a portfolio. Defined only if the bounds of the class may follow a path over time.
   */
  measureOf?(params: z.output<P>, portfolio: MeasuredPortfolio): number;
}

/** Defines a constraint class; infers the parameter type of `toRows` from its schema. */
export function defineConstraintClass<P extends z.ZodObject>(
  entry: Omit<ConstraintClass<P>, 'category'>,
): ConstraintClass<P> {
  return { category: 'constraint', ...entry };
}
