import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeMetricDiagonal, createFactorMetric } from '#kernels/optimisation/program/metric.js';
import { raiseToPower } from '#kernels/power.js';
import type { DrawAlgebra } from '../analytics/simulation.js';
import { findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type Composer, type Composition, restoreDecided } from '../books/compositions.js';
import type { IndexWeightsReader } from '../books/rebalance.js';
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
import { type Coverage, describeExclusion } from '../risk/return-panel.js';
import { createProblem, type Datapoints, type Problem, type ProblemWarning } from './problem.js';
import {
  assertDrawsFit,
  drawScenarios,
  type RequestedDraws,
  type RiskEstimate,
  type Scenarios,
} from './risk-estimate.js';

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

export interface PathsInput {
  readonly composer: Composer;
  readonly parentId: string;
  readonly datapoints: () => CrossSections;
  readonly indexWeights: IndexWeightsReader;
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
}

export const hasBoundPath = ({ params }: ConstraintRow): boolean => Object.values(params).some(isBoundPath);

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
export type CandidateScope = 'parent' | 'universe';

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

export interface DecisionProblemInput {
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
