import type { ActiveState } from '#kernels/optimisation/active-set/active-state.js';
import { findConstraintClass } from '../../constraints/catalogue.js';
import type { ConstraintRow } from '../../constraints/constraint-row.js';
import { findStepParameter, type RelaxEntry } from '../../constraints/relax-step.js';
import type { Problem } from '../problem.js';
import { solveProblem, type SearchOutcome } from '../search.js';
import type { Solvers } from '../solvers.js';

/** Relaxation step of a row that was applied at a rebalance. */
export interface RelaxedStep {
  /** Position of the entry in `relax`, and of the step within the entry. */
  readonly entry: number;
  readonly step: number;
  readonly row: ConstraintRow;
  /** Position of the row in the list of constraints. */
  readonly index: number;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RelaxedProblem {
  readonly problem: Problem;
  readonly outcome: SearchOutcome;
  /** Last applied step of each entry that was reached. */
  readonly steps: readonly RelaxedStep[];
}

export interface RelaxInput {
  /** Infeasible problem. */
  readonly problem: Problem;
  readonly rows: readonly ConstraintRow[];
  readonly relax: readonly RelaxEntry[];
  readonly warm: ActiveState | undefined;
}

/**
 * Applies relaxation steps until the problem is feasible, or to the last step. Each step is applied in addition to the
 * earlier steps.
 * @cost a solve for each step
 */
export function relaxBySteps(solvers: Solvers, { problem, rows, relax, warm }: RelaxInput): RelaxedProblem | undefined {
  let last: RelaxedProblem | undefined;
  let changedRows = rows;
  const stepByEntry = new Map<number, RelaxedStep>();
  for (const [entry, { row: id, steps }] of relax.entries()) {
    const index = rows.findIndex((row) => row.id === id);
    const row = rows[index]!; // Validation has checked that the row exists and that its class has a main limit.
    for (const [step, limit] of steps.entries()) {
      const params = findStepParameter(findConstraintClass(row.type)!, limit)!;
      changedRows = changedRows.map((own, i) => (i === index ? { ...own, params: { ...own.params, ...params } } : own));
      stepByEntry.set(entry, { entry, step, row, index, params });
      const relaxedProblem = problem.withRows(changedRows);
      const outcome = solveProblem(solvers, relaxedProblem, { warm, proof: 'brief' });
      last = { problem: relaxedProblem, outcome, steps: [...stepByEntry.values()] };
      if (last.outcome.kind === 'solved') return last;
    }
  }
  return last;
}
