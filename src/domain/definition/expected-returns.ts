import { z } from 'zod';
import { type Metric, multiplyMetric } from '#kernels/optimisation/program/metric.js';
import { computeDotProduct } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { AssetIdentifier, defineObject } from '../base/schema.js';
import { NumberExpression } from '../datapoints/expression-checks.js';
import { createLabel, describeExpression } from '../datapoints/expression-text.js';
import { type DatapointExpression, type FieldUse, toRequest, useNumber } from '../datapoints/expression-tree.js';
import { FieldNode } from '../datapoints/fields.js';
import { type CatalogueEntry, createTypeSpec, type TypeSpec } from './catalogue.js';

/** Risk aversion of the index holders: the expected return that they require per unit of variance. */
const riskAversion = z.number().gt(0).max(1e6).default(2.5).meta({
  label: 'Risk aversion of the market',
  help: 'Expected return of the index in excess of cash per unit of its variance.',
});

/**
 * Returns the expected returns in excess of cash at which the index weights maximise utility. They are risk aversion
 * times the covariances with the index, [N].
 */
function computeEquilibriumReturns(metric: Metric, index: Float64Array, riskAversion: number): Float64Array {
  const product = new Float64Array(index.length);
  multiplyMetric(metric, index, product);
  return product.map((value) => riskAversion * value);
}

/** Data available to a model of expected returns. Arrays follow `identifiers`. */
export interface ReturnsContext {
  /** Securities of the problem in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Weights of the target index, [N]. */
  readonly index: Float64Array;
  /** Annualised covariance of the securities. */
  readonly metric: Metric;
  /**
   * Annual return of cash, which the objective subtracts from expected returns. Models of returns above cash add it.
   */
  readonly cash: number;
  /**
   * Annualised arithmetic mean returns over the window of the risk model, [N]. If a security is not in the model, it
   * has the mean of the other securities.
   */
  means(): Float64Array;
  /** Returns a numeric datapoint as of the decision, NaN if missing, [N]. */
  numbers(field: DatapointExpression): Float64Array;
  /**
   * Reports a warning.
   * @param path path of the parameter, with its leading dot.
   */
  warn(message: string, path?: string): void;
}

/** Model of expected returns with all its operations. */
export interface ReturnsClass<P extends z.ZodObject = z.ZodObject> extends CatalogueEntry {
  readonly category: 'expected_returns';
  /** True if the model computes returns in excess of cash. The cash return of the objective is then added to them. */
  readonly isAboveCash: boolean;
  readonly params: P;
  /** Returns the datapoints that the model reads. */
  reads(params: z.output<P>): readonly FieldUse[];
  /** Describes the returns, for the middle of a sentence in a methodology. */
  sentence(params: z.output<P>): string;
  /**
   * Returns annualised expected returns, [N].
   * @throws Refusal VALIDATION_FAILED if views contradict each other
   */
  returns(params: z.output<P>, context: ReturnsContext): Float64Array;
}

type OptionalMember = 'reads' | 'isAboveCash';

/** Defines a model of expected returns; infers the parameter types from its schema. */
function defineReturnsClass<P extends z.ZodObject>(
  entry: Omit<ReturnsClass<P>, 'category' | OptionalMember> & Partial<Pick<ReturnsClass<P>, OptionalMember>>,
): ReturnsClass<P> {
  return { category: 'expected_returns', isAboveCash: false, reads: () => [], ...entry };
}

export interface PosteriorParams {
  readonly views: readonly {
    readonly weights: Readonly<Record<string, number>>;
    readonly value: number;
    readonly confidence: number;
  }[];
  readonly tau: number;
  readonly risk_aversion: number;
}

/**
 * Computes posterior means of expected returns: the prior pi plus tau S P' (tau P S P' + Omega)^-1 (q - P pi), with
 * diagonal Omega = (1 / confidence - 1) tau p'S p. Prior and views include the return of cash. A view with confidence
 * 1/2 has the weight of the prior; a view with confidence 1 is met exactly.
 * @throws Refusal VALIDATION_FAILED if views with confidence 1 contradict each other.
 * @cost a pass over the metric for each view, and their number cubed.
 * @source Black & Litterman (1992), Financial Analysts Journal 48(5); He & Litterman (1999); Idzorek (2005) for the
 * confidences.
 */
function computePosteriorReturns(
  { views, tau, risk_aversion }: PosteriorParams,
  context: ReturnsContext,
): Float64Array {
  const { metric, index, cash } = context;
  const prior = computeEquilibriumReturns(metric, index, risk_aversion).map((value) => cash + value);
  const heldViews = selectViews(views, context);
  const n = index.length;
  const spread = heldViews.map(({ weights }) => {
    const product = new Float64Array(n);
    multiplyMetric(metric, weights, product);
    return product.map((value) => tau * value);
  });
  const count = heldViews.length;
  const system = new Float64Array(count * count);
  const surprise = new Float64Array(count);
  heldViews.forEach(({ weights, value, confidence }, k) => {
    for (let j = 0; j < count; j++) system[k * count + j] = computeDotProduct(weights, spread[j]!);
    system[k * count + k]! *= 1 / confidence;
    surprise[k] = value - computeDotProduct(weights, prior);
  });
  const push = solveSemidefinite(system, surprise);
  const posterior = prior.slice();
  spread.forEach((values, k) => {
    for (let i = 0; i < n; i++) posterior[i]! += push[k]! * values[i]!;
  });
  assertViewsMet(heldViews, posterior);
  return posterior;
}

interface View {
  readonly position: number;
  /** [N] */
  readonly weights: Float64Array;
  readonly value: number;
  readonly confidence: number;
}

/** Selects the views with positive confidence whose securities are all in the problem. */
function selectViews(views: PosteriorParams['views'], { identifiers, warn }: ReturnsContext): View[] {
  const positionByIdentifier = new Map(identifiers.map((identifier, i): [string, number] => [identifier, i]));
  return views.flatMap(({ weights: legs, value, confidence }, position) => {
    if (confidence === 0) return [];
    const absentIdentifiers = Object.keys(legs).filter((identifier) => !positionByIdentifier.has(identifier));
    if (absentIdentifiers.length > 0) {
      warn(
        `View ${position + 1} is ignored: ${absentIdentifiers.join(', ')} ${absentIdentifiers.length === 1 ? 'is' : 'are'} not in the problem.`,
        `.views[${position}]`,
      );
      return [];
    }
    const weights = new Float64Array(identifiers.length);
    for (const [identifier, weight] of Object.entries(legs)) weights[positionByIdentifier.get(identifier)!] = weight;
    return [{ position, weights, value, confidence }];
  });
}

/**
 * Smallest pivot that counts as nonzero, as a fraction of its diagonal element. A smaller pivot means that other views
 * imply this view.
 */
const PIVOT_MIN = 1e-12;

/** Solves a symmetric positive semi-definite system. The solution is zero in redundant directions. */
function solveSemidefinite(system: Float64Array, right: Float64Array): Float64Array {
  const n = right.length;
  const l = system.slice();
  const isSkipped = new Uint8Array(n);
  for (let k = 0; k < n; k++) {
    let pivot = l[k * n + k]!;
    for (let j = 0; j < k; j++) pivot -= l[k * n + j]! ** 2;
    isSkipped[k] = pivot > PIVOT_MIN * system[k * n + k]! ? 0 : 1;
    l[k * n + k] = isSkipped[k] === 1 ? 0 : Math.sqrt(pivot);
    for (let i = k + 1; i < n; i++) {
      let value = l[i * n + k]!;
      for (let j = 0; j < k; j++) value -= l[i * n + j]! * l[k * n + j]!;
      l[i * n + k] = isSkipped[k] === 1 ? 0 : value / l[k * n + k]!;
    }
  }
  const x = right.slice();
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++) x[i]! -= l[i * n + j]! * x[j]!;
    x[i] = isSkipped[i] === 1 ? 0 : x[i]! / l[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) x[i]! -= l[j * n + i]! * x[j]!;
    x[i] = isSkipped[i] === 1 ? 0 : x[i]! / l[i * n + i]!;
  }
  return x;
}

/**
 * Distance from a view with confidence 1 that counts as rounding. It is relative to 1 + the magnitude of the view's
 * value.
 */
const VIEW_TOLERANCE = 1e-8;

/**
 * Checks that the posterior means satisfy every view with confidence 1.
 * @throws Refusal VALIDATION_FAILED
 */
function assertViewsMet(views: readonly View[], posterior: Float64Array): void {
  for (const { position, weights, value, confidence } of views) {
    const posteriorValue = computeDotProduct(weights, posterior);
    if (confidence < 1 || Math.abs(posteriorValue - value) <= VIEW_TOLERANCE * (1 + Math.abs(value))) continue;
    const message = `View ${position + 1} states ${value} with certainty, but the other certain views imply ${posteriorValue}. The views contradict each other.`;
    throw new Refusal('VALIDATION_FAILED', message, {
      findings: [
        { severity: 'error', code: 'OUT_OF_RANGE', path: `expected_returns.views[${position}].value`, message, value },
      ],
    });
  }
}

/** Maximum number of views in one model; each view is a row of a small dense system. */
const VIEWS_MAX = 200;

/** Maximum number of securities in one view. */
const LEGS_MAX = 2000;

const BlackLittermanView = defineObject(() => ({
  weights: z
    .record(AssetIdentifier, z.number().min(-1e6).max(1e6))
    .refine((weights) => Object.values(weights).some((weight) => weight !== 0), {
      error: 'has only zero weights',
    })
    .refine((weights) => Object.keys(weights).length <= LEGS_MAX, { error: `has more than ${LEGS_MAX} securities` })
    .meta({
      description:
        'Portfolio of the view: one security for an absolute view, or weights that sum to 0 for a relative view.',
    }),
  value: z
    .number()
    .min(-100)
    .max(100)
    .meta({ description: 'Expected return of the portfolio, as a fraction per year.' }),
  confidence: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .meta({ description: 'Confidence from 0 (no effect) to 1 (certainty).' }),
})).meta({ id: 'View' });

const blackLitterman = defineReturnsClass({
  type: 'black_litterman',
  label: 'Black-Litterman',
  help: 'Returns in excess of cash for which the index is optimal, adjusted by views according to their confidence and the covariances.',
  isAboveCash: true,
  params: defineObject(() => ({
    views: z.array(BlackLittermanView).max(VIEWS_MAX).default([]).meta({
      label: 'Views',
      help: 'Expected returns of portfolios, each with a confidence. An empty list keeps the prior.',
      ref: 'View',
    }),
    tau: z
      .number()
      .gt(0)
      .max(100)
      .default(0.05)
      .meta({ label: 'Tau', help: 'Variance of the prior, as a fraction of the covariance.' }),
    risk_aversion: riskAversion,
  })),
  example: {
    type: 'black_litterman',
    views: [{ weights: { AAPL: 1, MSFT: -1 }, value: 0.02, confidence: 0.6 }],
    tau: 0.05,
  },
  sentence: ({ views, tau, risk_aversion }) =>
    `the Black-Litterman posterior of ${risk_aversion} times the covariances with the source, tau ${tau}${views.length === 0 ? ', without views' : `, and ${views.map(formatView).join('; ')}`}`,
  returns: (params, context) => computePosteriorReturns(params, context),
});

function formatView({ weights, value, confidence }: z.output<typeof BlackLittermanView>): string {
  const legs = Object.entries(weights).map(([identifier, weight]) => `${weight} ${identifier}`);
  return `a view that ${legs.join(' + ')} returns ${value} with confidence ${confidence}`;
}

const capmReturns = defineReturnsClass({
  type: 'capm',
  label: 'Capital asset pricing',
  help: 'Risk aversion times the covariance with the index. These are the returns in excess of cash for which the index is optimal. Betas can be shrunk towards one.',
  isAboveCash: true,
  params: defineObject(() => ({
    risk_aversion: riskAversion,
    shrinkage: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ label: 'Shrinkage', help: 'Weight of 1 in each shrunk beta.', unit: 'fraction' }),
  })),
  example: { type: 'capm', risk_aversion: 2.5, shrinkage: 0.3 },
  sentence: ({ risk_aversion, shrinkage }) =>
    `${risk_aversion} times the covariances with the source${shrinkage > 0 ? `, their betas shrunk by ${shrinkage} towards one` : ''}`,
  returns({ risk_aversion, shrinkage }, { metric, index, cash }) {
    const returns = computeEquilibriumReturns(metric, index, risk_aversion);
    const indexReturn = returns.reduce((sum, value, i) => sum + value * index[i]!, 0);
    return returns.map((value) => cash + shrinkage * indexReturn + (1 - shrinkage) * value);
  },
});

const fieldReturns = defineReturnsClass({
  type: 'field',
  label: 'Datapoint',
  help: 'Datapoint of the store, as known at the decision, as a fraction per year. A missing value is replaced by the mean of the other values.',
  params: defineObject(() => ({
    field: z.union([z.string().min(1).max(64), FieldNode, NumberExpression]).meta({
      label: 'Field',
      help: 'Datapoint with the expected returns: its name, or an expression of datapoints as text or as nodes.',
      ref: 'FieldNode',
      format: 'expression',
    }),
  })),
  example: { type: 'field', field: 'EXPECTED_RETURN' },
  reads: ({ field }) => [useNumber(field, 'field')],
  sentence: ({ field }) => `the datapoint ${describeExpression(toRequest(field))}`,
  returns({ field: requestedField }, { identifiers, numbers, warn }) {
    const field = toRequest(requestedField);
    const values = numbers(field);
    const presentValues = values.filter((value) => !Number.isNaN(value));
    if (presentValues.length === values.length) return values;
    const mean =
      presentValues.length === 0 ? 0 : presentValues.reduce((sum, value) => sum + value, 0) / presentValues.length;
    const missingIdentifiers = identifiers.filter((_, i) => Number.isNaN(values[i]!));
    warn(
      `${missingIdentifiers.length} of ${values.length} securities have no ${createLabel(field)} (${missingIdentifiers.slice(0, 3).join(', ')}${missingIdentifiers.length > 3 ? ', ...' : ''}); the mean of the other values, ${mean}, is used instead.`,
      '.field',
    );
    return values.map((value) => (Number.isNaN(value) ? mean : value));
  },
});

export const historicalReturns = defineReturnsClass({
  type: 'historical',
  label: 'Historical means',
  help: 'Annualised arithmetic means over the window of the risk model, shrunk towards the mean of all securities.',
  params: defineObject(() => ({
    shrinkage: z.number().min(0).max(1).default(0).meta({
      label: 'Shrinkage',
      help: 'Weight of the mean of all securities. With 1, all expected returns are equal.',
      unit: 'fraction',
    }),
  })),
  example: { type: 'historical', shrinkage: 0.5 },
  sentence: ({ shrinkage }) =>
    `the historical means of the window of the risk model${shrinkage > 0 ? `, shrunk by ${shrinkage} towards their mean` : ''}`,
  returns({ shrinkage }, context) {
    const means = context.means();
    const mean = means.reduce((sum, value) => sum + value, 0) / Math.max(means.length, 1);
    return means.map((value) => shrinkage * mean + (1 - shrinkage) * value);
  },
});

/** All models of expected returns, in the order in which forms list them. */
export const RETURNS_CLASSES: readonly ReturnsClass[] = [fieldReturns, historicalReturns, capmReturns, blackLitterman];

const RETURNS_BY_TYPE = new Map(RETURNS_CLASSES.map((entry) => [entry.type, entry]));

export function findReturnsClass(type: string): ReturnsClass | undefined {
  return RETURNS_BY_TYPE.get(type);
}

/** Returns the catalogue of expected-return models for clients. */
export const listReturnsSpecs = (): TypeSpec[] => RETURNS_CLASSES.map(createTypeSpec);
