import { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { TailGoal, TailMeasure } from '../objectives/tail.js';
import type { ProgramRow } from './program-row.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/**
 * Portfolio from which a row measures trades: the index, the previous solved weights, or the drifted weights just
 * before the rebalance.
 */
export type Reference = 'index' | 'previous' | 'held';

/** Reference portfolio with its weights inside and outside the problem. */
export interface ReferencePortfolio {
  /** Weights of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Weight in securities outside the problem. */
  readonly outside: number;
}

/** Datapoint that a row needs, with its missing values. */
export interface MissingValues {
  readonly field: string;
  /** Values of the datapoint, NaN if missing, [N]. */
  readonly values: Float64Array;
  /** Treatment of securities without a value, as a clause for a sentence. */
  readonly effect: string;
}

/** Data from which a constraint class creates the rows of the program. All arrays follow `identifiers`. */
export interface RowContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /**
   * Returns a reference portfolio. `previous` returns the index if no portfolio has been solved yet; null if there are
   * no holdings yet.
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
  /** True if one parameter limits both sides; `lower` is then its negative. */
  readonly isSymmetric?: true;
  readonly params: P;
  /** Schema for the parameters of a watched row, if it allows wider bounds than that of an optimised row. */
  readonly watched?: P;
  /** Returns rows of the program; an expanding class returns one row per member. */
  toRows(params: z.output<P>, context: RowContext): ProgramRow[];
  /** Returns the bounded quantity of a portfolio; only for a class whose bounds may follow a path. */
  measureOf?(params: z.output<P>, portfolio: MeasuredPortfolio): number;
}

/** Defines a constraint class; infers the parameter type of `toRows` from its schema. */
export function defineConstraintClass<P extends z.ZodObject>(
  entry: Omit<ConstraintClass<P>, 'category'>,
): ConstraintClass<P> {
  return { category: 'constraint', ...entry };
}
