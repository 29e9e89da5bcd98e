import type { Engine } from '#kernels/engines/engine.js';
import { estimateStructured } from '#kernels/moments/estimate-covariance.js';
import {
  estimateLowRankCovariance,
  expandCovariance,
  type LowRankCovariance,
} from '#kernels/moments/low-rank-covariance.js';
import { createRollingGram, type GramHistory, type RollingGram, shrinkGram } from '#kernels/moments/rolling-gram.js';
import { fillHalfLifeWeights } from '#kernels/moments/sample-covariance.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import {
  computeMetricDiagonal,
  createDenseMetric,
  createFactorMetric,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import { raiseToPower } from '#kernels/power.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { createReturnDraws, type DrawAlgebra } from '../analytics/simulation.js';
import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type Composer, type Composition, restoreDecided } from '../books/compositions.js';
import type { IndexWeightsReader } from '../books/rebalance.js';
import { estimatePeriodsPerYear } from '../calendars/calendar.js';
import type { CrossSection, CrossSections } from '../datapoints/cross-section.js';
import { toRequest } from '../datapoints/expression-tree.js';
import { createLatestRequest, resolveName } from '../datapoints/fields.js';
import {
  computeValueOnPath,
  type ConstraintRow,
  isBoundPath,
  type MeasuredPortfolio,
  type ReferencePortfolio,
} from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { historicalReturns } from '../definition/expected-returns.js';
import { isDerivedDocument } from '../definition/index-document.js';
import { type Objective, type Robustness, TRACKING_OBJECTIVE, type TradeCosts } from '../definition/objectives.js';
import {
  type CostsSpec,
  type OptimisationSpec,
  readExpectedReturns,
  readObjective,
  readObjectiveType,
} from '../definition/optimisation.js';
import type { ScenarioTerms, WeightedScenarios } from '../definition/tail-risk.js';
import type { SessionMarket } from '../market/session-market.js';
import { createLoadings as factorLoadings, estimateFactors } from '../risk/factors.js';
import {
  type Coverage,
  describeExclusion,
  findCoverage,
  isEstimable,
  readReturns,
  type ReturnWindow,
  sumReturns,
} from '../risk/return-panel.js';
import { isFactorEstimator } from '../risk/model-terms.js';
import { type RiskEstimator } from '../risk/risk-models.js';
import {
  readModelCovariance,
  readModelFactors,
  type SecuritiesOfDecision,
  type StoredModel,
} from '../risk/stored-models.js';
import { createProblem, type Datapoints, type Problem, type ProblemWarning } from './problem.js';

export function readDatapoints(cross: CrossSection, columns: Int32Array): Datapoints {
  return {
    numbers: (field) => cross.numbers(toRequest(field), columns),
    categories(field) {
      // A market need not have a column that the request does not use, such as the default column of risk budgets.
      if ('missing' in resolveName(cross.market.market, createLatestRequest(field)))
        return Array.from(columns, () => null);
      return cross.values(createLatestRequest(field), columns).map((value) => (value === null ? null : String(value)));
    },
    medianValueTraded: (window) =>
      cross.numbers(createLatestRequest('VALUE_TRADED', { aggregate: 'median', window }), columns),
  };
}

interface PathsInput {
  readonly composer: Composer;
  readonly parentId: string;
  readonly datapoints: () => CrossSections;
  readonly indexWeights: IndexWeightsReader;
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
}

const hasBoundPath = ({ params }: ConstraintRow): boolean => Object.values(params).some(isBoundPath);

/** Returns the base dates that bound paths in the rows state. Paths based on the base date of the index are skipped. */
export function listPathDates(rows: readonly ConstraintRow[]): Day[] {
  return rows.flatMap(({ params }) =>
    Object.values(params).flatMap((bound) =>
      isBoundPath(bound) && typeof bound.base === 'string' ? [parseValidDay(bound.base)] : [],
    ),
  );
}

/**
 * Replaces bound paths by their values on the decision day.
 * @throws Refusal NO_DATA_AT_DATE if the source index has no review on or before a base date
 */
export function resolvePathValues(rows: readonly ConstraintRow[], input: PathsInput): readonly ConstraintRow[] {
  if (!rows.some(hasBoundPath)) return rows;
  return rows.map((row) => (hasBoundPath(row) ? resolveRowPath(row, input) : row));
}

function resolveRowPath(row: ConstraintRow, input: PathsInput): ConstraintRow {
  const { day, baseDay } = input;
  const entry = findConstraintClass(row.type)!; // documents have been validated
  const parsedParams = entry.params.parse(row.params);
  const computeValueAt = (base: Day): number => entry.measureOf!(parsedParams, measureParentOnDay(base, input)); // every class with bound paths defines it
  // A weight cannot exceed the whole portfolio, however far a path rises.
  const limit = (value: number): number => (entry.unit === 'fraction' ? Math.min(1, Math.max(-1, value)) : value);
  const params = Object.entries(parsedParams).map(([name, value]): [string, unknown] => [
    name,
    isBoundPath(value) ? limit(computeValueOnPath(value, { day, baseDay, valueAt: computeValueAt })) : value,
  ]);
  return { ...row, params: { ...row.params, ...Object.fromEntries(params.filter(([name]) => name in row.params)) } };
}

/**
 * Returns the source index as decided by its latest review on or before a day, with the datapoints of that decision.
 */
function measureParentOnDay(day: Day, { composer, parentId, datapoints, indexWeights }: PathsInput): MeasuredPortfolio {
  const review = composer.decidedOn(parentId, composer.market(parentId).sessionAt(day));
  if (review === undefined) {
    const message = `The index ${parentId} has no review on or before ${formatDay(day)}, the base of a bound.`;
    throw new Refusal('NO_DATA_AT_DATE', message, { index_id: parentId, date: formatDay(day) });
  }
  const { columns, weights } = restoreDecided(review);
  const cross = datapoints()
    .at(review.decision, columns)
    .given({ incumbents: null, indexWeights: (id, basis) => indexWeights(id, review.decision, basis) });
  const { numbers, categories } = readDatapoints(cross, columns);
  return { weights, numbers, categories };
}

export interface Candidates {
  /** Market columns, ascending, [N]. */
  readonly columns: Int32Array;
  /** Weights of the optimised index, zero for other securities, [N]. */
  readonly index: Float64Array;
}

/** Choice of candidates: the securities of the index, or every security of its universe. */
type CandidateScope = 'parent' | 'universe';

/**
 * Returns the securities that may be held at a composition of an index: its constituents, and optionally every security
 * of its universe with a price at the decision. The universe of a derived index is that of its rule-based root index.
 */
export function listCandidates(
  composer: Composer,
  indexId: string,
  { columns: parentColumns, weights, decision }: Pick<Composition, 'columns' | 'weights' | 'decision'>,
  which: CandidateScope,
): Candidates {
  if (which === 'parent') return { columns: parentColumns, index: weights };
  const rootId = findRoot(composer, indexId);
  const day = composer.market(indexId).sessions[decision]!;
  const universe = composer.universe(rootId, findLastAtMost(composer.market(rootId).sessions, day));
  const columns = Int32Array.from(new Set([...parentColumns, ...universe])).toSorted((a, b) => a - b);
  const weightByColumn = new Map(Array.from(parentColumns, (column, i): [number, number] => [column, weights[i]!]));
  return { columns, index: Float64Array.from(columns, (column) => weightByColumn.get(column) ?? 0) };
}

/** Returns the rule-based index at the start of a chain of derived indices. */
function findRoot(composer: Composer, indexId: string): string {
  const document = composer.document(indexId);
  return isDerivedDocument(document) ? findRoot(composer, document.derivation.source_index_id) : indexId;
}

/** Weights just before the trades of a rebalance. */
export interface WeightsBefore {
  /** Weights of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Weights of securities outside the problem. */
  readonly leavers: readonly number[];
}

interface DecisionProblemInput {
  readonly spec: OptimisationSpec;
  readonly rows: readonly ConstraintRow[];
  /** Market columns of the securities, ascending, [N], and their identifiers. */
  readonly columns: Int32Array;
  readonly identifiers: readonly string[];
  /** Index weights, [N]. */
  readonly index: Float64Array;
  /** Weights of the previous solution; null if there is none yet. */
  readonly previous: ReferencePortfolio | null;
  /** Weights just before the trades. Null if there are no holdings yet; costs are then measured from the index. */
  readonly held: WeightsBefore | null;
  readonly risk: RiskEstimate;
  readonly cross: CrossSection;
  readonly algebra: DenseAlgebra & DrawAlgebra;
  /** Path prefix of objective and constraints in the request: empty or `derivation.`. */
  readonly path: '' | 'derivation.';
}

/**
 * Creates the problem of an objective at a decision, with expected returns and costs.
 * @throws Refusal VALIDATION_FAILED if views contradict each other or draws are invalid, RISK_INSUFFICIENT_DATA if
 *   there are too few scenarios
 */
export function createDecisionProblem(input: DecisionProblemInput): Problem {
  const { spec, rows, columns, identifiers, index, previous, held, risk, cross, algebra } = input;
  const objective = readObjective(spec.objective);
  const returns = readExpectedReturns(spec);
  const warnings: ProblemWarning[] = (risk.pooled?.ignored ?? []).map(({ message, path }) => ({ message, path }));
  assertDrawsFit(identifiers.length, listDrawTerms(objective, rows, input.path));
  const findIdentifier = (column: number) => identifiers[columns.indexOf(column)]!;
  const scenarios = findScenarioCoverage(objective, rows, { risk, nameOf: findIdentifier, warnings });
  const expectedReturns =
    returns === null
      ? null
      : returns.entry.returns(returns.params, {
          identifiers,
          index,
          metric: risk.metric,
          cash: objective.entry.cash(objective.params),
          means: risk.means,
          numbers: (field) => cross.numbers(field, columns),
          warn: (message, at = '') => warnings.push({ message, path: `expected_returns${at}` }),
        });
  return createProblem({
    identifiers,
    index,
    previous,
    held:
      held === null
        ? null
        : { weights: held.weights, outside: held.leavers.reduce((sum, weight) => sum + Math.abs(weight), 0) },
    metric: risk.metric,
    rows,
    datapoints: readDatapoints(cross, columns),
    objective,
    expectedReturns,
    robustness: createRobustness(spec, risk),
    costs: createTradeCosts(spec.costs, held ?? { weights: index, leavers: [] }),
    algebra,
    scenarios: drawScenarios({ algebra, risk, expectedReturns }),
    warnings,
    // A security without an estimate gets the mean variance. This suffices to keep it at its index weight, but not to
    // select it.
    excluded:
      objective.entry.type === TRACKING_OBJECTIVE.entry.type || risk.isIdentity
        ? []
        : listUncoveredSecurities([risk.coverage, ...scenarios.map(({ coverage }) => coverage)], columns),
  });
}

/** Returns the positions of securities that at least one of the windows does not cover. */
function listUncoveredSecurities(coverages: readonly Coverage[], columns: Int32Array): number[] {
  return Array.from(columns.keys()).filter((place) => coverages.some(({ excluded }) => excluded.has(columns[place]!)));
}

interface ScenarioInput {
  readonly risk: RiskEstimate;
  readonly nameOf: (column: number) => string;
  readonly warnings: ProblemWarning[];
}

/**
 * Returns the historical scenarios that the objective and the rows request. Adds a warning if they exclude securities.
 */
function findScenarioCoverage(
  { params }: Objective,
  rows: readonly ConstraintRow[],
  { risk: { scenarios }, nameOf, warnings }: ScenarioInput,
): Scenarios[] {
  const requestedLengths = new Set(
    [...('scenarios' in params ? [params] : []), ...rows.flatMap(listTailParams)].flatMap(listScenarioSessions),
  );
  return [...requestedLengths].map((sessions) => {
    const result = scenarios(sessions);
    const { excluded } = result.coverage;
    const reasons = new Map([...excluded].map(([column, why]) => [nameOf(column), why]));
    if (excluded.size > 0) warnings.push({ message: `Scenarios: ${describeExclusion(reasons)}`, path: 'objective' });
    return result;
  });
}

function listDrawTerms({ params }: Objective, rows: readonly ConstraintRow[], path: string): RequestedDraws[] {
  return [
    { params, path: `${path}objective`, rowId: null },
    ...rows.flatMap((row, position) => {
      const entry = findConstraintClass(row.type);
      if (entry?.scenarios === undefined) return [];
      const rowId = row.id === '' ? null : row.id;
      return [{ params: entry.params.parse(row.params), path: `${path}constraints[${position}].params`, rowId }];
    }),
  ];
}

/** Returns the parameters of a row if it measures scenarios; otherwise an empty list. */
function listTailParams({ type, params }: ConstraintRow): Readonly<Record<string, unknown>>[] {
  return findConstraintClass(type)?.scenarios === undefined ? [] : [params];
}

/**
 * Returns the number of historical returns that valid parameters request. Null means all returns in the window. The
 * list is empty if scenarios are drawn from the risk model.
 */
function listScenarioSessions({ scenarios, source }: Readonly<Record<string, unknown>>): (number | null)[] {
  if (source === 'normal' || source === 'student') return [];
  return [(scenarios as number | null | undefined) ?? null];
}

/**
 * Converts the uncertainty sets of a specification to the form that the solver uses. Standard errors of mean returns
 * refer to the sessions of the estimates.
 */
function createRobustness(
  { uncertainty }: OptimisationSpec,
  { metric, coverage, periods }: RiskEstimate,
): Robustness | null {
  if (uncertainty === null || uncertainty === undefined) return null;
  const { returns, covariance } = uncertainty;
  const spread = covariance?.radius ?? 0;
  if (returns === null) return { returns: null, spread };
  const { set, radius, sessions } = returns;
  const error = radius * Math.sqrt(periods / (sessions ?? Math.max(coverage.sessions.length, 1)));
  const variances = computeMetricDiagonal(metric);
  if (set === 'box')
    return { returns: { form: 'box', widths: variances.map((value) => error * Math.sqrt(value)) }, spread };
  const shape = set === 'diagonal' ? createFactorMetric(new Float64Array(0), variances) : metric;
  return { returns: { form: 'ellipsoid', radius: error, metric: shape }, spread };
}

function createTradeCosts(costs: CostsSpec | null | undefined, { weights, leavers }: WeightsBefore): TradeCosts | null {
  if (costs === null || costs === undefined) return null;
  const linear = costs.linear_bps / 1e4;
  const impact = costs.impact_coefficient;
  const fixedCost = leavers.reduce(
    (sum, weight) => sum + linear * Math.abs(weight) + impact * raiseToPower(Math.abs(weight), 1.5),
    0,
  );
  return { linear, impact, reference: weights, fixed: fixedCost };
}

/**
 * Returns the specification for a decision with too few returns, at which the identity replaces the covariance. If the
 * objective needs the returns as scenarios or as means, it is replaced by the weights nearest to the parent, without
 * expected returns and uncertainty.
 */
export function removeReturnTerms(spec: OptimisationSpec): OptimisationSpec {
  return readsReturns(spec)
    ? { ...spec, objective: TRACKING_OBJECTIVE.entry.type, expected_returns: null, uncertainty: null }
    : spec;
}

function readsReturns({ objective, expected_returns: returns }: OptimisationSpec): boolean {
  const { params } = readObjective(objective);
  return ('scenarios' in params && listScenarioSessions(params).length > 0) || returns?.type === historicalReturns.type;
}

/** Returns true if the nearest weights replaced the requested objective. */
export function isReplaced(optimisationSpec: OptimisationSpec, used: OptimisationSpec): boolean {
  return readObjectiveType(optimisationSpec.objective) !== readObjectiveType(used.objective);
}

/** Window of returns, with the start date of the request if it states one. */
export interface RequestedWindow extends ReturnWindow {
  readonly start?: Day | null;
}

interface RiskConsumer {
  readonly by?: 'risk_model' | 'scenarios';
  readonly window?: RequestedWindow;
}

/** Part of the requested history that is available. */
type AvailableHistory = Pick<Coverage, 'columns' | 'sessions' | 'longest'>;

/** Returns the error for an objective whose history is too short for a covariance or for scenarios. */
export function refuseInsufficientRisk(
  coverage: Coverage,
  requestedCount: number,
  { by, window }: RiskConsumer = {},
): Refusal {
  const lateText = window === undefined ? '' : findLateStart(window, coverage);
  return new Refusal('RISK_INSUFFICIENT_DATA', `${describeInsufficientRisk(coverage, requestedCount, by)}${lateText}`, {
    assets: coverage.columns.length,
    observations: countObservations(coverage),
    needed: LIMITS.MIN_MODEL_OBSERVATIONS,
  });
}

function describeInsufficientRisk(coverage: AvailableHistory, requestedCount: number, by?: RiskConsumer['by']): string {
  return `${coverage.columns.length} of ${requestedCount} securities are covered, with ${countReturns(coverage, by)}.`;
}

/** Describes the available and the required returns. */
export function countReturns(coverage: AvailableHistory, by: RiskConsumer['by'] = 'risk_model'): string {
  const kind = isTooShort(coverage) ? 'sessions' : 'complete sessions';
  return `${countObservations(coverage)} ${kind} of returns for ${by}; at least ${LIMITS.MIN_MODEL_OBSERVATIONS} are required`;
}

/** Returns the number of complete sessions. If no history is long enough, returns the length of the longest one. */
function countObservations(coverage: AvailableHistory): number {
  return isTooShort(coverage) ? coverage.longest : coverage.sessions.length;
}

function isTooShort({ columns, longest }: AvailableHistory): boolean {
  return columns.length === 0 && longest < LIMITS.MIN_NAME_OBSERVATIONS;
}

/** Describes a `start` date of the request that is too late. */
function findLateStart(window: RequestedWindow, { columns, excluded }: Coverage): string {
  const { sm, start = null } = window;
  if (start === null) return '';
  const coverage = findCoverage({ ...window, from: sm.first }, [...columns, ...excluded.keys()]);
  return isEstimable(coverage) ? ` The window begins on start ${formatDay(start)}; choose an earlier start.` : '';
}

/** Historical return scenarios of securities. The return of a security that is not covered is 0. */
export interface Scenarios extends WeightedScenarios {
  readonly coverage: Coverage;
}

/**
 * Returns a function that computes returns of securities over the sessions up to the end of a window. It takes the
 * number of returns (null for all in the window), and computes equal numbers once. @throws Refusal
 * RISK_INSUFFICIENT_DATA @cost T N
 */
export function readScenarioReturns(
  window: RequestedWindow,
  columns: Int32Array,
): (sessions: number | null) => Scenarios {
  const scenariosBySessions = new Map<number | null, Scenarios>();
  return (sessions) => {
    const result = scenariosBySessions.get(sessions) ?? readScenarios(window, columns, sessions);
    scenariosBySessions.set(sessions, result);
    return result;
  };
}

function readScenarios(window: RequestedWindow, columns: Int32Array, sessionCount: number | null): Scenarios {
  const scenarioWindow =
    sessionCount === null ? window : { ...window, from: Math.max(window.to - sessionCount, 0), start: null };
  const coverage = findCoverage(scenarioWindow, columns);
  const { columns: covered, sessions: complete } = coverage;
  if (!isEstimable(coverage))
    throw refuseInsufficientRisk(coverage, columns.length, { by: 'scenarios', window: scenarioWindow });
  const panel = new Float64Array(complete.length * covered.length);
  readReturns(scenarioWindow, coverage, panel);
  if (covered.length === columns.length) return { returns: panel, counts: null, coverage };
  const positionByColumn = new Map(Array.from(columns, (column, place): [number, number] => [column, place]));
  const returns = new Float64Array(complete.length * columns.length);
  covered.forEach((column, k) => {
    const position = positionByColumn.get(column)!; // covered securities are among the requested ones
    for (let t = 0; t < complete.length; t++) returns[t * columns.length + position] = panel[t * covered.length + k]!;
  });
  return { returns, counts: null, coverage };
}

/** View with its value before and after the probabilities. */
interface ViewOutcome {
  /** Position in the request. */
  readonly position: number;
  readonly prior: number;
  readonly posterior: number;
  /** Change of the relative entropy per unit of the value; for a view of a tail per unit of a session's loss. */
  readonly multiplier: number;
}

/** Probabilities of scenarios, with the proof that they are the nearest to the prior. */
export interface PooledScenarios {
  /** Day of each scenario, [T]. */
  readonly days: readonly Day[];
  /** [T], of sum 1. */
  readonly probabilities: Float64Array;
  /** Relative entropy to the prior, and the lower bound that the multipliers prove. */
  readonly entropy: number;
  readonly bound: number;
  /** Exponential of the entropy of the probabilities: the number of equally likely scenarios with the same entropy. */
  readonly effective: number;
  readonly views: readonly ViewOutcome[];
  readonly ignored: readonly { readonly message: string; readonly path: string }[];
}

/** Annualised risk model of an optimisation, with every requested security. */
export interface RiskEstimate {
  readonly metric: Metric;
  /** Number of sessions per year, used for annualising. */
  readonly periods: number;
  /**
   * Returns annualised arithmetic mean returns, [N]. A security that is not covered has the mean of the other
   * securities. All means are zero if `isIdentity` is true.
   * @throws Refusal RISK_INSUFFICIENT_DATA if a stored model is used and the window has too few observations
   */
  means(): Float64Array;
  /**
   * Returns the returns of the securities by scenario.
   * @throws Refusal RISK_INSUFFICIENT_DATA
   */
  readonly scenarios: (sessions: number | null) => Scenarios;
  readonly coverage: Coverage;
  /** True if there were too few observations, so that the identity replaces the covariance. */
  readonly isIdentity: boolean;
  /** Probabilities of the scenarios, if views on them were requested. */
  readonly pooled?: PooledScenarios;
}

/** Ratio of securities to observations above which loadings cost less than a dense matrix. */
export const SECURITIES_PER_OBSERVATION = 1.8;

interface RiskTerms {
  /** State of the previous estimate, for a rolling window. */
  readonly memory?: GramMemory;
  /** Estimator. Default: constant correlation, in the form that suits the shape of the panel. */
  readonly estimator?: RiskEstimator | null | undefined;
}

/** State that one estimate of a rolling window passes on to the next. */
interface GramMemory {
  readonly gram: RollingGram;
}

/** @param past estimates from which to resume */
export function createRiskMemory(engine: Engine, past: GramHistory | null = null): GramMemory {
  return { gram: createRollingGram(engine, past) };
}

/**
 * Estimates the covariance of securities over a window, shrunk towards constant correlation. The form of the result
 * suits the shape of the panel. A security without enough returns in the window gets the mean variance and no
 * correlation, so that only rows move it away from its index weight.
 * @param columns market columns, ascending, [N].
 * @cost T N^2 / 2 multiply-adds, less the rows shared with the previous estimate; T N while there are far more
 * securities than observations.
 */
export function estimateRisk(
  engine: Engine,
  source: RequestedWindow,
  columns: Int32Array,
  { memory = createRiskMemory(engine), estimator = null }: RiskTerms = {},
): RiskEstimate {
  const window = { ...source, from: Math.max(source.from, source.to - (estimator?.sessions ?? Infinity)) };
  const coverage = findCoverage(window, columns);
  const scenarios = readScenarioReturns(source, columns);
  const periods = estimatePeriodsPerYear(source.sm.sessions);
  if (!isEstimable(coverage)) {
    return {
      periods,
      metric: createIdentity(columns.length),
      means: () => new Float64Array(columns.length),
      scenarios,
      coverage,
      isIdentity: true,
    };
  }
  if (estimator !== null) {
    const estimate = engine.scope(() => estimateCovered(engine, window, coverage, estimator));
    return {
      periods,
      metric: extendMetric(estimate.metric, coverage, columns),
      means: createMeansReader(estimate.means, coverage, columns),
      scenarios,
      coverage,
      isIdentity: false,
    };
  }
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  if (n > SECURITIES_PER_OBSERVATION * observationCount) {
    const loadings = engine.scope(() => computeCovarianceFromLoadings(engine, window, coverage));
    if (loadings !== undefined)
      return {
        periods,
        metric: extendMetric(loadings.metric, coverage, columns),
        means: createMeansReader(loadings.means, coverage, columns),
        scenarios,
        coverage,
        isIdentity: false,
      };
  }
  const gram = memory.gram.over(coverage.columns, coverage.sessions, (sessions, out) =>
    readReturns(window, { ...coverage, sessions }, out),
  );
  const matrix = new Float64Array(n * n);
  shrinkGram(gram, observationCount, periods, matrix);
  const means = gram.sums.map((sum) => (periods * sum) / observationCount);
  return {
    periods,
    metric: extendMetric(createDenseMetric(matrix, n), coverage, columns),
    means: createMeansReader(means, coverage, columns),
    scenarios,
    coverage,
    isIdentity: false,
  };
}

interface StoredModelUse {
  readonly window: RequestedWindow;
  readonly decision: number;
  /** True to keep a factor model as loadings and specific variances, if the model has them. */
  readonly byFactors?: boolean;
}

/**
 * Returns the covariance of a stored model for the securities, with mean returns over a window.
 * @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES
 * @cost of the rows of the securities, or of their exposures; a pass over the returns of the window if means are
 *   requested
 */
export function readStoredRisk(
  model: StoredModel,
  { window, decision, byFactors = false }: StoredModelUse,
  columns: Int32Array,
): RiskEstimate {
  const { sm } = window;
  const identifiers = Array.from(columns, (column) => sm.identifiers[column]!);
  const names = { identifiers, day: sm.sessions[decision]! };
  const coverage = findCoverage(window, columns);
  let means: Float64Array | undefined;
  return {
    periods: estimatePeriodsPerYear(sm.sessions),
    metric: (byFactors ? readFactorMetric(model, names) : undefined) ?? readStoredMetric(model, names),
    means: () => (means ??= computeWindowMeans(window, coverage, columns)),
    scenarios: readScenarioReturns(window, columns),
    // A stored model has an estimate for every security, whether or not the window covers it.
    coverage: { ...coverage, excluded: new Map() },
    isIdentity: false,
  };
}

function readStoredMetric(model: StoredModel, names: SecuritiesOfDecision): Metric {
  return createDenseMetric(readModelCovariance(model, names), names.identifiers.length);
}

/** Returns the factor form of a stored model. Returns undefined for a model without factors. */
function readFactorMetric(model: StoredModel, names: SecuritiesOfDecision): Metric | undefined {
  const modelFactors = readModelFactors(model, names);
  return modelFactors && createFactorMetric(modelFactors.loadings, modelFactors.specific);
}

function computeWindowMeans(window: RequestedWindow, coverage: Coverage, columns: Int32Array): Float64Array {
  const { sessions } = coverage;
  if (!isEstimable(coverage)) throw refuseInsufficientRisk(coverage, columns.length, { window });
  const sums = sumReturns(window, coverage);
  const periods = estimatePeriodsPerYear(window.sm.sessions);
  const means = sums.map((sum) => (periods * sum) / sessions.length);
  return extendMeans(means, coverage, columns);
}

/**
 * Estimates the covariance in the form of loadings. Returns undefined if the shrinkage target has negative
 * correlations, because loadings cannot represent them.
 */
function computeCovarianceFromLoadings(
  engine: Engine,
  window: ReturnWindow,
  coverage: Coverage,
): { readonly metric: Metric; readonly means: Float64Array } | undefined {
  const n = coverage.columns.length;
  const panel = engine.allocate(coverage.sessions.length * n);
  readReturns(window, coverage, panel);
  const means = computeColumnMeans(panel, n, estimatePeriodsPerYear(window.sm.sessions));
  const covariance = estimateLowRankCovariance(engine, panel, n, {
    target: 'constant_correlation',
    intensity: null,
    method: 'shape',
    scale: estimatePeriodsPerYear(window.sm.sessions),
  });
  return covariance.target.common >= 0 ? { metric: toLoadings(covariance), means } : undefined;
}

/** Estimates the covariance of the covered securities with a given estimator. Must run inside an engine scope. */
function estimateCovered(
  engine: Engine,
  window: ReturnWindow,
  coverage: Coverage,
  settings: RiskEstimator,
): { readonly metric: Metric; readonly means: Float64Array } {
  const { estimator, target, intensity, intensity_method: method, half_life: halfLife } = settings;
  const n = coverage.columns.length;
  const observationCount = coverage.sessions.length;
  const panel = engine.allocate(observationCount * n);
  readReturns(window, coverage, panel);
  const means = computeColumnMeans(panel, n, estimatePeriodsPerYear(window.sm.sessions));
  const scale = estimatePeriodsPerYear(window.sm.sessions);
  const weights = halfLife === null ? {} : { weights: createWeights(halfLife, observationCount) };
  if (isFactorEstimator(estimator)) {
    const { model } = estimateFactors(engine, window, coverage, { ...settings, estimator }, panel);
    return { metric: createFactorMetric(factorLoadings(model), model.specific), means };
  }
  if (estimator !== 'shrinkage') {
    const { threshold, lags, eigenvalue_simulations: simulations } = settings;
    const matrix = new Float64Array(n * n);
    estimateStructured(engine, panel, n, { estimator, threshold, lags, simulations, scale, ...weights }, matrix);
    return { metric: createDenseMetric(matrix, n), means };
  }
  const covariance = estimateLowRankCovariance(engine, panel, n, { target, intensity, method, scale, ...weights });
  if (n > SECURITIES_PER_OBSERVATION * observationCount && covariance.target.common >= 0)
    return { metric: toLoadings(covariance), means };
  const matrix = new Float64Array(n * n);
  expandCovariance(engine, covariance, matrix);
  return { metric: createDenseMetric(matrix, n), means };
}

function createWeights(halfLife: number, observationCount: number): Float64Array {
  const weights = new Float64Array(observationCount);
  fillHalfLifeWeights(halfLife, weights);
  return weights;
}

function createIdentity(n: number): Metric {
  return createFactorMetric(new Float64Array(0), new Float64Array(n).fill(1));
}

/**
 * Returns the annualised means of the columns of a panel.
 * @param periodsPerYear sessions of a year
 */
function computeColumnMeans(panel: Float64Array, n: number, periodsPerYear: number): Float64Array {
  const means = new Float64Array(n);
  for (let rowStart = 0; rowStart < panel.length; rowStart += n)
    for (let i = 0; i < n; i++) means[i]! += panel[rowStart + i]!;
  const observationCount = panel.length / n;
  return means.map((sum) => (periodsPerYear * sum) / observationCount);
}

/**
 * Returns the shrunk covariance as loadings: each row of the panel is a factor, and the common part of the target is a
 * further factor.
 */
function toLoadings({ panel, observations, assets, intensity, target, scale }: LowRankCovariance): Metric {
  const k = observations + 1;
  const loadings = new Float64Array(assets * k);
  const keep = Math.sqrt(scale * (1 - intensity));
  const commonDeviation = Math.sqrt(scale * intensity * target.common);
  for (let t = 0; t < observations; t++)
    for (let i = 0; i < assets; i++) loadings[i * k + t] = keep * panel[t * assets + i]!;
  for (let i = 0; i < assets; i++) loadings[i * k + observations] = commonDeviation * target.scale[i]!;
  return createFactorMetric(
    loadings,
    Float64Array.from(target.addedVariances, (own) => scale * intensity * own),
  );
}

/** Returns the positions of the covered securities among the requested securities. */
function findPositions(coverage: Coverage, columns: Int32Array): Int32Array {
  const coveredColumns = new Set(coverage.columns);
  return Int32Array.from(columns.keys()).filter((place) => coveredColumns.has(columns[place]!));
}

/**
 * Extends a metric to every requested security. A security that is not covered gets the mean variance and no
 * covariances.
 */
export function extendMetric(covered: Metric, coverage: Coverage, columns: Int32Array): Metric {
  const n = columns.length;
  if (covered.n === n) return covered;
  const positions = findPositions(coverage, columns);
  if (covered.form === 'factor') {
    const { factors: k, loadings, specific } = covered;
    const all = new Float64Array(n * k);
    let total = 0;
    for (let p = 0; p < positions.length; p++) {
      all.set(loadings.subarray(p * k, p * k + k), positions[p]! * k);
      total += specific[p]!;
      for (let f = 0; f < k; f++) total += loadings[p * k + f]! ** 2;
    }
    const uniform = new Float64Array(n).fill(total / positions.length);
    positions.forEach((place, p) => (uniform[place] = specific[p]!));
    return createFactorMetric(all, uniform);
  }
  const m = covered.n;
  const matrix = new Float64Array(n * n);
  let total = 0;
  for (let p = 0; p < m; p++) total += covered.matrix[p * m + p]!;
  for (let i = 0; i < n; i++) matrix[i * n + i] = total / m;
  for (let p = 0; p < m; p++)
    for (let q = 0; q < m; q++) matrix[positions[p]! * n + positions[q]!] = covered.matrix[p * m + q]!;
  return createDenseMetric(matrix, n);
}

/** Returns a function that computes mean returns of every requested security on demand. */
export function createMeansReader(means: Float64Array, coverage: Coverage, columns: Int32Array): () => Float64Array {
  let all: Float64Array | undefined;
  return () => (all ??= extendMeans(means, coverage, columns));
}

function extendMeans(means: Float64Array, coverage: Coverage, columns: Int32Array): Float64Array {
  const average = means.reduce((sum, value) => sum + value, 0) / means.length;
  const all = new Float64Array(columns.length).fill(average);
  findPositions(coverage, columns).forEach((place, p) => (all[place] = means[p]!));
  return all;
}

interface DrawnScenariosInput {
  readonly algebra: DrawAlgebra;
  readonly risk: Pick<RiskEstimate, 'metric' | 'means' | 'scenarios' | 'periods'>;
  /** Annualised expected returns, [N]; null to draw around the means of the window. */
  readonly expectedReturns: Float64Array | null;
}

/**
 * Returns a function that provides scenarios of returns, [T x N]: historical returns, draws from them, or draws from
 * the risk model. Scenarios with equal terms are computed once.
 * @throws Refusal RISK_INSUFFICIENT_DATA if there are too few returns
 * @cost T N; T N^2 for draws with a covariance
 */
export function drawScenarios({
  algebra,
  risk,
  expectedReturns,
}: DrawnScenariosInput): (terms: ScenarioTerms) => WeightedScenarios {
  const scenariosByKey = new Map<string, WeightedScenarios>();
  return (terms) => {
    const key = JSON.stringify(terms);
    const result = scenariosByKey.get(key) ?? findScenarios(terms);
    scenariosByKey.set(key, result);
    return result;
  };

  function findScenarios({ sessions, drawn }: ScenarioTerms): WeightedScenarios {
    return drawn === null ? risk.scenarios(sessions) : { returns: drawReturns(sessions, drawn), counts: null };
  }

  function drawReturns(sessions: number | null, drawn: NonNullable<ScenarioTerms['drawn']>): Float64Array {
    const { n } = risk.metric;
    const random = createCounterRandom({ seed: drawn.seed, stream: 0 });
    if (drawn.source === 'bootstrap') return resampleReturns(risk.scenarios(sessions).returns, n, { ...drawn, random });
    const { periods } = risk;
    const means = (expectedReturns ?? risk.means()).map((mean) => mean / periods);
    const draws = createReturnDraws(algebra, { metric: risk.metric, means, periods });
    return draws.draw(random, drawn.draws, drawn.source === 'student' ? drawn.degrees : null);
  }
}

/**
 * Concatenates blocks of consecutive rows. The start of each block is uniformly random.
 * @source Kunsch (1989), The jackknife and the bootstrap for general stationary observations, Annals of Statistics
 * 17(3)
 */
function resampleReturns(
  returns: Float64Array,
  n: number,
  {
    draws,
    block,
    random,
  }: { readonly draws: number; readonly block: number; readonly random: ReturnType<typeof createCounterRandom> },
): Float64Array {
  const rowCount = returns.length / n;
  const length = Math.min(block, rowCount);
  const out = new Float64Array(draws * n);
  for (let t = 0; t < draws; t += length) {
    const from = random.integer(rowCount - length + 1);
    const count = Math.min(length, draws - t);
    out.set(returns.subarray(from * n, (from + count) * n), t * n);
  }
  return out;
}

interface RequestedDraws {
  readonly params: Readonly<Record<string, unknown>>;
  readonly path: string;
  /** Id of the row; null for an objective, and for a row without an id. */
  readonly rowId: string | null;
}

/**
 * Checks that the requested draws fit into memory.
 * @throws Refusal VALIDATION_FAILED with a finding for each parameter that requests too many draws
 */
export function assertDrawsFit(securityCount: number, requestedDraws: readonly RequestedDraws[]): void {
  const drawsMax = Math.floor(LIMITS.MAX_SCENARIO_VALUES / securityCount);
  const findings = requestedDraws.flatMap(({ params: { source = 'historical', draws }, path, rowId }): Finding[] =>
    source === 'historical' || typeof draws !== 'number' || draws <= drawsMax
      ? []
      : [
          {
            severity: 'error',
            code: 'OUT_OF_RANGE',
            path: `${path}.draws`,
            row_id: rowId,
            message: `${draws} scenarios of ${securityCount} securities need too much memory; the maximum is ${drawsMax}.`,
            value: draws,
          },
        ],
  );
  if (findings.length > 0) throw new Refusal('VALIDATION_FAILED', findings[0]!.message, { findings });
}

interface JointInput {
  readonly spec: OptimisationSpec;
  /** Number of securities in the index. */
  readonly held: number;
  readonly candidates: number;
  /** Coverage of all candidates in the window of the risk model. */
  readonly coverage: Coverage;
  /** Coverage of the index securities only, in the window of the risk model. */
  readonly alone: () => Coverage;
}

/**
 * Warns that securities of the universe change the estimates of all other securities. A covariance is estimated
 * jointly, and means use the sessions that all securities share. With unchanged estimates, more candidates never worsen
 * a solution; with changed ones they may.
 */
export function reportJointEstimate({ spec, held, candidates, coverage, alone }: JointInput): Finding[] {
  if (candidates === held) return [];
  const { columns, sessions } = coverage;
  if (typeof spec.risk_model !== 'string')
    return [
      createJointFinding(
        `The covariance is one joint estimate of ${columns.length} candidates over their ${sessions.length} common sessions: its shrinkage and sessions differ from those of a run among the ${held} securities of the index, which may have a better value. Use a stored risk model to compare both runs.`,
      ),
    ];
  const sessionsAlone = alone().sessions.length;
  if (spec.expected_returns?.type !== 'historical' || sessionsAlone === sessions.length) return [];
  return [
    createJointFinding(
      `The means use the ${sessions.length} common sessions of all candidates; in a run among the ${held} securities of the index they use ${sessionsAlone}.`,
    ),
  ];
}

function createJointFinding(message: string): Finding {
  return { severity: 'info', code: 'JOINT_ESTIMATE', message, path: 'candidates' };
}

/** Maximum number of securities listed individually. */
const NAMED_MAX = 5;

/** Risk that is assumed for securities without an estimate, see `estimateRisk`. */
const ASSUMPTION = 'the mean variance and no correlation';

/**
 * Describes the securities that the risk-model window does not cover: their number, their share of the index, their
 * treatment, and the largest of them. Returns an empty text if the window covers all.
 */
export function describeUncovered(
  sm: SessionMarket,
  { coverage: { excluded } }: Pick<RiskEstimate, 'coverage'>,
  { objective: { entry }, identifiers, index }: Pick<Problem, 'objective' | 'identifiers' | 'index'>,
): string {
  if (excluded.size === 0) return '';
  const reasons = new Map([...excluded].map(([column, why]) => [sm.identifiers[column]!, why]));
  const share = index.reduce((sum, weight, i) => (reasons.has(identifiers[i]!) ? sum + weight : sum), 0);
  const treatment =
    entry.type === TRACKING_OBJECTIVE.entry.type
      ? `They are kept with ${ASSUMPTION}.`
      : `They are excluded. The figures of the index assume ${ASSUMPTION} for them.`;
  const weights = new Map(identifiers.map((identifier, i) => [identifier, index[i]!]));
  const getWeight = (identifier: string) => weights.get(identifier) ?? 0;
  const bySize = [...reasons].toSorted(([a], [b]) => getWeight(b) - getWeight(a));
  const namedSecurities = bySize.slice(0, NAMED_MAX).map(([identifier, why]) => `${identifier} (${why})`);
  const moreText = excluded.size > NAMED_MAX ? ` and ${excluded.size - NAMED_MAX} more` : '';
  return `${excluded.size} of ${index.length} securities (${(100 * share).toFixed(2)}% of the index) have no risk estimate: ${namedSecurities.join(', ')}${moreText}. ${treatment}`;
}
