import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { type Finding, keepSmallValue } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { AssetIdentifier, defineObject } from '../base/schema.js';
import { ESTIMATOR_SETTINGS, type EstimatorSettingName } from '../risk/model-terms.js';
import { type Estimator, RiskEstimator, RiskModelChoice, RiskModelRequest } from '../risk/risk-models.js';
import { checkParams } from './catalogue.js';
import { findConstraintClass } from './constraints.js';
import { findReturnsClass, RETURNS_CLASSES, type ReturnsClass } from './expected-returns.js';
import {
  findObjectiveClass,
  type Objective,
  OBJECTIVE_CLASSES,
  type ObjectiveClass,
  UNCERTAIN_ESTIMATES,
} from './objectives.js';

const SETTINGS: Readonly<Record<EstimatorSettingName, { readonly readers: readonly Estimator[] }>> = ESTIMATOR_SETTINGS;

type Settings = { readonly estimator: Estimator } & { readonly [S in EstimatorSettingName]?: unknown };

/**
 * Reports settings that differ from their default but that the estimator does not read. @param path path of the
 * settings, ending with a dot
 */
export function reportIdleSettings(settings: Settings, path: string): Finding[] {
  const { estimator } = settings;
  return Object.entries(SETTINGS).flatMap(([name, { readers }]): Finding[] => {
    const setting = name as EstimatorSettingName; // the keys are names of settings
    const value = settings[setting];
    const defaultValue: unknown = RiskModelRequest.shape[setting].safeParse(undefined).data;
    if (value === defaultValue || value === undefined || readers.includes(estimator)) return [];
    const message = `${path}${name} has no effect: ${estimator} does not read it; ${readers.join(', ')} ${readers.length === 1 ? 'does' : 'do'}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: `${path}${name}`, message, ...keepSmallValue(value) }];
  });
}

export function reportUnreadFields(request: RiskModelRequest): Finding[] {
  const idle = reportIdleSettings(request, '');
  if (request.index_id === null || request.identifiers.length === 0) return idle;
  const message = 'The request contains both identifiers and index_id. identifiers has priority.';
  return [
    { severity: 'warning', code: 'NO_EFFECT', path: 'index_id', message, ...keepSmallValue(request.index_id) },
    ...idle,
  ];
}

/** Uncertainty sets of expected returns. */
const ReturnsUncertainty = defineObject(() => ({
  set: z.enum(['ellipsoid', 'diagonal', 'box']).default('ellipsoid').meta({
    description:
      'Form of the set: an ellipsoid of joint errors that are correlated like the returns, an ellipsoid of independent errors, or an interval for each security.',
  }),
  radius: z.number().min(0).max(100).meta({
    description:
      'Size of the set in standard errors of expected returns: of any portfolio, or, for a box, of each security.',
  }),
  sessions: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(1e6).nullable().default(null).meta({
    description:
      'Number of returns that determines the standard error, which is the volatility times the square root of (sessions per year (252 or 365) divided by this number). Null: the number of returns in the window.',
  }),
})).meta({ id: 'ReturnsUncertainty', description: 'Uncertainty set around the expected returns.' });

const CovarianceUncertainty = defineObject(() => ({
  radius: z.number().min(0).max(10).meta({
    description: 'Maximum error of each covariance, as a fraction of the product of the two volatilities.',
  }),
})).meta({ id: 'CovarianceUncertainty', description: 'Uncertainty set around the estimated covariances.' });

/** Uncertainty of the estimates; the objective uses the worst case. */
export const UncertaintySpec = defineObject(() => ({
  returns: ReturnsUncertainty.nullable().default(null),
  covariance: CovarianceUncertainty.nullable().default(null),
})).meta({
  id: 'Uncertainty',
  description:
    'Uncertainty sets of the estimates. The objective is optimised for the worst expected returns and covariances in these sets. Constraints use the estimates.',
});
export type UncertaintySpec = z.infer<typeof UncertaintySpec>;

/** Maximum number of views on scenarios; each is a row of a small dense system over all scenarios. */
const SCENARIO_VIEWS_MAX = 50;

const portfolioOfView = z
  .record(AssetIdentifier, z.number().min(-1e6).max(1e6))
  .refine((weights) => Object.values(weights).some((weight) => weight !== 0), { error: 'has only zero weights' });

export const VIEW_MEASURES = ['mean', 'volatility', 'correlation', 'cvar'] as const;

/** Confidence of a view on a tail that states none. */
const CONFIDENCE = 0.95;

export const ScenarioView = defineObject(() => ({
  measure: z.enum(VIEW_MEASURES).meta({
    description:
      '`mean`: expected return per year; `volatility`: volatility per year; `correlation`: correlation with the portfolio `with`; `cvar`: average loss of the worst sessions.',
  }),
  weights: portfolioOfView.meta({ description: 'Portfolio of the view: weights by identifier.' }),
  with: portfolioOfView
    .nullable()
    .default(null)
    .meta({
      description: 'Second portfolio of a correlation.',
      when: [{ measure: ['correlation'] }],
    }),
  relation: z
    .enum(['equal', 'at_least', 'at_most'])
    .default('equal')
    .meta({ description: 'Relation of the measure to `value`.' }),
  value: z.number().min(-100).max(100).meta({ description: 'Value of the measure, as a fraction.' }),
  confidence: z
    .number()
    .min(0)
    .lt(1)
    .default(CONFIDENCE)
    .meta({
      description:
        'Confidence of `cvar`: the average is taken over the worst sessions, with probability 1 - confidence.',
      when: [{ measure: ['cvar'] }],
    }),
})).meta({ id: 'ScenarioView' });
export type ScenarioView = z.infer<typeof ScenarioView>;

/** Views on the distribution of returns, by entropy pooling. */
export const ScenarioViews = defineObject(() => ({
  sessions: z.int().min(LIMITS.MIN_MODEL_OBSERVATIONS).max(LIMITS.MAX_SCENARIOS).nullable().default(null).meta({
    description:
      'Number of sessions up to the decision, whose returns are the scenarios. Null: the window of the risk model.',
  }),
  half_life: z.number().gt(0).max(1e6).nullable().default(null).meta({
    description: 'Sessions after which the prior probability of a scenario has halved. Null: equal probabilities.',
  }),
  views: z.array(ScenarioView).min(1).max(SCENARIO_VIEWS_MAX).meta({ description: 'Views that must all hold.' }),
})).meta({
  id: 'ScenarioViews',
  description:
    'Entropy pooling: the scenarios receive the probabilities nearest to the prior that satisfy the views. Covariances, historical means and tails then use these probabilities, instead of `risk_model`.',
});
export type ScenarioViews = z.infer<typeof ScenarioViews>;

/** Class of a catalogue: its type together with its parameters. */
const TypedBody = z.looseObject({ type: z.string().min(1).max(64) });

export const ObjectiveSpec = z.union([z.string().min(1).max(64), TypedBody]);
export type ObjectiveSpec = z.infer<typeof ObjectiveSpec>;

export const ReturnsSpec = TypedBody;
export type ReturnsSpec = z.infer<typeof ReturnsSpec>;

export const CostsSpec = defineObject(() => ({
  linear_bps: z
    .number()
    .min(0)
    .max(10_000)
    .default(0)
    .meta({ description: 'Cost of a trade, in basis points of the traded weight.' }),
  impact_coefficient: z.number().min(0).max(1000).default(0).meta({
    description: 'Market impact: this coefficient times the traded weight of a security to the power of 3/2.',
  }),
})).meta({
  id: 'TradeCosts',
  description:
    'Costs of the trades, as a fraction of value. Trades start from the weights held just before, or from the index weights if there are no holdings.',
});
export type CostsSpec = z.infer<typeof CostsSpec>;

/** The objective that a derivation states by only its type. Every other objective of a derivation is an object. */
export const PLAIN_OBJECTIVE = 'min_tracking_error';

/** Objective, expected returns and costs: fields shared by a derivation and a run. */
export const optimisationFields = {
  objective: ObjectiveSpec.default(PLAIN_OBJECTIVE),
  expected_returns: ReturnsSpec.nullable().optional(),
  uncertainty: UncertaintySpec.nullable().optional(),
  costs: CostsSpec.nullable().optional(),
  risk_model: RiskModelChoice.nullable().optional().meta({
    description:
      'Covariance for the objective, the constraints and the results: the id of a stored model, or an estimator. Null: the default estimator.',
  }),
  scenario_views: ScenarioViews.nullable().optional().meta({
    description: 'Views on the distribution of returns, by entropy pooling. Null: none.',
  }),
  candidates: z.enum(['parent', 'universe']).optional().meta({
    description:
      'Securities that can be held: the securities of the index (default), or every security of its universe with a price. Securities outside the index have an index weight of 0.',
  }),
};

/** Parsed form of `optimisationFields`. */
export interface OptimisationSpec {
  readonly objective: ObjectiveSpec;
  readonly expected_returns?: ReturnsSpec | null | undefined;
  readonly uncertainty?: UncertaintySpec | null | undefined;
  readonly costs?: CostsSpec | null | undefined;
  readonly risk_model?: RiskModelChoice | null | undefined;
  readonly scenario_views?: ScenarioViews | null | undefined;
  readonly candidates?: 'parent' | 'universe' | undefined;
}

export function readObjectiveType(spec: ObjectiveSpec): string {
  return typeof spec === 'string' ? spec : spec.type;
}

/** Returns a valid objective with its parameters. */
export function readObjective(spec: ObjectiveSpec): Objective {
  const entry = findObjectiveClass(readObjectiveType(spec));
  if (entry === undefined) throw new Error(`the objective ${readObjectiveType(spec)} was not validated`);
  return { entry, params: entry.params.parse(readParams(spec)) };
}

/** Model of expected returns with its parameters. */
export interface Returns {
  readonly entry: ReturnsClass;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Returns the model of expected returns in a valid specification. Returns null without a model. */
export function readExpectedReturns({
  expected_returns: spec,
}: Pick<OptimisationSpec, 'expected_returns'>): Returns | null {
  if (spec === null || spec === undefined) return null;
  const entry = findReturnsClass(spec.type);
  if (entry === undefined) throw new Error(`the expected returns ${spec.type} were not validated`);
  return { entry, params: entry.params.parse(readParams(spec)) };
}

interface RawFields {
  readonly objective?: unknown;
  readonly expected_returns?: unknown;
  readonly uncertainty?: unknown;
  readonly risk_model?: unknown;
  readonly scenario_views?: unknown;
  readonly constraints?: unknown;
}

/**
 * Checks the objective, expected returns, constraints and risk model of a body together, beyond their types. Reports settings without effect.
 * @param path path of the containing object, ending with a dot
 * @param isDerivation true for a derived index, whose objective is an object unless it is PLAIN_OBJECTIVE
 */
export function checkOptimisation(raw: RawFields, path: string, isDerivation = false): Finding[] {
  const { objective, expected_returns: returns } = raw;
  const isRefusedText = isDerivation && typeof objective === 'string' && objective !== PLAIN_OBJECTIVE;
  const findings = [
    ...(isRefusedText
      ? [reportPlainObjective(objective, `${path}objective`)]
      : reportObjective(objective, `${path}objective`)),
    ...reportReturns(returns, `${path}expected_returns`),
  ];
  const entry = isRefusedText ? undefined : findObjectiveClass(readType(objective) ?? '');
  if (entry?.needsReturns === true && (returns === null || returns === undefined))
    findings.push(createMissingReturns(`the objective ${entry.type}`, path));
  else if (Array.isArray(raw.constraints)) findings.push(...reportMissingReturns(raw, raw.constraints, path));
  if (entry !== undefined) findings.push(...reportUncertainty(raw.uncertainty, entry, `${path}uncertainty`));
  const { data: estimator } = RiskEstimator.safeParse(raw.risk_model);
  if (estimator !== undefined) findings.push(...reportIdleSettings(estimator, `${path}risk_model.`));
  if (isPresent(raw.scenario_views)) findings.push(...reportScenarioViews(raw, path));
  return findings;
}

const isPresent = (value: unknown): boolean => value !== null && value !== undefined;

/** Reports members that scenarios with probabilities exclude. @param raw fields that are not validated yet */
function reportScenarioViews(
  { objective, risk_model: model, scenario_views: views, constraints }: RawFields,
  path: string,
) {
  const findings: Finding[] = [];
  const report = (member: string, message: string) =>
    findings.push({ severity: 'error', code: 'OUT_OF_RANGE', path: `${path}${member}`, message });
  if (isPresent(model))
    report(
      'risk_model',
      `${path}risk_model and ${path}scenario_views are present; the covariance is that of the scenarios with their probabilities. Use one of them.`,
    );
  reportUnweightedScenarios(objective, 'objective', report);
  if (Array.isArray(constraints))
    constraints.forEach((row: unknown, k) => reportUnweightedScenarios(row, `constraints[${k}]`, report));
  const { data } = ScenarioViews.safeParse(views);
  data?.views.forEach(({ measure, with: other, value, confidence }, k) => {
    const at = `scenario_views.views[${k}]`;
    if (measure !== 'cvar' && confidence !== CONFIDENCE)
      findings.push({
        severity: 'warning',
        code: 'NO_EFFECT',
        path: `${path}${at}.confidence`,
        message: `${path}${at}.confidence has no effect: the measure is ${measure}; only cvar has a confidence.`,
        value: confidence,
      });
    if ((measure === 'correlation') !== (other !== null))
      report(
        `${at}.with`,
        measure === 'correlation'
          ? `${path}${at}.with is required: the second portfolio of the correlation.`
          : `${path}${at}.with is present, but the measure is ${measure}. Only a correlation has a second portfolio.`,
      );
    if (measure === 'volatility' && value < 0)
      report(`${at}.value`, `${path}${at}.value is ${value}; a volatility is at least 0.`);
    if (measure === 'correlation' && Math.abs(value) > 1)
      report(`${at}.value`, `${path}${at}.value is ${value}; a correlation is between -1 and 1.`);
  });
  return findings;
}

/** Reports an objective or a constraint whose scenarios cannot have the probabilities of views. */
function reportUnweightedScenarios(spec: unknown, member: string, report: (at: string, message: string) => void): void {
  const type = readType(spec) ?? '';
  const ofObjective = findObjectiveClass(type)?.scenarios;
  const ofConstraint = findConstraintClass(type)?.scenarios;
  if (ofObjective === 'consecutive' || ofConstraint === 'consecutive')
    report(
      member,
      `${type} measures drawdowns of consecutive sessions, which have no probabilities. Remove scenario_views, or use the conditional value at risk.`,
    );
  const body = typeof spec === 'object' && spec !== null ? spec : {};
  const params: Readonly<Record<string, unknown>> = 'params' in body ? Object(body.params) : body;
  const at = 'params' in body ? `${member}.params` : member;
  if (params['source'] === 'bootstrap')
    report(
      `${at}.source`,
      `${at}.source is bootstrap, whose blocks of consecutive sessions have no probabilities. Use historical, normal or student.`,
    );
  if (isPresent(params['scenarios']) && (ofObjective === 'any' || ofConstraint !== undefined))
    report(
      `${at}.scenarios`,
      `${at}.scenarios is ${String(params['scenarios'])}; with scenario_views, scenario_views.sessions sets the number of scenarios.`,
    );
}

/**
 * Reports absent expected returns that a constraint needs.
 * @param rows rows that are not validated yet
 * @param path path of the object with the expected returns, ending with a dot
 */
export function reportMissingReturns(
  { expected_returns: returns }: Pick<RawFields, 'expected_returns'>,
  rows: readonly unknown[],
  path: string,
): Finding[] {
  if (returns !== null && returns !== undefined) return [];
  const type = rows.map(readType).find((name) => findConstraintClass(name ?? '')?.needsReturns === true);
  return type === undefined ? [] : [createMissingReturns(`the constraint ${type}`, path)];
}

const createMissingReturns = (by: string, path: string): Finding => ({
  severity: 'error',
  code: 'REQUIRED',
  path: `${path}expected_returns`,
  message: `${path}expected_returns is required by ${by}.`,
  accepted: RETURNS_CLASSES.map(({ type }) => type),
});

/** Reports uncertainty sets that the objective does not use. @param uncertainty value that is not validated yet */
function reportUncertainty(uncertainty: unknown, { type, uncertain }: ObjectiveClass, path: string): Finding[] {
  if (typeof uncertainty !== 'object' || uncertainty === null) return [];
  const uncertaintyMembers = uncertainty as Readonly<Record<string, unknown>>; // the shape is not checked yet
  return UNCERTAIN_ESTIMATES.filter(
    (what) => !uncertain.includes(what) && (uncertaintyMembers[what] ?? null) !== null,
  ).map((what): Finding => ({
    severity: 'error',
    code: 'OUT_OF_RANGE',
    path: `${path}.${what}`,
    message: `${path}.${what} is present, but the objective ${type} has no worst case for it. Use null.`,
  }));
}

function reportObjective(objective: unknown, path: string): Finding[] {
  const type = readType(objective);
  if (type === undefined) return [];
  const entry = findObjectiveClass(type);
  if (entry !== undefined) return reportParams(entry, objective, path);
  const acceptedTypes = OBJECTIVE_CLASSES.map((known) => known.type);
  return [
    {
      severity: 'error',
      code: 'UNKNOWN_OBJECTIVE',
      path: typeof objective === 'string' ? path : `${path}.type`,
      message: `Objective ${type} is not accepted; the accepted set is ${acceptedTypes.join(', ')}.${suggestName(type, acceptedTypes)}`,
      accepted: acceptedTypes,
      ...keepSmallValue(type),
    },
  ];
}

function reportPlainObjective(type: string, path: string): Finding {
  const advice =
    findObjectiveClass(type) === undefined ? '' : ` Other objectives are objects: ${JSON.stringify({ type })}.`;
  return {
    severity: 'error',
    code: 'UNKNOWN_OBJECTIVE',
    path,
    message: `Objective ${type} is not accepted; the accepted set is ${PLAIN_OBJECTIVE}.${advice}`,
    accepted: [PLAIN_OBJECTIVE],
    ...keepSmallValue(type),
  };
}

function reportReturns(returns: unknown, path: string): Finding[] {
  const type = typeof returns === 'string' ? undefined : readType(returns);
  if (type === undefined) return [];
  const entry = findReturnsClass(type);
  if (entry !== undefined) return reportParams(entry, returns, path);
  const acceptedTypes = RETURNS_CLASSES.map((known) => known.type);
  return [
    {
      severity: 'error',
      code: 'UNKNOWN_TYPE',
      path: `${path}.type`,
      message: `${type} is not a model of expected returns; the accepted set is ${acceptedTypes.join(', ')}.${suggestName(type, acceptedTypes)}`,
      accepted: acceptedTypes,
      ...keepSmallValue(type),
    },
  ];
}

function reportParams({ params }: { readonly params: z.ZodObject }, spec: unknown, path: string): Finding[] {
  return checkParams(params, readParams(spec as ObjectiveSpec), { path, rowId: null }).findings; // the value is a string, or an object with a type
}

/**
 * Returns the type in a specification that is not validated. Returns undefined if the specification is neither a text
 * nor an object with a type; another check reports this.
 */
function readType(spec: unknown): string | undefined {
  if (typeof spec === 'string') return spec;
  if (typeof spec !== 'object' || spec === null) return undefined;
  const { type } = spec as { type?: unknown }; // the shape is not checked yet
  return typeof type === 'string' ? type : undefined;
}

function readParams(spec: ObjectiveSpec): Record<string, unknown> {
  if (typeof spec === 'string') return {};
  const { type: _, ...params } = spec;
  return params;
}
