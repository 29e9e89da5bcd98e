import { z } from 'zod';
import type { Engine } from '#kernels/engines/engine.js';
import { estimateLowRankCovariance, expandCovariance } from '#kernels/moments/low-rank-covariance.js';
import { SHRINKAGE_TARGETS, type ShrinkageTarget } from '#kernels/moments/shrinkage.js';
import { raiseToPower } from '#kernels/power.js';
import { computeNormalProbability } from '#kernels/random/normal-distribution.js';
import { solveEqualRiskWeights } from '#kernels/weighting/risk-budgets.js';
import {
  type HierarchyTerms,
  LINKAGES,
  solveHierarchicalRiskParity,
  TREE_DISTANCES,
} from '#kernels/weighting/hierarchical-risk-parity.js';
import { solveMinimumVarianceWeights } from '#kernels/weighting/minimum-variance.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findRiskless, formatNumber, formatShare, isConstant } from '../base/numbers.js';
import { type ErrorCode, Refusal } from '../base/refusals.js';
import { AssetIdentifier, defineObject, Id } from '../base/schema.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import { createLabel } from '../datapoints/expression-text.js';
import {
  type DatapointExpression,
  type FieldUse,
  toRequest,
  useCategory,
  useNumber,
} from '../datapoints/expression-tree.js';
import { createLatestRequest, LAG_SESSIONS_MAX } from '../datapoints/fields.js';
import {
  computeZScores,
  createPositions,
  fillWindowDeviations,
  rankPositions,
  selectPositionsWithValue,
} from '../datapoints/statistics.js';
import { findCoverage, readReturns, type ReturnWindow } from '../risk/return-panel.js';
import { readModelCovariance, type StoredModels } from '../risk/stored-models.js';
import type { ShareTerms } from '../market/action-effects.js';
import type { CatalogueEntry } from './catalogue.js';
import * as parameters from './rule-parameters.js';
import { nameUsedField, readGroups, readValues } from './selection.js';

/** Input of a weighting: the selected securities. */
interface WeightingScope {
  readonly cross: CrossSection;
  /** Selected securities, columns ascending, [n]. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** Engine for matrix products. */
  readonly engine: Engine;
  readonly riskModel: StoredModels;
}

/** Raw weights before normalisation and capping, or the reason why there are none. */
export type RawWeights = WeighedSecurities | WeightingRefusal;

export interface WeighedSecurities {
  readonly kind: 'weighed';
  /** Raw weights, not negative, on any scale; 0 for a security that is not held, [n]. */
  readonly values: Float64Array;
  /** Fixed numbers of shares whose values are the raw weights, [n]; absent if weights are decided. */
  readonly shares?: Float64Array;
  /**
   * Returns the parts of the raw weight of a security, in the order of the formula. With them the weight can be
   * recomputed by hand.
   */
  parts?(position: number): Readonly<Record<string, number | string | null>>;
  /** Warnings, with the path of the parameter; absent without warnings. */
  readonly warnings?: readonly (Pick<Finding, 'code' | 'message'> & { readonly path: string })[];
}

interface WeightingRefusal {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  readonly finding: Pick<Finding, 'code' | 'message'> & { readonly path?: string };
}

/** Weighting with its parameters, which can weight securities. */
export interface Weighting {
  readonly reads: readonly FieldUse[];
  /** Effect of the rule as one English sentence, with every parameter. */
  readonly sentence: string;
  /** Formula of a raw weight in terms of datapoints. */
  readonly formula: string;
  weigh(scope: WeightingScope): RawWeights;
}

/**
 * Index shares that do not follow only from weights. `market_value`: shares outstanding times a factor. `counted` states
 * of which share counts the weights are the market values, with or without free float; null if the weights are not in
 * proportion to them; `float` is the free float if it is an expression. `fixed`: a number of shares of each constituent, which a split multiplies or keeps.
 */
export type IndexShareTerms =
  | {
      readonly kind: 'market_value';
      readonly counted: 'all' | 'float' | null;
      /** Free float by expression; absent if it is FREE_FLOAT. */
      readonly float?: DatapointExpression;
    }
  | { readonly kind: 'fixed'; readonly splits: ShareTerms['splitShares'] };

/** Parameters as a document states them, without defaults. */
type StatedParams = Readonly<Record<string, unknown>>;

export interface WeightingClass extends CatalogueEntry {
  readonly category: 'weighting';
  /** Returns the index shares of its indices; absent or null if they follow from weights. */
  indexShares?(params: StatedParams): IndexShareTerms | null;
  bind(params: unknown): Weighting;
}

interface WeightingEntry<S extends z.ZodObject> extends Omit<CatalogueEntry, 'category' | 'params'> {
  readonly params: S;
  indexShares?(params: StatedParams): IndexShareTerms | null;
  behaviour(params: z.output<S>): Weighting;
}

/** Declares a weighting class; its schema determines the parameter types of `behaviour`. */
function defineWeightingClass<S extends z.ZodObject>({ behaviour, ...entry }: WeightingEntry<S>): WeightingClass {
  return { ...entry, category: 'weighting', bind: (params) => behaviour(entry.params.parse(params)) };
}

/** Returns raw weights. Only securities with finite positive values are held. */
export function createWeights(values: Float64Array, parts?: WeighedSecurities['parts']): WeighedSecurities {
  let areHeld = true;
  for (let i = 0; i < values.length; i++) areHeld &&= isHeld(values[i]!);
  const heldValues = areHeld ? values : values.map((value) => (isHeld(value) ? value : 0));
  return { kind: 'weighed', values: heldValues, ...(parts === undefined ? {} : { parts }) };
}

function isHeld(value: number): boolean {
  return value > 0 && value < Infinity;
}

/** Solved weight below which a security counts as not held. The solver is not more accurate. */
const WEIGHT_MIN = 1e-9;

export interface SolvedWeights {
  /** Weights by covered security. */
  readonly weights: Float64Array;
  /** Position of each covered security among the selected securities. */
  readonly positions: ArrayLike<number>;
  /** Number of selected securities. */
  readonly count: number;
  /** Covariance of the covered securities, [n x n]. */
  readonly covariance: Float64Array;
}

/** Expands the weights of the covered securities to all selected securities. The others get no weight. */
function expandSolved({ weights, positions, count, covariance }: SolvedWeights): RawWeights {
  const values = new Float64Array(count);
  weights.forEach((weight, k) => {
    if (weight >= WEIGHT_MIN) values[positions[k]!] = weight;
  });
  return createWeights(values, (position) => {
    const n = weights.length;
    const solvedPosition = Array.from(positions).indexOf(position);
    let variance = 0;
    let marginal = 0;
    let heldCount = 0;
    for (let k = 0; k < n; k++) {
      let product = 0;
      for (let j = 0; j < n; j++) product += covariance[k * n + j]! * weights[j]!;
      variance += weights[k]! * product;
      if (k === solvedPosition) marginal = product;
      if (weights[k]! >= WEIGHT_MIN) heldCount++;
    }
    return { variance, marginal: solvedPosition < 0 ? null : marginal, count: heldCount };
  });
}

function refuseSolver(what: string): WeightingRefusal {
  return {
    kind: 'refused',
    code: 'SOLVER_FAILED',
    finding: { code: 'NO_WEIGHT_DATA', message: `The ${what} could not be solved.`, path: 'params' },
  };
}

export interface RiskRequest {
  readonly window: number;
  readonly target: ShrinkageTarget;
  /** Weight on the shrinkage target. Default (null): securities / (securities + observations). */
  readonly intensity: number | null;
}

interface RiskEstimate {
  readonly kind: 'estimated';
  /** Covered securities, as positions among the selected securities. */
  readonly positions: Int32Array;
  /** Annualised covariance, [n x n]. */
  readonly covariance: Float64Array;
}

/**
 * Estimates the shrunk covariance of the trailing returns of the selected securities as known at the decision.
 * @cost window * n^2 / 2 multiply-adds
 */
function estimateRisk(
  { engine, cross, columns }: WeightingScope,
  { window, target, intensity }: RiskRequest,
): RiskEstimate | WeightingRefusal {
  const { market, session } = cross;
  const returns: ReturnWindow = {
    sm: market,
    growth: cross.growth(columns),
    from: Math.max(0, session - window),
    to: session,
  };
  const coverage = findCoverage(returns, columns);
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  if (n < 1 || observationCount < LIMITS.MIN_MODEL_OBSERVATIONS) {
    return {
      kind: 'refused',
      code: 'RISK_INSUFFICIENT_DATA',
      finding: {
        code: 'NO_WEIGHT_DATA',
        message: `${n} of ${columns.length} securities are covered, with ${observationCount} complete observations over ${window} sessions; at least 1 security and ${LIMITS.MIN_MODEL_OBSERVATIONS} observations are required.`,
        path: 'params.window',
      },
    };
  }
  const covariance = new Float64Array(n * n);
  engine.scope(() => {
    const panel = engine.allocate(observationCount * n);
    readReturns(returns, coverage, panel);
    const shrinkage = {
      target,
      intensity,
      method: 'shape' as const,
      scale: estimatePeriodsPerYear(market.calendar.sessions),
    };
    expandCovariance(engine, estimateLowRankCovariance(engine, panel, n, shrinkage), covariance);
  });
  const coveredColumns = new Set(coverage.columns);
  const positions = Int32Array.from(columns.keys()).filter((position) => coveredColumns.has(columns[position]!));
  return { kind: 'estimated', positions, covariance };
}

export interface MovingBlock {
  /** Covariance of the securities with a variance, [n x n]. */
  readonly covariance: Float64Array;
  /** Positions of these securities among the selected securities. */
  readonly positions: readonly number[];
}

/**
 * Returns the covariance of the securities with a variance. Securities with a constant price or a constant growth, and
 * those without data, get no weight.
 */
function selectMovingBlock({ covariance, positions }: RiskEstimate): MovingBlock {
  const n = positions.length;
  const isRiskless = findRiskless(Float64Array.from({ length: n }, (_, k) => covariance[k * n + k]!));
  const movingPositions = Array.from({ length: n }, (_, k) => k).filter((k) => isRiskless[k] === 0);
  const block = new Float64Array(movingPositions.length ** 2);
  movingPositions.forEach((row, i) =>
    movingPositions.forEach((column, j) => (block[i * movingPositions.length + j] = covariance[row * n + column]!)),
  );
  return { covariance: block, positions: movingPositions.map((k) => positions[k]!) };
}

const riskParameters = {
  window: parameters
    .defineWindow(252)
    .meta({ label: 'Window', help: 'Number of trailing returns of the covariance.', unit: 'sessions' }),
  target: z
    .enum(SHRINKAGE_TARGETS)
    .default('constant_correlation')
    .meta({ label: 'Target', help: 'Target towards which the sample covariance is shrunk.' }),
  intensity: z.number().min(0).max(1).nullable().default(null).meta({
    label: 'Intensity',
    help: 'Weight of the target. Default: securities / (securities + observations).',
    unit: 'fraction',
  }),
};

export interface RiskParameters {
  readonly window: number;
  readonly target: ShrinkageTarget;
  readonly intensity: number | null;
}

function describeRiskEstimate({ window, target, intensity }: RiskParameters): string {
  const weightText = intensity === null ? 'securities / (securities + observations)' : String(intensity);
  return `a covariance of ${window} returns shrunk towards ${target === 'scaled_identity' ? 'a scaled identity' : 'constant correlation'} (${target}) with intensity ${weightText}`;
}

const equalRiskWeight = defineWeightingClass({
  type: 'EqualRiskWeight',
  label: 'Equal risk weight',
  help: 'Weights with equal risk contributions of all constituents.',
  params: z.strictObject(riskParameters),
  example: { type: 'EqualRiskWeight', params: { window: 252, target: 'constant_correlation' } },
  behaviour(params) {
    return {
      reads: [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Constituents are weighted so that each contributes the same risk, by ${describeRiskEstimate(params)}.`,
      formula: 'variance / (count * marginal), marginal = (covariance * weights) of the security',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const { covariance, positions } = selectMovingBlock(risk);
        const weights = new Float64Array(positions.length);
        if (solveEqualRiskWeights(covariance, weights).status !== 'solved') return refuseSolver('equal risk weights');
        return expandSolved({ weights, positions, count: scope.columns.length, covariance });
      },
    };
  },
});

export const equalWeight = defineWeightingClass({
  type: 'EqualWeight',
  label: 'Equal weight',
  help: 'Every constituent has the same weight.',
  params: z.strictObject({}),
  example: { type: 'EqualWeight', params: {} },
  behaviour: () => ({
    reads: [],
    sentence: 'Every constituent has the same weight.',
    formula: '1',
    weigh: ({ columns }) => createWeights(new Float64Array(columns.length).fill(1)),
  }),
});

const fieldWeight = defineWeightingClass({
  type: 'FieldWeight',
  label: 'Field weight',
  help: 'Weights in proportion to a power of a datapoint.',
  params: defineObject(() => ({
    field: parameters.field,
    power: z
      .number()
      .min(-16)
      .max(16)
      .default(1)
      .meta({ label: 'Power', help: 'Exponent of the value. -1 uses the inverse of the value.' }),
    negative: z.enum(['zero', 'abs', 'fail']).default('zero').meta({
      label: 'Negative values',
      help: 'Treatment of a security with a negative value: it is not held, its absolute value is used, or the decision fails.',
    }),
  })),
  example: { type: 'FieldWeight', params: { field: 'DIVIDEND_YIELD', power: 1 } },
  indexShares({ field, power = 1 }) {
    if (field !== 'MARKET_CAP' && field !== 'FREE_FLOAT_MARKET_CAP') return null;
    const counted = field === 'MARKET_CAP' ? 'all' : 'float';
    return { kind: 'market_value', counted: power === 1 ? counted : null };
  },
  behaviour({ field, power, negative }) {
    const value = useNumber(field, 'field');
    const onNegative = {
      zero: 'securities with a negative value are not held',
      abs: 'a negative value counts with its absolute value',
      fail: 'a negative value fails the decision',
    }[negative];
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to ${nameUsedField(value)} to the power of ${power}; ${onNegative}.`,
      formula: `${nameUsedField(value)}^${power}`,
      weigh(scope) {
        const values = readValues(scope, value);
        const negativePosition = values.findIndex((found) => found < 0);
        if (negative === 'fail' && negativePosition >= 0) {
          const name = scope.identifiers[scope.columns[negativePosition]!]!;
          return {
            kind: 'refused',
            code: 'VALIDATION_FAILED',
            finding: {
              code: 'OUT_OF_RANGE',
              message: `${nameUsedField(value)} of ${name} is ${values[negativePosition]!}; it must be at least 0.`,
              path: 'params.negative',
            },
          };
        }
        const sizes = negative === 'abs' ? values.map(Math.abs) : values;
        return createWeights(
          sizes.map((size) => (size > 0 ? raiseToPower(size, power) : 0)),
          (position) => ({ [createLabel(value.field)]: values[position]!, power }),
        );
      },
    };
  },
});

/** Tolerance of the sum of given weights if they are not normalised. */
const SUM_TOLERANCE = 1e-9;

const sumWeights = (weights: Iterable<number>): number => {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
};

export const fixedWeight = defineWeightingClass({
  type: 'FixedWeight',
  label: 'Fixed weight',
  help: 'Weights by identifier. Constituents without a weight are not held.',
  params: defineObject(() => ({
    weights: z
      .record(AssetIdentifier, z.number().min(0).max(1e15))
      .meta({ label: 'Weights', help: 'Identifier to weight.', unit: 'fraction' }),
    renormalise: z.boolean().default(true).meta({
      label: 'Renormalise',
      help: 'True scales the weights of the selected securities to a sum of 1. Otherwise they must sum to 1.',
    }),
  })).superRefine(({ weights, renormalise }, context) => {
    const total = sumWeights(Object.values(weights));
    if (renormalise || Math.abs(total - 1) <= SUM_TOLERANCE) return;
    context.addIssue({
      code: 'custom',
      path: ['weights'],
      input: undefined,
      params: { finding: 'WEIGHTS_NOT_ONE' },
      message: `sum to ${formatNumber(total)}; they must sum to 1 without renormalisation`,
    });
  }),
  example: { type: 'FixedWeight', params: { weights: { AAPL: 0.5, MSFT: 0.5 } } },
  behaviour({ weights, renormalise }) {
    const weightByName = new Map(Object.entries(weights));
    const weightsText = [...weightByName].map(([name, weight]) => `${name} ${formatShare(weight)}`).join(', ');
    return {
      reads: [],
      sentence: `Constituents are weighted as given (${weightsText})${renormalise ? ', scaled to sum to 1 over the selected ones' : '; the selected ones must sum to 1'}.`,
      formula: 'given weight',
      weigh({ columns, identifiers }) {
        const values = Float64Array.from(columns, (column) => weightByName.get(identifiers[column]!) ?? 0);
        const total = sumWeights(values);
        if (!renormalise && Math.abs(total - 1) > SUM_TOLERANCE) {
          return {
            kind: 'refused',
            code: 'VALIDATION_FAILED',
            finding: {
              code: 'WEIGHTS_NOT_ONE',
              message: `The weights of the selected securities sum to ${formatNumber(total)}; they must sum to 1 without renormalisation.`,
              path: 'params.weights',
            },
          };
        }
        const given = sumWeights(weightByName.values());
        const isWhole = Math.abs(total - given) <= SUM_TOLERANCE * Math.max(1, given);
        if (isWhole || total === 0) return createWeights(values);
        return {
          ...createWeights(values),
          warnings: [
            {
              code: 'WEIGHTS_NOT_ONE',
              message: `The weights of the selected securities sum to ${formatNumber(total)}, those of all named securities to ${formatNumber(given)}. The weights are scaled to a sum of 1.`,
              path: 'params.weights',
            },
          ],
        };
      },
    };
  },
});

interface Group {
  readonly name: string | null;
  /** Weight of the group before normalisation over all groups. */
  readonly weight: number;
  readonly total: number;
}

const groupWeight = defineWeightingClass({
  type: 'GroupWeight',
  label: 'Group weight',
  help: 'Sets the weights of groups first, and then the weights of the securities within each group.',
  params: defineObject(() => ({
    field: parameters.fieldName.meta({
      label: 'Field',
      help: 'Column whose values are the groups. Securities without a value form one group.',
    }),
    between: z
      .enum(['equal', 'market_cap', 'fixed'])
      .default('equal')
      .meta({ label: 'Between groups', help: 'Weighting of the groups. market_cap uses the free float.' }),
    group_weights: z.record(z.string(), z.number().min(0).max(1e15)).nullable().default(null).meta({
      label: 'Group weights',
      help: 'Weight of each group if the weights are fixed. A group without a weight is not held.',
      unit: 'fraction',
    }),
    within: z.enum(['equal', 'market_cap']).default('market_cap').meta({
      label: 'Within groups',
      help: 'Weighting of the securities in a group. market_cap uses the free float.',
    }),
  })).refine(({ between, group_weights }) => between !== 'fixed' || group_weights !== null, {
    path: ['group_weights'],
    params: { finding: 'MISSING_PARAMETER' },
    error: 'is required if the groups are fixed',
  }),
  example: { type: 'GroupWeight', params: { field: 'SECTOR', between: 'equal', within: 'market_cap' } },
  behaviour({ field, between, group_weights, within }) {
    const group = useCategory(field, 'field');
    const size = useNumber('FREE_FLOAT_MARKET_CAP');
    const readsSize = between === 'market_cap' || within === 'market_cap';
    const groupPhrases = Object.entries(group_weights ?? {})
      .map(([name, weight]) => `${name} ${weight}`)
      .join(', ');
    const schemePhrases = {
      equal: 'equally',
      market_cap: 'by free-float market capitalisation',
      fixed: `as given (${groupPhrases})`,
    };
    return {
      reads: [group, ...(readsSize ? [size] : [])],
      sentence: `The groups of ${field} are weighted ${schemePhrases[between]}, and the securities within a group ${schemePhrases[within]}.`,
      formula: 'group_weight * within / group_total',
      weigh(scope) {
        const sizes = readsSize ? readValues(scope, size) : new Float64Array(scope.columns.length).fill(1);
        const weightsWithin =
          within === 'equal' ? new Float64Array(sizes.length).fill(1) : sizes.map((value) => (value > 0 ? value : 0));
        const raw = new Float64Array(sizes.length);
        const groups: Group[] = [];
        const groupOfPosition = new Int32Array(sizes.length);
        for (const [name, members] of readGroups(scope, group)) {
          const total = members.reduce((sum, position) => sum + weightsWithin[position]!, 0);
          const weightOfGroup = {
            equal: () => 1,
            market_cap: () => members.reduce((sum, position) => sum + (sizes[position]! || 0), 0),
            fixed: () => (name === null ? 0 : (group_weights?.[name] ?? 0)),
          }[between]();
          groups.push({ name, weight: weightOfGroup, total });
          for (const position of members) {
            groupOfPosition[position] = groups.length - 1;
            raw[position] = total > 0 ? weightOfGroup * (weightsWithin[position]! / total) : 0;
          }
        }
        return createWeights(raw, (position) => {
          const { name, weight, total } = groups[groupOfPosition[position]!]!;
          return { [field]: name, group_weight: weight, within: weightsWithin[position]!, group_total: total };
        });
      },
    };
  },
});

const hierarchicalRiskParityWeight = defineWeightingClass({
  type: 'HierarchicalRiskParityWeight',
  label: 'Hierarchical risk parity weight',
  help: 'Orders securities by a tree of their correlations. The weight is split from the root down, in inverse proportion to the variance of each half.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing returns of the sample covariance.', unit: 'sessions' }),
    linkage: z.enum(LINKAGES).default('single').meta({
      label: 'Linkage',
      help: 'Distance between two clusters: between their nearest members (single), between their farthest members (complete), the mean of all pairs (average), or the increase of the variance within them (ward).',
    }),
    distance: z.enum(TREE_DISTANCES).default('columns').meta({
      label: 'Distance',
      help: 'Euclidean distance between columns of correlation distances, as published (columns), or the correlation distance (correlation).',
    }),
    risk_model: Id.nullable().default(null).meta({
      label: 'Risk model',
      help: 'Stored risk model whose covariance replaces the sample covariance. Default: the sample covariance.',
      format: 'risk_model',
    }),
  })),
  example: { type: 'HierarchicalRiskParityWeight', params: { window: 252, linkage: 'single', distance: 'columns' } },
  behaviour(params) {
    const { window, linkage, distance, risk_model: modelId } = params;
    const covariancePhrase =
      modelId === null ? `the sample covariance of ${window} returns` : `the covariance of the risk model ${modelId}`;
    return {
      reads: modelId === null ? [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window }))] : [],
      sentence: `Constituents are weighted by hierarchical risk parity on ${covariancePhrase}: a tree by ${linkage} linkage of ${DISTANCE_WORDS[distance]}, then recursive bisection of its order of leaves by inverse-variance cluster variances.`,
      formula: 'product of (1 - variance / (variance + variance of the other half)) from the root to the leaf',
      weigh(scope) {
        const { columns } = scope;
        const securitiesMax = LIMITS.MAX_HIERARCHY_SECURITIES;
        if (columns.length > securitiesMax) return refuseTooMany(columns.length, securitiesMax);
        const risk = modelId === null ? estimateSampleRisk(scope, window) : createStoredRisk(scope, modelId);
        if (risk.kind === 'refused') return risk;
        return computeWeights(risk, { linkage, distance }, columns.length);
      },
    };
  },
});

const DISTANCE_WORDS: Readonly<Record<HierarchyTerms['distance'], string>> = {
  columns: 'the Euclidean distance between columns of correlation distances',
  correlation: 'the correlation distance',
};

function computeWeights(risk: RiskEstimate, terms: HierarchyTerms, count: number) {
  const { covariance, positions } = selectMovingBlock(risk);
  const weights = new Float64Array(positions.length);
  solveHierarchicalRiskParity(covariance, terms, weights);
  return expandSolved({ weights, positions, count, covariance });
}

const estimateSampleRisk = (scope: WeightingScope, window: number): RiskEstimate | WeightingRefusal =>
  estimateRisk(scope, { window, target: 'constant_correlation', intensity: 0 });

/** Refusals of a stored model for which the rebalance is suspended. */
const MODEL_REFUSALS: ReadonlySet<ErrorCode> = new Set(['LOOK_AHEAD', 'MODEL_LACKS_NAMES']);

function createStoredRisk(
  { cross, columns, identifiers, riskModel }: WeightingScope,
  modelId: string,
): RiskEstimate | WeightingRefusal {
  const request = { identifiers: Array.from(columns, (column) => identifiers[column]!), day: cross.day };
  try {
    const covariance = readModelCovariance(riskModel(modelId), request);
    return { kind: 'estimated', positions: Int32Array.from(columns.keys()), covariance };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || !MODEL_REFUSALS.has(refusal.code)) throw refusal;
    const code = refusal.code === 'LOOK_AHEAD' ? refusal.code : 'MODEL_LACKS_NAMES';
    return { kind: 'refused', code, finding: { code, message: refusal.message, path: 'params.risk_model' } };
  }
}

function refuseTooMany(count: number, most: number): WeightingRefusal {
  const message = `Hierarchical risk parity was requested for ${count} securities; the maximum is ${most}.`;
  return { kind: 'refused', code: 'VALIDATION_FAILED', finding: { code: 'OUT_OF_RANGE', message, path: 'type' } };
}

const inverseVolatilityWeight = defineWeightingClass({
  type: 'InverseVolatilityWeight',
  label: 'Inverse volatility weight',
  help: 'Weights in proportion to the inverse of annualised volatility. The volatility uses the returns between price bars on consecutive sessions.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing sessions of the volatility.', unit: 'sessions' }),
    minimum_observations: z.int().min(2).max(LAG_SESSIONS_MAX).default(60).meta({
      label: 'Minimum observations',
      help: 'A security needs at least this number of returns.',
      unit: 'sessions',
    }),
  })),
  example: { type: 'InverseVolatilityWeight', params: { window: 252, minimum_observations: 60 } },
  behaviour({ window, minimum_observations }) {
    const field = createLatestRequest('RETURN', { aggregate: 'std', window });
    const value = useNumber(field);
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to the inverse of their volatility over ${window} sessions; a security needs ${minimum_observations} returns between price bars on consecutive sessions.`,
      formula: '1 / VOLATILITY',
      weigh({ cross, columns }) {
        const deviations = cross.statistic(field, fillWindowDeviations, minimum_observations, columns);
        const year = Math.sqrt(estimatePeriodsPerYear(cross.market.calendar.sessions));
        const volatilities = deviations.map((found) => found * year);
        return createWeights(
          volatilities.map((volatility, position) =>
            deviations[position]! > 0 && !isConstant(deviations[position]!) ? 1 / volatility : 0,
          ),
          (position) => ({ VOLATILITY: Number.isNaN(volatilities[position]!) ? null : volatilities[position]! }),
        );
      },
    };
  },
});

export const marketCapWeight = defineWeightingClass({
  type: 'MarketCapWeight',
  label: 'Market capitalisation weight',
  help: 'Weights in proportion to market capitalisation.',
  params: defineObject(() => ({
    free_float: z
      .boolean()
      .default(true)
      .meta({ label: 'Free float', help: 'True uses only the shares in free float.' }),
    float_field: parameters.field
      .nullable()
      .default(null)
      .meta({
        label: 'Free float by expression',
        help: 'Datapoint or expression of columns that replaces FREE_FLOAT, such as ceil(FREE_FLOAT, 0.05). Default: FREE_FLOAT.',
        ref: 'Datapoint',
        format: 'expression',
        when: [{ free_float: ['true'] }],
      }),
  })),
  example: { type: 'MarketCapWeight', params: { free_float: true } },
  indexShares: ({ free_float: isFloat, float_field: float = null }) => ({
    kind: 'market_value',
    counted: isFloat === false ? 'all' : 'float',
    ...(isFloat === false || float === null ? {} : { float: toRequest(float as DatapointExpression | string) }), // as the schema requires
  }),
  behaviour({ free_float, float_field }) {
    if (free_float && float_field !== null) return weighByFloat(float_field);
    const value = useNumber(free_float ? 'FREE_FLOAT_MARKET_CAP' : 'MARKET_CAP');
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to their ${free_float ? 'free-float market capitalisation' : 'full market capitalisation, without free float'}.`,
      formula: createLabel(value.field),
      weigh: (scope) => createWeights(readValues(scope, value)),
    };
  },
});

/** Weights by market capitalisation times a free float that is an expression. */
function weighByFloat(expression: DatapointExpression | string): Weighting {
  const value = useNumber('MARKET_CAP');
  const float = useNumber(expression, 'float_field');
  return {
    reads: [value, float],
    sentence: `Constituents are weighted in proportion to their market capitalisation times a free float of ${nameUsedField(float)}; a security without that value is not held.`,
    formula: 'MARKET_CAP * float',
    weigh(scope) {
      const values = readValues(scope, value);
      const floats = readValues(scope, float);
      return createWeights(
        values.map((size, i) => size * floats[i]!),
        (position) => ({ MARKET_CAP: toNumberOrNull(values[position]!), float: toNumberOrNull(floats[position]!) }),
      );
    },
  };
}

const toNumberOrNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

const maximumDiversificationWeight = defineWeightingClass({
  type: 'MaximumDiversificationWeight',
  label: 'Maximum diversification weight',
  help: 'Long-only weights with the maximum diversification ratio, or with the least variance of the correlation matrix (maximum decorrelation).',
  params: z.strictObject({
    ...riskParameters,
    measure: z.enum(['diversification_ratio', 'correlation']).default('diversification_ratio').meta({
      label: 'Measure',
      help: 'Maximises the average volatility of the constituents divided by the volatility of the index (diversification_ratio), or minimises the variance as if all volatilities were equal (correlation).',
    }),
  }),
  example: { type: 'MaximumDiversificationWeight', params: { window: 252, measure: 'diversification_ratio' } },
  behaviour(params) {
    const isRatio = params.measure === 'diversification_ratio';
    return {
      reads: [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Constituents are weighted for ${isRatio ? 'the largest ratio of average volatility to volatility' : 'the least variance of the correlation matrix'}, long only, by ${describeRiskEstimate(params)}.`,
      formula: isRatio
        ? 'argmin of x * correlations * x, divided by volatilities'
        : 'argmin of weights * correlations * weights',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const { covariance, positions } = selectMovingBlock(risk);
        const weights = solveDiversifiedWeights(covariance, positions.length, isRatio);
        if (weights === null) return refuseSolver('maximum diversification weights');
        return expandSolved({ weights, positions, count: scope.columns.length, covariance });
      },
    };
  },
});

/**
 * Computes x = argmin x'Cx over sum x = 1 and x >= 0, where C is the correlation matrix, and w = x / volatility scaled
 * to a sum of 1. w has the maximum diversification ratio w's / sqrt(w'Sw), because the ratio does not depend on the
 * scale of w and is sum x / sqrt(x'Cx) with x = w * volatility.
 * @param covariance [n x n], variances above 0
 * @returns w if `isRatio`, otherwise x, [n]; null if the solver does not converge
 * @source Choueifaty & Coignard (2008), Toward maximum diversification, Journal of Portfolio Management 35(1).
 */
function solveDiversifiedWeights(covariance: Float64Array, n: number, isRatio: boolean): Float64Array | null {
  const weights = new Float64Array(n);
  if (n === 0) return weights;
  const volatilities = weights.map((_, i) => Math.sqrt(covariance[i * n + i]!));
  const correlations = covariance.map((value, k) => value / (volatilities[Math.floor(k / n)]! * volatilities[k % n]!));
  if (solveMinimumVarianceWeights(correlations, 1, weights).status !== 'solved') return null;
  if (!isRatio) return weights;
  const ratios = weights.map((weight, i) => (weight >= WEIGHT_MIN ? weight / volatilities[i]! : 0));
  const total = sumWeights(ratios);
  return ratios.map((ratio) => ratio / total);
}

const minimumVarianceWeight = defineWeightingClass({
  type: 'MinimumVarianceWeight',
  label: 'Minimum variance weight',
  help: 'Long-only weights with minimum variance.',
  params: defineObject(() => ({
    ...riskParameters,
    upper: z.number().gt(0).max(1).default(1).meta({
      label: 'Upper',
      help: 'Maximum weight in the minimisation. If the maximum is too low for full investment, the weights are equal.',
      unit: 'fraction',
    }),
  })),
  example: { type: 'MinimumVarianceWeight', params: { window: 252, upper: 0.05 } },
  behaviour(params) {
    return {
      reads: [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Constituents are weighted for the least variance, long only and at most ${formatShare(params.upper)} each, by ${describeRiskEstimate(params)}.`,
      formula: 'argmin of weights * covariance * weights',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const weights = new Float64Array(risk.positions.length);
        if (solveMinimumVarianceWeights(risk.covariance, params.upper, weights).status !== 'solved')
          return refuseSolver('minimum variance weights');
        return expandSolved({
          weights,
          positions: risk.positions,
          count: scope.columns.length,
          covariance: risk.covariance,
        });
      },
    };
  },
});

const pluginWeight = defineWeightingClass({
  type: 'PluginWeight',
  label: 'Plug-in weight',
  takesPlugin: true,
  help: 'Weights in proportion to the values of a plug-in. A security with a negative or missing value is not held.',
  params: defineObject(() => ({ plugin: parameters.pluginName })),
  example: { type: 'PluginWeight', params: { plugin: 'SLOW_TILT' } },
  behaviour({ plugin }) {
    const value = useNumber(plugin, 'plugin');
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to the plug-in ${plugin}; securities with a negative or missing value are not held.`,
      formula: plugin,
      weigh(scope) {
        const values = readValues(scope, value);
        return createWeights(values, (position) => ({ [plugin]: values[position]! }));
      },
    };
  },
});

export const PriceWeightParams = defineObject(() => ({
  factor_field: parameters.field.nullable().default(null).meta({
    label: 'Factor',
    help: 'Column or expression with the number of shares or contracts of each constituent, such as a par-value factor, or a production weight times a roll weight. A constituent with a factor of 0 is not held. Default: one share each.',
    ref: 'Datapoint',
    format: 'expression',
  }),
  splits: z.enum(['divisor', 'keep_weight']).default('divisor').meta({
    label: 'Splits',
    help: 'Effect of a split: the number of shares does not change and the divisor does, or the shares are multiplied so that the weight does not change.',
  }),
}));

const priceWeight = defineWeightingClass({
  type: 'PriceWeight',
  label: 'Price weight',
  help: 'Holds one share of each constituent, or a number of shares from a column. Weights are in proportion to prices in index currency, as in the Dow Jones Industrial Average.',
  params: PriceWeightParams,
  example: { type: 'PriceWeight', params: {} },
  indexShares: ({ splits }) => ({ kind: 'fixed', splits: splits === 'keep_weight' ? 'multiply' : 'keep' }),
  behaviour({ factor_field: factorField, splits }) {
    const value = useNumber('CLOSE', '', true);
    const factor = factorField === null ? null : useNumber(factorField, 'factor_field');
    const sharesPhrase =
      factor === null ? 'one share of each constituent' : `${nameUsedField(factor)} shares of each constituent`;
    const splitPhrase =
      splits === 'divisor'
        ? 'A split keeps the number of shares and changes the divisor'
        : 'A split multiplies the number of shares';
    return {
      reads: factor === null ? [value] : [value, factor],
      sentence: `The index holds ${sharesPhrase}: weights are in proportion to its price in index currency. ${splitPhrase}.`,
      formula: factor === null ? 'CLOSE' : `CLOSE x ${nameUsedField(factor)}`,
      weigh(scope) {
        const prices = readValues(scope, value);
        if (factor === null) return { ...createWeights(prices), shares: prices.map(() => 1) };
        const factors = readValues(scope, factor);
        return { ...createWeights(prices.map((price, i) => price * factors[i]!)), shares: factors };
      },
    };
  },
});

export const rankWeight = defineWeightingClass({
  type: 'RankWeight',
  label: 'Rank weight',
  help: 'Weights by the rank of a datapoint.',
  params: defineObject(() => ({
    field: parameters.field,
    ascending: parameters.ascending,
    scheme: z
      .enum(['linear', 'reciprocal'])
      .default('linear')
      .meta({ label: 'Scheme', help: '`linear`: count + 1 - rank; `reciprocal`: 1 / rank.' }),
  })),
  example: { type: 'RankWeight', params: { field: 'MOMENTUM', scheme: 'linear' } },
  behaviour({ field, ascending, scheme }) {
    const value = useNumber(field, 'field');
    return {
      reads: [value],
      sentence: `Constituents are weighted by their rank on ${nameUsedField(value)}, ${ascending ? 'smallest' : 'largest'} first, with ${scheme === 'linear' ? 'linear weights (count + 1 - rank)' : 'reciprocal weights (1 / rank)'}.`,
      formula: scheme === 'linear' ? 'count + 1 - rank' : '1 / rank',
      weigh(scope) {
        const values = readValues(scope, value);
        const order = rankPositions(values, selectPositionsWithValue(values, createPositions(values)), ascending);
        const raw = new Float64Array(values.length);
        const ranks = new Int32Array(values.length);
        order.forEach((position, i) => {
          ranks[position] = i + 1;
          raw[position] = scheme === 'linear' ? order.length - i : 1 / (i + 1);
        });
        return createWeights(raw, (position) => ({
          [createLabel(value.field)]: Number.isNaN(values[position]!) ? null : values[position]!,
          rank: ranks[position]! || null,
          count: order.length,
        }));
      },
    };
  },
});

/** Limit to which absolute z-scores are winsorised. */
const WINSORISED_SCORE = 3;

const strengthSchema = z
  .number()
  .min(0)
  .max(100)
  .default(1)
  .meta({ label: 'Strength', help: 'Exponent of the tilt. 0 keeps the base weights.' });
const directionSchema = z
  .enum(['high', 'low'])
  .default('high')
  .meta({ label: 'Direction', help: 'End of the datapoint whose weight increases.' });

const Tilt = defineObject(() => ({
  field: parameters.field,
  strength: strengthSchema,
  direction: directionSchema,
})).meta({ id: 'Tilt' });

const TILTS_MAX = 16;

const tiltWeight = defineWeightingClass({
  type: 'TiltWeight',
  label: 'Tilted weight',
  help: 'Base weights that are tilted towards one end of a datapoint, or of several datapoints. The tilts are multiplied.',
  params: defineObject(() => ({
    base: z
      .enum(['MarketCapWeight', 'EqualWeight'])
      .default('MarketCapWeight')
      .meta({ label: 'Base', help: 'Base weights. Market capitalisation uses the free float.' }),
    field: parameters.field,
    strength: strengthSchema,
    direction: directionSchema,
    tilts: z
      .array(Tilt)
      .max(TILTS_MAX)
      .default([])
      .meta({ label: 'More tilts', help: 'Further tilts, each with field, strength and direction.', ref: 'Tilt' }),
  })),
  example: {
    type: 'TiltWeight',
    params: { base: 'MarketCapWeight', field: 'DIVIDEND_YIELD', strength: 1, direction: 'high' },
  },
  behaviour({ base, tilts, ...first }) {
    const all = [first, ...tilts].map((tilt, k) => ({
      ...tilt,
      value: useNumber(tilt.field, k === 0 ? 'field' : `tilts[${k - 1}].field`),
      sign: tilt.direction === 'high' ? 1 : -1,
    }));
    const size = base === 'MarketCapWeight' ? useNumber('FREE_FLOAT_MARKET_CAP') : null;
    const tiltPhrases = all.map(
      (tilt) =>
        `${tilt.direction} ${nameUsedField(tilt.value)}: times the normal probability of its z-score, winsorised at ${WINSORISED_SCORE}, to the power of ${tilt.strength}`,
    );
    return {
      reads: [...(size === null ? [] : [size]), ...all.map(({ value }) => value)],
      sentence: `Weights start from ${size === null ? 'equal weights' : 'free-float market capitalisation'} and are tilted to ${tiltPhrases.join('; and to ')}.`,
      formula: 'base * normal probability(z)^strength',
      weigh(scope) {
        const sizes = size === null ? new Float64Array(scope.columns.length).fill(1) : readValues(scope, size);
        const scores = all.map(({ value, sign }) =>
          computeZScores(readValues(scope, value)).map(
            (score) => sign * Math.min(WINSORISED_SCORE, Math.max(-WINSORISED_SCORE, score)),
          ),
        );
        const tiltedWeights = all.reduce(
          (weights, tilt, k) =>
            weights.map((weight, i) => weight * raiseToPower(computeNormalProbability(scores[k]![i]!), tilt.strength)),
          sizes,
        );
        const listParts = (position: number, k: number) => {
          const z = scores[k]![position]!;
          const suffix = k === 0 ? '' : `_${k + 1}`;
          return { [`z${suffix}`]: Number.isNaN(z) ? null : z, [`strength${suffix}`]: all[k]!.strength };
        };
        return createWeights(tiltedWeights, (position) =>
          Object.assign({ base: sizes[position]! }, ...all.map((_, k) => listParts(position, k))),
        );
      },
    };
  },
});

/** All weighting classes, in the order of responses. */
export const WEIGHTING_CLASSES: readonly WeightingClass[] = [
  equalWeight,
  marketCapWeight,
  priceWeight,
  fieldWeight,
  fixedWeight,
  rankWeight,
  inverseVolatilityWeight,
  equalRiskWeight,
  minimumVarianceWeight,
  maximumDiversificationWeight,
  tiltWeight,
  groupWeight,
  hierarchicalRiskParityWeight,
  pluginWeight,
];
