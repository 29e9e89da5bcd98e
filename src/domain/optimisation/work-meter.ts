import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { Problem } from './problem.js';

/** A solver with the work of its programmes, counted: the same on any machine, unlike time. */
export interface MeteredSolver extends Solver {
  /** Multiplications so far, about. */
  spent(): number;
}

/** What stating a programme costs beside its iterations. */
const STATED = 2e6;

/** Iterations of a rough solve. */
const ROUGH_ITERATIONS = 8;

/** Whether the work of a problem is that of scenarios: of its objective or of a row. */
export function hasTails({ goal, rows }: Pick<Problem, 'goal' | 'rows'>): boolean {
  return goal.form === 'tail' || rows.some(({ row }) => row.form === 'tail');
}

export function metered(solver: Solver): MeteredSolver {
  let spent = 0;
  return {
    spent: () => spent,
    solve(program, options) {
      const answer = solver.solve(program, options);
      spent += STATED + (answer.iterations + 1) * workOf(program);
      return answer;
    },
    nearly(program) {
      spent += STATED + ROUGH_ITERATIONS * workOf(program);
      return solver.nearly(program);
    },
  };
}

/**
 * Multiplications of one iteration: a factor of the free names, into which soft rows are folded, and the Schur complement of the
 * other rows.
 */
function workOf({ n, lower, upper, rows }: Program): number {
  let free = 0;
  for (let i = 0; i < n; i++) if (lower[i]! < upper[i]!) free++;
  let soft = 0;
  for (let r = 0; r < rows.count; r++) if (Number.isFinite(rows.penalty[r]!)) soft++;
  const hard = rows.count - soft;
  return free ** 3 / 6 + (soft * free ** 2) / 2 + hard * free ** 2 + (hard ** 2 * free) / 2 + 4 * rows.count * n;
}
