import { z } from 'zod';
import type { FindingCode } from '../refusals/findings.js';
import { AssetIdentifier } from '../schema/shape.js';
import { BoundPath } from './bound-path.js';
import { NumberExpression } from '../datapoints/expressions/expression.js';

/**
 * Default priority of a row. Relaxation reports relax rows with a higher number first. The rebalances of a derived
 * index never relax a row without a stated priority.
 */
export const DEFAULT_PRIORITY = 1;

/** Maximum number of identifiers in one row. */
const IDENTIFIERS_MAX = 20_000;

const commonParameters = {
  soft: z.number().gt(0).max(1e12).nullable().default(null).meta({
    label: 'Soft penalty',
    help: 'Penalty that is added to the objective per unit of violation. Default: the constraint cannot be violated.',
  }),
  priority: z.int().min(0).max(5).default(DEFAULT_PRIORITY).meta({
    label: 'Priority',
    help: 'Order in which constraints are relaxed if the problem is infeasible: higher numbers first, 0 never. A constraint with a priority can be relaxed at the rebalances of a derived index or a strategy.',
  }),
};

/** Creates the parameter schema of a class, with the parameters that all classes share at the end. */
export function defineConstraintParams<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject({ ...shape, ...commonParameters });
}

export const createFraction = (words: { label: string; help: string }, { least = 0, most = 1 } = {}) =>
  z
    .number()
    .min(least)
    .max(most)
    .meta({ ...words, unit: 'fraction' });

/** Creates the schema of a fraction that may follow a path. */
export const createFractionOrPath = (words: { label: string; help: string }, { least = 0, most = 1 } = {}) =>
  z.union([z.number().min(least).max(most), BoundPath]).meta({ ...words, unit: 'fraction' });

export const scope = z
  .array(AssetIdentifier)
  .min(1)
  .max(IDENTIFIERS_MAX)
  .nullable()
  .default(null)
  .meta({ label: 'Names', help: 'Securities of the constraint. Default: all securities.' });

export const securities = z
  .array(AssetIdentifier)
  .min(1)
  .max(IDENTIFIERS_MAX)
  .meta({ label: 'Names', help: 'Securities of the constraint.' });

export const category = z.string().min(1).max(64).meta({ label: 'Field', help: 'Reference column of the groups.' });

export const groups = z
  .array(z.string().min(1).max(200))
  .min(1)
  .max(1000)
  .nullable()
  .default(null)
  .meta({ label: 'Groups', help: 'Groups of the constraint. Default: every group.' });

export const datapoint = z.union([z.string().min(1).max(64), NumberExpression]).meta({
  label: 'Field',
  help: 'Name of a datapoint, or an expression of datapoints as text or as nodes, as known on the rebalance date.',
  ref: 'ExpressionNode',
  format: 'expression',
});

export const reference = z.enum(['index', 'previous', 'held']).default('index').meta({
  label: 'Reference',
  help: 'Portfolio from which trades are measured: the index, the previous solved weights, or the weights held just before the rebalance, after drift.',
});

/** Schema of a bound that may follow a path. */
export const side = z.union([z.number(), BoundPath]).nullable().default(null);

/** Returns a bound as a number. Bounds that follow a path are numbers already when rows are created. */
export function requireNumber(bound: number | BoundPath): number {
  if (typeof bound !== 'number') throw new Error('a bound along a path was not resolved');
  return bound;
}

type Bound = number | BoundPath | null;

interface Range {
  readonly lower: Bound;
  readonly upper: Bound;
}

/** Arguments of a schema's `refine`: the condition, and the finding for a violation. */
export type Refinement<T> = [
  holds: (value: T) => boolean,
  wording: { path: string[]; params: { finding: FindingCode }; error: (issue: { input?: unknown }) => string },
];

/** Requires that `lower` is at most `upper`. */
export const lowerAtMostUpper: Refinement<Range> = [
  ({ lower, upper }) => typeof lower !== 'number' || typeof upper !== 'number' || lower <= upper,
  {
    path: ['upper'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is below the lower bound ${(input as Range).lower}`, // a refinement runs on parsed parameters
  },
];

/** Requires at least one of `lower` and `upper`. */
export const hasBound: Refinement<Range> = [
  ({ lower, upper }) => lower !== null || upper !== null,
  {
    path: ['upper'],
    params: { finding: 'MISSING_PARAMETER' },
    error: () => 'or params.lower is required, because the constraint has no bound',
  },
];

/** Maximum number of securities that a row can count. An upper bound of this size restricts nothing. */
export const COUNT_MAX = 100_000;

interface Counts {
  readonly minimum: number;
  readonly maximum: number;
}

/** Requires that `minimum` is at most `maximum`. */
export const minimumAtMostMaximum: Refinement<Counts> = [
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

/** Requires that the trigger is at most the single limit. */
export const triggerAtMostSingle: Refinement<Concentration> = [
  ({ single, trigger }) => trigger <= single,
  {
    path: ['single'],
    params: { finding: 'EMPTY_RANGE' },
    error: ({ input }) => `is below the trigger ${(input as Concentration).trigger}`,
  },
];
