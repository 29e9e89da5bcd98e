import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import type { CountRow } from '../constraints/program-row.js';
import { computeImprovementBound } from './improvement-bound.js';
import { createChoice } from './choose-names.js';
import { countHoldings } from './drop-securities.js';
import { listLargeSwaps, swapMember } from './large-swaps.js';
import { attainsLowerBound } from './measure-problem.js';
import { createNeighbourBound, type NeighbourBound } from './neighbour-bound.js';
import { createPromiseTerms, listPromisingSecurities } from './promising-names.js';
import { createRestrictedSolves, type FoundChoice, type SearchInput } from './restricted-solves.js';
import { type Choice, listPositions, createRestriction } from './restriction.js';
import type { ConvexSolution } from './solve-convex.js';
import type { Solvers } from './solvers.js';

/** Number of securities considered on each side of a swap. */
const SWAP_CANDIDATES = 10;

/**
 * Minimum number of neighbouring choices for which bounds are used. With fewer, all choices are solved without a bound
 * on their gain.
 */
const NEIGHBOURS_MIN = 3;

/** Minimum gain of a swap as a fraction of the objective. */
const GAIN_MIN = 1e-9;

/**
 * Number of securities that are added to the holdings if the objective has no curvature. Afterwards as many are dropped
 * again.
 * @source Angelelli, Mansini & Speranza (2012), Kernel search, Computational Optimization and Applications 51(1)
 */
const GROWTH_SIZE = 10;

export interface SecuritySearch {
  /** Returns the best solution found from several starts. If any solution suffices, returns the first one found. */
  from(starts: readonly Uint8Array[]): ConvexSolution | undefined;
  iterations(): number;
}

export function createSearch({ solver, algebra }: Solvers, input: SearchInput): SecuritySearch {
  const { problem, rows, options, isAnyEnough, floor } = input;
  const counts = rows.filter((row): row is CountRow => row.form === 'count');
  const terms = createPromiseTerms(problem, rows, options.base.program.lower);
  const { isFlat, threshold } = terms;
  const solves = createRestrictedSolves(solver, input);
  const { finish, isSpent } = solves;
  const choose = createChoice(algebra, { input, counts, threshold, solves });

  return {
    iterations: solves.iterations,
    from(starts) {
      let best: FoundChoice | undefined;
      for (const start of starts) {
        const result = choose(start);
        if (result !== undefined && isAnyEnough) return result.solution;
        if (result !== undefined && (best === undefined || result.solution.value < best.solution.value)) best = result;
      }
      return best === undefined ? undefined : improveChoice(best).solution;
    },
  };

  /** Swaps held and large securities as long as the objective improves. */
  function improveChoice(start: FoundChoice): FoundChoice {
    let best = start;
    for (;;) {
      if (attainsLowerBound(problem, best.solution, floor)) return best;
      const better = (isFlat ? addDroppedSecurities(best) : undefined) ?? findBetterNeighbour(best);
      if (better === undefined) return best;
      best = better;
    }
  }

  function findBetterNeighbour({ choice, solution }: FoundChoice): FoundChoice | undefined {
    const target = computeImprovementBound(solution.value, GAIN_MIN);
    const neighbours = [...listSwaps(choice, solution), ...listLargeSwaps(choice, solution, SWAP_CANDIDATES)];
    const computeSwapBound =
      neighbours.length < NEIGHBOURS_MIN
        ? undefined
        : createSwapBound(algebra, input, { choice, solution }, neighbours);
    for (const neighbour of neighbours) {
      if (isSpent()) return undefined;
      const least = computeSwapBound?.(createRestriction(rows, neighbour)) ?? Number.NEGATIVE_INFINITY;
      if (solution.value + solution.priceScale * least >= target) continue;
      const result = finish(neighbour);
      if (result !== undefined && result.solution.value < target) return result;
    }
    return undefined;
  }

  function addDroppedSecurities({ choice: { held }, solution }: FoundChoice): FoundChoice | undefined {
    // Adds the most promising securities to the holdings and drops the cheapest ones again. One solve thus evaluates
    // many swaps.
    const promisingSecurities = listPromisingSecurities(held, solution, { ...terms, most: GROWTH_SIZE });
    if (promisingSecurities.length === 0 || isSpent()) return undefined;
    const extendedChoice = held.slice();
    for (const { name } of promisingSecurities) extendedChoice[name] = 1;
    const result = choose(extendedChoice);
    return result !== undefined && result.solution.value < computeImprovementBound(solution.value, GAIN_MIN)
      ? result
      : undefined;
  }

  /**
   * Returns swaps in order of expected gain: the gain that the entering security promises, less the loss from dropping
   * the leaving one.
   */
  function listSwaps({ held, large }: Choice, solution: ConvexSolution): Choice[] {
    if (counts.length === 0 && threshold === 0) return [];
    const names = listPositions(held);
    const cost = computeSaliencies(algebra, problem.metric, names, solution.weights);
    const out = Array.from(names.keys())
      .toSorted((a, b) => cost[a]! - cost[b]! || names[a]! - names[b]!)
      .slice(0, SWAP_CANDIDATES);
    const candidates = listPromisingSecurities(held, solution, { ...terms, most: SWAP_CANDIDATES });
    return out
      .flatMap((p) => candidates.map(({ name, gain }) => ({ out: names[p]!, in: name, promise: gain - 2 * cost[p]! })))
      .toSorted((a, b) => b.promise - a.promise || a.out - b.out || a.in - b.in)
      .map((swap) => {
        const nextFlags = held.slice();
        nextFlags[swap.out] = 0;
        nextFlags[swap.in] = 1;
        return {
          held: nextFlags,
          short: solves.short,
          large: large.map((set) => swapMember(set, swap.out, swap.in)),
          isFinal: true,
        };
      })
      .filter((next) => counts.every((row) => countHoldings(row, next.held) <= row.maximum));
  }
}

/**
 * Returns a function that bounds how much neighbouring choices change the value. Returns undefined if no bound is
 * known.
 */
function createSwapBound(
  algebra: DenseAlgebra,
  { problem, rows, options }: SearchInput,
  { choice, solution }: FoundChoice,
  neighbours: readonly Choice[],
): NeighbourBound | undefined {
  const heldFlags = choice.held.slice();
  for (const neighbour of neighbours) neighbour.held.forEach((isHeld, i) => (heldFlags[i]! |= isHeld));
  const base = options.base.program;
  const names = listPositions(heldFlags);
  return createNeighbourBound(algebra, {
    problem,
    base,
    solution,
    restriction: createRestriction(rows, choice),
    names,
  });
}
