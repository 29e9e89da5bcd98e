import { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { TailGoal, TailMeasure } from '../objectives/tail.js';
import type { ProgramRow } from './program-row.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/**
 * Portfolio from which a row measures trades: the index, the previous solved weights, or the weights just before the
 * rebalance, after drift.
 */
export type Reference = 'index' | 'previous' | 'held';

/** Portfolio from which trades are measured. */
export interface ReferencePortfolio {
  /** Weights of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Weight in securities outside the problem. */
  readonly outside: number;
}

/** Values needed by a row. */
export interface MissingValues {
  readonly field: string;
  /** NaN if missing, [N]. */
  readonly values: Float64Array;
  /** Treatment of securities without a value, as a clause. */
  readonly effect: string;
}

/** Data available to a class when it translates itself into rows of the program. All arrays follow `identifiers`. */
export interface RowContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** `previous` returns the index if no portfolio has been solved yet, and null if there are no holdings yet. */
  reference(reference: Reference): ReferencePortfolio | null;
  /** Returns a numeric datapoint, or an expression, as of the rebalance date, NaN if missing, [N]. */
  numbers(field: string | DatapointExpression): Float64Array;
  /** Returns a category as of the rebalance date, null if missing, [N]. */
  categories(field: string): readonly (string | null)[];
  /** Returns the median of VALUE_TRADED over the trailing sessions, NaN if missing, [N]. */
  medianValueTraded(window: number): Float64Array;
  /** Returns covariance times the index weights, [N]. */
  covarianceTimesIndex(): Float64Array;
  /** Returns the mean of the worst scenarios. */
  tail(measure: TailMeasure, confidence: number, terms: ScenarioTerms): TailGoal;
  /** Reports securities without a value of a datapoint. */
  missing(lack: MissingValues): void;
  /** Returns true if a row without a scope covers a security and its group. Default: covers all. */
  covers?(name: number): boolean;
}

/** Portfolio with the datapoints of its securities. */
export interface MeasuredPortfolio {
  readonly weights: Float64Array;
  /** NaN if missing. */
  numbers(field: string | DatapointExpression): Float64Array;
}

/** Constraint class, with all its operations. */
export interface ConstraintClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'constraint';
  readonly kind: 'eq' | 'ineq';
  /** Unit of its slack. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly convex: boolean;
  /** True if its rows always measure trades from the previous solved weights. */
  readonly tradesFromPrevious?: true;
  /** Present if its rows measure scenarios: the parameters that select them. */
  readonly readsScenarios?: true;
  /** True if one number limits both sides: `lower` is its negative. */
  readonly isSymmetric?: true;
  readonly params: P;
  /** Parameters of a row that is watched and not solved, if its bounds are wider. */
  readonly watched?: P;
  /** Returns rows of the program; an expanding class returns one per member. */
  toRows(params: z.output<P>, context: RowContext): ProgramRow[];
  /** Returns the bounded quantity of a portfolio, for a class whose bounds may follow a path. */
  measureOf?(params: z.output<P>, portfolio: MeasuredPortfolio): number;
}

/** Keeps the parameter types of an entry for its `toRows`. */
export function defineConstraintClass<P extends z.ZodObject>(
  entry: Omit<ConstraintClass<P>, 'category'>,
): ConstraintClass<P> {
  return { category: 'constraint', ...entry };
}
