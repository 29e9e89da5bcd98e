import { createColdState } from '#kernels/optimisation/program/active-state.js';
import { checkKkt, type ProgramResult } from '#kernels/optimisation/program/optimality.js';
import type { Program } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import type { Problem } from './problem.js';

/** Solver that counts the work of its programs. Unlike time, the count is the same on every machine. */
export interface MeteredSolver extends Solver {
  /** Approximate number of multiplications so far. */
  spent(): number;
}

/** Cost of setting up a program, in addition to its iterations. */
const SETUP_WORK = 2e6;

/** Number of iterations of an approximate solve. */
const ROUGH_ITERATIONS = 8;

/** Returns true if the scenarios of a tail dominate the work of a problem. */
export function hasTails({ goal, rows }: Pick<Problem, 'goal' | 'rows'>): boolean {
  return goal.form === 'tail' || rows.some(({ row }) => row.form === 'tail');
}

export function meterSolver(solver: Solver): MeteredSolver {
  let workSpent = 0;
  return {
    spent: () => workSpent,
    solve(program, options) {
      const answer = solver.solve(program, options);
      const workPerIteration = answer.route === 'simplex' ? computePivotWork(program) : computeIterationWork(program);
      workSpent += SETUP_WORK + (answer.iterations + 1) * workPerIteration;
      return answer;
    },
    nearly(program) {
      workSpent += SETUP_WORK + ROUGH_ITERATIONS * computeIterationWork(program);
      return solver.nearly(program);
    },
  };
}

export interface LimitedSolver extends MeteredSolver {
  /** Returns true if the work limit made the solver refuse a program. */
  hasEnded(): boolean;
}

/**
 * Creates a solver that fails immediately once its work limit is reached.
 * @param workMax maximum number of multiplications
 */
export function createLimitedSolver(solver: Solver, workMax: number): LimitedSolver {
  const meteredSolver = meterSolver(solver);
  let isExhausted = false;
  const hasWorkLeft = () => {
    isExhausted ||= meteredSolver.spent() >= workMax;
    return !isExhausted;
  };
  return {
    spent: meteredSolver.spent,
    hasEnded: () => isExhausted,
    solve: (program, options) =>
      hasWorkLeft() ? meteredSolver.solve(program, options) : createUnsolvedResult(program),
    nearly: (program) => (hasWorkLeft() ? meteredSolver.nearly(program) : clampToBounds(program)),
  };
}

/** Returns the answer of a refused program. */
function createUnsolvedResult(program: Program): ProgramResult {
  const point = {
    x: clampToBounds(program),
    rowMultipliers: new Float64Array(program.rows.count),
    kinkMultipliers: Float64Array.from(program.kinks, ({ limit }) => (limit === null ? 1 : 0)),
    normMultipliers: new Float64Array(program.norms.length),
  };
  const kkt = checkKkt(program, point);
  return { status: 'failed', point, state: createColdState(program), kkt, iterations: 0, route: 'centre' };
}

function clampToBounds({ centre, lower, upper }: Program): Float64Array {
  return centre.map((value, i) => Math.min(Math.max(value, lower[i]!), upper[i]!));
}

const TYPICAL_ITERATIONS = 30;

/** Returns the number of multiplications of a typical solve of a program. */
export function estimateWork(program: Program): number {
  return SETUP_WORK + TYPICAL_ITERATIONS * computeIterationWork(program);
}

function computePivotWork({ n, rows }: Program): number {
  return rows.count * n;
}

/**
 * Returns the number of multiplications of one iteration. It consists of a factorisation over the free securities,
 * including rows with a penalty, and the Schur complement of the other rows.
 */
function computeIterationWork({ n, lower, upper, rows }: Program): number {
  let freeCount = 0;
  for (let i = 0; i < n; i++) if (lower[i]! < upper[i]!) freeCount++;
  let softCount = 0;
  for (let r = 0; r < rows.count; r++) if (Number.isFinite(rows.penalty[r]!)) softCount++;
  const hardCount = rows.count - softCount;
  return (
    (freeCount * freeCount ** 2) / 6 +
    (softCount * freeCount ** 2) / 2 +
    hardCount * freeCount ** 2 +
    (hardCount ** 2 * freeCount) / 2 +
    4 * rows.count * n
  );
}
