import { betterThan } from './better-than.js';
import { saliencies } from '#kernels/optimisation/factors/saliency.js';
import type { CountRow, NonConvexRow } from '../constraints/program-row.js';
import type { Assembled, Assembly, Restriction } from './assemble.js';
import type { Problem } from './problem.js';
import { bySaliency, countHeld, dropNames, neededNames } from './dropped-names.js';
import { isLeast } from './least-problem.js';
import { bestLargeNames } from './large-names.js';
import { largeSwaps, swapped } from './large-swaps.js';
import { createNeighbourBound, type NeighbourBound } from './neighbour-bound.js';
import { promiseTerms, promisingNames } from './promising-names.js';
import { type Choice, holds, positionsOf, restrictionOf, shortSide, supportOf } from './restriction.js';
import { type ConvexSolution, solveConvex } from './solve-convex.js';
import { hasTails, metered } from './work-meter.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';

/** Maximum number of restricted solves of one search. */
const SOLVES_MAX = 2000;

/** Share of excess securities dropped in one step. The last ones are dropped one at a time. */
const DROP_SHARE = 0.1;
const DROP_SINGLY = 20;

/** Number of securities considered on either side of a swap. */
const SWAP_CANDIDATES = 10;

/** Number of neighbouring choices from which their possible gain is bounded before any is solved. */
const WORTH_A_BOUND = 3;

/** Minimum gain of a swap, as a share of the objective. */
const GAIN_MIN = 1e-9;

/**
 * Number of securities added to the held ones if the objective has no curvature, before the same number is dropped.
 * @source Angelelli, Mansini & Speranza (2012), Kernel search, Computational Optimization and Applications 51(1)
 */
const GROWN = 10;

/**
 * Maximum number of multiplications in the search for a better choice, about half a minute: tails of thousands of
 * scenarios are a hundred times as expensive as a variance. Counted instead of timed, so that equal requests have equal
 * results.
 */
const WORK_MAX = 1e10;

/** Share of that work if any choice suffices. */
const ANY_SHARE = 0.1;

/** Share of that work after which all excess securities are dropped at once, and share after which the search fails. */
const HURRIED = 0.5;
const GIVEN_UP = 4;

interface Search {
  /** Returns the best choice found from several starts, or the first one found. */
  from(starts: readonly Uint8Array[]): ConvexSolution | undefined;
  iterations(): number;
}

interface Found {
  readonly choice: Choice;
  readonly solution: ConvexSolution;
}

export interface SearchInput {
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly options: Pick<Assembly, 'includes' | 'changes'> & { readonly base: Assembled };
  /** Optimum without the rows that choose securities. */
  readonly relaxed: ConvexSolution;
  /** Ends at the first choice that satisfies every row, and gives up early. */
  readonly isAnyEnough: boolean;
  /** Lower bound of a row's measure over all choices, if the measure is minimised. */
  readonly floor?: number | undefined;
}

export function createSearch({ solver: inner, algebra }: Solvers, input: SearchInput): Search {
  const { problem, rows, options, relaxed, isAnyEnough, floor } = input;
  const short = shortSide(relaxed.weights);
  const n = problem.index.length;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const concentrations = rows.filter((row) => row.form === 'concentration');
  const terms = promiseTerms(problem, rows, options.base.program.lower);
  const { isFlat, threshold } = terms;
  const workMax = workMaxOf(input);
  const solver = metered(inner);
  let near: Pick<ConvexSolution, 'tail' | 'planes' | 'answer'> = relaxed;
  let solves = 0;
  let iterations = 0;

  function solveWithin(restriction: Restriction): ConvexSolution | undefined {
    if (solves >= SOLVES_MAX || solver.spent() > GIVEN_UP * workMax) return undefined;
    solves++;
    const { tail, planes, answer: beside } = near;
    const solution = solveConvex(solver, problem, { ...options, restriction, effort: 'quick', tail, planes, beside });
    iterations += solution?.iterations ?? 0;
    near = solution ?? near;
    return solution;
  }

  return {
    iterations: () => iterations,
    from(starts) {
      let best: Found | undefined;
      for (const start of starts) {
        const result = choose(start);
        if (result !== undefined && isAnyEnough) return result.solution;
        if (result !== undefined && (best === undefined || result.solution.value < best.solution.value)) best = result;
      }
      return best === undefined ? undefined : improve(best).solution;
    },
  };

  /** Finds a choice that satisfies every row, from a start that may hold too many securities. */
  function choose(start: Uint8Array): Found | undefined {
    const pruned = prune(start);
    if (pruned === undefined) return undefined;
    const enough = fill(pruned);
    if (threshold === 0) return concentrate(enough);
    const pending: { readonly held: Uint8Array; readonly least: number }[] = [];
    let best: Found | undefined;
    const take = (held: Uint8Array) => {
      const result = concentrate(held);
      if (result !== undefined && (best === undefined || result.solution.value < best.solution.value)) best = result;
    };
    for (const { held, value } of raise(enough)) {
      if (best !== undefined && value >= best.solution.value) break; // The next ones hold fewer securities.
      if (concentrations.length === 0) take(held);
      else {
        const least = solveWithin({ ...restrictionOf(rows, { ...loose(held), isFinal: true }), sums: [] })?.value;
        if (least !== undefined) pending.push({ held, least });
      }
    }
    for (const { held, least } of pending.toSorted((a, b) => a.least - b.least)) {
      if (best !== undefined && least >= best.solution.value) break;
      take(held);
    }
    return best;
  }

  function loose(held: Uint8Array): Choice {
    // No security is restricted as large during the choice: each may reach the single limit.
    return { held, short, large: concentrations.map(() => new Uint8Array(n).fill(1)), isFinal: false };
  }

  /** Solves without concentration sums, which would bind for every held security as long as nothing is chosen. */
  function solveLoose(held: Uint8Array): ConvexSolution | undefined {
    return solveWithin({ ...restrictionOf(rows, loose(held)), sums: [] });
  }

  /** Drops securities of least saliency until no group holds too many. */
  function prune(start: Uint8Array): Uint8Array | undefined {
    let held: Uint8Array = start.slice();
    const retained = neededNames(options.base.program);
    let solution = solveLoose(held);
    // An infeasible start is widened to every security.
    if (solution === undefined) return held.includes(0) ? prune(new Uint8Array(n).fill(1)) : undefined;
    let order: readonly number[] | undefined;
    for (;;) {
      held = supportOf(solution.weights);
      const excess = counts.map((row) => Math.max(0, countHeld(row, held) - row.maximum));
      const total = excess.reduce((sum, value) => sum + value, 0);
      if (total === 0) return held;
      const size = held.reduce((sum, value) => sum + value, 0);
      const few = total <= DROP_SINGLY ? 1 : Math.min(total - DROP_SINGLY, Math.ceil(DROP_SHARE * size));
      const wanted = solver.spent() > HURRIED * workMax ? total : few;
      order ??= bySaliency(algebra, problem.metric, held, solution.weights);
      const next = dropNames(counts, held, { retained, order, excess, wanted });
      if (next === undefined) return undefined;
      const without = solveLoose(next.held);
      if (without !== undefined) {
        solution = without;
        order = undefined;
        continue;
      }
      if (solves >= SOLVES_MAX) return undefined;
      // The others cannot replace one of them, so it is kept.
      for (const i of next.dropped) retained[i] = 1;
    }
  }

  /** Adds the largest index weights to groups with too few securities. */
  function fill(held: Uint8Array): Uint8Array {
    const next = held.slice();
    for (const row of counts) {
      let missing = row.minimum - countHeld(row, next);
      const spare = Array.from(row.members)
        .filter((i) => next[i] === 0)
        .toSorted((a, b) => problem.index[b]! - problem.index[a]! || a - b);
      for (const i of spare) {
        if (missing <= 0) break;
        if (counts.some((other) => other.members.includes(i) && countHeld(other, next) >= other.maximum)) continue;
        next[i] = 1;
        missing--;
      }
    }
    return next;
  }

  /**
   * Returns choices of securities that can all reach the threshold: the held ones, with a decreasing number of those
   * below it. Each has the value of its weights without the threshold.
   */
  function* raise(start: Uint8Array): Generator<{ readonly held: Uint8Array; readonly value: number }> {
    let held = start;
    for (;;) {
      const solution = solveLoose(held);
      yield { held, value: solution?.value ?? Number.NEGATIVE_INFINITY };
      if (solution === undefined) return;
      const below = positionsOf(held).filter((i) => short[i] === 0 && solution.weights[i]! < threshold - 1e-12);
      if (below.length === 0) return;
      const names = positionsOf(supportOf(solution.weights));
      const cost = new Map(
        Array.from(saliencies(algebra, problem.metric, names, solution.weights), (value, p) => [names[p]!, value]),
      );
      const order = Array.from(below).toSorted((a, b) => (cost.get(a) ?? 0) - (cost.get(b) ?? 0) || a - b);
      const wanted = below.length <= DROP_SINGLY ? 1 : Math.ceil(DROP_SHARE * below.length);
      const next = held.slice();
      for (const i of order.slice(0, wanted))
        if (!counts.some((row) => row.members.includes(i) && countHeld(row, next) <= row.minimum)) next[i] = 0;
      if (next.every((value, i) => value === held[i])) return;
      held = next;
    }
  }

  /** Chooses the securities that may exceed each trigger: the best number of largest ones by weight. */
  function concentrate(held: Uint8Array): Found | undefined {
    if (concentrations.length === 0) return finish({ held, short, large: [], isFinal: true });
    const solution = solveLoose(held);
    if (solution === undefined) return undefined;
    return bestLargeNames({
      rows: concentrations,
      held,
      weights: solution.weights,
      isLong: options.base.program.lower.every((bound) => bound >= 0),
      solve: (large) => finish({ held, short, large: concentrations.map(() => large), isFinal: true }),
    });
  }

  function finish(choice: Choice): Found | undefined {
    const solution = solveWithin(restrictionOf(rows, choice));
    if (solution === undefined || !rows.every((row) => holds(row, solution.weights))) return undefined;
    return { choice, solution };
  }

  /** Swaps held securities, and large ones, as long as the objective improves. */
  function improve(start: Found): Found {
    let best = start;
    for (;;) {
      if (isLeast(problem, best.solution, floor)) return best;
      const better = (isFlat ? regrown(best) : undefined) ?? betterNeighbour(best);
      if (better === undefined) return best;
      best = better;
    }
  }

  function betterNeighbour({ choice, solution }: Found): Found | undefined {
    const target = betterThan(solution.value, GAIN_MIN);
    const neighbours = [...swaps(choice, solution), ...largeSwaps(choice, solution, SWAP_CANDIDATES)];
    const leastOf =
      neighbours.length < WORTH_A_BOUND ? undefined : boundBeside(algebra, input, { choice, solution }, neighbours);
    for (const neighbour of neighbours) {
      if (isSpent()) return undefined;
      const least = leastOf?.(restrictionOf(rows, neighbour)) ?? Number.NEGATIVE_INFINITY;
      if (solution.value + solution.priceScale * least >= target) continue;
      const result = finish(neighbour);
      if (result !== undefined && result.solution.value < target) return result;
    }
    return undefined;
  }

  function isSpent(): boolean {
    return solves >= SOLVES_MAX || solver.spent() > workMax;
  }

  function regrown({ choice: { held }, solution }: Found): Found | undefined {
    // Adds the most promising securities to the held ones and drops those that are cheapest to drop: one solve
    // evaluates many swaps.
    const more = promisingNames(held, solution, { ...terms, most: GROWN });
    if (more.length === 0 || isSpent()) return undefined;
    const grown = held.slice();
    for (const { name } of more) grown[name] = 1;
    const result = choose(grown);
    return result !== undefined && result.solution.value < betterThan(solution.value, GAIN_MIN) ? result : undefined;
  }

  /** Returns swaps by expected gain: potential of the entering security minus saliency of the leaving one. */
  function swaps({ held, large }: Choice, solution: ConvexSolution): Choice[] {
    if (counts.length === 0 && threshold === 0) return [];
    const names = positionsOf(held);
    const cost = saliencies(algebra, problem.metric, names, solution.weights);
    const out = Array.from(names.keys())
      .toSorted((a, b) => cost[a]! - cost[b]! || names[a]! - names[b]!)
      .slice(0, SWAP_CANDIDATES);
    const others = promisingNames(held, solution, { ...terms, most: SWAP_CANDIDATES });
    return out
      .flatMap((p) => others.map(({ name, gain }) => ({ out: names[p]!, in: name, promise: gain - 2 * cost[p]! })))
      .toSorted((a, b) => b.promise - a.promise || a.out - b.out || a.in - b.in)
      .map((swap) => {
        const next = held.slice();
        next[swap.out] = 0;
        next[swap.in] = 1;
        return { held: next, short, large: large.map((set) => swapped(set, swap.out, swap.in)), isFinal: true };
      })
      .filter((next) => counts.every((row) => countHeld(row, next.held) <= row.maximum));
  }
}

/** Returns a bound on the change of value by neighbouring choices; undefined if unknown. */
function boundBeside(
  algebra: DenseAlgebra,
  { problem, rows, options }: SearchInput,
  { choice, solution }: Found,
  neighbours: readonly Choice[],
): NeighbourBound | undefined {
  const held = choice.held.slice();
  for (const neighbour of neighbours) neighbour.held.forEach((isHeld, i) => (held[i]! |= isHeld));
  const base = options.base.program;
  const names = positionsOf(held);
  return createNeighbourBound(algebra, { problem, base, solution, restriction: restrictionOf(rows, choice), names });
}

/** Returns the maximum number of multiplications of a search. */
function workMaxOf({ problem, isAnyEnough }: SearchInput): number {
  if (!hasTails(problem)) return Infinity;
  return isAnyEnough ? ANY_SHARE * WORK_MAX : WORK_MAX;
}

export interface Solvers {
  readonly solver: Solver;
  readonly algebra: DenseAlgebra;
}
