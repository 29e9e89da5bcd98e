import { computeMetricDiagonal, computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { FailedDecision } from '../books/decider.js';
import { Refusal } from '../refusals/refusal.js';
import type { DerivedSolve } from './derived/derived-solve.js';
import { describeInfeasibility } from './relaxation/describe-infeasibility.js';
import { relaxCurvedRows, explainChoice, explainRows } from './relaxation/infeasibility.js';
import { computeDotProduct } from '../numbers/dot.js';
import { isRiskless } from './goals/solve-ratio.js';
import type { Problem } from './problem.js';
import { listConflictRows, findConflict } from './proof.js';
import type { Solvers } from './solvers.js';
import { solveConvex } from './solve-convex.js';

/** Problem for which no solution was found. */
type UnsolvedProblem = Pick<DerivedSolve, 'problem' | 'outcome'>;

/** Returns the refusal of an infeasible problem, with its explanation. */
export function refuseInfeasible(solvers: Solvers, { problem, outcome }: UnsolvedProblem): Refusal {
  const explanation =
    outcome.kind === 'no-choice'
      ? { detail: explainChoice(solvers, problem, outcome.isProven), remaining: [] }
      : explainRows(solvers, problem);
  if (explanation === undefined) return refuseUnattained(solvers, problem);
  const { detail, remaining } = explanation;
  return new Refusal('INFEASIBLE', describeInfeasibility(problem, detail, remaining), { ...detail });
}

/**
 * Returns the refusal of a problem whose rows are feasible, but for which no weights meet the requirement of the
 * objective.
 */
function refuseUnattained({ solver }: Solvers, problem: Problem): Refusal {
  const { entry, params } = problem.objective;
  if (entry.unattainable === null)
    return new Refusal('SOLVER_FAILED', 'The solver found neither a solution nor a proof that no solution exists.');
  const largest = createNumeratorGoal(problem);
  const result = largest === null ? undefined : solveConvex(solver, { ...problem, goal: largest });
  const largestValue = result === undefined ? null : -result.objective;
  if (largestValue !== null && largestValue > 0 && hasRisklessRatio(solver, problem))
    return new Refusal(
      'OBJECTIVE_UNATTAINABLE',
      `${entry.measure.name.replace(/^the /, 'The ')} has no bound: weights within the constraints have a variance of 0 and a positive numerator. The covariance contains no risk of these weights.`,
      { objective: entry.type, largest: largestValue },
    );
  return new Refusal('OBJECTIVE_UNATTAINABLE', entry.unattainable(params, largestValue), {
    objective: entry.type,
    ...(largestValue === null ? {} : { largest: largestValue }),
    ...(largestValue === null || !entry.needsReturns
      ? {}
      : { largest_return: largestValue + entry.cash(params), risk_free_rate: entry.cash(params) }),
  });
}

/**
 * Price of the numerator, relative to the price at which it matters as much as the variance, at which weights without
 * variance are found if there are any.
 */
const RISKLESS_PRICE = 1e-9;

/** Returns true if weights have a positive numerator without variance. The ratio then has no bound. */
function hasRisklessRatio(solver: Solvers['solver'], problem: Problem): boolean {
  const goal = createNumeratorGoal(problem);
  if (goal === null || goal.form !== 'quadratic') return false;
  const variances = computeMetricDiagonal(problem.metric);
  const largest = variances.reduce((most, variance) => Math.max(most, variance), 0);
  const steepest = goal.linear.reduce((most, slope) => Math.max(most, Math.abs(slope)), 0);
  const price = (RISKLESS_PRICE * largest) / steepest;
  const linear = goal.linear.map((slope) => price * slope);
  const result = solveConvex(solver, { ...problem, goal: { ...goal, curvature: 1, linear } });
  return (
    result !== undefined &&
    isRiskless(problem.metric, result.weights, computeMetricSquare(problem.metric, result.weights)) &&
    computeDotProduct(goal.linear, result.weights) < 0
  );
}

/** Returns the goal of maximising the numerator of a ratio. Returns null if the numerator is not linear. */
function createNumeratorGoal({ goal }: Problem): Problem['goal'] | null {
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'linear') return null;
  const { slopes } = goal.numerator;
  return {
    form: 'quadratic',
    metric: 'covariance',
    curvature: 0,
    centre: new Float64Array(slopes.length),
    linear: slopes.map((slope) => -slope),
  };
}

/**
 * Explains why there is no solution. If the conflict can be proven, names the conflicting rows and, on request, ways to
 * resolve it.
 */
export function explainUnsolved(solvers: Solvers, solve: UnsolvedProblem): FailedDecision {
  const { problem, outcome } = solve;
  const explain = () => refuseInfeasible(solvers, solve);
  const [code, message] = findReason(solvers, problem, outcome);
  const path = code === 'OBJECTIVE_UNATTAINABLE' ? 'derivation.objective' : undefined;
  return createRefusal(code, message, explain, path);
}

function findReason(
  solvers: Solvers,
  problem: Problem,
  outcome: DerivedSolve['outcome'],
): [FailedDecision['code'], string] {
  if (outcome.kind === 'no-choice') return ['INFEASIBLE', 'no selection of securities satisfies the constraints.'];
  const conflict = findConflict(solvers.solver, problem);
  if (conflict !== null) {
    const detail = {
      conflict: listConflictRows(problem, conflict),
      relaxations: relaxCurvedRows(solvers, problem, conflict),
    };
    return ['INFEASIBLE', describeInfeasibility(problem, detail)];
  }
  const { code, message } = refuseUnattained(solvers, problem);
  return [code, message];
}

/**
 * Returns a decision without weights.
 * @param path path of the part of the request that allows no weights
 */
export function createRefusal(
  code: FailedDecision['code'],
  message: string,
  explain?: () => Refusal,
  path = 'derivation.constraints',
): FailedDecision {
  const finding = { severity: 'error', code: 'REBALANCE_HELD', message, path } as const;
  return { kind: 'refused', code, finding, ...(explain === undefined ? {} : { explain }) };
}
