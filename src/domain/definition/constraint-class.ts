import { z } from 'zod';
import { raiseToPower } from '#kernels/power.js';
import { compareText, type FindingCode } from '../base/findings.js';
import { AssetIdentifier, defineObject, IsoDate } from '../base/schema.js';
import { type Day, parseValidDay } from '../base/time.js';
import { NumberExpression } from '../datapoints/expression-checks.js';
import type { DatapointExpression } from '../datapoints/expression-tree.js';
import { type CatalogueEntry, findParameterUnit } from './catalogue.js';
import type { ScenarioTerms, TailGoal, TailMeasure } from './tail-risk.js';

/** Mean length of a year in days. */
const YEAR_DAYS = 365.25;

export const BoundPath = defineObject(() => ({
  base: z.union([z.number(), IsoDate]).meta({
    description:
      'Value at the base, or a base date. With a date, the value is that of the parent at its latest review on or before this date.',
  }),
  yearly: z.number().gt(-1).max(10).meta({
    description:
      'Change per year, a fraction: -0.07 lowers the bound by 7% per year. The number of years is the number of days divided by 365.25.',
    unit: 'fraction',
  }),
  times: z
    .number()
    .default(1)
    .meta({ description: 'Multiple of the value at the base. With 0.5, the bound starts at half of this value.' }),
  from: IsoDate.optional().meta({
    description: 'Start of the first year if `base` is a value. Default: the base date of the index.',
  }),
})).meta({ id: 'BoundPath', description: 'Bound that changes by a fraction every year.' });
export type BoundPath = z.infer<typeof BoundPath>;

export const isBoundPath = (bound: unknown): bound is BoundPath =>
  typeof bound === 'object' && bound !== null && 'yearly' in bound;

export interface PathTerms {
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
  /** Returns the value of the source index at the latest source review on or before a day. */
  readonly valueAt: (day: Day) => number;
}

export function computeValueOnPath(
  { base, yearly, times, from }: BoundPath,
  { day, baseDay, valueAt }: PathTerms,
): number {
  const start = typeof base === 'string' ? parseValidDay(base) : from === undefined ? baseDay : parseValidDay(from);
  const value = typeof base === 'string' ? valueAt(Math.min(start, day)) : base;
  const years = Math.max(0, day - start) / YEAR_DAYS;
  return times * value * raiseToPower(1 + yearly, years);
}

/**
 * One side of a row: its value in the program, and how it depends on a parameter of the request. A relaxation changes
 * `parameter`; the program then uses `value + slope * change`.
 */
export interface Limit {
  readonly value: number;
  /** Parameter that sets the limit. Null if no parameter can change it, as for a budget of one or an exclusion. */
  readonly parameter: string | null;
  /** Change of `value` per unit of the parameter. */
  readonly slope: number;
  readonly further?: FurtherParameters;
}

/** Parameters on which a limit depends besides the main one. */
interface FurtherParameters {
  /** Change of the value per unit of each parameter. */
  readonly slopes: Readonly<Record<string, number>>;
  /** Returns the value of the limit for the parameters of its row. */
  readonly valueOf: (params: Readonly<Record<string, unknown>>) => number;
}

/** Returns the parameters on which a limit depends, each with the change of the limit per unit. */
export function computeSlopes({ parameter, slope, further }: Limit): readonly (readonly [string, number])[] {
  return [...(parameter === null ? [] : [[parameter, slope] as const]), ...Object.entries(further?.slopes ?? {})];
}

/** Returns true if no parameter changes the limit, so that it can only be widened. */
export function hasNoParameter(limit: Limit): boolean {
  return computeSlopes(limit).every(([, slope]) => slope === 0);
}

/** Group or identifier for which a class that covers several members created the row. Null for other rows. */
type Member = string | null;

/** Bounds on one weight. */
export interface SecurityRow {
  readonly form: 'name';
  /** Position of the security in the problem. */
  readonly name: number;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
}

/** Row lower <= coefficients'w <= upper. */
export interface LinearRow {
  readonly form: 'linear';
  /** [N] */
  readonly coefficients: Float64Array;
  readonly lower: Limit | null;
  readonly upper: Limit | null;
  readonly member: Member;
  /**
   * Present if the client's bound is multiplied by the invested weight. The client's value is numerator'w /
   * denominator'w. The row compares (numerator - bound * scale * denominator)'w with zero. The slopes of the limits
   * apply to an invested weight of 1, because the bound changes the coefficients and not the value.
   */
  readonly average?: Average;
}

/** Ratio of weighted sums, [N] each. The client's bound is multiplied by `scale`. */
export interface Average {
  readonly numerator: Float64Array;
  readonly denominator: Float64Array;
  readonly scale: number;
}

/** Distance from a reference portfolio: scale * (sum |w - reference| + fixed) <= limit. */
export interface DistanceRow {
  readonly form: 'distance';
  /** Weights of the reference portfolio, [N]. */
  readonly reference: Float64Array;
  /** Reference weight in securities outside the problem, which is traded in any case. */
  readonly fixed: number;
  /** Factor of the sum: `ONE_WAY` counts half of it, because purchases equal sales. */
  readonly scale: number;
  readonly limit: Limit;
  readonly member: Member;
}

/** Scale of a one-way distance. */
export const ONE_WAY = 0.5;

/** Second-order cone row: the root of (w - centre)' M (w - centre) is at most `radius`. */
export interface NormRow {
  readonly form: 'norm';
  /** Matrix M: the covariance of the problem, or the identity. */
  readonly metric: 'covariance' | 'identity';
  /** Centre, [N]; null for zero. */
  readonly centre: Float64Array | null;
  /** Radius as a limit. `parameter` and `slope` apply only near the current radius; see `radiusOf`. */
  readonly limit: Limit;
  readonly radiusOf: (parameter: number) => number;
  readonly parameterOf: (radius: number) => number;
  /** Side of the parameter: `upper` for a maximum tracking error, `lower` for a minimum effective number. */
  readonly side: 'lower' | 'upper';
  readonly member: Member;
}

/** Row that limits the average of the worst scenarios (losses or drawdowns) to at most `limit`. */
export interface TailRow {
  readonly form: 'tail';
  readonly goal: TailGoal;
  readonly limit: Limit;
  readonly member: Member;
}

/** Row that limits the number of held securities among `members` to between `minimum` and `maximum`. */
export interface CountRow {
  readonly form: 'count';
  readonly members: Int32Array;
  readonly minimum: number;
  readonly maximum: number;
  readonly member: Member;
}

/** Row that requires a weight of at least `threshold` for every held security. */
export interface ThresholdRow {
  readonly form: 'threshold';
  readonly threshold: number;
  readonly member: Member;
}

/** Row that limits each weight to `single`, and the sum of weights above `trigger` to `aggregate`. */
export interface ConcentrationRow {
  readonly form: 'concentration';
  readonly single: number;
  readonly trigger: number;
  readonly aggregate: number;
  readonly member: Member;
}

/** Row that cannot be expressed by a fixed number of linear rows. */
export type CurvedRow = NormRow | TailRow;
export type ConvexRow = SecurityRow | LinearRow | DistanceRow | CurvedRow;
export type NonConvexRow = CountRow | ThresholdRow | ConcentrationRow;
export type ProgramRow = ConvexRow | NonConvexRow;

export const createParameterLimit = (value: number, parameter: string, slope = 1): Limit => ({
  value,
  parameter,
  slope,
});

export const createFixedLimit = (value: number): Limit => ({ value, parameter: null, slope: 0 });

/**
 * Portfolio from which a row measures trades. This is the index, the previous solved weights, or the drifted weights
 * just before the rebalance.
 */
export type ReferenceName = 'index' | 'previous' | 'held';

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
  reference(reference: ReferenceName): ReferencePortfolio | null;
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

/** Parameter whose default has changed. A row without it was stored by an earlier version. */
interface ChangedDefault {
  readonly parameter: string;
  readonly earlier: string;
  readonly today: string;
  /** True if the default applies only to derived indices. */
  readonly isOfDerivations: boolean;
}

export interface ConstraintClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'constraint';
  readonly kind: 'eq' | 'ineq';
  /** Unit of the slack of its rows. */
  readonly unit: 'fraction' | 'count' | 'value';
  readonly convex: boolean;
  /** True if its rows always measure trades from the previous solved weights. */
  readonly tradesFromPrevious?: true;
  /**
   * Scenarios that its rows measure and its parameters select: `consecutive` sessions cannot have the probabilities of
   * views. Absent if it measures none.
   */
  readonly scenarios?: 'any' | 'consecutive';
  /** True if its rows measure expected returns. */
  readonly needsReturns?: true;
  /** True if one parameter limits both sides; `lower` is then its negative. */
  readonly isSymmetric?: true;
  /** True if its unit is a count that need not be whole. */
  readonly isFractionalCount?: true;
  readonly isExclusion?: true;
  /** True if its rows count sales of securities that can no longer be held. */
  readonly countsForcedSales?: true;
  /** True if its parameter `field` is numeric. Otherwise the field defines groups. */
  readonly hasNumericField?: true;
  /** True if its rows replace the default of full investment. */
  readonly replacesInvestment?: true;
  /** Parameter whose default changed after version 0.2.0: see `stateRowDefaults`. */
  readonly changedDefault?: ChangedDefault;
  readonly params: P;
  /** Returns the securities for which a row replaces the default of long positions; null for all. */
  replacesLongOnly?(params: z.output<P>): readonly string[] | null;
  /** Returns the datapoint that its rows read besides the parameter `field`. */
  readsDatapoint?(params: z.output<P>): DatapointExpression;
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

/** Constraint as a client writes it. The schema of the constraint class checks the parameters. */
export const ConstraintRow = defineObject(() => ({
  type: z.string().min(1).meta({ description: 'Constraint class; see /optimise/constraint-types.' }),
  id: z.string().max(64).default('').meta({
    description:
      'Id of the constraint in responses: up to 64 characters, unique among the constraints. Default: its position.',
  }),
  params: z.record(z.string(), z.unknown()).default({}),
})).meta({ id: 'ConstraintRow' });
export type ConstraintRow = z.infer<typeof ConstraintRow>;

export interface SecuritiesWithoutValue {
  readonly identifiers: readonly string[];
  readonly weight: number;
}

/**
 * Returns the securities of a portfolio without a value.
 * @param candidates [N] each
 */
export function listMissingValues(
  { values }: MissingValues,
  candidates: { readonly identifiers: readonly string[]; readonly weights: Float64Array },
): SecuritiesWithoutValue {
  const positions = Array.from(values.keys()).filter((place) => Number.isNaN(values[place]!));
  return {
    identifiers: positions.map((place) => candidates.identifiers[place]!),
    weight: positions.reduce((sum, place) => sum + Math.abs(candidates.weights[place]!), 0),
  };
}

/**
 * Describes how many securities lack a value, and how much weight they have.
 * @param whole portfolio that the weight refers to, for example `the index`
 */
export function describeLackingValues(
  { field, effect }: MissingValues,
  { identifiers, weight }: SecuritiesWithoutValue,
  { count, whole }: { readonly count: number; readonly whole: string },
): string {
  return `${identifiers.length} of ${count} securities, ${Number((weight * 100).toPrecision(4))}% of ${whole}, have no ${field}; ${effect}.`;
}

/**
 * Default priority of a row. Relaxation reports relax rows with a higher number first. The rebalances of a derived
 * index never relax a row without a stated priority.
 */
export const DEFAULT_PRIORITY = 1;

const IDENTIFIERS_MAX = 20_000;

/** Maximum number of constraints of a set, an index or a request. */
export const CONSTRAINT_ROWS_MAX = 500;

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

/** Returns true if a parameter is a fraction, which sentences show in percent. A multiple or an amount is none. */
export const isFraction = ({ params }: Pick<ConstraintClass, 'params'>, parameter: string): boolean =>
  findParameterUnit(params, parameter)?.startsWith('fraction') === true;

type Params = Readonly<Record<string, unknown>>;

/** Maximum number of entries in one derivation, and of steps in one entry: 256 problems in total. */
const ENTRIES_MAX = 16;
const STEPS_MAX = 16;

export const RelaxEntry = defineObject(() => ({
  row: z.string().min(1).max(64).meta({ label: 'Row', description: 'Id of the constraint that is relaxed.' }),
  steps: z
    .array(z.union([z.number(), z.record(z.string(), z.unknown())]))
    .min(1)
    .max(STEPS_MAX)
    .meta({
      label: 'Steps',
      description:
        'Limits that are tried in order. A number replaces the main limit of the constraint, and an object replaces the parameters that it contains.',
    }),
})).meta({ id: 'RelaxEntry', description: 'Constraint with the limits that are tried if the problem is infeasible.' });
export type RelaxEntry = z.infer<typeof RelaxEntry>;

/** Entries in the order of trial. Each step is applied in addition to the previous steps. */
export const RelaxEntries = z.array(RelaxEntry).max(ENTRIES_MAX);

const MAIN_LIMITS = ['limit', 'upper', 'maximum', 'threshold', 'minimum', 'lower'] as const;

/**
 * Returns the parameters that a step changes. If the step is a number, it changes the main limit of the class. Returns
 * undefined if the class has none.
 */
export function findStepParameter(
  { params, isSymmetric }: Pick<ConstraintClass, 'params' | 'isSymmetric'>,
  step: RelaxEntry['steps'][number],
): Params | undefined {
  if (typeof step !== 'number') return step;
  if (isSymmetric) return { lower: -step, upper: step };
  const main = MAIN_LIMITS.find((name) => name in params.shape);
  return main === undefined ? undefined : { [main]: step };
}

/**
 * Returns the positions of the securities that a row covers, ascending. Null means all securities. Identifiers outside
 * the problem are ignored.
 */
export function listSecuritiesInScope(identifiers: readonly string[] | null, context: RowContext): number[] {
  const { covers = coverEverySecurity } = context;
  if (identifiers === null) return context.identifiers.flatMap((_, name) => (covers(name) ? [name] : []));
  const identifierSet = new Set(identifiers);
  return context.identifiers.flatMap((identifier, name) => (identifierSet.has(identifier) ? [name] : []));
}

const coverEverySecurity = () => true;

/** Returns the bounds on the weights of the covered securities, or of those that are listed. */
export const createSecurityRows = (
  identifiers: readonly string[] | null,
  context: RowContext,
  readBounds: (name: number) => Pick<SecurityRow, 'lower' | 'upper'>,
): SecurityRow[] =>
  listSecuritiesInScope(identifiers, context).map((name) => ({
    form: 'name',
    name,
    ...readBounds(name),
    member: context.identifiers[name]!,
  }));

/** Key of the group that contains the securities without a group. */
export const NO_GROUP = '';

export interface GroupMembers {
  readonly group: string;
  /** Positions of the securities, ascending. */
  readonly members: Int32Array;
}

/**
 * Returns the groups that a row covers, in order of their names: the listed groups, or for null all groups with
 * members.
 */
export function listGroupsInScope(
  field: string,
  groups: readonly string[] | null,
  context: RowContext,
): GroupMembers[] {
  const { covers = coverEverySecurity } = context;
  const groupByName = context.categories(field).map((category) => category ?? NO_GROUP);
  const coveredGroups = groups ?? groupByName.filter((_, name) => covers(name));
  const members = new Map<string, number[]>(coveredGroups.map((group) => [group, []]));
  groupByName.forEach((group, name) => members.get(group)?.push(name));
  return [...members]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([group, positions]) => ({ group, members: Int32Array.from(positions) }));
}

/** Returns a vector of ones for members and zeros for other securities, [N]. */
export function createIndicator(members: Int32Array, { identifiers }: RowContext): Float64Array {
  const coefficients = new Float64Array(identifiers.length);
  for (const name of members) coefficients[name] = 1;
  return coefficients;
}

interface Trade {
  readonly name: number;
  /** Weight before the trade. */
  readonly from: number;
  /** Maximum change of the weight in either direction. */
  readonly room: number;
  readonly parameter: string;
  /** Change of `room` per unit of the parameter. */
  readonly slope: number;
  /** Other parameters that change `room`. */
  readonly further?: FurtherParameters;
}

/** Returns bounds between which one weight may change by `room` in either direction. */
export function readTradeBounds(trade: Trade, { identifiers }: RowContext): SecurityRow {
  return {
    form: 'name',
    name: trade.name,
    lower: createTradeLimit(trade, -1),
    upper: createTradeLimit(trade, 1),
    member: identifiers[trade.name]!,
  };
}

function createTradeLimit({ from, room, parameter, slope, further }: Trade, side: 1 | -1): Limit {
  const limit: Limit = { value: from + side * room, parameter, slope: side * slope };
  if (further === undefined) return limit;
  const slopes = Object.fromEntries(Object.entries(further.slopes).map(([name, value]) => [name, side * value]));
  return { ...limit, further: { slopes, valueOf: (params) => from + side * further.valueOf(params) } };
}
