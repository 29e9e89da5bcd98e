import type { Program } from '../program/program.js';
import { computeLastDigit } from './last-digit.js';
import { findLevers, type Lever } from './levers.js';
import { computeExactGap, type CertifiedPoint } from './residuals.js';

/**
 * Gap that counts as closed: below the tolerance of a solution and above the rounding errors of its double-double sums.
 */
const GAP_TOLERANCE = 5e-10;

/** Maximum number of successive moves of levers; a dozen are usual. */
const MOVES_MAX = 200;

/**
 * Maximum number of levers that are combined in threes if no single lever is fine enough. A lever is a multiplier or a
 * variable that may change.
 */
const COMBINED_LEVERS_MAX = 40;

/**
 * Fraction of the levers that each further attempt excludes. The levers with the largest effects are excluded first.
 */
const EXCLUDED_SHARE = 0.1;

/**
 * Closes the duality gap of a point within tolerance by changing the last digits of multipliers and free variables.
 * (Rounding a multiplier of 1e4 of a bound at 1e5 causes a gap of 1e-7.)
 *
 * @param point    Point, updated in place.
 * @param free     1 for variables that are not fixed at a bound, [n].
 * @param attempt  0 uses all levers; each further attempt excludes the coarsest ones.
 * @returns        Remaining gap.
 * @cost           One pass over the program per move.
 */
export function closeGap(program: Program, point: CertifiedPoint, free: Uint8Array, attempt: number): number {
  const levers = findLevers(program, point, free).toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  levers.splice(0, Math.floor(EXCLUDED_SHARE * attempt * levers.length));
  let gap = computeExactGap(program, point);
  for (let moves = 0; moves < MOVES_MAX && Math.abs(gap) > GAP_TOLERANCE; moves++) {
    if (!moveSingleLever(levers, gap) && !moveThreeLevers(levers, gap)) break;
    gap = computeExactGap(program, point);
  }
  return gap;
}

/**
 * Returns the permitted change of a lever that brings the gap nearest to zero. Accounts for the rounding of the value.
 */
function findBestChange({ values, at, effect, room }: Lever, gap: number): number {
  const [most, least] = room();
  const value = values[at]!;
  const change = value + Math.min(Math.max(-gap / effect, least), most) - value;
  return change > most || change < least ? 0 : change;
}

/** Moves the lever that leaves the smallest gap; returns false if no lever reduces the gap by at least a tenth. */
function moveSingleLever(levers: readonly Lever[], gap: number): boolean {
  let bestLever: Lever | undefined;
  let bestChange = 0;
  let smallestGap = 0.9 * Math.abs(gap);
  for (const lever of levers) {
    const change = findBestChange(lever, gap);
    const newGap = Math.abs(gap + lever.effect * change);
    if (!(change !== 0 && newGap < smallestGap)) continue;
    [bestLever, bestChange, smallestGap] = [lever, change, newGap];
    if (smallestGap <= GAP_TOLERANCE) break;
  }
  bestLever?.move(bestChange);
  return bestLever !== undefined;
}

/**
 * Moves up to three levers by one last digit each; returns false if no combination reduces the gap by at least a tenth.
 */
function moveThreeLevers(levers: readonly Lever[], gap: number): boolean {
  const steps = levers
    .flatMap((lever) => {
      const [most, least] = lever.room();
      const digit = computeLastDigit(lever.values[lever.at]!);
      return [digit, -digit]
        .filter((change) => change <= most && change >= least)
        .map((change) => ({ lever, change, effect: lever.effect * change }));
    })
    .toSorted((a, b) => Math.abs(a.effect) - Math.abs(b.effect))
    .slice(0, 2 * COMBINED_LEVERS_MAX);
  let bestSteps: readonly (typeof steps)[number][] = [];
  let smallestGap = 0.9 * Math.abs(gap);
  for (let a = 0; a < steps.length; a++) {
    for (let b = a + 1; b < steps.length; b++) {
      const pair = gap + steps[a]!.effect + steps[b]!.effect;
      if (Math.abs(pair) < smallestGap) [bestSteps, smallestGap] = [[steps[a]!, steps[b]!], Math.abs(pair)];
      for (let c = b + 1; c < steps.length; c++) {
        const newGap = Math.abs(pair + steps[c]!.effect);
        if (newGap < smallestGap) [bestSteps, smallestGap] = [[steps[a]!, steps[b]!, steps[c]!], newGap];
      }
    }
  }
  for (const { lever, change } of bestSteps) lever.move(change);
  return bestSteps.length > 0;
}
