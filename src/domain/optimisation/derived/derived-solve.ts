import { countStaleSessions } from '../../documents/stale-sessions.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { takeOverSecurity } from '../../books/proceeds.js';
import { restoreDecided, type Composer, type Composition } from '../../books/compositions.js';
import { findConstraintClass } from '../../constraints/catalogue.js';
import type { DecisionMemory, OutgoingComposition } from '../../books/decider.js';
import type { DerivedDocument } from '../../documents/index-document.js';
import type { ConstraintRow } from '../../constraints/constraint-row.js';
import { compareText } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import { computeGrowth } from '../../index-mathematics/growth.js';
import { createReturnTerms } from '../../index-mathematics/growth-terms.js';
import { hasLeftMarket } from '../../market/left-securities.js';
import type { SessionMarket } from '../../market/session-market.js';
import type { CrossSections } from '../../datapoints/cross-section.js';
import { createIndexCrossSections } from '../../rules/decide.js';
import { createRiskMemory, estimateRisk, readStoredRisk, type RiskEstimate } from '../covariance.js';
import { relaxByPriority, type InfeasibleSolve } from '../relaxation/relax-by-priority.js';
import { resolvePathValues } from '../bound-paths.js';
import { parseValidDay } from '../../time/days.js';
import { relaxBySteps, type RelaxedStep, type RelaxInput } from '../relaxation/relax-steps.js';
import { listCandidates, type Candidates } from '../candidates.js';
import type { ReferencePortfolio } from '../../constraints/constraint-class.js';
import { countsForcedSales, measuresHeldWeights } from '../forced-sales.js';
import { computeWeightsBefore } from './weights-before.js';
import type { SolvedWeights } from './solved-weights.js';
import { isReplaced, removeReturnTerms } from '../remove-return-terms.js';
import type { Origin, Problem } from '../problem.js';
import { createDecisionProblem, type WeightsBefore } from '../decision-problem.js';
import type { ExecutedMove } from '../relaxation/relaxation.js';
import { solveProblem, type SearchOutcome } from '../search.js';
import type { Solvers } from '../solvers.js';
import { createIndexWeights } from '../../books/index-weights.js';
import { readDefinitions } from '../../documents/definitions.js';
import { flagMembers } from '../../rules/choose.js';
import { readsConstituents } from '../../datapoints/expressions/reads.js';
import { listReadFields } from '../field-uses.js';

/** Earlier portfolios of an index at a decision. */
export interface EarlierPortfolios {
  /** Weights of the previous solution; null if there is none. */
  readonly previous: SolvedWeights | null;
  /** Composition that the decision replaces; null if there are no holdings yet. */
  readonly outgoing: OutgoingComposition | null;
}

/** Optimisation of a derived index with all inputs. */
export interface DerivedSolve {
  /** Composition of the parent that is optimised. */
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

/** Solver of a derived index at the rebalances of its parent. */
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
export function readsHeldWeights({ derivation: { costs = null, constraints } }: DerivedDocument): boolean {
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
    const { risk_model: model } = document.derivation;
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
            indexWeights: (id) => indexWeights(id, decision),
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
function splitHeldWeights({ columns: solvedColumns, weights }: SolvedWeights, columns: Int32Array): WeightsBefore {
  const columnSet = new Set(columns);
  const leavers = Array.from(weights).filter((weight, k) => weight !== 0 && !columnSet.has(solvedColumns[k]!));
  return { weights: alignWeights({ columns: solvedColumns, weights }, columns).weights, leavers };
}

function listLeavers(sm: SessionMarket, before: SolvedWeights | null, columns: Int32Array): Leaver[] {
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
export function alignWeights(from: SolvedWeights, columns: Int32Array): ReferencePortfolio {
  const byColumn = new Map(Array.from(from.columns, (column, i): [number, number] => [column, from.weights[i]!]));
  const weights = Float64Array.from(columns, (column) => byColumn.get(column) ?? 0);
  for (const column of columns) byColumn.delete(column);
  let outsideWeight = 0;
  for (const weight of byColumn.values()) outsideWeight += Math.abs(weight);
  return { weights, outside: outsideWeight };
}
