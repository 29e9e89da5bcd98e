import { sumByIssuer } from './issuer-sums.js';
import { computeHeadroom, type LimitRow } from './limit-row.js';
import { TOLERANCE } from './measure.js';
import { LIMIT_RULES, type LimitRuleName } from './rules.js';

/** Row of a rule that the weights of a definition may violate on the day of the decision. */
export interface RowWithoutGuarantee {
  readonly row: LimitRow;
  /** Value of the row for the most concentrated weights that the definition allows. */
  readonly value: number;
}

/** Lowest cap that is tried. It is below all bounds of the rules, so smaller caps satisfy every rule as well. */
const CAP_MIN = 0.001;

/**
 * Returns the first row of a rule that weights may violate although no weight exceeds a cap. Returns null if the cap
 * guarantees the rule.
 */
export function findRowViolatedUnderCap(rule: LimitRuleName, most: number): RowWithoutGuarantee | null {
  const cap = Math.max(most, CAP_MIN);
  const count = Math.floor(1 / cap + TOLERANCE);
  const remainder = Math.max(1 - count * cap, 0);
  return findUnkeptByWeights(rule, [...Array<number>(count).fill(cap), ...(remainder > TOLERANCE ? [remainder] : [])]);
}

/** Staged caps: a cap on each weight, and a cap on the total of large weights. */
export interface StagedCaps {
  readonly single?: { readonly above: number } | undefined;
  readonly group?: { readonly each_above: number; readonly together_above: number } | undefined;
}

/**
 * Returns the first row of a rule that weights under staged caps may violate, or null. Assumes that the large weights
 * reach their joint total and all others their single cap.
 */
export function findRowViolatedUnderStages(
  rule: LimitRuleName,
  { single, group }: StagedCaps,
): RowWithoutGuarantee | null {
  const largestWeight = single?.above ?? 1;
  if (group === undefined || group.each_above >= largestWeight) return findRowViolatedUnderCap(rule, largestWeight);
  const { each_above: largeTrigger, together_above: together } = group;
  const large = Array<number>(Math.floor(together / largestWeight + TOLERANCE)).fill(largestWeight);
  const last = together - large.length * largestWeight;
  if (last > largeTrigger + TOLERANCE) large.push(last);
  const remainder = 1 - large.reduce((sum, weight) => sum + weight, 0);
  const cap = Math.max(largeTrigger, CAP_MIN);
  const cappedWeights = Array<number>(Math.max(0, Math.floor(remainder / cap + TOLERANCE))).fill(cap);
  const left = remainder - cappedWeights.length * cap;
  return findUnkeptByWeights(rule, [...large, ...cappedWeights, ...(left > TOLERANCE ? [left] : [])]);
}

/** Returns the first row of a rule that equal weights violate. Returns null if there is none. */
export function findRowViolatedByEqualWeights(rule: LimitRuleName, count: number): RowWithoutGuarantee | null {
  return findUnkeptByWeights(rule, Array<number>(count).fill(1 / count));
}

function findUnkeptByWeights(rule: LimitRuleName, weights: readonly number[]): RowWithoutGuarantee | null {
  for (const row of LIMIT_RULES[rule].rows) {
    const value = row.measure.valueOf(sumByIssuer(weights.length)(Float64Array.from(weights), null));
    if (computeHeadroom(row, value) < -TOLERANCE) return { row, value };
  }
  return null;
}

/** Caps to try: bounds of published rules. */
const ROUND_CAPS = [0.35, 0.25, 0.2, 0.1, 0.05];

/** Returns the largest cap in `ROUND_CAPS` that guarantees a rule. */
export function findLargestCap(rule: LimitRuleName): number {
  const keeps = ROUND_CAPS.find((cap) => findRowViolatedUnderCap(rule, cap) === null);
  if (keeps === undefined) throw new Error(`no cap keeps the rule ${rule}`);
  return keeps;
}
