import { z } from 'zod';
import type { FindingCode } from '../refusals/findings.js';
import { AssetIdentifier } from '../schema/shape.js';
import { BoundPath } from './bound-path.js';
import { NumberExpression } from '../datapoints/expressions/expression.js';

/**
 * Priority of a row that states none. In reports of relaxations it yields after all rows with a higher number; at the
 * rebalances of a derived index it never yields.
 */
export const DEFAULT_PRIORITY = 1;

/** Most identifiers a row can name. */
const IDENTIFIERS_MAX = 20_000;

const common = {
  soft: z.number().gt(0).max(1e12).nullable().default(null).meta({
    label: 'Soft penalty',
    help: 'Penalty added to the objective per unit of violation; without one the row is hard.',
  }),
  priority: z.int().min(0).max(5).default(DEFAULT_PRIORITY).meta({
    label: 'Priority',
    help: 'Which rows give way first when none can hold: higher numbers first, 0 never. A row that states one gives way at the rebalances of a derived index or a strategy.',
  }),
};

/** Parameters of a class, with those that every row may carry as the last two. */
export function constraintParams<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject({ ...shape, ...common });
}

export const fraction = (words: { label: string; help: string }, { least = 0, most = 1 } = {}) =>
  z
    .number()
    .min(least)
    .max(most)
    .meta({ ...words, unit: 'fraction' });

export const scope = z
  .array(AssetIdentifier)
  .min(1)
  .max(IDENTIFIERS_MAX)
  .nullable()
  .default(null)
  .meta({ label: 'Names', help: 'Names the row covers; without any all of them.' });

export const names = z
  .array(AssetIdentifier)
  .min(1)
  .max(IDENTIFIERS_MAX)
  .meta({ label: 'Names', help: 'Names the row covers.' });

export const category = z
  .string()
  .min(1)
  .max(64)
  .meta({ label: 'Field', help: 'Reference column that groups the names.' });

export const groups = z
  .array(z.string().min(1).max(200))
  .min(1)
  .max(1000)
  .nullable()
  .default(null)
  .meta({ label: 'Groups', help: 'Groups the row covers; without any each of them.' });

export const datapoint = z.union([z.string().min(1).max(64), NumberExpression]).meta({
  label: 'Field',
  help: 'Datapoint by its name, or an expression of datapoints as text or as nodes, as of the rebalance date.',
  ref: 'ExpressionNode',
  format: 'expression',
});

export const reference = z.enum(['index', 'previous', 'held']).default('index').meta({
  label: 'Reference',
  help: 'Portfolio that trades are measured from: the index, the previous solved weights, or the weights held just before the rebalance, after drift.',
});

/** A side of a row that may follow a path. */
export const side = z.union([z.number(), BoundPath]).nullable().default(null);

/** A bound as a number; paths are resolved before rows are made. */
export function numberOf(bound: number | BoundPath): number {
  if (typeof bound !== 'number') throw new Error('a bound along a path was not resolved');
  return bound;
}

type Bound = number | BoundPath | null;

interface Range {
  readonly lower: Bound;
  readonly upper: Bound;
}

/** Arguments of a schema's `refine`: what must hold, and the finding when it does not. */
export type Refinement<T> = [
  holds: (value: T) => boolean,
  wording: { path: string[]; params: { finding: FindingCode }; error: (issue: { input?: unknown }) => string },
];

/** Lower at most upper. */
export const notEmpty: Refinement<Range> = [
  ({ lower, upper }) => typeof lower !== 'number' || typeof upper !== 'number' || lower <= upper,
  {
    path: ['upper'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is below the lower bound ${(input as Range).lower}`, // the refinement runs on parsed parameters
  },
];

/** At least one of the two sides is given. */
export const notVacuous: Refinement<Range> = [
  ({ lower, upper }) => lower !== null || upper !== null,
  {
    path: ['upper'],
    params: { finding: 'MISSING_PARAMETER' },
    error: () => 'or params.lower is needed: the row bounds nothing',
  },
];

/** Most names that a row counts: as a maximum it bounds nothing. */
export const COUNT_MAX = 100_000;

interface Counts {
  readonly minimum: number;
  readonly maximum: number;
}

/** Minimum at most maximum. */
export const countNotEmpty: Refinement<Counts> = [
  ({ minimum, maximum }) => minimum <= maximum,
  {
    path: ['maximum'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is below the minimum ${(input as Counts).minimum}`,
  },
];

interface Concentration {
  readonly single: number;
  readonly trigger: number;
}

/** The trigger is at most the single limit. */
export const limitsInOrder: Refinement<Concentration> = [
  ({ single, trigger }) => trigger <= single,
  {
    path: ['single'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is below the trigger ${(input as Concentration).trigger}`,
  },
];
