import { z } from 'zod';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { TailGoal, TailMeasure } from '../objectives/tail.js';
import type { ProgramRow } from './program-row.js';
import type { DatapointExpression } from '../datapoints/expressions/tree.js';

/**
 * Portfolio that a row measures trades from: the index, the weights solved before, or the weights just before the
 * rebalance, after drift.
 */
export type Reference = 'index' | 'previous' | 'held';

/** A portfolio that trades are measured from. */
export interface ReferencePortfolio {
  /** Of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Weight in securities outside the problem. */
  readonly outside: number;
}

/** Values that a row asked for. */
export interface MissingValues {
  readonly field: string;
  /** NaN where missing, [N]. */
  readonly values: Float64Array;
  /** What becomes of securities without one, as a clause. */
  readonly effect: string;
}

/** What a class may ask when it translates itself into rows of the program. All arrays follow `identifiers`. */
export interface RowContext {
  /** Names of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** `previous` is the index where there is no solved portfolio yet; null where nothing is held yet. */
  reference(reference: Reference): ReferencePortfolio | null;
  /** A numeric datapoint, or an expression, as of the rebalance date, NaN where missing, [N]. */
  numbers(field: string | DatapointExpression): Float64Array;
  /** A category as of the rebalance date, null where missing, [N]. */
  categories(field: string): readonly (string | null)[];
  /** Median of VALUE_TRADED over the trailing sessions, NaN where missing, [N]. */
  medianValueTraded(window: number): Float64Array;
  /** Covariance times the index weights, [N]. */
  covarianceTimesIndex(): Float64Array;
  /** The worst of some scenarios. */
  tail(measure: TailMeasure, confidence: number, terms: ScenarioTerms): TailGoal;
  /** Reports securities without a value of a datapoint. */
  missing(lack: MissingValues): void;
  /** Whether a row without a scope covers a name, and the group it is in; every one unless given. */
  covers?(name: number): boolean;
}

/** A portfolio with the datapoints of its securities. */
export interface MeasuredPortfolio {
  readonly weights: Float64Array;
  /** NaN where missing. */
  numbers(field: string | DatapointExpression): Float64Array;
}

/** One constraint class: everything the service knows of it. */
export interface ConstraintClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'constraint';
  readonly kind: 'eq' | 'ineq';
  /** Unit of its slack. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly convex: boolean;
  /** Set where its rows measure trades from the previous solved weights whatever their parameters say. */
  readonly tradesFromPrevious?: true;
  /** Set where its rows measure scenarios, with the parameters that say which. */
  readonly readsScenarios?: true;
  /** Set where a limit given as one number bounds both sides: `lower` by its negative. */
  readonly isSymmetric?: true;
  readonly params: P;
  /** The same of a row that is watched and not solved for, where its bounds are wider. */
  readonly watched?: P;
  /** Rows of the program; an expanding class gives one per member. */
  toRows(params: z.output<P>, context: RowContext): ProgramRow[];
  /** What the bounds of a row of the class are about, of a portfolio; of a class whose bounds may follow a path. */
  measureOf?(params: z.output<P>, portfolio: MeasuredPortfolio): number;
}

/** Keeps the parameter types of an entry for its `toRows`. */
export function constraintClass<P extends z.ZodObject>(
  entry: Omit<ConstraintClass<P>, 'category'>,
): ConstraintClass<P> {
  return { category: 'constraint', ...entry };
}
