import type { Relaxation } from './relaxation.js';

/** Primal amounts and dual multipliers of an iterate, which form complementary pairs. */
export interface Iterate {
  /** Sizes of the trades, which are their upper bounds. */
  readonly size: Float64Array;
  readonly z: Float64Array;
  /** Multipliers of z >= 0 and z <= size. */
  readonly zl: Float64Array;
  readonly zu: Float64Array;
  /** Multipliers of the rows, with the slack and the violation of each row. */
  readonly y: Float64Array;
  readonly slack: Float64Array;
  readonly excess: Float64Array;
  readonly penalties: Float64Array;
  readonly boundSlack: Float64Array;
  readonly boundPrice: Float64Array;
}

/** Changes of all unknowns: trades, multipliers of trades, rows, weight bounds, the tax. */
export interface InteriorStep {
  readonly dz: Float64Array;
  readonly dzl: Float64Array;
  readonly dzu: Float64Array;
  readonly dw: Float64Array;
  readonly dy: Float64Array;
  readonly ds: Float64Array;
  readonly de: Float64Array;
  readonly db: Float64Array;
  readonly dp: Float64Array;
  dt: number;
}

export function createStep(trades: number, securities: number, rows: number, bounds: number): InteriorStep {
  return {
    dz: new Float64Array(trades),
    dzl: new Float64Array(trades),
    dzu: new Float64Array(trades),
    dw: new Float64Array(securities),
    dy: new Float64Array(rows),
    ds: new Float64Array(rows),
    de: new Float64Array(rows),
    db: new Float64Array(bounds),
    dp: new Float64Array(bounds),
    dt: 0,
  };
}

/** Primal and dual length of a step. */
export interface StepLengths {
  readonly primal: number;
  readonly dual: number;
}

/** Step length at which a value that changes by `change` reaches 0. */
const computeReach = (value: number, change: number): number => (change < 0 ? -value / change : Infinity);

/** Returns the longest step, up to 1, that keeps every pair positive, multiplied by `share`. */
export function findLongestStep(iterate: Iterate, step: InteriorStep, share: number): StepLengths {
  const { size, z, zl, zu } = iterate;
  let primal = Infinity;
  let dual = Infinity;
  for (let j = 0; j < z.length; j++) {
    const change = step.dz[j]!;
    if (change < 0) primal = Math.min(primal, -z[j]! / change);
    else if (change > 0) primal = Math.min(primal, (size[j]! - z[j]!) / change);
    if (step.dzl[j]! < 0) dual = Math.min(dual, -zl[j]! / step.dzl[j]!);
    if (step.dzu[j]! < 0) dual = Math.min(dual, -zu[j]! / step.dzu[j]!);
  }
  for (let j = 0; j < iterate.y.length; j++) {
    primal = Math.min(primal, computeReach(iterate.slack[j]!, step.ds[j]!));
    dual = Math.min(dual, computeReach(iterate.y[j]!, step.dy[j]!));
    if (iterate.penalties[j] === Infinity) continue;
    primal = Math.min(primal, computeReach(iterate.excess[j]!, step.de[j]!));
    dual = Math.min(dual, computeReach(iterate.penalties[j]! - iterate.y[j]!, -step.dy[j]!));
  }
  for (let b = 0; b < iterate.boundSlack.length; b++) {
    primal = Math.min(primal, computeReach(iterate.boundSlack[b]!, step.db[b]!));
    dual = Math.min(dual, computeReach(iterate.boundPrice[b]!, step.dp[b]!));
  }
  return { primal: Math.min(1, share * primal), dual: Math.min(1, share * dual) };
}

/** Returns the mean product of the complementary pairs after a step. */
export function computeComplementarity(iterate: Iterate, step: InteriorStep, { primal, dual }: StepLengths): number {
  const { size, z, zl, zu } = iterate;
  let total = 0;
  let pairs = 2 * z.length + iterate.y.length + iterate.boundSlack.length;
  for (let j = 0; j < z.length; j++) {
    const tradeSize = z[j]! + primal * step.dz[j]!;
    total += tradeSize * (zl[j]! + dual * step.dzl[j]!) + (size[j]! - tradeSize) * (zu[j]! + dual * step.dzu[j]!);
  }
  for (let j = 0; j < iterate.y.length; j++) {
    const price = iterate.y[j]! + dual * step.dy[j]!;
    total += price * (iterate.slack[j]! + primal * step.ds[j]!);
    if (iterate.penalties[j] === Infinity) continue;
    total += (iterate.penalties[j]! - price) * (iterate.excess[j]! + primal * step.de[j]!);
    pairs++;
  }
  for (let b = 0; b < iterate.boundSlack.length; b++)
    total += (iterate.boundSlack[b]! + primal * step.db[b]!) * (iterate.boundPrice[b]! + dual * step.dp[b]!);
  return total / pairs;
}

/** Weight bound, handled as a pair of slack and multiplier. */
export interface Bound {
  readonly security: number;
  /** 1 for an upper bound, -1 for a lower one. */
  readonly sign: 1 | -1;
  readonly limit: number;
}

/** Returns the weight bounds that the sizes of the trades do not imply. */
export function widenBounds({
  program: { n, heldWeights, lower, upper },
  trades: { start, sign, size },
}: Relaxation): Bound[] {
  const bounds: Bound[] = [];
  for (let i = 0; i < n; i++) {
    let [least, most] = [heldWeights[i]!, heldWeights[i]!];
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      if (sign[j]! > 0) most += size[j]!;
      else least -= size[j]!;
    }
    if (lower[i]! > least + 1e-15) bounds.push({ security: i, sign: -1, limit: lower[i]! });
    if (upper[i]! < most - 1e-15) bounds.push({ security: i, sign: 1, limit: upper[i]! });
  }
  return bounds;
}

/** Target products of the complementary pairs after a step: of trades, rows and bounds. */
export interface Goals {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly slack: Float64Array;
  readonly excess: Float64Array;
  readonly bound: Float64Array;
}

export const createGoals = (count: number, rows: number, bounds: number): Goals => ({
  lower: new Float64Array(count),
  upper: new Float64Array(count),
  slack: new Float64Array(rows),
  excess: new Float64Array(rows),
  bound: new Float64Array(bounds),
});

/** Sets all targets to the complementarity `goal`, less the second-order terms of the predictor step. */
export function setGoals(goals: Goals, goal: number, otherInteriorStep: InteriorStep | null): void {
  for (const list of Object.values(goals) as Float64Array[]) list.fill(goal); // `Goals` has only array members.
  if (otherInteriorStep === null) return;
  const { dz, dzl, dzu, dy, ds, de, db, dp } = otherInteriorStep;
  for (let j = 0; j < dz.length; j++) {
    goals.lower[j]! -= dz[j]! * dzl[j]!;
    goals.upper[j]! += dz[j]! * dzu[j]!;
  }
  for (let j = 0; j < dy.length; j++) {
    goals.slack[j]! -= ds[j]! * dy[j]!;
    goals.excess[j]! += de[j]! * dy[j]!;
  }
  for (let b = 0; b < db.length; b++) goals.bound[b]! -= db[b]! * dp[b]!;
}
