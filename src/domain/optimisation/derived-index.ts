import type { Engine } from '#kernels/engines/engine.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { ActiveState } from '#kernels/optimisation/program/active-state.js';
import { computeMetricDiagonal, computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { compareText, type Finding, keepSmallValue } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { computeDotProduct, findLastAtMost } from '../base/numbers.js';
import { type ErrorCode, Refusal } from '../base/refusals.js';
import { formatDay, parseValidDay } from '../base/time.js';
import {
  type Composer,
  type Composition,
  type DecidedComposition,
  type Decider,
  type DeciderFactory,
  type DecisionMemory,
  type FailedDecision,
  findKnownSession,
  type OutgoingComposition,
  restoreDecided,
} from '../books/compositions.js';
import { createDecisionTerms, listHoldings } from '../books/index-run.js';
import { createIndexWeights } from '../books/rebalance.js';
import { simulateBook } from '../books/step.js';
import { takeOverSecurity } from '../books/trading.js';
import type { CrossSections } from '../datapoints/cross-section.js';
import { readsConstituents } from '../datapoints/expression-checks.js';
import {
  computeLookBackOver,
  createDecider,
  createIndexCrossSections,
  type DecisionSharing,
  flagMembers,
  listReadsBehind,
  type LookBack,
} from '../decide/rule-decider.js';
import {
  computeSlopes,
  type ConstraintRow,
  type Limit,
  type ProgramRow,
  type ReferencePortfolio,
} from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { listReadFields } from '../definition/field-uses.js';
import {
  type DerivedDocument,
  type IndexDocument,
  isDerivedDocument,
  isRuleDocument,
  readDefinitions,
  type TreatmentSpec,
} from '../definition/index-document.js';
import { readObjective } from '../definition/optimisation.js';
import { countStaleSessions } from '../definition/treatment.js';
import { createReturnTerms } from '../market/action-effects.js';
import { computeGrowth } from '../market/growth.js';
import { hasLeftMarket, type SessionMarket } from '../market/session-market.js';
import { EXPOSURE_SESSIONS, STYLE_FIELDS } from '../risk/factors.js';
import { findConflict, listConflictRows } from './conflicts.js';
import { solveConvex } from './convex-solve.js';
import {
  type Candidates,
  countReturns,
  createDecisionProblem,
  createRiskMemory,
  describeUncovered,
  estimateRisk,
  isReplaced,
  listCandidates,
  listPathDates,
  readStoredRisk,
  removeReturnTerms,
  resolvePathValues,
  type RiskEstimate,
  type WeightsBefore,
} from './decision-problem.js';
import { isRiskless } from './goals.js';
import { describeInfeasibility, explainChoice, explainRows, relaxCurvedRows } from './infeasibility.js';
import {
  type InfeasibleSolve,
  relaxByPriority,
  relaxBySteps,
  type RelaxedStep,
  type RelaxInput,
} from './priority-relaxation.js';
import {
  computeTrackingVariance,
  countsForcedSales,
  measuresHeldWeights,
  type Origin,
  type Problem,
  type Solvers,
} from './problem.js';
import type { ExecutedMove } from './relaxation.js';
import type { RowSide } from './report.js';
import { estimateViewedRisk } from './scenario-views.js';
import { type SearchOutcome, solveProblem } from './search.js';

export interface DerivedWeights {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
}

export interface WeightsBeforeInput {
  readonly document: IndexDocument;
  readonly sm: SessionMarket;
  readonly treatment: TreatmentSpec;
  readonly outgoing: OutgoingComposition;
  readonly decision: number;
}

/**
 * Returns the weights of an index just before a rebalance, as known at the decision. These are the book weights at the
 * decision close, before trades. If the composition does not take effect before the decision, returns its decided
 * weights.
 * @cost O(T K) over the sessions since the composition took effect
 */
export function computeWeightsBefore({
  document,
  sm,
  treatment,
  outgoing,
  decision,
}: WeightsBeforeInput): DerivedWeights {
  const { session: from, columns, weights, effective } = outgoing;
  if (decision <= from) return { columns, weights };
  const book = simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    growth: createDecisionTerms({ treatment, document }),
    isSparse: true,
    from,
    to: decision,
    targets: [{ session: from, columns, weights }],
    initialValue: document.base_value,
    costRate: 0,
    fills: 'all',
  });
  const event = book.events.at(-1);
  // Securities that leave at the rebalance close are sold by the rebalance.
  if (event?.at !== book.length - 1 || effective !== decision) return listHoldings(book, decision);
  const slots = Array.from(book.columns.keys()).filter((slot) => event.before[slot] !== 0);
  return {
    columns: Int32Array.from(slots, (slot) => book.columns[slot]!),
    weights: Float64Array.from(slots, (slot) => event.before[slot]!),
  };
}

export interface EarlierPortfolios {
  /** Weights of the previous solution; null if there is none. */
  readonly previous: DerivedWeights | null;
  /** Composition that the decision replaces; null if there are no holdings yet. */
  readonly outgoing: OutgoingComposition | null;
}

export interface DerivedSolve {
  readonly parent: Composition;
  /** Columns of the problem's securities, ascending, [N]. */
  readonly columns: Int32Array;
  readonly problem: Problem;
  readonly risk: RiskEstimate;
  readonly outcome: SearchOutcome;
  /**
   * True if the objective was replaced by the weights nearest to the parent, because there were too few returns for it.
   */
  readonly isNearest: boolean;
  /** Rows that were relaxed by priority, with the changed parameters of `problem`. */
  readonly relaxed: readonly ExecutedMove[];
  /** Steps of `relax` that were applied to `problem`. */
  readonly steps: readonly RelaxedStep[];
  /** Securities of the previous portfolios that can no longer be held, largest weight first. */
  readonly leavers: Readonly<Record<'previous' | 'held', readonly Leaver[]>>;
}

/** Security that is sold because it can no longer be held. */
export interface Leaver {
  readonly identifier: string;
  readonly weight: number;
}

export interface DerivedSolver {
  readonly solvers: Solvers;
  /**
   * True if solved weights affect later optimisations, through a row or an expression that depends on them. If false, a
   * preview needs no earlier rebalance.
   */
  readonly remembers: boolean;
  /**
   * Optimises a composition of the parent.
   * @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES, RISK_INSUFFICIENT_DATA for a stored risk model
   */
  solve(parent: Composition, earlierPortfolios: EarlierPortfolios): DerivedSolve;
  memory(): SolverMemory;
}

/** Returns true if a row measures trades from earlier weights. */
export function keepsPreviousSolution(rows: readonly ConstraintRow[]): boolean {
  return rows.some(
    ({ type, params }) =>
      findConstraintClass(type)?.tradesFromPrevious === true || (params['reference'] ?? 'index') !== 'index',
  );
}

/** Returns true if an optimisation measures trades from the weights just before the rebalance. */
function readsHeldWeights({ derivation: { costs = null, constraints } }: DerivedDocument): boolean {
  return costs !== null || constraints.some(measuresHeldWeights);
}

export interface DerivedSolverInput {
  readonly document: DerivedDocument;
  readonly composer: Composer;
  readonly engine: Engine;
  /** State of earlier optimisations. */
  readonly memory?: SolverMemory | null;
}

export type SolverMemory = Pick<DecisionMemory, 'active' | 'moments'>;

/**
 * Creates the solver of a derived index. The parent weights are its index, and the risk model covers the trailing
 * window up to the decision.
 * @cost per solve: T N^2 / 2 for the covariance, and a few times N^3 / 6
 */
export function createDerivedSolver({
  document,
  composer,
  engine,
  memory: leftSolverMemory = null,
}: DerivedSolverInput): DerivedSolver {
  const { source_index_id: parentId, constraints, relax = [] } = document.derivation;
  const isMeasured = readsHeldWeights(document);
  const sm = composer.market(parentId);
  const treatment = composer.treatment(parentId);
  const { currency } = composer.document(parentId);
  const growth = computeGrowth(sm, createReturnTerms(treatment, currency, 'total'));
  const solvers = { solver: createSolver(engine), algebra: engine };
  const memory = createRiskMemory(engine, leftSolverMemory?.moments);
  let last = leftSolverMemory?.active ?? null;
  let sections: CrossSections | undefined;
  const readDatapoints = (): CrossSections =>
    (sections ??= createIndexCrossSections({ market: sm, treatment, currency, datapoints: readDefinitions(document) }));
  const indexWeights = createIndexWeights(composer, parentId);

  /** Returns the risk model of securities as known at a decision. */
  function estimateRiskOnSession(decision: number, columns: Int32Array): RiskEstimate {
    const from = Math.max(0, decision - LIMITS.DERIVED_RISK_SESSIONS);
    const window = { sm, growth, datapoints: readDatapoints(), from, to: decision };
    const { risk_model: model, scenario_views: views } = document.derivation;
    if (views !== null && views !== undefined)
      return estimateViewedRisk(engine, window, columns, {
        views,
        identifiers: listIdentifiers(sm, columns),
        path: 'derivation.',
      });
    return typeof model === 'string'
      ? readStoredRisk(composer.riskModel(model), { window, decision }, columns)
      : estimateRisk(engine, window, columns, { memory, estimator: model });
  }

  const isRemembering = keepsPreviousSolution(constraints) || isMeasured || readsPrevious(document);
  return {
    solvers,
    remembers: isRemembering,
    solve(parent, { previous, outgoing }) {
      const { decision } = parent;
      const decidedParent = { decision, ...restoreDecided(parent) };
      const before =
        isMeasured && outgoing ? computeWeightsBefore({ document, sm, treatment, outgoing, decision }) : null;
      const candidates = listCandidates(composer, parentId, decidedParent, document.derivation.candidates ?? 'parent');
      const { columns, index } = removeLeavers(candidates, (column) =>
        hasLeftMarket(sm, decision, column, countStaleSessions(treatment)),
      );
      const risk = estimateRiskOnSession(decision, columns);
      const spec = risk.isIdentity ? removeReturnTerms(document.derivation) : document.derivation;
      const rows = resolvePathValues(constraints, {
        composer,
        parentId,
        datapoints: readDatapoints,
        indexWeights,
        day: sm.sessions[decision]!,
        baseDay: parseValidDay(document.base_date),
      });
      const problem = createDecisionProblem({
        spec,
        rows,
        columns,
        identifiers: listIdentifiers(sm, columns),
        index,
        // In other cases these weights would only be the start of the search. A preview would then need every earlier
        // rebalance for nothing.
        previous: previous === null || !isRemembering ? null : alignWeights(previous, columns),
        held: before && splitHeldWeights(before, columns),
        risk,
        cross: readDatapoints()
          .at(decision, columns)
          .given({
            incumbents: previous === null ? null : flagMembers(previous.columns, sm.securityCount),
            indexWeights: (id, basis) => indexWeights(id, decision, basis),
          }),
        algebra: engine,
        path: 'derivation.',
      });
      const leavers = { previous: listLeavers(sm, previous, columns), held: listLeavers(sm, before, columns) };
      const warm = last !== null && isSame(last.columns, columns) ? last.state : undefined;
      const solveResult = solveRelaxing(solvers, problem, { rows, relax, warm });
      if (solveResult.outcome.kind === 'solved') last = { columns, state: solveResult.outcome.solution.answer.state };
      return { parent, columns, risk, leavers, isNearest: isReplaced(document.derivation, spec), ...solveResult };
    },
    memory: () => ({ active: last, moments: memory.gram.history() }),
  };
}

/**
 * Removes candidates that can no longer be held. Securities may have left the parent since the decision of its
 * composition.
 */
function removeLeavers(candidates: Candidates, isGone: (column: number) => boolean): Candidates {
  const { columns, index } = candidates;
  const stays = columns.map((column) => (isGone(column) ? 0 : 1));
  const stayingColumns = columns.filter((_, k) => stays[k] === 1);
  if (stayingColumns.length === columns.length || stayingColumns.length === 0) return candidates;
  const [kept, left] = [1, 0].map((which) => index.filter((_, k) => stays[k] === which));
  return { columns: stayingColumns, index: takeOverSecurity(kept!, left!) };
}

/** Returns true if an expression of the derivation depends on previous holdings. */
const readsPrevious = (document: DerivedDocument): boolean =>
  listReadFields(document.derivation).some(({ use }) => readsConstituents(use.field, readDefinitions(document)));

type RelaxedSolve = Pick<DerivedSolve, 'problem' | 'outcome' | 'relaxed' | 'steps'>;

/** Solves a problem. If it is infeasible, relaxes rows by the given steps, then by priority as little as necessary. */
function solveRelaxing(solvers: Solvers, problem: Problem, terms: Omit<RelaxInput, 'problem'>): RelaxedSolve {
  const outcome = solveProblem(solvers, problem, { warm: terms.warm, proof: 'brief' });
  const unrelaxedSolve = { problem, outcome, relaxed: [], steps: [] };
  if (outcome.kind === 'solved') return unrelaxedSolve;
  const stepResult = relaxBySteps(solvers, { ...terms, problem }) ?? { problem, outcome, steps: [] };
  if (stepResult.outcome.kind === 'solved') return { ...stepResult, relaxed: [] };
  const { steps } = stepResult;
  const relaxedSolution = solveRelaxingPriorities(
    solvers,
    { problem: stepResult.problem, outcome: stepResult.outcome },
    terms.warm,
  );
  return relaxedSolution === undefined ? unrelaxedSolve : { ...relaxedSolution, steps };
}

/**
 * Relaxes rows by priority as little as necessary and solves the problem again. Returns undefined if it is still
 * infeasible.
 */
function solveRelaxingPriorities(
  solvers: Solvers,
  { problem, outcome }: InfeasibleSolve,
  warm: ActiveState | undefined,
): Pick<DerivedSolve, 'problem' | 'outcome' | 'relaxed'> | undefined {
  const mayRelax = (origin: Origin): boolean => origin.givesWay || countsForcedSales(problem, origin);
  const relaxedMoves = relaxByPriority(solvers, { problem, outcome }, mayRelax);
  if (relaxedMoves === undefined) return undefined;
  const relaxedProblem = createRelaxedProblem(problem, relaxedMoves);
  const second = solveProblem(solvers, relaxedProblem, { warm, proof: 'brief' });
  return second.kind === 'solved' ? { problem: relaxedProblem, outcome: second, relaxed: relaxedMoves } : undefined;
}

function createRelaxedProblem(problem: Problem, moves: readonly ExecutedMove[]): Problem {
  return problem.withParameters(moves.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to })));
}

/** Returns the held weights of candidates, and separately those of all other securities. */
function splitHeldWeights({ columns: solvedColumns, weights }: DerivedWeights, columns: Int32Array): WeightsBefore {
  const columnSet = new Set(columns);
  const leavers = Array.from(weights).filter((weight, k) => weight !== 0 && !columnSet.has(solvedColumns[k]!));
  return { weights: alignWeights({ columns: solvedColumns, weights }, columns).weights, leavers };
}

function listLeavers(sm: SessionMarket, before: DerivedWeights | null, columns: Int32Array): Leaver[] {
  if (before === null) return [];
  const { columns: heldColumns, weights } = before;
  const currentColumns = new Set(columns);
  const leavingHoldings = Array.from(heldColumns, (column, i) => ({ column, weight: weights[i]! })).filter(
    ({ column }) => !currentColumns.has(column),
  );
  return leavingHoldings
    .map(({ column, weight }) => ({ identifier: sm.identifiers[column]!, weight }))
    .toSorted((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || compareText(a.identifier, b.identifier));
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

export function listIdentifiers(sm: SessionMarket, columns: Int32Array): string[] {
  return Array.from(columns, (column) => sm.identifiers[column]!);
}

/** Maps weights to other columns. Weights of securities outside these columns are only summed. */
export function alignWeights(from: DerivedWeights, columns: Int32Array): ReferencePortfolio {
  const byColumn = new Map(Array.from(from.columns, (column, i): [number, number] => [column, from.weights[i]!]));
  const weights = Float64Array.from(columns, (column) => byColumn.get(column) ?? 0);
  for (const column of columns) byColumn.delete(column);
  let outsideWeight = 0;
  for (const weight of byColumn.values()) outsideWeight += Math.abs(weight);
  return { weights, outside: outsideWeight };
}

/** Returns the securities with a nonzero weight, with their weights. */
export function selectHeldWeights(columns: Int32Array, weights: Float64Array): DerivedWeights {
  const positions = Array.from(weights.keys()).filter((place) => weights[place] !== 0);
  return {
    columns: Int32Array.from(positions, (place) => columns[place]!),
    weights: Float64Array.from(positions, (place) => weights[place]!),
  };
}

/**
 * Warns about rows that were relaxed at a rebalance. States the rows, the amounts, and forced sales that caused a
 * relaxation.
 */
function reportRelaxedRows({
  parent,
  relaxed,
  leavers,
}: Pick<DerivedSolve, 'parent' | 'relaxed' | 'leavers'>): Finding[] {
  return relaxed.map(({ movable: { origin, parameter, from }, to, change, bound }): Finding => {
    const changePhrase =
      parameter === null ? 'its bounds were widened by this amount' : `its ${parameter} was ${to} instead of ${from}`;
    const message = `On ${formatDay(parent.date)} ${origin.name} was relaxed by ${Math.abs(change)}: ${changePhrase}.${describeGap(bound)}${describeForcedSales(origin, leavers)}`;
    const row = `derivation.constraints[${origin.index}]`;
    return {
      severity: 'warning',
      code: 'CONSTRAINT_RELAXED',
      message,
      path: parameter === null ? row : `${row}.params.${parameter}`,
      row_id: origin.id === '' ? null : origin.id,
      value: to,
    };
  });
}

/** Warns about the steps by which a rebalance relaxed rows. */
function reportRelaxSteps({ parent, steps }: Pick<DerivedSolve, 'parent' | 'steps'>): Finding[] {
  return steps.map(({ entry, step, row, params }): Finding => {
    const changes = Object.entries(params).map(
      ([name, value]) =>
        `its ${name} was ${JSON.stringify(value)} instead of ${JSON.stringify(row.params[name] ?? null)}`,
    );
    const message = `On ${formatDay(parent.date)} ${row.type}[${row.id}] was relaxed by step ${step + 1}: ${changes.join(', ')}.`;
    return {
      severity: 'warning',
      code: 'CONSTRAINT_RELAXED',
      message,
      path: `derivation.relax[${entry}].steps[${step}]`,
      row_id: row.id,
      ...keepSmallValue(params),
    };
  });
}

/** Describes how far a change may be above the minimum. The change was found by a search over choices of securities. */
function describeGap(bound: number | undefined): string {
  return bound === undefined
    ? ''
    : ` A search found this value; values up to ${roundDigits(bound)} are proven insufficient.`;
}

/** Maximum number of forced sales listed individually. */
const NAMED_MAX = 5;

/** Describes the forced sales that a limit on turnover from earlier weights cannot prevent. */
function describeForcedSales({ type, params }: Origin, all: DerivedSolve['leavers']): string {
  const { reference } = params;
  if (findConstraintClass(type)?.countsForcedSales !== true || (reference !== 'previous' && reference !== 'held'))
    return '';
  const leavers = all[reference];
  if (leavers.length === 0) return '';
  const namedLeavers = leavers
    .slice(0, NAMED_MAX)
    .map(({ identifier, weight }) => `${identifier} ${roundDigits(weight)}`);
  const restCount = leavers.length - namedLeavers.length;
  const total = leavers.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  return ` Sold because they left the source index: ${namedLeavers.join(', ')}${restCount > 0 ? ` and ${restCount} more` : ''}; ${roundDigits(total)} in total.`;
}

const roundDigits = (value: number): number => Number(value.toPrecision(6));

/** Returns the amount by which the bound of a row side was relaxed. Returns null if it is unchanged. */
export function findRelaxation(
  { placed: { origin, row }, side }: RowSide,
  relaxed: readonly ExecutedMove[],
): number | null {
  const parameters = listParameters(row, side);
  const executedMove = relaxed.find(
    ({ movable }) =>
      movable.origin.index === origin.index && (movable.parameter === null || parameters.includes(movable.parameter)),
  );
  return executedMove?.change ?? null;
}

function listParameters(row: ProgramRow, side: RowSide['side']): readonly string[] {
  const listLimitParameters = (limit: Limit | null) =>
    limit === null ? [] : computeSlopes(limit).map(([parameter]) => parameter);
  switch (row.form) {
    case 'name':
    case 'linear':
      return listLimitParameters(side === 'upper' ? row.upper : row.lower);
    case 'distance':
    case 'norm':
    case 'tail':
      return listLimitParameters(row.limit);
    case 'count':
      return [side === 'upper' ? 'maximum' : 'minimum'];
    case 'threshold':
      return ['threshold'];
    case 'concentration':
      return ['single', 'trigger', 'aggregate'];
  }
}

/** Problem for which no solution was found. */
type UnsolvedProblem = Pick<DerivedSolve, 'problem' | 'outcome'>;

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
function createRefusal(
  code: FailedDecision['code'],
  message: string,
  explain?: () => Refusal,
  path = 'derivation.constraints',
): FailedDecision {
  const finding = { severity: 'error', code: 'REBALANCE_HELD', message, path } as const;
  return { kind: 'refused', code, finding, ...(explain === undefined ? {} : { explain }) };
}

export interface DerivedDeciderInput {
  readonly document: DerivedDocument;
  readonly composer: Composer;
  readonly engine: Engine;
}

/**
 * Creates the decider of a derived index. It optimises the parent's composition. Sessions must be decided in ascending
 * order, because trades are measured from earlier solutions.
 */
function createDerivedDecider({ document, composer, engine }: DerivedDeciderInput): Decider {
  const earlierMemory = composer.memory(document.id);
  const solver = createDerivedSolver({ document, composer, engine, memory: earlierMemory });
  const parentId = document.derivation.source_index_id;
  const solves: { session: number; weights: DerivedWeights }[] = earlierMemory?.solved
    ? [{ session: earlierMemory.solved.session, weights: earlierMemory.solved }]
    : [];
  return {
    memory() {
      const latestSolve = solves.at(-1);
      return {
        ...solver.memory(),
        solved: latestSolve
          ? { session: latestSolve.session, columns: latestSolve.weights.columns, weights: latestSolve.weights.weights }
          : null,
      };
    },
    decide(session, _incumbents, outgoing = null) {
      const parent = composer.decidedOn(parentId, session);
      if (parent === undefined) return createRefusal('EMPTY_INDEX', `the parent ${parentId} has no composition yet.`);
      const latestSolve = solves.findLast((entry) => entry.session < session);
      const earlierPortfolios = { previous: latestSolve?.weights ?? null, outgoing };
      const target = findTarget(parent, session, composer.market(parentId));
      const solve = solveOrRefuse(() => solver.solve(target, earlierPortfolios));
      if (solve instanceof Refusal)
        return createRefusal(solve.code, solve.message, () => solve, 'derivation.risk_model');
      if (solve.outcome.kind !== 'solved') return explainUnsolved(solver.solvers, solve);
      const weights = listHeldWeights(solve);
      solves.push({ session, weights });
      const findings = [...listFindings(solve, composer.market(parentId)), ...reportPooledScenarios(solve)];
      return { ...toDecision(weights, findings), ...createForecast(solve) };
    },
  };
}

/**
 * Returns the parent's composition as the target of a decision. A composition decided earlier gets the session and date
 * of this decision.
 */
export function findTarget(parent: Composition, session: number, sm: SessionMarket): Composition {
  return parent.decision === session ? parent : { ...parent, decision: session, date: sm.sessions[session]! };
}

/** Refusals of a stored risk model. They skip a rebalance, as infeasible rows do. */
const RISK_REFUSALS: ReadonlySet<ErrorCode> = new Set(['LOOK_AHEAD', 'MODEL_LACKS_NAMES', 'RISK_INSUFFICIENT_DATA']);

function solveOrRefuse(solve: () => DerivedSolve): DerivedSolve | Refusal {
  try {
    return solve();
  } catch (refusal) {
    if (refusal instanceof Refusal && RISK_REFUSALS.has(refusal.code)) return refusal;
    throw refusal;
  }
}

/** Returns the parent's latest composition decided on or before a session. */
export function findDecision(list: readonly Composition[], session: number): Composition | undefined {
  return list.findLast((composition) => findKnownSession(composition) <= session);
}

export function listHeldWeights({ columns, outcome }: DerivedSolve): DerivedWeights {
  if (outcome.kind !== 'solved') throw new Error('a solve without an answer holds nothing');
  return selectHeldWeights(columns, outcome.solution.weights);
}

export function toDecision({ columns, weights }: DerivedWeights, findings: readonly Finding[]) {
  return {
    kind: 'decided' as const,
    columns,
    weights,
    uncapped: weights,
    cap: null,
    capped: new Int32Array(0),
    redistributed: 0,
    findings,
  } satisfies DecidedComposition;
}

/** Returns the forecast tracking error of a solution under the risk model of the optimisation. */
function createForecast({ risk, problem, outcome }: DerivedSolve): Pick<DecidedComposition, 'trackingError'> {
  if (risk.isIdentity || outcome.kind !== 'solved') return {};
  return { trackingError: Math.sqrt(computeTrackingVariance(problem, outcome.solution.weights)) };
}

export function listFindings(solve: DerivedSolve, sm: SessionMarket): Finding[] {
  const { risk, problem, parent } = solve;
  const createWarning = (code: Finding['code'], message: string): Finding => ({
    severity: 'warning',
    code,
    message,
    path: 'derivation',
  });
  const date = formatDay(parent.date);
  const results: Finding[] = [
    ...problem.warnings.map(({ message, path }) => ({
      ...createWarning('NO_WEIGHT_DATA', `On ${date}: ${message}`),
      path: `derivation.${path}`,
    })),
    ...reportRelaxSteps(solve),
    ...reportRelaxedRows(solve),
    ...listChoiceFindings(solve),
  ];
  if (risk.isIdentity) {
    results.push(
      createWarning(
        'RISK_FALLBACK_IDENTITY',
        `On ${date} ${risk.coverage.columns.length} securities are covered, with ${countReturns(risk.coverage)}: the identity matrix replaces the covariance.${solve.isNearest ? ' The objective needs more returns: the result is the weights nearest to the parent.' : ''}`,
      ),
    );
  } else if (risk.coverage.excluded.size > 0) {
    results.push(createWarning('NO_WEIGHT_DATA', `On ${date} ${describeUncovered(sm, risk, problem)}`));
  }
  return results;
}

/**
 * Reports the probabilities of the scenarios of a rebalance with their proof: no probabilities that fulfil the views are
 * nearer to the prior than the bound.
 */
function reportPooledScenarios({ risk: { pooled }, parent }: DerivedSolve): Finding[] {
  if (pooled === undefined) return [];
  const { days, entropy, bound, effective, views } = pooled;
  const values = views.map(
    ({ position, prior, posterior }) => `view ${position + 1} from ${roundDigits(prior)} to ${roundDigits(posterior)}`,
  );
  const message = `On ${formatDay(parent.date)} the views changed the probabilities of ${days.length} scenarios by a relative entropy of ${roundDigits(entropy)}, proven to be at least ${roundDigits(bound)}; ${roundDigits(effective)} equally likely scenarios have the same entropy. Values: ${values.join(', ')}.`;
  return [{ severity: 'info', code: 'SCENARIOS_WEIGHED', message, path: 'derivation.scenario_views' }];
}

/**
 * Reports how much better another choice of securities may be. Reports nothing if no bound over all choices is known.
 */
function listChoiceFindings({ outcome, parent }: DerivedSolve): Finding[] {
  if (outcome.kind !== 'solved' || !outcome.solution.isHeuristic) return [];
  const { objective, bound } = outcome.solution;
  const gap = (objective - bound) / Math.max(Math.abs(objective), Number.MIN_VALUE);
  if (!(gap < 1)) return [];
  const message = `On ${formatDay(parent.date)} the choice of securities is not proven to be the best: another one improves the objective by at most ${(100 * gap).toFixed(2)}%.`;
  return [{ severity: 'info', code: 'CHOICE_NOT_PROVEN', message, path: 'derivation.constraints' }];
}

/**
 * Creates deciders of stored definitions. A decider follows rules or, for a derived index, optimises against the
 * parent.
 * @param engine engine of matrix products.
 * @param sharing data that decisions share.
 */
export function createIndexDeciders(engine: Engine, sharing?: DecisionSharing): DeciderFactory {
  /**
   * Returns the decider of a definition.
   * @throws Refusal VALIDATION_FAILED if the market lacks a datapoint of the rules
   */
  return (document, composer) => {
    if (isDerivedDocument(document)) return createDerivedDecider({ document, composer, engine });
    if (!isRuleDocument(document)) throw new Error(`the index ${document.id} has neither a pipeline nor a derivation`);
    return createDecider({
      document,
      market: composer.market(document.id),
      universe: (session) => composer.universe(document.id, session),
      members: (session) => composer.members(document.id, session),
      indexWeights: createIndexWeights(composer, document.id),
      earlierIncumbents: (session) => composer.earlierIncumbents(document.id, session),
      riskModel: (modelId) => composer.riskModel(modelId),
      engine,
      sharing,
    });
  };
}

/** Deciders that compute matrix products with plain loops. */
export const indexDecider: DeciderFactory = createIndexDeciders(referenceEngine);

export interface DerivedLookBackInput {
  readonly document: DerivedDocument;
  /** Maximum number of sessions without a price in the parent index. */
  readonly maxStaleSessions: number;
  /** Sessions of the parent's calendar, [S]. */
  readonly sessions: Int32Array;
  readonly decision: number;
  readonly parents: readonly Pick<Composition, 'decision'>[];
  readonly memory: DecisionMemory | null;
}

function listPathReviews(
  { derivation }: DerivedDocument,
  { sessions, parents }: Pick<DerivedLookBackInput, 'sessions' | 'parents'>,
): number[] {
  return listPathDates(derivation.constraints).flatMap((day) => {
    const position = findLastAtMost(sessions, day);
    return parents.findLast(({ decision }) => decision <= position)?.decision ?? [];
  });
}

/**
 * Returns the look-back of the optimisation of a derived index. It covers the risk-model window before the decision of
 * the parent's composition, and the windows from which the covariance continues.
 */
export function computeDerivedLookBack({
  document,
  maxStaleSessions,
  sessions,
  decision,
  parents,
  memory,
}: DerivedLookBackInput): LookBack {
  // The parent may have kept its composition at an intermediate rebalance.
  const decisionDay = parents.findLast((parent) => parent.decision <= decision)?.decision ?? decision;
  const { fields, dividendYears } = listReadsBehind(
    listReadFields(document.derivation).map(({ use }) => use.field),
    readDefinitions(document),
  );
  const { session: read, paidAfter } = computeLookBackOver({
    fields,
    dividendYears,
    maxStaleSessions,
    sessions,
    decision: Math.min(decisionDay, ...listPathReviews(document, { sessions, parents })),
  });
  const returnsBehind = findStyledReturns(document);
  // Style exposures must be known before the first return of the window.
  const exposures = computeLookBackOver({
    fields: returnsBehind === null ? [] : STYLE_FIELDS,
    dividendYears: 0,
    maxStaleSessions,
    sessions,
    decision: decisionDay - (returnsBehind === null ? 0 : returnsBehind + EXPOSURE_SESSIONS),
  });
  // the first return needs the previous session
  const returns = (memory?.moments?.rows ?? []).reduce(
    (first, rows) => Math.min(first, rows[0]! - 1),
    decisionDay - Math.max(LIMITS.DERIVED_RISK_SESSIONS, countScenarioSessions(document)),
  );
  // The book of the previous weights is simulated from the beginning of the market. Otherwise results would not be
  // bit-identical.
  const holdingsStart = readsHeldWeights(document) && memory?.solved ? 0 : Number.POSITIVE_INFINITY;
  const session = Math.min(read, exposures.session, returns, holdingsStart);
  return { session, paidAfter: Math.min(paidAfter, exposures.paidAfter, sessions[Math.max(0, session)]!) };
}

function countScenarioSessions({ derivation: { objective } }: DerivedDocument): number {
  const { scenarios } = readObjective(objective).params;
  return typeof scenarios === 'number' ? scenarios : 0;
}

/** Returns the number of returns of a style model. Returns null for another kind of risk model. */
function findStyledReturns({ derivation: { risk_model: model } }: DerivedDocument): number | null {
  if (typeof model !== 'object' || model === null || model.estimator !== 'styles') return null;
  return model.sessions ?? LIMITS.DERIVED_RISK_SESSIONS;
}
