import { computeSaliencies } from '#kernels/optimisation/factors/saliency.js';
import type { DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import type { CountRow } from '../constraints/program-row.js';
import { sortBySaliency, countHoldings, removeSecurities, markRequiredSecurities } from './drop-securities.js';
import { findBestLargeSecurities } from './large-securities.js';
import type { FoundChoice, RestrictedSolves, SearchInput } from './restricted-solves.js';
import { listPositions, markHoldings } from './restriction.js';

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
export function createChoice(
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
      const smallHoldings = listPositions(heldFlags).filter(
        (i) => short[i] === 0 && solution.weights[i]! < threshold - 1e-12,
      );
      if (smallHoldings.length === 0) return;
      const names = listPositions(markHoldings(solution.weights));
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
