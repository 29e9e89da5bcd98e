import type { ExceededLimit, PreviewResponse } from '#contract/indices/previews.js';
import type { OptimisationRunResult } from '#contract/optimise.js';
import type { StudyFigures } from '#contract/studies.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import {
  listSettingsRead,
  RiskEstimator,
  type RiskMeasureModel,
  type RiskModelChoice,
} from '#domain/risk/risk-models.js';
import { readObjectiveType } from '#domain/definition/optimisation.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { listExceededSides, type RowSide, type WeightFigures } from '#domain/optimisation/report.js';
import type { DerivedPreview } from '#domain/optimisation/preview.js';
import { findRelaxation } from '#domain/optimisation/derived-index.js';
import type { FrontierPortfolio } from '#domain/optimisation/frontier.js';
import { computeTrackingVariance } from '#domain/optimisation/problem.js';
import type { OptimisationRun } from '#domain/optimisation/run.js';
import { toPooledPayload } from '#domain/optimisation/scenario-views.js';
import { findCompositionDate } from '#domain/definition/schedule.js';

/** Response with findings of the domain. The API returns the findings unchanged. */
type Served<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

interface RunIdentity {
  readonly runId: string;
  readonly indexId: string;
  readonly constraintSetId: string;
  /** Stored risk model with which the risk was measured; null if the run estimated its own model. */
  readonly measuredBy: RiskMeasureModel | null;
  readonly asked: RiskModelChoice | null | undefined;
}

/** Converts a finished optimisation to its form in the API. */
export function toOptimisationResult(
  run: OptimisationRun,
  { runId, indexId, constraintSetId, ...risk }: RunIdentity,
): Served<OptimisationRunResult> {
  const { solution, sides, outcome } = run;
  return {
    run_id: runId,
    index_id: indexId,
    constraint_set_id: constraintSetId,
    start: formatDay(run.start),
    end: formatDay(run.end),
    rebalance_date: formatDay(run.rebalanceDate),
    risk_model: describeRiskModel(run, risk),
    converged: run.isConverged,
    heuristic: solution.isHeuristic,
    holdings: solution.weights.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0),
    gross_holdings: solution.weights.reduce((count, weight) => count + (weight !== 0 ? 1 : 0), 0),
    iterations: solution.iterations,
    objective_type: run.problem.objective.entry.type,
    objective_value: outcome.value,
    objective: computeTrackingVariance(run.problem, solution.weights),
    bound: outcome.bound,
    gap: Math.max(0, solution.objective - solution.bound) / Math.max(Math.abs(solution.objective), 1e-18),
    proof: run.proof,
    expected_return: outcome.expectedReturn,
    volatility: outcome.volatility,
    costs: outcome.costs,
    tail: outcome.tail,
    worst_case: outcome.worst && {
      nominal: outcome.worst.nominal,
      expected_return: outcome.worst.expectedReturn,
      volatility: outcome.worst.volatility,
    },
    before: toFigures(run.before),
    tracking_error: run.trackingError,
    turnover: run.turnover,
    active_sum: run.activeSum,
    solver_message: describeSolution(run),
    weights: run.rows.map((row) => ({ ...row })),
    binding: sides.filter(({ isBinding }) => isBinding).map(toBinding),
    exceeded: listExceededLimits(sides),
    constraints: selectTightest(sides).map(toSolvedConstraint),
    ...createExplanation(run),
    frontier: describeFrontier(run),
    scenario_views: run.pooled && toPooledPayload(run.pooled),
    findings: run.findings,
  };
}

/** Returns the figures of a result that a study row contains. */
export function toStudyFigures(result: Served<OptimisationRunResult>): StudyFigures {
  const { rebalance_date, converged, heuristic, holdings, objective_value, gap } = result;
  const { expected_return, volatility, tracking_error, turnover, costs } = result;
  const risk = { expected_return, volatility, tracking_error, turnover, costs };
  return { rebalance_date, converged, heuristic, holdings, objective_value, gap, ...risk };
}

function describeRiskModel(
  { observed }: OptimisationRun,
  { measuredBy, asked }: Pick<RunIdentity, 'measuredBy' | 'asked'>,
): OptimisationRunResult['risk_model'] {
  if (measuredBy !== null) {
    const { modelId, settings, ...rest } = measuredBy;
    return { model_id: modelId, settings: { ...settings }, ...rest };
  }
  const estimator = RiskEstimator.parse(asked ?? {}); // a stored model has been returned above
  const { first, last, sessions } = observed!; // without a stored model, the run has an estimation window
  return {
    model_id: null,
    estimator: estimator.estimator,
    settings: { ...listSettingsRead(estimator) },
    start: formatDay(first),
    end: formatDay(last),
    sessions,
  };
}

/**
 * Returns the values of held securities by identifier. The object has no prototype: V8 then uses a hash table at once,
 * which is filled ten times as fast.
 */
function listHoldingValues(
  names: readonly string[],
  values: Float64Array,
  weights: Float64Array,
): Record<string, number> {
  const valuesByName = Object.create(null) as Record<string, number>;
  for (let i = 0; i < names.length; i++) if (weights[i] !== 0) valuesByName[names[i]!] = values[i]!;
  return valuesByName;
}

/**
 * Converts the frontier to the format of the API: each point with its holdings, and the risk and return of the run and
 * of its index.
 */
function describeFrontier({
  frontier,
  ownFrontier,
  resampled,
  problem,
  solution,
}: OptimisationRun): OptimisationRunResult['frontier'] {
  if (frontier === null) return null;
  const groupByName = (values: Float64Array, weights: Float64Array) =>
    listHoldingValues(problem.identifiers, values, weights);
  const nameWeights = ({ weights, ...point }: FrontierPortfolio) => ({
    ...point,
    weights: groupByName(weights, weights),
  });
  const { points, tangency, pointOf } = frontier;
  return {
    points: points.map(nameWeights),
    tangency: tangency && { ...nameWeights(tangency), sharpe: tangency.sharpe },
    resampled: resampled && {
      draws: resampled.draws,
      points: resampled.points.map(({ weights, spread, ...point }) => ({
        ...point,
        weights: groupByName(weights, weights),
        spread: groupByName(spread, weights),
      })),
    },
    by_objective:
      ownFrontier && ownFrontier.map((point) => ({ ...point, weights: groupByName(point.weights, point.weights) })),
    portfolio: pointOf(solution.weights),
    index: pointOf(problem.index),
  };
}

/** Converts the effects of the constraint rows on the objective to the format of the API. */
function createExplanation({
  sensitivities,
  rowCosts,
  nextNames,
}: OptimisationRun): Pick<OptimisationRunResult, 'sensitivities' | 'constraint_costs' | 'next_names'> {
  return {
    sensitivities: sensitivities.map(({ shadowPrice, ...row }) => ({ ...row, shadow_price: shadowPrice })),
    constraint_costs: rowCosts.map(({ without, ...row }) => ({ ...row, objective_without: without })),
    next_names: nextNames.map(({ identifier, marginal, expectedReturn, entryReturn }) => ({
      identifier,
      marginal,
      expected_return: expectedReturn,
      entry_return: entryReturn,
    })),
  };
}

function toBinding({ placed: { origin }, side, label, shadowPrice }: RowSide): Record<string, string> {
  return {
    id: origin.id,
    index: origin.index === null ? '' : String(origin.index),
    type: origin.type,
    label,
    side,
    unit: origin.unit,
    shadow_price: String(shadowPrice),
  };
}

const toSolvedConstraint = ({ placed: { origin }, label, side, value, limit, slack, isBinding }: RowSide) => ({
  label,
  id: origin.id,
  index: origin.index,
  type: origin.type,
  side,
  unit: origin.unit,
  value,
  limit,
  slack,
  binding: isBinding,
});

const ROUTES = {
  centre: 'The index weights satisfy all constraints.',
  'active-set': 'Solved by an active-set method, exact up to rounding.',
  simplex: 'Solved by the dual simplex method and polished on its active set.',
  'interior-point': 'Solved by an interior-point method and polished on its active set.',
  'interior-point-unpolished': 'Solved by an interior-point method.',
} as const;

function describeSolution({ solution, isConverged }: OptimisationRun): string {
  const routeText = ROUTES[solution.answer.route];
  const choice = solution.isHeuristic
    ? ' The securities were chosen by a heuristic search: better choices are possible.'
    : '';
  return `${routeText}${choice}${isConverged ? '' : ' The optimality conditions do not hold within the tolerance.'}`;
}

/**
 * Converts the preview of a derived index to the format of the API.
 * @param asOf date YYYY-MM-DD; null for the first rebalance, whose session is then reported
 */
export function toDerivedPreview(
  preview: DerivedPreview,
  { indexId, asOf }: { readonly indexId: string; readonly asOf: string | null },
): Served<PreviewResponse> {
  const { sm, document, session, parent, candidates, held, sides, relaxed } = preview;
  const solvedWeights = new Map(Array.from(held.columns, (column, i): [number, number] => [column, held.weights[i]!]));
  const assets = Array.from(candidates.columns, (column, i): PreviewResponse['assets'][number] => {
    const weight = solvedWeights.get(column) ?? null;
    return {
      identifier: sm.identifiers[column]!,
      included: weight !== null,
      weight,
      excluded_by: null,
      excluded_at: null,
      uncapped_weight: null,
      capped: false,
      source_weight: candidates.index[i]!,
      solved_weight: weight,
      weight_delta: (weight ?? 0) - candidates.index[i]!,
    };
  });
  return {
    index_id: indexId,
    as_of: asOf ?? formatDay(sm.sessions[session]!),
    resolved_date: formatDay(sm.sessions[session]!),
    assets: assets.toSorted(
      (a, b) => (b.weight ?? -Infinity) - (a.weight ?? -Infinity) || compareText(a.identifier, b.identifier),
    ),
    weights: Object.fromEntries(Array.from(held.columns, (column, i) => [sm.identifiers[column]!, held.weights[i]!])),
    total_weight: held.weights.reduce((total, weight) => total + weight, 0),
    cap: null,
    cap_redistributed: 0,
    steps: null,
    solve: {
      source_index_id: document.derivation.source_index_id,
      objective: readObjectiveType(document.derivation.objective),
      rebalance_date: formatDay(
        findCompositionDate(parent, sm.sessions, asOf === null ? sm.sessions[session]! : parseValidDay(asOf)),
      ),
      before: toFigures(preview.before),
      after: toFigures(preview.after),
      binding: sides.filter(({ isBinding }) => isBinding).map(({ label }) => label),
      constraints: selectListed(sides).map((side) => toPreviewConstraint(side, relaxed)),
      exceeded: listExceededLimits(sides),
      scenario_views: preview.pooled && toPooledPayload(preview.pooled),
    },
    findings: preview.findings,
  };
}

const listExceededLimits = (sides: readonly RowSide[]): ExceededLimit[] =>
  listExceededSides(sides).map(({ placed: { origin }, label, side, value, limit }) => ({
    label,
    id: origin.id,
    type: origin.type,
    side,
    unit: origin.unit,
    value,
    limit,
  }));

const toFigures = (figures: WeightFigures): NonNullable<OptimisationRunResult['before']> => ({
  objective_value: figures.objectiveValue,
  expected_return: figures.expectedReturn,
  volatility: figures.volatility,
  tracking_error: figures.trackingError,
  turnover: figures.turnover,
});

function toPreviewConstraint(
  side: RowSide,
  relaxed: DerivedPreview['relaxed'],
): NonNullable<PreviewResponse['solve']>['constraints'][number] {
  const {
    placed: { origin },
    label,
    isBinding,
    slack,
  } = side;
  return {
    label,
    kind: origin.kind,
    binding: isBinding,
    slack,
    unit: origin.unit,
    relaxed_by: findRelaxation(side, relaxed),
  };
}

/** Returns every binding constraint, and the tightest one of each row and side. */
function selectListed(sides: readonly RowSide[]): RowSide[] {
  const tightest = new Set(selectTightest(sides));
  return sides.filter((side) => side.isBinding || tightest.has(side));
}

/** Returns one entry per row and side. If a row consists of several constraints, its entry is the tightest of them. */
function selectTightest(sides: readonly RowSide[]): RowSide[] {
  const results = new Map<string, RowSide>();
  for (const side of sides) {
    const key = `${side.placed.origin.name} ${side.side}`;
    const rowSide = results.get(key);
    if (rowSide === undefined || side.slack < rowSide.slack) results.set(key, side);
  }
  return [...results.values()];
}
