import type { Engine } from '#kernels/engines/engine.js';
import type { Composer, Composition } from '../books/compositions.js';
import type { DecisionMemory } from '../books/decider.js';
import { formatDay } from '../time/days.js';
import type { DerivedDocument, IndexDocument } from '../documents/index-document.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { addRebalanceDate, type Finding } from '../refusals/findings.js';
import { listFindings, listHeldWeights } from '../optimisation/derived/derived-decider.js';
import { createDerivedSolver, type DerivedSolver, type SolverMemory } from '../optimisation/derived/derived-solve.js';
import { refuseInfeasible, explainUnsolved } from '../optimisation/explain-unsolved.js';
import { Refusal } from '../refusals/refusal.js';

export interface ConstrainInput {
  /** Index that the strategy follows. */
  readonly document: IndexDocument;
  readonly rows: readonly ConstraintRow[];
  /** Compositions without constraints, ascending by session. */
  readonly rebalances: readonly Composition[];
  readonly composer: Composer;
  readonly engine: Engine;
  /** Solver memory of rebalances solved before. Default: none. */
  readonly memory?: DecisionMemory | null;
  readonly tick?: (fraction: number) => void;
}

export interface ConstrainedRebalances {
  /** Rebalances with the nearest weights that satisfy the constraint rows. Infeasible rebalances are omitted. */
  readonly rebalances: readonly Composition[];
  readonly findings: readonly Finding[];
  /** Solver memory on which later rebalances depend. */
  readonly memory: DecisionMemory;
}

/** Returns the document of a derived index that is optimised towards an index under constraint rows. */
export function createConstrainedDocument(document: IndexDocument, rows: readonly ConstraintRow[]): DerivedDocument {
  return {
    ...document,
    pipeline: null,
    derivation: { source_index_id: document.id, objective: 'min_tracking_error', constraints: [...rows] },
  };
}

/**
 * Solves the weights of a strategy under its constraint set at each of its rebalances, with the risk model of derived
 * indices. A rebalance that cannot be solved is skipped. If the first one cannot be solved, the strategy is refused.
 * @throws Refusal INFEASIBLE or SOLVER_FAILED on the first rebalance
 */
export function constrainRebalances({
  document,
  rows,
  rebalances,
  composer,
  engine,
  memory = null,
  tick,
}: ConstrainInput): ConstrainedRebalances {
  const constrainedDocument = createConstrainedDocument(document, rows);
  const createSolver = (visibleComposer: Composer, leftSolverMemory: SolverMemory | null): DerivedSolver =>
    createDerivedSolver({ document: constrainedDocument, composer: visibleComposer, engine, memory: leftSolverMemory });
  let [seenLast, solver] = [composer, createSolver(composer, memory)];
  const solvedCompositions: Composition[] = [];
  const findings: Finding[] = [];
  let latestSolve = memory?.solved ?? null;
  rebalances.forEach((rebalance, i) => {
    tick?.(i / rebalances.length);
    const { composer: visibleComposer, session } = composer.seatOf(document.id, rebalance.decision);
    if (visibleComposer !== seenLast)
      [seenLast, solver] = [visibleComposer, createSolver(visibleComposer, solver.memory())];
    const outgoingPortfolio = latestSolve && { ...latestSolve, effective: rebalance.session };
    const solve = solver.solve(
      { ...rebalance, decision: session },
      { previous: latestSolve, outgoing: outgoingPortfolio },
    );
    if (solve.outcome.kind !== 'solved') {
      if (latestSolve === null) throw refuseFirst(rebalance, refuseInfeasible(solver.solvers, solve));
      const { finding } = explainUnsolved(solver.solvers, solve);
      const message = `The rebalance of ${formatDay(rebalance.date)} was not executed, and the previous weights stay: ${finding.message}`;
      findings.push(
        ...addRebalanceDate([{ ...finding, severity: 'warning', path: CONSTRAINTS_PATH, message }], rebalance.date),
      );
      return;
    }
    const solvedWeights = listHeldWeights(solve);
    latestSolve = { session: rebalance.session, ...solvedWeights };
    const reports = listFindings(solve, visibleComposer.market(document.id)).map((finding) => ({
      ...finding,
      path: CONSTRAINTS_PATH,
    }));
    findings.push(...addRebalanceDate(reports, rebalance.date));
    const { columns, weights } = solvedWeights;
    const { targets: _targets, basket: _basket, fixedShares: _fixedShares, ...timing } = rebalance;
    solvedCompositions.push({
      ...timing,
      columns,
      weights,
      uncapped: weights,
      cap: null,
      capped: new Int32Array(0),
      redistributed: 0,
    });
  });
  return { rebalances: solvedCompositions, findings, memory: { ...solver.memory(), solved: latestSolve } };
}

/** Path of findings about the constraints of a strategy. */
const CONSTRAINTS_PATH = 'constraint_set_id';

function refuseFirst({ date }: Composition, { code, message, detail }: Refusal): Refusal {
  return new Refusal(code, `The constraint set allows no weights on ${formatDay(date)}: ${message}`, detail);
}
