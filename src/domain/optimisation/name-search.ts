import { betterThan } from './better-than.js';
import { metricDiagonal } from '#kernels/optimisation/program/metric.js';
import { saliencies } from '#kernels/optimisation/factors/saliency.js';
import { lagrangianSlopes } from '#kernels/optimisation/program/slopes.js';
import type { CountRow, NonConvexRow } from '../constraints/program-row.js';
import type { Assembly } from './assemble.js';
import type { Problem } from './problem.js';
import { type Choice, holds, restrictionOf, supportOf } from './restriction.js';
import { type ConvexSolution, solveConvex } from './solve-convex.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';

/** Restricted solves of one search. */
const SOLVES_MAX = 2000;

/** Names dropped in one step while many are in excess, as a share; the last ones go one at a time. */
const DROP_SHARE = 0.1;
const DROP_SINGLY = 20;

/** Names considered on either side of a swap. */
const SWAP_CANDIDATES = 10;

/** A swap has to pay at least this share of the objective. */
const GAIN_MIN = 1e-9;

interface Search {
  /** The best choice found from some starts, or the first one. */
  from(starts: readonly Uint8Array[], isAnyEnough: boolean): ConvexSolution | undefined;
  iterations(): number;
}

interface Found {
  readonly choice: Choice;
  readonly solution: ConvexSolution;
}

interface SearchInput {
  readonly problem: Problem;
  readonly rows: readonly NonConvexRow[];
  readonly options: Pick<Assembly, 'base' | 'includes' | 'changes'>;
  /** 1 for the names that the relaxation holds short, [N]. */
  readonly short: Uint8Array;
}

export function createSearch({ solver, algebra }: Solvers, { problem, rows, options, short }: SearchInput): Search {
  const n = problem.index.length;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const threshold = rows.reduce((most, row) => (row.form === 'threshold' ? Math.max(most, row.threshold) : most), 0);
  const concentrations = rows.filter((row) => row.form === 'concentration');
  const variances = metricDiagonal(problem.metric);
  let solves = 0;
  let iterations = 0;

  function solve(choice: Choice): ConvexSolution | undefined {
    if (solves >= SOLVES_MAX) return undefined;
    solves++;
    const solution = solveConvex(solver, problem, {
      ...options,
      restriction: restrictionOf(rows, choice),
      effort: 'quick',
    });
    iterations += solution?.iterations ?? 0;
    return solution;
  }

  return {
    iterations: () => iterations,
    from(starts, isAnyEnough) {
      let best: Found | undefined;
      for (const start of starts) {
        const found = choose(start);
        if (found !== undefined && isAnyEnough) return found.solution;
        if (found !== undefined && (best === undefined || found.solution.value < best.solution.value)) best = found;
      }
      return best === undefined ? undefined : improve(best).solution;
    },
  };

  /** A choice that satisfies every row, from a start that may hold too many names. */
  function choose(start: Uint8Array): Found | undefined {
    const pruned = prune(start);
    if (pruned === undefined) return undefined;
    const enough = fill(pruned);
    const candidates = threshold > 0 ? raise(enough) : [enough];
    let best: Found | undefined;
    for (const held of candidates) {
      const found = concentrate(held);
      if (found !== undefined && (best === undefined || found.solution.value < best.solution.value)) best = found;
    }
    return best;
  }

  /** Nothing is large while names are being chosen; every name may be as large as the single limit. */
  function loose(held: Uint8Array): Choice {
    return { held, short, large: concentrations.map(() => new Uint8Array(n).fill(1)), isFinal: false };
  }

  /** Solves with concentration sums left out: they would bind every held name while nothing is chosen yet. */
  function solveLoose(held: Uint8Array): ConvexSolution | undefined {
    if (solves >= SOLVES_MAX) return undefined;
    solves++;
    const restriction = { ...restrictionOf(rows, loose(held)), sums: [] };
    const solution = solveConvex(solver, problem, { ...options, restriction, effort: 'quick' });
    iterations += solution?.iterations ?? 0;
    return solution;
  }

  /** Drops names of least saliency until no group holds too many. */
  function prune(start: Uint8Array): Uint8Array | undefined {
    let held: Uint8Array = start.slice();
    const retained = new Uint8Array(n);
    let solution = solveLoose(held);
    if (solution === undefined) return repair(held);
    for (;;) {
      held = supportOf(solution.weights);
      const excess = counts.map((row) => Math.max(0, countHeld(row, held) - row.maximum));
      const total = excess.reduce((sum, value) => sum + value, 0);
      if (total === 0) return held;
      const size = held.reduce((sum, value) => sum + value, 0);
      const wanted = total <= DROP_SINGLY ? 1 : Math.min(total - DROP_SINGLY, Math.ceil(DROP_SHARE * size));
      const next = drop(held, retained, solution.weights, excess, wanted);
      if (next === undefined) return undefined;
      const without = solveLoose(next.held);
      if (without !== undefined) {
        solution = without;
        continue;
      }
      if (solves >= SOLVES_MAX) return undefined;
      // The others cannot make up for one of them: it stays.
      for (const i of next.dropped.length === 1 ? next.dropped : next.dropped.slice(-1)) retained[i] = 1;
      if (next.dropped.length > 1) for (const i of next.dropped) retained[i] = 1;
    }
  }

  /** A start that is infeasible by itself is widened to every name. */
  function repair(held: Uint8Array): Uint8Array | undefined {
    return held.every((value) => value === 1) ? undefined : prune(new Uint8Array(n).fill(1));
  }

  interface Dropped {
    readonly held: Uint8Array;
    readonly dropped: readonly number[];
  }

  function drop(
    held: Uint8Array,
    retained: Uint8Array,
    weights: Float64Array,
    excess: readonly number[],
    wanted: number,
  ): Dropped | undefined {
    const names = positionsOf(held);
    const cost = saliencies(algebra, problem.metric, names, weights);
    const order = Array.from(names.keys()).toSorted((a, b) => cost[a]! - cost[b]! || names[a]! - names[b]!);
    const left = excess.slice();
    const next = held.slice();
    const dropped: number[] = [];
    const memberships = counts.map((row) => new Set(row.members));
    const heldIn = counts.map((row) => countHeld(row, held));
    for (const p of order) {
      const i = names[p]!;
      if (dropped.length === wanted) break;
      if (retained[i] === 1) continue;
      const rowsOf = counts.flatMap((_, c) => (memberships[c]!.has(i) ? [c] : []));
      if (!rowsOf.some((c) => left[c]! > 0) || rowsOf.some((c) => heldIn[c]! <= counts[c]!.minimum)) continue;
      for (const c of rowsOf) {
        left[c]!--;
        heldIn[c]!--;
      }
      next[i] = 0;
      dropped.push(i);
    }
    return dropped.length === 0 ? undefined : { held: next, dropped };
  }

  /** Adds the largest index weights where a group holds too few names. */
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

  /** Choices of names that can all reach the threshold: those held, less and less of those below it. */
  function raise(start: Uint8Array): Uint8Array[] {
    const candidates: Uint8Array[] = [];
    let held = start;
    for (;;) {
      candidates.push(held);
      const solution = solveLoose(held);
      if (solution === undefined) return candidates;
      const below = positionsOf(held).filter((i) => short[i] === 0 && solution.weights[i]! < threshold - 1e-12);
      if (below.length === 0) return candidates;
      const names = positionsOf(supportOf(solution.weights));
      const cost = new Map(
        Array.from(saliencies(algebra, problem.metric, names, solution.weights), (value, p) => [names[p]!, value]),
      );
      const order = Array.from(below).toSorted((a, b) => (cost.get(a) ?? 0) - (cost.get(b) ?? 0) || a - b);
      const wanted = below.length <= DROP_SINGLY ? 1 : Math.ceil(DROP_SHARE * below.length);
      held = held.slice();
      for (const i of order.slice(0, wanted))
        if (!counts.some((row) => row.members.includes(i) && countHeld(row, held) <= row.minimum)) held[i] = 0;
      if (candidates.at(-1)!.every((value, i) => value === held[i])) return candidates;
    }
  }

  /** Chooses which names may exceed each trigger: the largest by weight, as many as pay. */
  function concentrate(held: Uint8Array): Found | undefined {
    if (concentrations.length === 0) return finish({ held, short, large: [], isFinal: true });
    const solution = solveLoose(held);
    if (solution === undefined) return undefined;
    const order = Array.from(positionsOf(held)).toSorted(
      (a, b) => solution.weights[b]! - solution.weights[a]! || a - b,
    );
    let best: Found | undefined;
    const most = Math.min(
      order.length,
      ...concentrations.map(({ aggregate, trigger }) => (trigger > 0 ? Math.floor(aggregate / trigger) : order.length)),
    );
    for (let size = 0; size <= most; size++) {
      const large = new Uint8Array(n);
      for (const i of order.slice(0, size)) large[i] = 1;
      const found = finish({ held, short, large: concentrations.map(() => large), isFinal: true });
      if (found !== undefined && (best === undefined || found.solution.value < best.solution.value)) best = found;
    }
    return best;
  }

  function finish(choice: Choice): Found | undefined {
    const solution = solve(choice);
    if (solution === undefined || !rows.every((row) => holds(row, solution.weights))) return undefined;
    return { choice, solution };
  }

  /** Swaps of one held name for another, and of which names are large, as long as they pay. */
  function improve(start: Found): Found {
    let best = start;
    for (;;) {
      const better = betterNeighbour(best);
      if (better === undefined) return best;
      best = better;
    }
  }

  function betterNeighbour({ choice, solution }: Found): Found | undefined {
    const target = betterThan(solution.value, GAIN_MIN);
    for (const neighbour of [...swaps(choice, solution), ...largeSwaps(choice, solution)]) {
      if (solves >= SOLVES_MAX) return undefined;
      const found = finish(neighbour);
      if (found !== undefined && found.solution.value < target) return found;
    }
    return undefined;
  }

  /** Swaps by the gain they promise: potential of the name that comes in, less saliency of the one that goes. */
  function swaps({ held, large }: Choice, { weights, assembled, answer }: ConvexSolution): Choice[] {
    if (counts.length === 0 && threshold === 0) return [];
    const names = positionsOf(held);
    const cost = saliencies(algebra, problem.metric, names, weights);
    const out = Array.from(names.keys())
      .toSorted((a, b) => cost[a]! - cost[b]! || names[a]! - names[b]!)
      .slice(0, SWAP_CANDIDATES);
    const { right } = lagrangianSlopes(assembled.program, answer.point);
    const gain = (i: number) => {
      const variance = variances[i]!;
      const curved = (assembled.program.curvature / 2) * variance;
      const weight = Math.max(threshold, curved > 0 ? -right[i]! / (2 * curved) : 0);
      return -weight * (right[i]! + curved * weight);
    };
    const coming = Array.from(held.keys())
      .filter((i) => held[i] === 0)
      .toSorted((a, b) => gain(b) - gain(a) || a - b)
      .slice(0, SWAP_CANDIDATES);
    return out
      .flatMap((p) => coming.map((i) => ({ out: names[p]!, in: i, promise: gain(i) - 2 * cost[p]! })))
      .toSorted((a, b) => b.promise - a.promise || a.out - b.out || a.in - b.in)
      .map((swap) => {
        const next = held.slice();
        next[swap.out] = 0;
        next[swap.in] = 1;
        return { held: next, short, large: large.map((set) => swapped(set, swap.out, swap.in)), isFinal: true };
      })
      .filter((next) => counts.every((row) => countHeld(row, next.held) <= row.maximum));
  }

  function largeSwaps({ held, large }: Choice, { weights }: ConvexSolution): Choice[] {
    const order = Array.from(positionsOf(held)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
    return large.flatMap((set, position) => {
      const inside = order
        .filter((i) => set[i] === 1)
        .toReversed()
        .slice(0, SWAP_CANDIDATES);
      const outside = order.filter((i) => set[i] === 0).slice(0, SWAP_CANDIDATES);
      return inside.flatMap((a) =>
        outside.map((b) => ({
          held,
          short,
          large: large.map((other, q) => (q === position ? swapped(other, a, b) : other)),
          isFinal: true,
        })),
      );
    });
  }
}

/** A set with one member exchanged, where it is one. */
function swapped(set: Uint8Array, out: number, coming: number): Uint8Array {
  const next = set.slice();
  if (next[out] === 1) {
    next[out] = 0;
    next[coming] = 1;
  }
  return next;
}

export function countHeld({ members }: CountRow, held: Uint8Array): number {
  let count = 0;
  for (const i of members) count += held[i]!;
  return count;
}

function positionsOf(held: Uint8Array): Int32Array {
  return Int32Array.from(held.keys()).filter((i) => held[i] === 1);
}

export interface Solvers {
  readonly solver: Solver;
  readonly algebra: DenseAlgebra;
}
