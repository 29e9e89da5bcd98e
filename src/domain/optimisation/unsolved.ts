import type { Undecided } from '../backtest/simulate/decider.js';
import { Refusal } from '../refusal.js';
import type { DerivedSolve } from './derived-solve.js';
import { explainChoice, explainInfeasibility, infeasibilitySentence } from './infeasibility.js';
import { conflictRows, findConflict } from './proof.js';
import type { Solvers } from './name-search.js';

/** A problem that was solved without an answer. */
type Unsolved = Pick<DerivedSolve, 'problem' | 'outcome'>;

/** The refusal of a problem that has no answer, with its explanation. */
export function refusalOf(solvers: Solvers, { problem, outcome }: Unsolved): Refusal {
  const detail =
    outcome.kind === 'no-choice'
      ? explainChoice(solvers, problem, outcome.isProven)
      : explainInfeasibility(solvers, problem);
  if (detail === undefined)
    return new Refusal('SOLVER_FAILED', 'The solver found neither weights nor a proof that none exist.');
  return new Refusal('INFEASIBLE', infeasibilitySentence(detail), { ...detail });
}

/** Why there are no weights: the rows in conflict where that can be proven, with all that resolves it where it is asked for. */
export function unsolved(solvers: Solvers, solve: Unsolved): Undecided {
  const { problem, outcome } = solve;
  const explain = () => refusalOf(solvers, solve);
  if (outcome.kind === 'no-choice')
    return refused('INFEASIBLE', 'no choice of names satisfies the constraints.', explain);
  const conflict = findConflict(solvers.solver, problem);
  if (conflict === null)
    return refused('SOLVER_FAILED', 'the solver found neither weights nor a proof that none exist.', explain);
  return refused('INFEASIBLE', infeasibilitySentence({ conflict: conflictRows(problem, conflict) }), explain);
}

/** A derived index without weights on a session. */
export function refused(code: Undecided['code'], message: string, explain?: () => Refusal): Undecided {
  const finding = { severity: 'error', code: 'REBALANCE_HELD', message, path: 'derivation.constraints' } as const;
  return { kind: 'refused', code, finding, ...(explain === undefined ? {} : { explain }) };
}
