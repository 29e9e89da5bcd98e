import type { z } from 'zod';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CatalogueEntry } from '../catalogue/type-spec.js';
import type { FieldUse } from '../datapoints/field-use.js';
import type { Goal } from './goal.js';
import type { ScenarioTerms } from './scenario-terms.js';

/** What an objective may ask when it states its goal. Arrays follow `identifiers`. */
export interface GoalContext {
  /** Names of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** Annualised covariance. */
  readonly metric: Metric;
  readonly algebra: DenseAlgebra;
  /** Names that may be held at all, [N], 1 for those. */
  readonly eligible: Uint8Array;
  /** A category as of the rebalance date, null where missing, [N]. */
  categories(field: string): readonly (string | null)[];
  /** Annualised expected returns, [N]; asked for by objectives that need them alone. */
  expectedReturns(): Float64Array;
  /** Simple returns of the names by scenario, [T x N]; asked for by objectives of scenarios alone. */
  scenarios(terms: ScenarioTerms): Float64Array;
  /** @param at Of the parameter that it is about, with its dot. */
  warn(message: string, at?: string): void;
}

/** What the figure of an objective is of its value. */
export const MEASURE_FORMS = {
  root: 'the root of a variance, a fraction a year',
  return: 'the value itself, a fraction a year',
  loss: 'the value itself, a fraction lost',
  number: 'the value itself, without a unit',
} as const;

/** How an objective and changes of it are reported. */
export interface Measure {
  /** `the tracking error`, in sentences. */
  readonly name: string;
  readonly form: keyof typeof MEASURE_FORMS;
  readonly unit: 'basis points' | 'number';
  /** The reported figure, from the objective's value. */
  of(value: number): number;
}

/** Estimates that may be replaced by the worst of a set. */
export const UNCERTAIN = ['returns', 'covariance'] as const;

/** One objective: everything the service knows of it. */
export interface ObjectiveClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'objective';
  readonly sense: 'minimise' | 'maximise';
  /** Whether expected returns have to be given. */
  readonly needsReturns: boolean;
  /** What it takes cash to earn a year, and measures returns above. */
  cash(params: z.output<P>): number;
  /** Estimates whose worst case it can be made best for. */
  readonly uncertain: readonly (typeof UNCERTAIN)[number][];
  readonly params: P;
  readonly measure: Measure;
  /** Datapoints it reads. */
  reads(params: z.output<P>): readonly FieldUse[];
  /**
   * Why no weights may have it though the rows hold together.
   * @param most Largest numerator of a ratio, costs taken off; null where it is not known.
   */
  readonly unattainable: ((params: z.output<P>, most: number | null) => string) | null;
  /** What it asks for, as the end of a sentence of a methodology. */
  sentence(params: z.output<P>): string;
  toGoal(params: z.output<P>, context: GoalContext): Goal;
}

type Optional = 'reads' | 'unattainable' | 'uncertain' | 'cash';

/** Keeps the parameter types of an entry for its behaviour. */
export function objectiveClass<P extends z.ZodObject>(
  entry: Omit<ObjectiveClass<P>, 'category' | Optional> & Partial<Pick<ObjectiveClass<P>, Optional>>,
): ObjectiveClass<P> {
  return { category: 'objective', cash: () => 0, reads: () => [], unattainable: null, uncertain: [], ...entry };
}

/** A number of a sentence. */
export const inWords = (value: number): string => String(Number(value.toPrecision(6)));

/** The root of a variance, in basis points. */
export const rootMeasure = (name: string): Measure => ({
  name,
  form: 'root',
  unit: 'basis points',
  of: (value) => 1e4 * Math.sqrt(Math.max(value, 0)),
});

/** A return, in basis points. */
export const returnMeasure = (name: string): Measure => ({
  name,
  form: 'return',
  unit: 'basis points',
  of: (value) => 1e4 * value,
});

/** A loss, in basis points. */
export const lossMeasure = (name: string): Measure => ({ ...returnMeasure(name), form: 'loss' });

/** A number without a unit. */
export const plainMeasure = (name: string): Measure => ({ name, form: 'number', unit: 'number', of: (value) => value });
