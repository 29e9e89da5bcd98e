import type { Engine } from '#kernels/engines/engine.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/kkt.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { inForce, type Composer, type Composition } from '../books/compositions.js';
import { formatDay, type Day } from '../time/days.js';
import { validateConstraints } from '../constraints/validate.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { unknownGroups } from '../constraints/groups-on-market.js';
import { optimisationFindings, type OptimisationSpec } from '../documents/optimisation-spec.js';
import { compareText, type Finding } from '../refusals/findings.js';
import { LIMITS } from '../refusals/limits.js';
import { growthOf } from '../market/growth.js';
import { growthTerms } from '../market/growth-terms.js';
import { TRACKING } from '../objectives/objective.js';
import { panelRow, type SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { coverageOf, returnSpan, type ReturnSpan } from '../risk/return-panel.js';
import { crossSectionsOf } from '../rules/decide.js';
import { firstAtLeast } from '../numbers/search.js';
import { constraintFieldFindings, specFieldFindings } from './field-uses.js';
import { candidatesAt } from './candidates.js';
import { estimateRisk, storedRisk, type RiskEstimate } from './covariance.js';
import { identifiersOf } from './derived-solve.js';
import { insufficientRisk } from './insufficient-risk.js';
import { nextNamesOf, type NextName } from './explanation/next-names.js';
import { oneSidedPrices } from './explanation/one-sided-prices.js';
import { rowCostsOf, type RowCost } from './explanation/row-costs.js';
import { sensitivitiesOf, type Sensitivity } from './explanation/sensitivities.js';
import { frontierOf, type Frontier } from './frontier.js';
import { frontierFindings, keptChoice, objectiveFrontier, type ObjectivePortfolio } from './objective-frontier.js';
import { jointFindings } from './joint-estimate.js';
import { metricProduct } from './metric-product.js';
import { outcomeOf, type Outcome } from './outcome.js';
import type { Problem, ProblemWarning } from './problem.js';
import { distanceOf, rowSides, type RowSide } from './report.js';
import { resampledFrontier, type ResampledFrontier, type ResampledInput } from './resampled-frontier.js';
import { solveProblem, type Solution } from './search.js';
import { trackingVariance } from './solve-convex.js';
import { statedProblem } from './stated-problem.js';
import { rateFindings, tangencyRate } from './tangency-rate.js';
import { refusalOf } from './unsolved.js';

export interface OptimisationInput {
  readonly composer: Composer;
  readonly engine: Engine;
  readonly indexId: string;
  readonly constraints: readonly ConstraintRow[];
  /** Objective of the weights. */
  readonly spec: OptimisationSpec;
  /** Rebalance to target: the latest on or before this day; null takes the latest there is. */
  readonly asOf: Day | null;
  /** Window of the risk model; never past the decision. */
  readonly start: Day | null;
  readonly end: Day | null;
  readonly riskFreeRate: number;
  /** A frontier averaged over draws; as many returns each as the window has where it says none. */
  readonly resampling: { readonly draws: number; readonly seed: number; readonly sessions: number | null } | null;
  /** Called for each stage; stops the work by throwing. */
  readonly report: (fraction: number, message: string) => void;
}

/** A finished optimisation with everything its result shows. */
export interface OptimisationRun {
  readonly start: Day;
  readonly end: Day;
  readonly rebalanceDate: Day;
  /** Returns that an estimate of the run was made from; null of a stored model. */
  readonly observed: ReturnSpan | null;
  readonly isConverged: boolean;
  readonly solution: Solution;
  readonly problem: Problem;
  readonly sides: readonly RowSide[];
  readonly trackingError: number;
  readonly outcome: Outcome;
  readonly turnover: number;
  readonly activeSum: number;
  readonly rows: readonly WeightRow[];
  readonly frontier: Frontier | null;
  /** Of the risk of the objective, where that is not the volatility. */
  readonly ownFrontier: readonly ObjectivePortfolio[] | null;
  readonly resampled: ResampledFrontier | null;
  readonly sensitivities: readonly Sensitivity[];
  readonly rowCosts: readonly RowCost[];
  readonly nextNames: readonly NextName[];
  readonly findings: readonly Finding[];
}

/** One name of a result. */
export interface WeightRow {
  readonly identifier: string;
  readonly weight: number;
  readonly index_weight: number;
  readonly active_weight: number;
  /** Contribution to the tracking error; they sum to it. */
  readonly risk_contribution: number;
  /** Share of the portfolio's variance; they sum to 1. */
  readonly variance_share: number;
  readonly at_bound: 'lower' | 'upper' | null;
}

/**
 * Optimises the weights of an index at one of its rebalances.
 * @throws Refusal NO_DATA_AT_DATE, NO_DATA_IN_RANGE, RISK_INSUFFICIENT_DATA, LOOK_AHEAD, MODEL_LACKS_NAMES,
 *   VALIDATION_FAILED, INFEASIBLE, SOLVER_FAILED, and what the rules of the index refuse
 */
export function runOptimisation(input: OptimisationInput): OptimisationRun {
  const { composer, engine, indexId, constraints, report } = input;
  report(0, 'composing the index');
  const target = targetOf(input);
  const sm = composer.market(indexId);
  const window = windowOf(sm, target, input);
  report(0.3, 'estimating risk');
  const { problem, risk, joint } = problemAt(input, target, window);
  report(0.5, 'solving');
  const solvers = { solver: createSolver(engine), algebra: engine };
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') {
    report(0.7, 'explaining why the constraints cannot hold together');
    throw refusalOf(solvers, { problem, outcome });
  }
  const { solution } = outcome;
  report(0.8, 'tracing the frontier');
  const means = problem.expectedReturns ?? risk.means();
  const traced = { solver: solvers.solver, problem, means, restriction: keptChoice(problem, solution.weights) };
  const frontier = frontierOf({ ...traced, riskFreeRate: tangencyRate(input.spec, input.riskFreeRate) });
  const ownFrontier = frontier && objectiveFrontier({ ...traced, most: frontier.most, solution });
  const resampled = resampledWithin(input, { ...traced, algebra: engine }, risk.coverage.sessions.length);
  report(0.9, 'weighing the constraints');
  const sides = rowSides(problem, solution);
  const explained = { problem, solution, sides };
  const priced = oneSidedPrices(solvers, explained);
  const { assembled, answer, weights } = solution;
  const trackingError = Math.sqrt(trackingVariance(problem, weights));
  return {
    ...pricedSpan(sm, target.columns, window),
    rebalanceDate: target.date,
    observed: typeof input.spec.risk_model === 'string' ? null : returnSpan(sm, risk.coverage),
    isConverged: isOptimal(checkKkt(assembled.program, answer.point)),
    solution,
    problem,
    sides: priced.sides,
    trackingError,
    outcome: outcomeOf(problem, solution),
    turnover: distanceOf(problem.index, weights),
    activeSum: weights.reduce((sum, weight, i) => sum + (weight - problem.index[i]!), 0),
    rows: weightRows(problem, solution, trackingError),
    frontier,
    ownFrontier,
    resampled,
    sensitivities: sensitivitiesOf(solvers, explained, { dependent: priced.dependent }),
    rowCosts: rowCostsOf(solvers, explained),
    nextNames: nextNamesOf(problem, solution),
    findings: [
      ...optimisationFindings(input.spec, ''),
      ...rateFindings(input.spec, input.riskFreeRate),
      ...rowFindings(constraints, problem),
      ...unknownGroups(constraints, sm.market, 'constraints'),
      ...uncoveredFindings(sm, risk.coverage.excluded, problem),
      ...joint,
      ...frontierFindings({ problem, hasFrontier: frontier !== null, hasOwn: ownFrontier !== null }),
      ...problem.warnings.map(noDataFinding),
    ],
  };
}

/**
 * The problem at a rebalance, with the risk model over a window.
 * @throws Refusal RISK_INSUFFICIENT_DATA, LOOK_AHEAD, MODEL_LACKS_NAMES, VALIDATION_FAILED
 */
function problemAt(
  { composer, engine, indexId, constraints, spec, start }: OptimisationInput,
  target: Composition,
  window: Window,
): { readonly problem: Problem; readonly risk: RiskEstimate; readonly joint: readonly Finding[] } {
  const sm = composer.market(indexId);
  const { columns, index } = candidatesAt(composer, indexId, target, spec.candidates ?? 'parent');
  const treatment = composer.treatment(indexId);
  const { currency } = composer.document(indexId);
  const growth = growthOf(sm, growthTerms(treatment, currency, 'total'));
  const datapoints = crossSectionsOf({ market: sm, treatment, currency });
  const returns = { sm, growth, datapoints, start, ...window };
  const { risk_model: model } = spec;
  const risk =
    typeof model === 'string'
      ? storedRisk(composer.riskModel(model), { window: returns, decision: target.decision, byFactors: true }, columns)
      : estimateRisk(engine, returns, columns, { estimator: model });
  if (risk.isIdentity) throw insufficientRisk(risk.coverage, columns.length, { window: returns });
  const problem = statedProblem({
    spec,
    rows: constraints,
    columns,
    identifiers: identifiersOf(sm, columns),
    index,
    previous: null,
    held: null,
    risk,
    cross: datapoints.at(target.decision, columns),
    algebra: engine,
    path: '',
  });
  const joint = jointFindings({
    spec,
    held: target.columns.length,
    candidates: columns.length,
    coverage: risk.coverage,
    alone: () => coverageOf(returns, target.columns),
  });
  return { problem, risk, joint };
}

/** The resampled frontier where it is asked for. @param window returns of the risk model */
function resampledWithin(
  { resampling, report }: OptimisationInput,
  traced: Omit<ResampledInput, 'resampling' | 'report'>,
  window: number,
): ResampledFrontier | null {
  if (resampling === null) return null;
  const { draws, seed, sessions } = resampling;
  return resampledFrontier({
    ...traced,
    resampling: { draws, seed, sessions: sessions ?? Math.max(window, LIMITS.MIN_MODEL_OBSERVATIONS) },
    report: (share) => report(0.8 + 0.1 * share, 'drawing frontiers'),
  });
}

function noDataFinding({ message, path }: ProblemWarning): Finding {
  return { severity: 'warning', code: 'NO_WEIGHT_DATA', message, path };
}

/** The composition to optimise. */
function targetOf({ composer, indexId, asOf, constraints, spec }: OptimisationInput): Composition {
  const sm = composer.market(indexId);
  const findings = [
    ...constraintFieldFindings(constraints, sm.market, { path: 'constraints', severity: 'error' }),
    ...specFieldFindings(spec, sm.market, { path: '', severity: 'error' }),
  ];
  if (findings.length > 0)
    throw new Refusal(
      'VALIDATION_FAILED',
      `${findings.length} of the rows and settings read fields that the store lacks.`,
      {
        findings,
      },
    );
  const session = asOf === null ? sm.sessions.length - 1 : sm.sessionAt(asOf);
  const target = session < 0 ? undefined : inForce(composer.compositions(indexId).list, session);
  if (target !== undefined) return target;
  throw new Refusal(
    'NO_DATA_AT_DATE',
    `The index ${indexId} has no rebalance on or before ${asOf === null ? 'the last date of the store' : formatDay(asOf)}.`,
  );
}

interface Window {
  readonly from: number;
  readonly to: number;
}

/** Sessions of the risk model: those asked for, up to the decision. */
function windowOf(sm: SessionMarket, { decision }: Composition, { start, end }: OptimisationInput): Window {
  const from = start === null ? 0 : firstAtLeast(sm.sessions, start);
  const to = end === null ? decision : Math.min(decision, sm.sessionAt(end));
  if (to >= from) return { from, to };
  throw new Refusal(
    'NO_DATA_IN_RANGE',
    `The window holds no session on or before the decision of ${formatDay(sm.sessions[decision]!)}.`,
  );
}

/** Days of the first and the last session of the window on which one of the names has a price. */
function pricedSpan(
  sm: SessionMarket,
  columns: Int32Array,
  { from, to }: Window,
): Pick<OptimisationRun, 'start' | 'end'> {
  const hasBar = (session: number) => columns.some((column) => sm.lastBar[panelRow(sm, session) + column] === session);
  let first = from;
  while (first < to && !hasBar(first)) first++;
  let last = to;
  while (last > first && !hasBar(last)) last--;
  return { start: sm.sessions[first]!, end: sm.sessions[last]! };
}

/** Distance from a bound at which a weight counts as held by it. */
const AT_BOUND = 1e-9;

/** Every name, largest active weight first. */
function weightRows(
  { identifiers, index, metric, rows }: Problem,
  { weights, assembled }: Solution,
  trackingError: number,
): WeightRow[] {
  const active = weights.map((weight, i) => weight - index[i]!);
  const product = metricProduct(metric, active);
  const whole = metricProduct(metric, weights);
  const variance = weights.reduce((sum, weight, i) => sum + weight * whole[i]!, 0);
  const bounded = new Set(rows.flatMap(({ row }) => (row.form === 'name' ? [row.name] : [])));
  const { lower, upper } = assembled.program;
  return identifiers
    .map((identifier, i): WeightRow => ({
      identifier,
      weight: weights[i]!,
      index_weight: index[i]!,
      active_weight: active[i]!,
      risk_contribution: trackingError > 0 ? (active[i]! * product[i]!) / trackingError : 0,
      variance_share: variance > 0 ? (weights[i]! * whole[i]!) / variance : 0,
      at_bound: !bounded.has(i)
        ? null
        : weights[i]! - lower[i]! <= AT_BOUND
          ? 'lower'
          : upper[i]! - weights[i]! <= AT_BOUND
            ? 'upper'
            : null,
    }))
    .toSorted(
      (a, b) => Math.abs(b.active_weight) - Math.abs(a.active_weight) || compareText(a.identifier, b.identifier),
    );
}

/** Names in rows that are no constituents, and parameters of rows that nothing reads. */
function rowFindings(constraints: readonly ConstraintRow[], { identifiers }: Problem): Finding[] {
  return validateConstraints(constraints, { path: 'constraints', identifiers: new Set(identifiers) });
}

/** Excluded names listed one by one. */
const NAMED_MAX = 5;

function uncoveredFindings(
  sm: SessionMarket,
  excluded: ReadonlyMap<number, string>,
  { objective: { entry } }: Problem,
): Finding[] {
  if (excluded.size === 0) return [];
  const named = [...excluded].slice(0, NAMED_MAX).map(([column, why]) => `${sm.identifiers[column]} (${why})`);
  const more = excluded.size > NAMED_MAX ? ` and ${excluded.size - NAMED_MAX} more` : '';
  return [
    {
      severity: 'warning',
      code: 'NO_WEIGHT_DATA',
      message: `Without a risk estimate: ${named.join(', ')}${more}; ${entry.type === TRACKING.entry.type ? 'the mean variance stands for theirs' : 'they are left out'}.`,
      path: '',
    },
  ];
}
