import { z } from 'zod';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import {
  computeMetricDiagonal,
  computeMetricSquare,
  type Metric,
  selectMetric,
} from '#kernels/optimisation/program/metric.js';
import { solveRiskBudgetWeights } from '#kernels/weighting/risk-budgets.js';
import { formatNumber } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { defineObject } from '../base/schema.js';
import { type FieldUse, useCategory } from '../datapoints/expression-tree.js';
import { type CatalogueEntry, createTypeSpec, type TypeSpec } from './catalogue.js';
import type { ConstraintClass } from './constraint-class.js';
import {
  createTailGoal,
  describeTailShare,
  drawnScenarioParams,
  readScenarioTerms,
  type ScenarioTerms,
  type TailGoal,
  tailParams,
  type WeightedScenarios,
} from './tail-risk.js';

/** Objective in the form that a solver minimises or maximises. Arrays follow the securities of the problem. */
export type Goal = QuadraticGoal | RatioGoal | TailGoal;

/** Goal: minimise curvature/2 (w - centre)' Sigma (w - centre) + linear'w. */
export interface QuadraticGoal {
  readonly form: 'quadratic';
  readonly curvature: number;
  /** [N] */
  readonly centre: Float64Array;
  /** [N] */
  readonly linear: Float64Array;
}

/** Goal: maximise a concave numerator over the volatility. */
export interface RatioGoal {
  readonly form: 'ratio';
  readonly numerator: Numerator;
}

export type Numerator = LinearNumerator | EvennessNumerator;

/** Numerator slopes'w. */
export interface LinearNumerator {
  readonly kind: 'linear';
  /** [N] */
  readonly slopes: Float64Array;
}

/**
 * Numerator: product of (w_i / b_i)^b_i over the securities with a budget. For weights with sum 1, it is 1 if they
 * equal the budgets, otherwise less.
 */
export interface EvennessNumerator {
  readonly kind: 'evenness';
  /** Risk budgets b, [N], not negative, with sum 1. */
  readonly budgets: Float64Array;
  /**
   * Weights, [N], with sum 1. The variance contributions equal the budgets. Without further rows, these weights are the
   * optimum.
   */
  readonly parity: Float64Array;
  /** Variance of the weights `parity`. */
  readonly variance: number;
  /**
   * Logarithm of volatility over evenness at the weights `parity`. Only holdings of securities without a budget can
   * lower it.
   */
  readonly least: number;
}

/** Trading costs as a fraction of the portfolio value. */
export interface TradeCosts {
  /** Cost per unit of weight traded. */
  readonly linear: number;
  /** Cost per weight traded to the power of 3/2. */
  readonly impact: number;
  /** Weights held before the rebalance, [N]. */
  readonly reference: Float64Array;
  /** Cost of selling holdings of securities outside the problem. */
  readonly fixed: number;
}

/**
 * Returns true if the goal only minimises the distance from the index. Limits on the tracking error are then checked
 * after the solve and are not part of it.
 */
export function isPureTracking(goal: Goal, index: Float64Array, costs: TradeCosts | null): boolean {
  return (
    costs === null && goal.form === 'quadratic' && goal.centre === index && goal.linear.every((value) => value === 0)
  );
}

/** Returns the goal of an index tracker: minimise the variance of the active weights. */
export function createTrackingGoal(index: Float64Array): QuadraticGoal {
  return {
    form: 'quadratic',
    curvature: 2,
    centre: index,
    linear: new Float64Array(index.length),
  };
}

/** Data from which an objective creates its goal. Arrays follow `identifiers`. */
interface GoalContext {
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
  /** Returns the returns of the securities by scenario. Only objectives on scenarios call this function. */
  scenarios(terms: ScenarioTerms): WeightedScenarios;
  /**
   * Reports a warning.
   * @param path path of the parameter, with its leading dot.
   */
  warn(message: string, path?: string): void;
}

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

export interface ObjectiveClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'objective';
  readonly sense: 'minimise' | 'maximise';
  /** True if the objective requires expected returns. */
  readonly needsReturns: boolean;
  /** Scenarios that the objective measures: see `ConstraintClass`. */
  readonly scenarios?: ConstraintClass['scenarios'];
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
  /** True if securities without variance get no weight, because the objective does not depend on their weight. */
  readonly excludesRiskless: boolean;
  /** Describes the objective, for the end of a sentence in a methodology. */
  sentence(params: z.output<P>): string;
  toGoal(params: z.output<P>, context: GoalContext): Goal;
}

type OptionalMember = 'reads' | 'unattainable' | 'uncertain' | 'cash' | 'excludesRiskless';

/** Defines an objective; infers the parameter types from its schema. */
function defineObjectiveClass<P extends z.ZodObject>(
  entry: Omit<ObjectiveClass<P>, 'category' | OptionalMember> & Partial<Pick<ObjectiveClass<P>, OptionalMember>>,
): ObjectiveClass<P> {
  return {
    category: 'objective',
    cash: () => 0,
    reads: () => [],
    unattainable: null,
    uncertain: [],
    excludesRiskless: false,
    ...entry,
  };
}

const formatForSentence = (value: number): string => String(Number(value.toPrecision(6)));

/** Creates the measure of an objective whose figure is the root of a variance, in basis points. */
const createRootMeasure = (name: string): Measure => ({
  name,
  form: 'root',
  unit: 'basis points',
  of: (value) => 1e4 * Math.sqrt(Math.max(value, 0)),
});

/** Creates the measure of an objective whose figure is a return, in basis points. */
const createReturnMeasure = (name: string): Measure => ({
  name,
  form: 'return',
  unit: 'basis points',
  of: (value) => 1e4 * value,
});

/** Creates the measure of an objective whose figure is a loss, in basis points. */
const createLossMeasure = (name: string): Measure => ({ ...createReturnMeasure(name), form: 'loss' });

/** Creates the measure of an objective whose figure has no unit. */
const createPlainMeasure = (name: string): Measure => ({
  name,
  form: 'number',
  unit: 'number',
  of: (value) => value,
});

/**
 * Members of the objectives that maximise the diversification ratio v'w / root of w' Sigma w. With x = v w / v'w, its
 * square is 1 / x' C x. The ratio is therefore largest where x has the least variance of the correlation matrix.
 * @source Choueifaty, Froidure & Reynier (2013), Properties of the most diversified portfolio, Journal of Investment
 * Strategies 2(2), for the equivalence.
 */
const diversification = {
  sense: 'maximise',
  needsReturns: false,
  params: z.strictObject({}),
  unattainable: (_, most) =>
    `For all weights within the constraints, costs exceed the average volatility${most === null ? '' : `, by ${formatForSentence(-most)} at least`}.`,
  measure: createPlainMeasure('the diversification ratio'),
  excludesRiskless: true,
  toGoal: (_, { metric }) => ({
    form: 'ratio',
    numerator: {
      kind: 'linear',
      slopes: computeMetricDiagonal(metric).map((variance) => Math.sqrt(Math.max(variance, 0))),
    },
  }),
} satisfies Partial<ObjectiveClass>;

const maxDecorrelation = defineObjectiveClass({
  ...diversification,
  type: 'max_decorrelation',
  label: 'Maximum decorrelation',
  help: 'Minimum variance of the correlation matrix, with weights divided by volatilities and rescaled. This is the maximum diversification ratio.',
  example: { type: 'max_decorrelation' },
  sentence: () => 'the least variance of the correlation matrix, divided by volatilities',
});

const maxDiversification = defineObjectiveClass({
  ...diversification,
  type: 'max_diversification',
  label: 'Maximum diversification',
  help: 'Maximum diversification ratio, which is the weighted average of the volatilities divided by the volatility of the portfolio.',
  example: { type: 'max_diversification' },
  sentence: () => 'the largest ratio of average volatility to volatility',
});

const maxReturn = defineObjectiveClass({
  type: 'max_return',
  label: 'Maximum return',
  help: 'Maximum expected return within the constraints. To limit the risk, add a limit on the tracking error or on the volatility.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns'],
  params: z.strictObject({}),
  measure: createReturnMeasure('the expected return'),
  example: { type: 'max_return' },
  sentence: () => 'the largest expected return',
  toGoal: (_, context) => ({
    form: 'quadratic',
    curvature: 0,
    centre: new Float64Array(context.index.length),
    linear: context.expectedReturns().map((value) => -value),
  }),
});

const maxSharpe = defineObjectiveClass({
  type: 'max_sharpe',
  label: 'Maximum Sharpe ratio',
  help: 'Maximum expected return in excess of the risk-free rate per unit of volatility. Cash earns the risk-free rate.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns', 'covariance'],
  params: defineObject(() => ({
    risk_free_rate: z.number().min(-1).max(1).default(0).meta({
      label: 'Risk-free rate',
      help: 'Annual risk-free rate that is subtracted from the return.',
      unit: 'fraction per year',
    }),
  })),
  cash: ({ risk_free_rate }) => risk_free_rate,
  unattainable: ({ risk_free_rate: rate }, most) =>
    `No weights within the constraints have an expected return above the risk-free rate of ${rate} after costs${most === null ? '' : `; the most that any are is ${formatForSentence(most + rate)}`}.`,
  measure: createPlainMeasure('the Sharpe ratio'),
  example: { type: 'max_sharpe', risk_free_rate: 0.02 },
  sentence: ({ risk_free_rate }) =>
    `the largest ratio of expected return above a rate of ${risk_free_rate} to volatility`,
  toGoal: ({ risk_free_rate }, context) => ({
    form: 'ratio',
    numerator: { kind: 'linear', slopes: context.expectedReturns().map((value) => value - risk_free_rate) },
  }),
});

const maxUtility = defineObjectiveClass({
  type: 'max_utility',
  label: 'Maximum utility',
  help: 'Maximum expected return, less half the risk aversion times the variance, less the costs of the trades.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns', 'covariance'],
  params: defineObject(() => ({
    risk_aversion: z.number().gt(0).max(1e9).default(2.5).meta({
      label: 'Risk aversion',
      help: 'Half of this number is the price of one unit of variance.',
    }),
  })),
  measure: createReturnMeasure('the utility'),
  example: { type: 'max_utility', risk_aversion: 4 },
  sentence: ({ risk_aversion }) => `the largest expected return less ${risk_aversion}/2 times the variance`,
  toGoal: ({ risk_aversion }, context) => ({
    form: 'quadratic',
    curvature: risk_aversion,
    centre: new Float64Array(context.index.length),
    linear: context.expectedReturns().map((value) => -value),
  }),
});

const minCdar = defineObjectiveClass({
  type: 'min_cdar',
  label: 'Minimum conditional drawdown',
  help: 'Minimum average of the worst drawdowns: the conditional drawdown at risk of historical returns, summed by session.',
  sense: 'minimise',
  needsReturns: false,
  scenarios: 'consecutive',
  params: tailParams,
  measure: createLossMeasure('the conditional drawdown'),
  example: { type: 'min_cdar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average of the worst ${describeTailShare(confidence)} of drawdowns`,
  toGoal: (params, context) =>
    createTailGoal(
      'drawdown',
      params.confidence,
      context.scenarios(readScenarioTerms(params)),
      context.identifiers.length,
    ),
});

const minCvar = defineObjectiveClass({
  type: 'min_cvar',
  label: 'Minimum conditional value at risk',
  help: 'Minimum average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical or simulated returns.',
  sense: 'minimise',
  needsReturns: false,
  scenarios: 'any',
  params: defineObject(() => ({ ...tailParams.shape, ...drawnScenarioParams })),
  measure: createLossMeasure('the conditional value at risk'),
  example: { type: 'min_cvar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average loss of the worst ${describeTailShare(confidence)} of sessions`,
  toGoal: (params, context) =>
    createTailGoal('loss', params.confidence, context.scenarios(readScenarioTerms(params)), context.identifiers.length),
});

const minTrackingError = defineObjectiveClass({
  type: 'min_tracking_error',
  label: 'Minimum tracking error',
  help: 'The lowest forecast tracking error: the weights nearest to the index within the constraints.',
  sense: 'minimise',
  needsReturns: false,
  params: z.strictObject({}),
  measure: createRootMeasure('the tracking error'),
  example: { type: 'min_tracking_error' },
  sentence: () => 'the least tracking error against it',
  toGoal: (_, { index }) => createTrackingGoal(index),
});

const minVariance = defineObjectiveClass({
  type: 'min_variance',
  label: 'Minimum variance',
  help: 'The lowest forecast volatility of the portfolio.',
  sense: 'minimise',
  needsReturns: false,
  uncertain: ['covariance'],
  params: z.strictObject({}),
  measure: createRootMeasure('the volatility'),
  example: { type: 'min_variance' },
  sentence: () => 'the least variance',
  toGoal: (_, { index }) => ({
    form: 'quadratic',
    curvature: 2,
    centre: new Float64Array(index.length),
    linear: new Float64Array(index.length),
  }),
});

/**
 * Returns the numerator for risk budgets, together with the weights that meet the budgets.
 * @cost of `solveRiskBudgetWeights`
 */
function createParityNumerator(
  budgets: Float64Array,
  { algebra, metric }: Pick<GoalContext, 'algebra' | 'metric'>,
): EvennessNumerator {
  const names = Int32Array.from(budgets.keys()).filter((i) => budgets[i]! > 0);
  const result = new Float64Array(names.length);
  const nameBudgets = Float64Array.from(names, (i) => budgets[i]!);
  const budgetedMetric = names.length === budgets.length ? metric : selectMetric(metric, names);
  solveRiskBudgetWeights(algebra, budgetedMetric, nameBudgets, result);
  const parity = new Float64Array(budgets.length);
  names.forEach((i, p) => (parity[i] = result[p]!));
  const variance = Math.max(0, computeMetricSquare(metric, parity));
  return {
    kind: 'evenness',
    budgets,
    parity,
    variance,
    least: Math.log(variance) / 2 - Math.log(computeEvenness(budgets, parity)),
  };
}

/** Returns the product of (w_i / b_i)^b_i over the securities with a budget. */
export function computeEvenness(budgets: Float64Array, weights: Float64Array): number {
  let total = 0;
  for (let i = 0; i < budgets.length; i++)
    if (budgets[i]! > 0) total += budgets[i]! * Math.log(Math.max(weights[i]!, 0) / budgets[i]!);
  return Math.exp(total);
}

export interface BudgetParams {
  readonly budgets: Readonly<Record<string, number>> | null;
  readonly budget_field: string;
}

/**
 * Returns the risk budget of each security as a fraction of the variance, [N], with sum 1. Null gives equal budgets. A
 * key is an identifier or a group. Members of a group share its budget, unless they have a separate budget. Securities
 * that may not be held get no budget; the other budgets are scaled up in proportion.
 * @throws Refusal VALIDATION_FAILED if no security that may be held has a budget
 */
function readBudgets({ budgets, budget_field }: BudgetParams, context: GoalContext): Float64Array {
  const shares =
    budgets === null
      ? Float64Array.from(context.eligible, (isEligible) => isEligible)
      : computeShares(budgets, budget_field, context);
  const total = shares.reduce((sum, share) => sum + share, 0);
  return total > 0 ? shares.map((share) => share / total) : shares;
}

function computeShares(budgets: Readonly<Record<string, number>>, field: string, context: GoalContext): Float64Array {
  const { identifiers, eligible, warn } = context;
  const positionByIdentifier = new Map(identifiers.map((identifier, i): [string, number] => [identifier, i]));
  const shares = new Float64Array(identifiers.length);
  const groups = Object.keys(budgets).some((key) => !positionByIdentifier.has(key)) ? context.categories(field) : [];
  const lostNames: string[] = [];
  for (const [key, share] of Object.entries(budgets)) {
    const position = positionByIdentifier.get(key);
    const members =
      position === undefined
        ? Array.from(eligible.keys()).filter((i) => groups[i] === key && budgets[identifiers[i]!] === undefined)
        : [position];
    const eligibleMembers = members.filter((i) => eligible[i] === 1);
    for (const i of eligibleMembers) shares[i]! += share / eligibleMembers.length;
    if (eligibleMembers.length === 0) lostNames.push(key);
  }
  if (lostNames.length === Object.keys(budgets).length) throw refuseUnusableBudgets(lostNames, field);
  if (lostNames.length > 0)
    warn(
      `No security that may be held has the budget of ${lostNames.join(', ')}; it is distributed over the other budgets in proportion.`,
      '.budgets',
    );
  const identifiersWithoutBudget = identifiers.filter((_, i) => eligible[i] === 1 && shares[i] === 0);
  if (identifiersWithoutBudget.length > 0)
    warn(
      `${identifiersWithoutBudget.length} of ${identifiers.length} securities have no risk budget and no weight: ${formatKeys(identifiersWithoutBudget)}.`,
      '.budgets',
    );
  return shares;
}

/** Maximum number of identifiers or groups listed in a message. */
const KEYS_MAX = 5;

export function formatKeys(keys: readonly string[]): string {
  return `${keys.slice(0, KEYS_MAX).join(', ')}${keys.length > KEYS_MAX ? ', ...' : ''}`;
}

function refuseUnusableBudgets(keys: readonly string[], field: string): Refusal {
  const message = `None of the ${keys.length} budgets (${formatKeys(keys)}) belongs to a security that may be held, or to a ${field} of one.`;
  return new Refusal('VALIDATION_FAILED', message, {
    findings: [{ severity: 'error', code: 'UNKNOWN_IDENTIFIER', path: 'objective.budgets', message }],
  });
}

const BUDGETS_MAX = 20_000;

const SUM_TOLERANCE = 1e-6;

const Budgets = z
  .record(z.string().min(1).max(200), z.number().gt(0).max(1))
  .refine((budgets) => Object.keys(budgets).length <= BUDGETS_MAX, { error: `has more than ${BUDGETS_MAX} keys` })
  .refine((budgets) => Math.abs(sumBudgets(budgets) - 1) <= SUM_TOLERANCE, {
    params: { finding: 'WEIGHTS_NOT_ONE' },
    error: ({ input }) =>
      `has a sum of ${formatNumber(sumBudgets(input as Record<string, number>))}, but must sum to 1`, // a refinement runs on a parsed record
  });

const riskParity = defineObjectiveClass({
  type: 'risk_parity',
  label: 'Risk parity',
  help: 'Risk contributions that equal the budgets. The solution maximises the ratio of the geometric mean of the weights (weighted by budget) to the volatility.',
  sense: 'minimise',
  needsReturns: false,
  params: defineObject(() => ({
    budgets: Budgets.nullable().default(null).meta({
      label: 'Budgets',
      help: 'Fraction of the variance by identifier or by group, with a sum of 1. Default: equal fractions. A group divides its budget equally among the members without a separate budget.',
    }),
    budget_field: z.string().min(1).max(64).default('SECTOR').meta({
      label: 'Budget field',
      help: 'Reference column with the groups that have budgets. It is not read if every budget is that of an identifier.',
    }),
  })),
  measure: createPlainMeasure('the distance from parity'),
  reads: ({ budgets, budget_field }, isSecurity) =>
    budgets === null || Object.keys(budgets).every(isSecurity) ? [] : [useCategory(budget_field, 'budget_field')],
  unattainable: () =>
    'Every security with a risk budget must be held, but the constraints, the number of securities or the costs allow no such weights.',
  example: { type: 'risk_parity', budgets: { Technology: 0.2, Energy: 0.8 }, budget_field: 'SECTOR' },
  sentence: ({ budgets, budget_field }) =>
    budgets === null
      ? 'equal contributions of all securities to the variance'
      : `contributions to the variance of ${Object.entries(budgets)
          .map(([key, share]) => `${share} for ${key}`)
          .join(', ')} (names, or groups of ${budget_field})`,
  // A security without variance contributes nothing to the variance at any weight.
  excludesRiskless: true,
  toGoal: (params, context) => ({
    form: 'ratio',
    numerator: createParityNumerator(readBudgets(params, context), context),
  }),
});

function sumBudgets(budgets: Readonly<Record<string, number>>): number {
  return Object.values(budgets).reduce((sum, share) => sum + share, 0);
}

/** All objectives, in the order in which forms list them. */
export const OBJECTIVE_CLASSES: readonly ObjectiveClass[] = [
  minTrackingError,
  minVariance,
  maxUtility,
  maxReturn,
  maxSharpe,
  riskParity,
  maxDiversification,
  maxDecorrelation,
  minCvar,
  minCdar,
];

const OBJECTIVES_BY_TYPE = new Map(OBJECTIVE_CLASSES.map((entry) => [entry.type, entry]));

export function findObjectiveClass(type: string): ObjectiveClass | undefined {
  return OBJECTIVES_BY_TYPE.get(type);
}

export interface ObjectiveTypeSpec extends TypeSpec {
  readonly measure: Pick<Measure, 'name' | 'form'>;
}

/** Returns the catalogue of objectives for clients. */
export const listObjectiveSpecs = (): ObjectiveTypeSpec[] =>
  OBJECTIVE_CLASSES.map((entry) => {
    const { name, form } = entry.measure;
    return { ...createTypeSpec(entry), measure: { name, form } };
  });

/** Objective with its parsed parameters. */
export interface Objective {
  readonly entry: ObjectiveClass;
  /** Parameters as parsed by the schema of the class. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** Default objective of derived indices and strategies. */
export const TRACKING_OBJECTIVE: Objective = { entry: minTrackingError, params: {} };

/** Uncertainty of expected returns and covariances, for a worst-case objective. */
export interface Robustness {
  /** Uncertainty of expected returns; null if they are certain. */
  readonly returns: ReturnsSet | null;
  /** Maximum error of each covariance, as a fraction of the product of both volatilities. */
  readonly spread: number;
}

export type ReturnsSet = EllipsoidSet | BoxSet;

/** Errors e of expected returns within an ellipsoid: e' M^-1 e is at most the squared radius. */
interface EllipsoidSet {
  readonly form: 'ellipsoid';
  readonly radius: number;
  /** Matrix M. */
  readonly metric: Metric;
}

/** Errors of expected returns within a box: the magnitude of each error is at most its width. */
interface BoxSet {
  readonly form: 'box';
  /** [N] */
  readonly widths: Float64Array;
}

/**
 * Returns how much lower the expected return is in the worst case of an uncertainty set than at the estimates.
 * @cost a pass over the metric
 */
export function computeReturnShortfall(returns: ReturnsSet | null, weights: Float64Array): number {
  if (returns === null) return 0;
  if (returns.form === 'ellipsoid')
    return returns.radius * Math.sqrt(Math.max(0, computeMetricSquare(returns.metric, weights)));
  return weights.reduce((sum, weight, i) => sum + returns.widths[i]! * Math.abs(weight), 0);
}

/** Returns the sum of the volatilities, weighted by the absolute portfolio weights. */
export function computeGrossVolatility(metric: Metric, weights: Float64Array): number {
  const variances = computeMetricDiagonal(metric);
  return weights.reduce((sum, weight, i) => sum + Math.abs(weight) * Math.sqrt(Math.max(0, variances[i]!)), 0);
}

/**
 * Returns the largest variance that uncertain covariances allow. Each covariance may differ from the metric by at most
 * the spread times the product of both volatilities. The result is the variance under the metric plus the spread times
 * the squared gross volatility.
 * @cost a pass over the metric
 * @source Lobo & Boyd (2000), The worst-case risk of a portfolio, for boxes; Tutuncu & Koenig (2004), Robust asset
 * allocation, Annals of Operations Research 132.
 */
export function computeWorstVariance(metric: Metric, robustness: Robustness | null, weights: Float64Array): number {
  const variance = Math.max(0, computeMetricSquare(metric, weights));
  const spread = robustness?.spread ?? 0;
  return spread === 0 ? variance : variance + spread * computeGrossVolatility(metric, weights) ** 2;
}
