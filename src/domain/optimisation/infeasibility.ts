import type { Origin, Problem } from './problem.js';
import { nonConvexRows } from './problem.js';
import { conflictRows, findConflict, type ConflictRow } from './proof.js';
import { jointRelaxation } from './joint-relaxation.js';
import { movableIn } from './movables.js';
import { roundedOutward, singleRelaxations, type Move, type Relaxation } from './relaxation.js';
import { EXACT_NAMES_MAX, solveProblem, type Solvers } from './search.js';

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
  const moves = jointRelaxation(solvers, problem);
  const joint = moves === undefined ? undefined : jointly(solvers, problem, moves);
  return {
    proven: true,
    conflict: conflictRows(problem, conflict),
    relaxations: singleRelaxations(solvers, problem, conflict.origins),
    ...(joint === undefined ? {} : { all_rows_relaxation: joint }),
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
  const relaxations = choiceRelaxations(solvers, problem, origins);
  const joint = firstToGive(problem, relaxations) ?? jointly(solvers, problem, []);
  return { proven, conflict, relaxations, ...(joint === undefined ? {} : { all_rows_relaxation: joint }) };
}

/** Among changes that are each enough, the cheapest of a row of the highest priority. */
function firstToGive({ origins }: Problem, relaxations: readonly Relaxation[]): Relaxation[] | undefined {
  const priorityOf = ({ index, type }: Relaxation) => origins.find((origin) => origin.index === index && origin.type === type)?.priority ?? 0;
  const highest = Math.max(...relaxations.map(priorityOf));
  const first = relaxations.find((relaxation) => priorityOf(relaxation) === highest);
  return first === undefined ? undefined : [first];
}

/**
 * Moves told as a joint relaxation, with moves of rows that are not convex where those do not hold yet: of the highest priority first,
 * each as far as it goes but the last, which goes as far as it must.
 */
function jointly(solvers: Solvers, problem: Problem, moves: readonly Move[]): readonly Relaxation[] | undefined {
  const plain = moves.length === 0 ? undefined : roundedOutward(solvers, problem, moves);
  if (plain !== undefined) return plain;
  const taken = moves.map(({ movable, to }) => ({ movable, to: movable.from + (to - movable.from) * (1 + 1e-6) }));
  for (const { origin, parameter, from, end, isWhole } of waysOf(problem).toSorted((a, b) => b.origin.priority - a.origin.priority)) {
    const succeeds = (to: number) => solveProblem(solvers, problem, { changes: [...taken.map(({ movable, to: at }) => ({ origin: movable.origin, parameter: movable.parameter, to: at })), { origin, parameter, to }], wanted: 'any' }).kind === 'solved';
    if (!succeeds(end)) {
      taken.push({ movable: { origin, parameter, from }, to: end });
      continue;
    }
    return roundedOutward(solvers, problem, [...taken, { movable: { origin, parameter, from }, to: halved(from, end, isWhole, succeeds) }]);
  }
  return undefined;
}

function irreducibleChoice(solvers: Solvers, problem: Problem): Origin[] {
  let kept = [...problem.origins];
  for (const origin of problem.origins) {
    const others = kept.filter((other) => other !== origin);
    if (solveProblem(solvers, problem, { includes: (other) => others.includes(other), wanted: 'any' }).kind !== 'solved') kept = others;
  }
  return kept;
}

/** How far each parameter of a non-convex row may be moved, and in which direction it gives way. */
const WAYS: Readonly<Record<string, { readonly end: (names: number, params: Origin['params']) => number; readonly isWhole: boolean }>> = {
  minimum: { end: () => 0, isWhole: true },
  maximum: { end: (names) => names, isWhole: true },
  threshold: { end: () => 1e-9, isWhole: false },
  single: { end: () => 1, isWhole: false },
  // A trigger lies at most at the single limit, as the class wants it.
  trigger: { end: (_, { single }) => single as number, isWhole: false },
  aggregate: { end: () => 1, isWhole: false },
};

/** Halvings of a fraction in search of the least change. */
const HALVINGS = 34;

interface Way {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
  /** Where the parameter rules nothing out any more. */
  readonly end: number;
  readonly isWhole: boolean;
}

/** The parameters of non-convex rows that may give way. */
function waysOf(problem: Problem): Way[] {
  const origins = new Set(nonConvexRows(problem).map(({ origin }) => origin));
  return [...origins].flatMap((origin) =>
    origin.priority === 0 ? [] : Object.entries(WAYS).flatMap(([parameter, { end, isWhole }]) => {
      const from = origin.params[parameter];
      const to = end(problem.index.length, origin.params);
      return typeof from === 'number' && from !== to ? [{ origin, parameter, from, end: to, isWhole }] : [];
    }),
  );
}

/** Least moves of one parameter at which the search succeeds: of the non-convex rows, and for few names of the convex ones in the conflict. */
function choiceRelaxations(solvers: Solvers, problem: Problem, origins: readonly Origin[]): Relaxation[] {
  const ways = waysOf(problem).filter(({ origin }) => origins.includes(origin));
  const isSmall = problem.index.length <= EXACT_NAMES_MAX;
  const convex = isSmall ? movableIn(problem, origins).map(({ origin, parameter, from, direction, room }): Way => ({ origin, parameter, from, end: from + direction * Math.min(room, CONVEX_MOVE_MAX), isWhole: false })) : [];
  return [...ways, ...convex].flatMap((way) => leastChoice(solvers, problem, way) ?? []).toSorted((a, b) => Math.abs(a.change) - Math.abs(b.change));
}

/** A convex parameter moves this far at most when a choice of names is what fails: fractions need no more. */
const CONVEX_MOVE_MAX = 10;

/** The least move of one parameter at which the search succeeds, by halving. */
function leastChoice(solvers: Solvers, problem: Problem, { origin, parameter, from, end, isWhole }: Way): Relaxation[] | undefined {
  const succeeds = (to: number) => solveProblem(solvers, problem, { changes: [{ origin, parameter, to }], wanted: 'any' }).kind === 'solved';
  if (!succeeds(end)) return undefined;
  return roundedOutward(solvers, problem, [{ movable: { origin, parameter, from }, to: halved(from, end, isWhole, succeeds) }]);
}

/** The value nearest to `from` that succeeds, as `end` does. */
function halved(from: number, end: number, isWhole: boolean, succeeds: (to: number) => boolean): number {
  let near = from;
  let far = end;
  for (let step = 0; step < HALVINGS && Math.abs(far - near) > (isWhole ? 1 : 1e-9); step++) {
    const middle = isWhole ? Math.round((near + far) / 2) : (near + far) / 2;
    if (middle === near || middle === far) break;
    if (succeeds(middle)) far = middle;
    else near = middle;
  }
  return far;
}

/** One sentence for a person: which rows cannot hold together. */
export function infeasibilitySentence({ conflict }: Pick<Infeasibility, 'conflict'>): string {
  const names = conflict.map(({ id, index, type }) => (index === null ? IMPLICIT[type] ?? type : id === '' ? `${type} (row ${index})` : id));
  if (names.length === 0) return 'The constraints cannot hold together.';
  if (names.length === 1) return `Row ${names[0]} cannot hold by itself.`;
  const own = conflict.filter(({ index }) => index !== null).length;
  const word = own === 0 ? '' : own === 1 ? 'Row ' : 'Rows ';
  return `${word}${names.slice(0, -1).join(', ')} and ${names.at(-1)} cannot hold together.`;
}

const IMPLICIT: Readonly<Record<string, string>> = { FullInvestment: 'the full-investment budget', LongOnly: 'the long-only default' };
