import type { Engine } from '#kernels/engines/engine.js';
import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import type { Composer, Composition } from '../books/compositions.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import type { DecisionMemory } from '../books/decider.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { DerivedDocument } from '../documents/index-document.js';
import { compareText } from '../refusals/findings.js';
import { LIMITS } from '../refusals/limits.js';
import { growthOf } from '../market/growth.js';
import { growthTerms } from '../market/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';
import type { CrossSections } from '../datapoints/cross-section.js';
import { crossSectionsOf } from '../rules/decide.js';
import { createRiskMemory, estimateRisk, storedRisk, type RiskEstimate } from './covariance.js';
import { giveWay } from './give-way.js';
import { TRACKING } from '../objectives/objective.js';
import type { Coverage } from '../risk/return-panel.js';
import { candidatesAt } from './candidates.js';
import { driftedWeights } from './drift.js';
import type { PreviousWeights, Problem } from './problem.js';
import { statedProblem, type HeldWeights } from './stated-problem.js';
import type { Moved } from './relaxation.js';
import { solveProblem, type SearchOutcome } from './search.js';
import type { Solvers } from './name-search.js';
import { indexWeightsFor } from '../books/index-weights.js';
import { definitionsOf } from '../documents/definitions.js';
import { flagsOf } from '../rules/choose.js';
import { readsConstituents } from '../datapoints/expressions/reads.js';
import { fieldsRead } from './field-uses.js';

/** Solved weights of a derived index from one rebalance to the next. */
export interface SolvedWeights {
  /** Columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Session they were decided on; without it they count as taken up just now. */
  readonly decision?: number;
}

/** One optimisation of a derived index with all that went into it. */
export interface DerivedSolve {
  /** The parent's composition that was optimised. */
  readonly parent: Composition;
  /** Columns of the problem's names, ascending, [N]. */
  readonly columns: Int32Array;
  readonly problem: Problem;
  readonly risk: RiskEstimate;
  readonly outcome: DerivedOutcome;
  /** Rows that gave way by their priority: the problem is the one with them moved. */
  readonly relaxed: readonly Moved[];
  /** What was held of names that are not in the parent any more, largest first. */
  readonly leavers: readonly Leaver[];
}

/** `no-risk`: the objective needs a covariance, and the window has too few observations for one. */
export type DerivedOutcome = SearchOutcome | { readonly kind: 'no-risk'; readonly coverage: Coverage };

/** A name that has to be sold. */
export interface Leaver {
  readonly identifier: string;
  readonly weight: number;
}

/** Optimises a derived index at the rebalances of its parent. */
export interface DerivedSolver {
  readonly solvers: Solvers;
  /** Whether solved weights bear on later ones: by a row that measures trades from them, or as a basket to keep. */
  readonly remembers: boolean;
  /** @throws Refusal LOOK_AHEAD, MODEL_LACKS_NAMES, RISK_INSUFFICIENT_DATA of a stored risk model */
  solve(parent: Composition, previous: SolvedWeights | null): DerivedSolve;
  memory(): SolverMemory;
}

/** Whether a row measures trades from the previous solved weights, or its search begins with their names. */
export function remembers(rows: readonly ConstraintRow[]): boolean {
  return rows.some(({ type, params }) => {
    const entry = findConstraintClass(type);
    return entry?.tradesFromPrevious === true || entry?.convex === false || params['reference'] === 'previous';
  });
}

export interface DerivedSolverInput {
  readonly document: DerivedDocument;
  readonly composer: Composer;
  readonly engine: Engine;
  /** What earlier solves left. */
  readonly memory?: SolverMemory | null;
}

export type SolverMemory = Pick<DecisionMemory, 'active' | 'moments'>;

/**
 * The solver of a derived document: parent weights as the index, the trailing window up to the decision as risk model.
 * @cost per solve: T N^2 / 2 for the covariance, and a few N^3 / 6
 */
export function createDerivedSolver({
  document,
  composer,
  engine,
  memory: left = null,
}: DerivedSolverInput): DerivedSolver {
  const { source_index_id: parentId, constraints } = document.derivation;
  const hasCosts = document.derivation.costs !== null && document.derivation.costs !== undefined;
  const sm = composer.market(parentId);
  const treatment = composer.treatment(parentId);
  const { currency } = composer.document(parentId);
  const growth = growthOf(sm, growthTerms(treatment, currency, 'total'));
  const solvers = { solver: createSolver(engine), algebra: engine };
  const memory = createRiskMemory(engine, left?.moments);
  let last = left?.active ?? null;
  let sections: CrossSections | undefined;
  const datapoints = (): CrossSections =>
    (sections ??= crossSectionsOf({ market: sm, treatment, currency, datapoints: definitionsOf(document) }));
  const indexWeights = indexWeightsFor(composer, parentId);

  /** What solved weights have become until a decision, apart from those of names that are gone. */
  function heldUntil(
    decision: number,
    { columns: before, weights, decision: since }: SolvedWeights,
    columns: Int32Array,
  ): HeldWeights {
    const from = Math.min((since ?? decision) + document.rebalance.effective_lag, decision);
    const terms = growthTerms(treatment, currency);
    const drifted = since === undefined ? weights : driftedWeights({ sm, terms, from, to: decision }, before, weights);
    const places = new Set(columns);
    const leavers = Array.from(drifted).filter((weight, k) => weight !== 0 && !places.has(before[k]!));
    return { weights: alignWeights({ columns: before, weights: drifted }, columns).weights, leavers };
  }

  /** The risk of names as known at a decision. */
  function riskAt(decision: number, columns: Int32Array): RiskEstimate {
    const from = Math.max(0, decision - LIMITS.DERIVED_RISK_SESSIONS);
    const window = { sm, growth, datapoints: datapoints(), from, to: decision };
    const { risk_model: model } = document.derivation;
    return typeof model === 'string'
      ? storedRisk(composer.riskModel(model), { window, decision }, columns)
      : estimateRisk(engine, window, columns, { memory, estimator: model });
  }

  return {
    solvers,
    remembers: remembers(constraints) || hasCosts || readsPrevious(document),
    solve(parent, previous) {
      const { decision } = parent;
      const { columns, index } = candidatesAt(composer, parentId, parent, document.derivation.candidates ?? 'parent');
      const risk = riskAt(decision, columns);
      const problem = statedProblem({
        spec: document.derivation,
        rows: constraints,
        columns,
        identifiers: identifiersOf(sm, columns),
        index,
        previous: previous === null ? null : alignWeights(previous, columns),
        held: previous === null || !hasCosts ? null : heldUntil(decision, previous, columns),
        risk,
        cross: datapoints()
          .at(decision, columns)
          .given({
            incumbents: previous === null ? null : flagsOf(previous.columns, sm.names),
            indexWeights: (id) => indexWeights(id, decision),
          }),
        algebra: engine,
        path: 'derivation.',
      });
      const leavers = previous === null ? [] : leaversOf(sm, previous, columns);
      if (risk.isIdentity && problem.objective.entry.type !== TRACKING.entry.type)
        return {
          parent,
          columns,
          risk,
          leavers,
          problem,
          outcome: { kind: 'no-risk', coverage: risk.coverage },
          relaxed: [],
        };
      const warm = last !== null && isSame(last.columns, columns) ? last.state : undefined;
      const solved = solveGivingWay(solvers, problem, warm);
      if (solved.outcome.kind === 'solved') last = { columns, state: solved.outcome.solution.answer.state };
      return { parent, columns, risk, leavers, ...solved };
    },
    memory: () => ({ active: last, moments: memory.gram.history() }),
  };
}

/** Whether an expression of the derivation asks which securities were held before. */
const readsPrevious = (document: DerivedDocument): boolean =>
  fieldsRead(document.derivation).some(({ use }) => readsConstituents(use.field, definitionsOf(document)));

/** Solves a problem, with rows that have a priority moved as little as they must where it has no answer. */
function solveGivingWay(
  solvers: Solvers,
  problem: Problem,
  warm: ActiveState | undefined,
): Pick<DerivedSolve, 'problem' | 'outcome' | 'relaxed'> {
  const outcome = solveProblem(solvers, problem, { warm });
  const relaxed = outcome.kind === 'solved' ? undefined : giveWay(solvers, { problem, outcome });
  if (relaxed === undefined) return { problem, outcome, relaxed: [] };
  const moved = problem.withParameters(
    relaxed.map(({ movable: { origin, parameter }, to }) => ({ origin, parameter, to })),
  );
  const second = solveProblem(solvers, moved, { warm });
  return second.kind === 'solved' ? { problem: moved, outcome: second, relaxed } : { problem, outcome, relaxed: [] };
}

function leaversOf(sm: SessionMarket, { columns: held, weights }: SolvedWeights, columns: Int32Array): Leaver[] {
  const staying = new Set(columns);
  const leaving = Array.from(held, (column, i) => ({ column, weight: weights[i]! })).filter(
    ({ column }) => !staying.has(column),
  );
  return leaving
    .map(({ column, weight }) => ({ identifier: sm.identifiers[column]!, weight }))
    .toSorted((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || compareText(a.identifier, b.identifier));
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

export function identifiersOf(sm: SessionMarket, columns: Int32Array): string[] {
  return Array.from(columns, (column) => sm.identifiers[column]!);
}

/** Weights on other columns: those of names that are gone are added up. */
export function alignWeights(from: SolvedWeights, columns: Int32Array): PreviousWeights {
  const byColumn = new Map(Array.from(from.columns, (column, i): [number, number] => [column, from.weights[i]!]));
  const weights = Float64Array.from(columns, (column) => byColumn.get(column) ?? 0);
  for (const column of columns) byColumn.delete(column);
  let outside = 0;
  for (const weight of byColumn.values()) outside += Math.abs(weight);
  return { weights, outside };
}
