import type { Origin, Problem } from './problem.js';
import { nonConvexRows } from './problem.js';
import { conflictRows, findConflict, type ConflictRow } from './proof.js';
import { jointRelaxation, roundedOutward, singleRelaxations, type Relaxation } from './relaxation.js';
import { solveProblem, type Solvers } from './search.js';

/** Why a problem has no answer: the detail of the error INFEASIBLE. */
export interface Infeasibility {
  /** Whether it is certified: by multipliers that were checked. */
  readonly proven: boolean;
  readonly conflict: readonly ConflictRow[];
  readonly relaxations: readonly Relaxation[];
  readonly all_rows_relaxation?: readonly Relaxation[];
}

/** Rows whose part in a conflict over choices of names is tried one by one. */
const CHOICE_ROWS_MAX = 24;

/**
 * Explains why the rows of a problem cannot hold together: an irreducible set of them, the least change of one parameter that
 * restores feasibility, for each parameter, and the least joint change that honours priorities.
 *
 * @returns  undefined when no conflict can be proven: the solver failed for another reason.
 * @cost     a linear program per row of the problem, and a few per parameter of the conflict.
 */
export function explainInfeasibility(solvers: Solvers, problem: Problem): Infeasibility | undefined {
  const conflict = findConflict(solvers.solver, problem);
  if (conflict === null) return undefined;
  const joint = jointRelaxation(solvers, problem);
  return {
    proven: true,
    conflict: conflictRows(problem, conflict),
    relaxations: singleRelaxations(solvers, problem, conflict.origins),
    ...(joint.length > 0 ? { all_rows_relaxation: joint } : {}),
  };
}

/**
 * Explains why no choice of names satisfies the non-convex rows, while the convex ones hold together: by dropping rows as long
 * as the search still fails, and by moving the parameters of those that remain until it succeeds.
 *
 * @param proven  Whether every choice was ruled out.
 */
export function explainChoice(solvers: Solvers, problem: Problem, proven: boolean): Infeasibility {
  const origins = problem.origins.length <= CHOICE_ROWS_MAX ? irreducibleChoice(solvers, problem) : [...new Set(nonConvexRows(problem).map(({ origin }) => origin))];
  const conflict = origins.map((origin) => ({ id: origin.id, index: origin.index, type: origin.type, label: origin.name, multiplier: 1 / origins.length }));
  return { proven, conflict, relaxations: choiceRelaxations(solvers, problem, origins) };
}

function irreducibleChoice(solvers: Solvers, problem: Problem): Origin[] {
  let kept = [...problem.origins];
  for (const origin of problem.origins) {
    const others = kept.filter((other) => other !== origin);
    if (solveProblem(solvers, problem, { includes: (other) => others.includes(other) }).kind !== 'solved') kept = others;
  }
  return kept;
}

/** How far each parameter of a non-convex row may be moved, and in which direction it gives way. */
const WAYS: Readonly<Record<string, { readonly end: (names: number) => number; readonly isWhole: boolean }>> = {
  minimum: { end: () => 0, isWhole: true },
  maximum: { end: (names) => names, isWhole: true },
  threshold: { end: () => 1e-9, isWhole: false },
  single: { end: () => 1, isWhole: false },
  trigger: { end: () => 1, isWhole: false },
  aggregate: { end: () => 1, isWhole: false },
};

/** Halvings of a fraction in search of the least change. */
const HALVINGS = 30;

function choiceRelaxations(solvers: Solvers, problem: Problem, origins: readonly Origin[]): Relaxation[] {
  const isNonConvex = new Set(nonConvexRows(problem).map(({ origin }) => origin));
  return origins
    .filter((origin) => isNonConvex.has(origin) && origin.priority > 0)
    .flatMap((origin) => Object.keys(origin.params).flatMap((parameter) => leastChoice(solvers, problem, origin, parameter) ?? []))
    .toSorted((a, b) => Math.abs(a.change) - Math.abs(b.change));
}

/** The least move of one parameter at which the search succeeds, by halving. */
function leastChoice(solvers: Solvers, problem: Problem, origin: Origin, parameter: string): Relaxation[] | undefined {
  const way = WAYS[parameter];
  const from = origin.params[parameter];
  if (way === undefined || typeof from !== 'number') return undefined;
  const succeeds = (to: number) => solveProblem(solvers, problem, { changes: [{ origin, parameter, to }] }).kind === 'solved';
  let near = from;
  let far = way.end(problem.index.length);
  if (near === far || !succeeds(far)) return undefined;
  for (let step = 0; step < HALVINGS && Math.abs(far - near) > (way.isWhole ? 1 : 1e-9); step++) {
    const middle = way.isWhole ? Math.round((near + far) / 2) : (near + far) / 2;
    if (middle === near || middle === far) break;
    if (succeeds(middle)) far = middle;
    else near = middle;
  }
  return roundedOutward(solvers, problem, [{ movable: { origin, parameter, from }, to: far }]);
}

/** One sentence for a person: which rows cannot hold together. */
export function infeasibilitySentence({ conflict }: Pick<Infeasibility, 'conflict'>): string {
  const names = conflict.map(({ id, index, type }) => (index === null ? IMPLICIT[type] ?? type : id === '' ? `${type} (row ${index})` : id));
  if (names.length === 0) return 'The constraints cannot hold together.';
  if (names.length === 1) return `Row ${names[0]} cannot hold by itself.`;
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)} cannot hold together.`;
}

const IMPLICIT: Readonly<Record<string, string>> = { FullInvestment: 'the full-investment budget', LongOnly: 'the long-only default' };
