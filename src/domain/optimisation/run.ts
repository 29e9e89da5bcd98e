import type { Engine } from '#kernels/engines/engine.js';
import { checkKkt, isOptimal } from '#kernels/optimisation/program/optimality.js';
import { createSolver, type Solver } from '#kernels/optimisation/solve-program.js';
import { compareText, type Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { findFirstAtLeast } from '../base/numbers.js';
import { assertNoErrors, Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type Composer, type Composition, findCompositionInForce } from '../books/compositions.js';
import { createIndexCrossSections } from '../decide/rule-decider.js';
import type { ConstraintRow } from '../definition/constraint-class.js';
import { findUnknownGroups, validateConstraints } from '../definition/constraint-sets.js';
import { checkConstraintFields, checkSpecFields } from '../definition/field-uses.js';
import { checkTangencyRate, type OptimisationRequest, readTangencyRate } from '../definition/optimisation-requests.js';
import { checkOptimisation, type OptimisationSpec } from '../definition/optimisation.js';
import { findCompositionDate } from '../definition/schedule.js';
import { createReturnTerms } from '../market/action-effects.js';
import { computeGrowth } from '../market/growth.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import { findCoverage, findReturnSpan, isEstimable, type ReturnSpan } from '../risk/return-panel.js';
import {
  type Candidates,
  createDecisionProblem,
  describeUncovered,
  estimateRisk,
  listCandidates,
  type PooledScenarios,
  readStoredRisk,
  refuseInsufficientRisk,
  reportJointEstimate,
  type RiskEstimate,
} from './decision-problem.js';
import { listIdentifiers, refuseInfeasible } from './derived-index.js';
import {
  computeFrontier,
  computeObjectiveFrontier,
  computeResampledFrontier,
  fixChoice,
  type Frontier,
  listFrontierFindings,
  type ObjectivePortfolio,
  type ResampledFrontier,
  type ResampledInput,
} from './frontier.js';
import { applyMetric, computeTrackingVariance, type Problem } from './problem.js';
import {
  computeDistance,
  computeFigures,
  createOutcome,
  listRowSides,
  type Outcome,
  type RowSide,
  type WeightFigures,
} from './report.js';
import { assertViewed, estimateViewedRisk } from './scenario-views.js';
import { type Solution, solveProblem } from './search.js';
import {
  computeOneSidedPrices,
  computeRowCosts,
  computeSensitivities,
  listNextSecurities,
  type NextSecurity,
  type RowCost,
  type Sensitivity,
} from './sensitivities.js';

export interface ProblemQuestion {
  readonly composer: Composer;
  readonly engine: Engine;
  readonly indexId: string;
  readonly constraints: readonly ConstraintRow[];
  /** Specification of objective, expected returns, costs and uncertainty. */
  readonly spec: OptimisationSpec;
  /** Day of the request. The latest rebalance on or before it is optimised. Null for the latest rebalance available. */
  readonly asOf: Day | null;
  /** First and last day of the risk-model window. The window never ends after the decision. */
  readonly start: Day | null;
  readonly end: Day | null;
}

/** Session range of the risk model. */
interface Window {
  readonly from: number;
  readonly to: number;
}

export interface RunProblem {
  readonly sm: SessionMarket;
  readonly target: Composition;
  readonly window: Window;
  readonly candidates: Candidates;
  readonly problem: Problem;
  readonly risk: RiskEstimate;
  /** Findings from before the solve. */
  readonly findings: readonly Finding[];
}

/**
 * Creates the problem of an index at one of its rebalances, with the risk model over a window.
 * @throws Refusal NO_DATA_AT_DATE, NO_DATA_IN_RANGE, RISK_INSUFFICIENT_DATA, LOOK_AHEAD, MODEL_LACKS_NAMES,
 *   VALIDATION_FAILED, and refusals of the rules of the index
 */
export function createRunProblem(
  question: ProblemQuestion,
  report: (fraction: number, message: string) => void = () => undefined,
): RunProblem {
  const { composer, engine, indexId, constraints, spec, start } = question;
  report(0, 'composing the index');
  const statedFindings = checkOptimisation({ ...spec, constraints }, '');
  assertNoErrors('request', statedFindings);
  const target = findTargetComposition(question);
  const sm = composer.market(indexId);
  const window = findWindow(sm, target, question);
  report(0.3, 'estimating risk');
  const candidates = listCandidates(composer, indexId, target, spec.candidates ?? 'parent');
  const { columns, index } = candidates;
  const treatment = composer.treatment(indexId);
  const { currency } = composer.document(indexId);
  const growth = computeGrowth(sm, createReturnTerms(treatment, currency, 'total'));
  const datapoints = createIndexCrossSections({ market: sm, treatment, currency });
  const returns = { sm, growth, datapoints, start, ...window };
  const { risk_model: model, scenario_views: views } = spec;
  const estimate = () =>
    typeof model === 'string'
      ? readStoredRisk(
          composer.riskModel(model),
          { window: returns, decision: target.decision, byFactors: true },
          columns,
        )
      : estimateRisk(engine, returns, columns, { estimator: model });
  const identifiers = listIdentifiers(sm, columns);
  const risk =
    views === null || views === undefined
      ? estimate()
      : estimateViewedRisk(engine, returns, columns, { views, identifiers, path: '' });
  if (risk.isIdentity) throw refuseInsufficientRisk(risk.coverage, columns.length, { window: returns });
  assertViewed(risk);
  const problem = createDecisionProblem({
    spec,
    rows: constraints,
    columns,
    identifiers,
    index,
    previous: null,
    // A run has no book, so trades are measured from the index.
    held: { weights: index, leavers: [] },
    risk,
    cross: datapoints.at(target.decision, columns),
    algebra: engine,
    path: '',
  });
  const uncoveredFindings = describeUncovered(sm, risk, problem);
  const findings = [
    ...statedFindings,
    ...validateConstraints(constraints, { path: 'constraints', identifiers: new Set(problem.identifiers) }),
    ...findUnknownGroups(constraints, sm.market, 'constraints'),
    ...(uncoveredFindings === '' ? [] : [createNoDataFinding(uncoveredFindings, '')]),
    ...reportJointEstimate({
      spec,
      held: target.columns.length,
      candidates: columns.length,
      coverage: risk.coverage,
      alone: () => findCoverage(returns, target.columns),
    }),
    ...problem.warnings.map(({ message, path }) => createNoDataFinding(message, path)),
  ];
  return { sm, target, window, candidates, problem, risk, findings };
}

const createNoDataFinding = (message: string, path: string): Finding => ({
  severity: 'warning',
  code: 'NO_WEIGHT_DATA',
  message,
  path,
});

function findTargetComposition({ composer, indexId, asOf, constraints, spec }: ProblemQuestion): Composition {
  const sm = composer.market(indexId);
  const findings = [
    ...checkConstraintFields(constraints, sm.market, { path: 'constraints', severity: 'error' }),
    ...checkSpecFields(spec, sm.market, { path: '', severity: 'error' }),
  ];
  if (findings.length > 0) {
    const message = `${findings.length} of the constraints and settings read fields that the data does not contain.`;
    throw new Refusal('VALIDATION_FAILED', message, { findings });
  }
  const session = asOf === null ? sm.sessions.length - 1 : sm.sessionAt(asOf);
  const target = session < 0 ? undefined : findCompositionInForce(composer.compositions(indexId).list, session);
  if (target !== undefined) return target;
  throw new Refusal(
    'NO_DATA_AT_DATE',
    `The index ${indexId} has no rebalance on or before ${asOf === null ? 'the last date of the data' : formatDay(asOf)}.`,
  );
}

/** Returns the requested sessions of the risk model that are not after the decision. */
function findWindow(sm: SessionMarket, { decision }: Composition, { start, end }: ProblemQuestion): Window {
  const from = start === null ? 0 : findFirstAtLeast(sm.sessions, start);
  const to = end === null ? decision : Math.min(decision, sm.sessionAt(end));
  if (to >= from) return { from, to };
  throw new Refusal(
    'NO_DATA_IN_RANGE',
    `The window contains no session on or before the decision of ${formatDay(sm.sessions[decision]!)}.`,
  );
}

export interface OptimisationInput extends ProblemQuestion {
  readonly riskFreeRate: number;
  /** Terms of a resampled frontier. Default number of returns per draw: that of the window. */
  readonly resampling: { readonly draws: number; readonly seed: number; readonly sessions: number | null } | null;
  readonly proof: OptimisationRequest['proof'];
  /** Reports progress at each stage; throws to cancel the run. */
  readonly report: (fraction: number, message: string) => void;
}

/** Returns the terms of a request with dates converted to days. */
export function readRequestTerms(request: OptimisationRequest): RequestTerms {
  const parseDayOrNull = (text: string | null): Day | null => (text === null ? null : parseValidDay(text));
  return {
    indexId: request.index_id,
    spec: request,
    asOf: parseDayOrNull(request.as_of),
    start: parseDayOrNull(request.start),
    end: parseDayOrNull(request.end),
    riskFreeRate: request.risk_free_rate,
    resampling: request.resampling,
    proof: request.proof,
  };
}

type RequestTerms = Pick<
  OptimisationInput,
  'indexId' | 'spec' | 'asOf' | 'start' | 'end' | 'riskFreeRate' | 'resampling' | 'proof'
>;

/** Finished optimisation with all data of its result. */
export interface OptimisationRun {
  readonly start: Day;
  readonly end: Day;
  readonly rebalanceDate: Day;
  /**
   * First and last day and number of the returns from which the run estimated its risk model; null for a stored model.
   */
  readonly observed: ReturnSpan | null;
  readonly isConverged: boolean;
  readonly solution: Solution;
  readonly proof: OptimisationRequest['proof'];
  readonly problem: Problem;
  readonly sides: readonly RowSide[];
  readonly trackingError: number;
  readonly outcome: Outcome;
  readonly before: WeightFigures;
  readonly turnover: number;
  readonly activeSum: number;
  readonly rows: readonly WeightRow[];
  readonly frontier: Frontier | null;
  /** Frontier by the risk measure of the objective; null if the measure is the volatility. */
  readonly ownFrontier: readonly ObjectivePortfolio[] | null;
  readonly resampled: ResampledFrontier | null;
  readonly sensitivities: readonly Sensitivity[];
  readonly rowCosts: readonly RowCost[];
  readonly nextNames: readonly NextSecurity[];
  readonly findings: readonly Finding[];
  /** Probabilities of the scenarios; null without views on them. */
  readonly pooled: PooledScenarios | null;
}

/** Security of an optimisation result. */
export interface WeightRow {
  readonly identifier: string;
  readonly weight: number;
  readonly index_weight: number;
  readonly active_weight: number;
  /** Contribution to the tracking error. All contributions sum to the tracking error. */
  readonly risk_contribution: number;
  /** Share of the portfolio variance; shares sum to 1. */
  readonly variance_share: number;
  readonly at_bound: 'lower' | 'upper' | null;
}

/**
 * Optimises the weights of an index at one of its rebalances.
 * @throws Refusal NO_DATA_AT_DATE, NO_DATA_IN_RANGE, RISK_INSUFFICIENT_DATA, LOOK_AHEAD, MODEL_LACKS_NAMES,
 *   VALIDATION_FAILED, INFEASIBLE, SOLVER_FAILED, and refusals of the rules of the index
 */
export function runOptimisation(input: OptimisationInput): OptimisationRun {
  const { engine, report } = input;
  const { sm, target, window, problem, risk, findings } = createRunProblem(input, report);
  report(0.5, 'solving');
  const solvers = { solver: createSolver(engine), algebra: engine };
  const outcome = solveProblem(solvers, problem, { proof: input.proof });
  if (outcome.kind !== 'solved') {
    report(0.7, 'explaining why the constraints are infeasible');
    throw refuseInfeasible(solvers, { problem, outcome });
  }
  const { solution } = outcome;
  report(0.8, 'tracing the frontier');
  const frontiers = traceFrontiers(solvers.solver, input, { problem, risk, solution });
  report(0.9, 'weighing the constraints');
  const sides = listRowSides(problem, solution);
  const explainedInput = { problem, solution, sides };
  const oneSidedPrices = computeOneSidedPrices(solvers, explainedInput);
  const { assembled, answer, weights } = solution;
  const trackingError = Math.sqrt(computeTrackingVariance(problem, weights));
  return {
    ...createPricedSpan(sm, target.columns, window),
    rebalanceDate: findCompositionDate(target, sm.sessions, input.asOf ?? sm.sessions.at(-1)!),
    observed: typeof input.spec.risk_model === 'string' ? null : findReturnSpan(sm, risk.coverage),
    isConverged: isOptimal(checkKkt(assembled.program, answer.point)),
    solution,
    proof: input.proof,
    problem,
    sides: oneSidedPrices.sides,
    trackingError,
    outcome: createOutcome(problem, solution),
    before: computeFigures(problem, problem.index),
    turnover: computeDistance(problem.index, weights),
    activeSum: weights.reduce((sum, weight, i) => sum + (weight - problem.index[i]!), 0),
    rows: listWeightRows(problem, solution, trackingError),
    ...frontiers.result,
    sensitivities: computeSensitivities(solvers, explainedInput, { dependent: oneSidedPrices.dependent }),
    rowCosts: computeRowCosts(solvers, explainedInput),
    nextNames: listNextSecurities(problem, solution),
    pooled: risk.pooled ?? null,
    findings: [...findings, ...checkTangencyRate(input.spec, input.riskFreeRate), ...frontiers.findings],
  };
}

/** Traces the frontiers of a run; each is null if there is none or if it was not requested. */
function traceFrontiers(
  solver: Solver,
  input: OptimisationInput,
  { problem, risk, solution }: { readonly problem: Problem; readonly risk: RiskEstimate; readonly solution: Solution },
) {
  const means = readFrontierMeans(problem, risk, input);
  const frontierInput = {
    solver,
    problem,
    means: means ?? new Float64Array(problem.identifiers.length),
    restriction: fixChoice(problem, solution.weights),
  };
  const riskFreeRate = readTangencyRate(input.spec, input.riskFreeRate);
  const frontier = means && computeFrontier({ ...frontierInput, riskFreeRate });
  const objectiveFrontier = frontier && computeObjectiveFrontier({ ...frontierInput, most: frontier.most, solution });
  const resampledFrontier = resampleInSpan(
    input,
    { ...frontierInput, algebra: input.engine, periods: risk.periods },
    risk.coverage.sessions.length,
  );
  const hasOwn = objectiveFrontier !== null;
  return {
    result: { frontier, ownFrontier: objectiveFrontier, resampled: resampledFrontier },
    findings: listFrontierFindings({ problem, means, hasFrontier: frontier !== null, hasOwn }),
  };
}

/**
 * Returns the expected returns of the frontier. Without expected returns in the request they are the mean returns of the
 * window; null if its history is too short, unless a resampled frontier requires them. The weights do not need them.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
function readFrontierMeans(
  { expectedReturns }: Problem,
  { means, coverage }: RiskEstimate,
  { resampling }: OptimisationInput,
): Float64Array | null {
  return expectedReturns ?? (isEstimable(coverage) || resampling !== null ? means() : null);
}

/**
 * Computes the resampled frontier if requested.
 * @param window number of returns in the window of the risk model
 */
function resampleInSpan(
  { resampling, report }: OptimisationInput,
  traced: Omit<ResampledInput, 'resampling' | 'report'>,
  window: number,
): ResampledFrontier | null {
  if (resampling === null) return null;
  const { draws, seed, sessions } = resampling;
  return computeResampledFrontier({
    ...traced,
    resampling: { draws, seed, sessions: sessions ?? Math.max(window, LIMITS.MIN_MODEL_OBSERVATIONS) },
    report: (share) => report(0.8 + 0.1 * share, 'drawing frontiers'),
  });
}

/** Returns the days of the first and the last session in the window on which any of the securities has a price. */
function createPricedSpan(
  sm: SessionMarket,
  columns: Int32Array,
  { from, to }: Window,
): Pick<OptimisationRun, 'start' | 'end'> {
  const hasBar = (session: number) =>
    columns.some((column) => sm.lastBar[readPanelRow(sm, session) + column] === session);
  let first = from;
  while (first < to && !hasBar(first)) first++;
  let last = to;
  while (last > first && !hasBar(last)) last--;
  return { start: sm.sessions[first]!, end: sm.sessions[last]! };
}

/** Distance below which a weight counts as at a bound. */
const BOUND_TOLERANCE = 1e-9;

/** Returns one row per security, largest active weight first. */
function listWeightRows(
  { identifiers, index, metric, rows }: Problem,
  { weights, assembled }: Solution,
  trackingError: number,
): WeightRow[] {
  const activeWeights = weights.map((weight, i) => weight - index[i]!);
  const product = applyMetric(metric, activeWeights);
  const marginals = applyMetric(metric, weights);
  const variance = weights.reduce((sum, weight, i) => sum + weight * marginals[i]!, 0);
  const boundedNames = new Set(rows.flatMap(({ row }) => (row.form === 'name' ? [row.name] : [])));
  const { lower, upper } = assembled.program;
  return identifiers
    .map((identifier, i): WeightRow => ({
      identifier,
      weight: weights[i]!,
      index_weight: index[i]!,
      active_weight: activeWeights[i]!,
      risk_contribution: trackingError > 0 ? (activeWeights[i]! * product[i]!) / trackingError : 0,
      variance_share: variance > 0 ? (weights[i]! * marginals[i]!) / variance : 0,
      at_bound: !boundedNames.has(i)
        ? null
        : weights[i]! - lower[i]! <= BOUND_TOLERANCE
          ? 'lower'
          : upper[i]! - weights[i]! <= BOUND_TOLERANCE
            ? 'upper'
            : null,
    }))
    .toSorted(
      (a, b) => Math.abs(b.active_weight) - Math.abs(a.active_weight) || compareText(a.identifier, b.identifier),
    );
}
