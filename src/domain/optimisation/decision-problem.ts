import { raiseToPower } from '#kernels/power.js';
import { createFactorMetric, computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import {
  readObjective,
  readExpectedReturns,
  type CostsSpec,
  type OptimisationSpec,
} from '../documents/optimisation-spec.js';
import { TRACKING_OBJECTIVE, type Objective } from '../objectives/objective.js';
import type { TradeCosts } from '../objectives/goal.js';
import type { Robustness } from '../objectives/robustness.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import { describeExclusion } from '../risk/excluded-securities.js';
import type { Coverage } from '../risk/return-panel.js';
import type { RiskEstimate } from './covariance.js';
import type { Scenarios } from './scenario-returns.js';
import type { DrawAlgebra } from '../simulation/draw-returns.js';
import { assertDrawsFit, drawScenarios, type RequestedDraws } from './drawn-scenarios.js';
import { readDatapoints } from './datapoints.js';
import type { ReferencePortfolio } from '../constraints/constraint-class.js';
import { createProblem, type Problem, type ProblemWarning } from './problem.js';

/** Weights just before the trades of a rebalance. */
export interface WeightsBefore {
  /** Weights of the securities of the problem, [N]. */
  readonly weights: Float64Array;
  /** Weights of securities outside the problem. */
  readonly leavers: readonly number[];
}

export interface ProblemInput {
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
export function createDecisionProblem(input: ProblemInput): Problem {
  const { spec, rows, columns, identifiers, index, previous, held, risk, cross, algebra } = input;
  const objective = readObjective(spec.objective);
  const returns = readExpectedReturns(spec);
  const warnings: ProblemWarning[] = [];
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

/** Returns the parameters of objective and rows that may request simulated draws. */
function listDrawTerms({ params }: Objective, rows: readonly ConstraintRow[], path: string): RequestedDraws[] {
  return [
    { params, path: `${path}objective`, rowId: null },
    ...rows.flatMap((row, position) => {
      const entry = findConstraintClass(row.type);
      if (entry?.readsScenarios !== true) return [];
      const rowId = row.id === '' ? null : row.id;
      return [{ params: entry.params.parse(row.params), path: `${path}constraints[${position}].params`, rowId }];
    }),
  ];
}

/** Returns the parameters of a row if it measures scenarios; otherwise an empty list. */
function listTailParams({ type, params }: ConstraintRow): Readonly<Record<string, unknown>>[] {
  return findConstraintClass(type)?.readsScenarios === true ? [params] : [];
}

/**
 * Returns the number of historical returns that valid parameters request. Null means all returns in the window. The
 * list is empty if scenarios are drawn from the risk model.
 */
export function listScenarioSessions({ scenarios, source }: Readonly<Record<string, unknown>>): (number | null)[] {
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
