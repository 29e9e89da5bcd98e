import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import type { ConcentrationRow, CountRow, NonConvexRow } from '../definition/constraint-class.js';
import type { ConvexSolution } from './convex-solve.js';
import { attainsLowerBound } from './measure-problem.js';
import { computeImprovementBound, createNeighbourBound, type NeighbourBound } from './neighbour-bound.js';
import type { Problem, Solvers } from './problem.js';
import {
  type HeldChoice,
  countHoldings,
  createRestrictedSolves,
  createRestriction,
  findThreshold,
  type FoundChoice,
  listHeldPositions,
  markHoldings,
  markRequiredSecurities,
  removeSecurities,
  type RestrictedSolves,
  type SearchInput,
  sortBySaliency,
} from './restriction.js';

/** Input for choosing the securities above triggers. */
export interface LargeSecuritiesInput<T> {
  readonly rows: readonly ConcentrationRow[];
  /** 1 for securities that may be held, [N]. */
  readonly held: Uint8Array;
  /** Weights of the optimum without triggers. */
  readonly weights: Float64Array;
  /** True if no weight may be negative. */
  readonly isLong: boolean;
  /** Returns the optimum in which only the securities of `large` may exceed the triggers. */
  readonly solve: (large: Uint8Array) => T | undefined;
}

/** Distance from a limit above which a weight or a sum does not count as touching it. */
const CONTACT_TOLERANCE = 1e-9;

/**
 * Finds the best number of securities that may exceed the triggers, in order of weight. More large securities increase
 * the limited sum; fewer force more securities below the triggers. If no trigger binds, more cannot help. If no sum
 * binds, fewer cannot help.
 * @cost a solve for each number in between
 */
export function findBestLargeSecurities<T extends { readonly solution: ConvexSolution }>(
  input: LargeSecuritiesInput<T>,
): T | undefined {
  const { rows, held, weights, isLong, solve } = input;
  const n = weights.length;
  const order = Array.from(listHeldPositions(held)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  const largestCount = Math.min(
    order.length,
    ...rows.map(({ aggregate, trigger }) => (trigger > 0 ? Math.floor(aggregate / trigger) : order.length)),
  );
  const trigger = Math.min(...rows.map((row) => row.trigger));
  const aggregate = Math.min(...rows.map((row) => row.aggregate));
  const first = Math.min(largestCount, order.filter((i) => weights[i]! > trigger).length);
  let best: T | undefined;
  const solveWithLargest = (size: number) => {
    const large = new Uint8Array(n);
    for (const i of order.slice(0, size)) large[i] = 1;
    return solve(large);
  };
  const isWithin = (size: number, { solution }: T) =>
    order.slice(size).every((i) => solution.weights[i]! < trigger - CONTACT_TOLERANCE);
  const isLight = (size: number, { solution }: T) =>
    order.slice(0, size).reduce((sum, i) => sum + solution.weights[i]!, 0) < aggregate - CONTACT_TOLERANCE;
  let isDown = true;
  for (let size = first; size <= largestCount; size++) {
    const result = solveWithLargest(size);
    if (result === undefined) continue;
    if (best === undefined || result.solution.value < best.solution.value) best = result;
    if (isLight(size, result)) isDown = false;
    if (isLong && isWithin(size, result)) break;
  }
  for (let size = first - 1; size >= 0 && isDown; size--) {
    const result = solveWithLargest(size);
    if (result === undefined) continue;
    if (best === undefined || result.solution.value <= best.solution.value) best = result;
    isDown = !isLight(size, result);
  }
  return best;
}

/**
 * Maximum fraction of the held securities that is dropped in one step while groups hold too many, and fraction of the
 * securities below the minimum weight. If at most `SINGLE_DROPS_MAX` must go, they are dropped one by one.
 */
const DROP_SHARE = 0.1;
const SINGLE_DROPS_MAX = 20;

export interface ChoiceInput {
  readonly input: SearchInput;
  readonly counts: readonly CountRow[];
  /** Minimum weight of a held security; 0 without a minimum. */
  readonly threshold: number;
  readonly solves: RestrictedSolves;
}

/**
 * Returns a function that finds a choice of securities that satisfies every row, or undefined. The start of its search
 * may hold too many securities.
 */
function createChoice(
  algebra: DenseAlgebra,
  { input, counts, threshold, solves }: ChoiceInput,
): (start: Uint8Array) => FoundChoice | undefined {
  const { problem, rows, options } = input;
  const { short, solveLoose, finish } = solves;
  const concentrations = rows.filter((row) => row.form === 'concentration');
  return chooseSecurities;

  function chooseSecurities(start: Uint8Array): FoundChoice | undefined {
    const prunedFlags = removeExcess(start);
    if (prunedFlags === undefined) return undefined;
    const filledFlags = fillCounts(prunedFlags, input, counts);
    if (threshold === 0) return chooseLarge(filledFlags);
    const pendingChoices: { readonly held: Uint8Array; readonly least: number }[] = [];
    let best: FoundChoice | undefined;
    const takeChoice = (heldFlags: Uint8Array) => {
      const result = chooseLarge(heldFlags);
      if (result !== undefined && (best === undefined || result.solution.value < best.solution.value)) best = result;
    };
    for (const { held, value } of raiseToThreshold(filledFlags)) {
      if (best !== undefined && value >= best.solution.value) break; // later choices hold fewer securities
      if (concentrations.length === 0) takeChoice(held);
      else {
        const least = solves.solveWithin(solves.restrictLoosely(held, true))?.value;
        if (least !== undefined) pendingChoices.push({ held, least });
      }
    }
    for (const { held, least } of pendingChoices.toSorted((a, b) => a.least - b.least)) {
      if (best !== undefined && least >= best.solution.value) break;
      takeChoice(held);
    }
    return best;
  }

  /** Drops securities until no group holds too many, first those whose loss raises the objective least. */
  function removeExcess(start: Uint8Array): Uint8Array | undefined {
    let heldFlags: Uint8Array = start.slice();
    const fixedSet = markRequiredSecurities(options.base.program);
    let solution = solveLoose(heldFlags);
    // An infeasible start is extended to every security.
    if (solution === undefined)
      return heldFlags.includes(0) ? removeExcess(new Uint8Array(problem.index.length).fill(1)) : undefined;
    let order: readonly number[] | undefined;
    for (;;) {
      heldFlags = markHoldings(solution.weights);
      const excess = counts.map((row) => Math.max(0, countHoldings(row, heldFlags) - row.maximum));
      const total = excess.reduce((sum, value) => sum + value, 0);
      if (total === 0) return heldFlags;
      const size = heldFlags.reduce((sum, value) => sum + value, 0);
      const stepCount =
        total <= SINGLE_DROPS_MAX ? 1 : Math.min(total - SINGLE_DROPS_MAX, Math.ceil(DROP_SHARE * size));
      const removalCount = solves.isHurried() ? total : stepCount;
      order ??= sortBySaliency(algebra, problem.metric, heldFlags, solution.weights);
      const next = removeSecurities(counts, heldFlags, { retained: fixedSet, order, excess, wanted: removalCount });
      if (next === undefined) return undefined;
      const solutionWithout = solveLoose(next.held);
      if (solutionWithout !== undefined) {
        solution = solutionWithout;
        order = undefined;
        continue;
      }
      if (solves.isExhausted()) return undefined;
      // The remaining securities cannot replace a dropped one, so all dropped ones are kept.
      for (const i of next.dropped) fixedSet[i] = 1;
    }
  }

  /**
   * Yields choices of securities whose weights can all reach the minimum. Each drops more of the securities below it
   * than the previous choice. Each choice comes with the objective value without the minimum.
   */
  function* raiseToThreshold(start: Uint8Array): Generator<{ readonly held: Uint8Array; readonly value: number }> {
    let heldFlags = start;
    for (;;) {
      const solution = solveLoose(heldFlags);
      yield { held: heldFlags, value: solution?.value ?? Number.NEGATIVE_INFINITY };
      if (solution === undefined) return;
      const smallHoldings = listHeldPositions(heldFlags).filter(
        (i) => short[i] === 0 && solution.weights[i]! < threshold - 1e-12,
      );
      if (smallHoldings.length === 0) return;
      const names = listHeldPositions(markHoldings(solution.weights));
      const cost = new Map(
        Array.from(computeSaliencies(algebra, problem.metric, names, solution.weights), (value, p) => [
          names[p]!,
          value,
        ]),
      );
      const order = Array.from(smallHoldings).toSorted((a, b) => (cost.get(a) ?? 0) - (cost.get(b) ?? 0) || a - b);
      const removalCount = smallHoldings.length <= SINGLE_DROPS_MAX ? 1 : Math.ceil(DROP_SHARE * smallHoldings.length);
      const nextFlags = heldFlags.slice();
      for (const i of order.slice(0, removalCount))
        if (!counts.some((row) => row.members.includes(i) && countHoldings(row, nextFlags) <= row.minimum))
          nextFlags[i] = 0;
      if (nextFlags.every((value, i) => value === heldFlags[i])) return;
      heldFlags = nextFlags;
    }
  }

  /**
   * Chooses the securities that may exceed the triggers. They are the largest by weight, and their number is the one
   * with the best objective.
   */
  function chooseLarge(heldFlags: Uint8Array): FoundChoice | undefined {
    if (concentrations.length === 0) return finish({ held: heldFlags, short, large: [], isFinal: true });
    const solution = solveLoose(heldFlags);
    if (solution === undefined) return undefined;
    return findBestLargeSecurities({
      rows: concentrations,
      held: heldFlags,
      weights: solution.weights,
      isLong: options.base.program.lower.every((bound) => bound >= 0),
      solve: (large) => finish({ held: heldFlags, short, large: concentrations.map(() => large), isFinal: true }),
    });
  }
}

/** Adds the securities with the largest index weights to groups with too few securities. */
function fillCounts(heldFlags: Uint8Array, { problem }: SearchInput, counts: readonly CountRow[]): Uint8Array {
  const nextFlags = heldFlags.slice();
  for (const row of counts) {
    let missingCount = row.minimum - countHoldings(row, nextFlags);
    const spareMembers = Array.from(row.members)
      .filter((i) => nextFlags[i] === 0)
      .toSorted((a, b) => problem.index[b]! - problem.index[a]! || a - b);
    for (const i of spareMembers) {
      if (missingCount <= 0) break;
      if (
        counts.some(
          (otherCountRow) =>
            otherCountRow.members.includes(i) && countHoldings(otherCountRow, nextFlags) >= otherCountRow.maximum,
        )
      )
        continue;
      nextFlags[i] = 1;
      missingCount--;
    }
  }
  return nextFlags;
}

/**
 * Returns choices in which one large security is exchanged for another one: each of the `most` smallest large ones for
 * each of the `most` largest others.
 */
function listLargeSwaps({ held, short, large }: HeldChoice, { weights }: ConvexSolution, most: number): HeldChoice[] {
  const order = Array.from(listHeldPositions(held)).toSorted((a, b) => weights[b]! - weights[a]! || a - b);
  return large.flatMap((set, position) => {
    const insideMembers = order
      .filter((i) => set[i] === 1)
      .toReversed()
      .slice(0, most);
    const outsideMembers = order.filter((i) => set[i] === 0).slice(0, most);
    return insideMembers.flatMap((a) =>
      outsideMembers.map((b) => ({
        held,
        short,
        large: large.map((other, q) => (q === position ? swapMember(other, a, b) : other)),
        isFinal: true,
      })),
    );
  });
}

/** Exchanges one member of a set for another security, if the set contains the member. */
function swapMember(set: Uint8Array, out: number, coming: number): Uint8Array {
  const nextSet = set.slice();
  if (nextSet[out] === 1) {
    nextSet[out] = 0;
    nextSet[coming] = 1;
  }
  return nextSet;
}

/** Data for estimating the gain of securities; arrays follow the securities of the problem. */
export interface PromiseTerms {
  /** True if the objective has no curvature. */
  readonly isFlat: boolean;
  /** Minimum weight of a held security. */
  readonly threshold: number;
  /** True if a row can force a held security to a minimum weight. */
  readonly isForced: boolean;
  readonly lower: Float64Array;
  readonly variances: Float64Array;
  /** Maximum number of securities returned. */
  readonly most: number;
}

/** Security without a weight, with the expected gain from holding it. */
export interface PromisingSecurity {
  readonly name: number;
  readonly gain: number;
}

/**
 * Returns the data for estimating gains in a problem.
 * @param lower bounds without a choice of securities, [N]
 */
function createPromiseTerms(
  { goal, metric }: Pick<Problem, 'goal' | 'metric'>,
  rows: readonly NonConvexRow[],
  lower: Float64Array,
): Omit<PromiseTerms, 'most'> {
  const threshold = findThreshold(rows);
  return {
    isFlat: goal.form === 'tail' || (goal.form === 'quadratic' && goal.curvature === 0),
    threshold,
    isForced: threshold > 0 || rows.some((row) => row.form === 'count' && row.minimum > 1),
    lower,
    variances: computeMetricDiagonal(metric),
  };
}

/**
 * Returns the securities that are not held, in order of expected gain. If held securities need no minimum weight, a
 * security that does not improve the objective at a small weight improves it at no weight.
 * @param heldFlags [N]
 * @cost a product with the covariance
 * @source Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: the gradient at a bound.
 */
function listPromisingSecurities(
  heldFlags: Uint8Array,
  { assembled, answer }: ConvexSolution,
  { isFlat, threshold, isForced, lower, variances, most }: PromiseTerms,
): PromisingSecurity[] {
  const { right } = computeLagrangianSlopes(assembled.program, answer.point);
  const typicalWeight = 1 / heldFlags.reduce((count, isHeld) => count + isHeld, 1);
  const computeGain = (i: number) => {
    const ownCurvature = (assembled.program.curvature / 2) * variances[i]!;
    const pulledWeight =
      ownCurvature > 0 ? -right[i]! / (2 * ownCurvature) : isFlat && right[i]! < 0 ? typicalWeight : 0;
    const weight = Math.max(threshold, pulledWeight);
    return -weight * (right[i]! + ownCurvature * weight);
  };
  return Array.from(heldFlags.keys())
    .filter((i) => heldFlags[i] === 0 && (isForced || lower[i]! < 0 || right[i]! < 0))
    .map((name) => ({ name, gain: computeGain(name) }))
    .toSorted((a, b) => b.gain - a.gain || a.name - b.name)
    .slice(0, most);
}

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
  function listSwaps({ held, large }: HeldChoice, solution: ConvexSolution): HeldChoice[] {
    if (counts.length === 0 && threshold === 0) return [];
    const names = listHeldPositions(held);
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
  neighbours: readonly HeldChoice[],
): NeighbourBound | undefined {
  const heldFlags = choice.held.slice();
  for (const neighbour of neighbours) neighbour.held.forEach((isHeld, i) => (heldFlags[i]! |= isHeld));
  const base = options.base.program;
  const names = listHeldPositions(heldFlags);
  return createNeighbourBound(algebra, {
    problem,
    base,
    solution,
    restriction: createRestriction(rows, choice),
    names,
  });
}
