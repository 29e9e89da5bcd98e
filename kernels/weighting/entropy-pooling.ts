import { factoriseSemidefinite, solveSquare } from '../algebra/linear-systems.js';
import { assert } from '../assert.js';
import { computeExponential, computeLogarithm } from '../power.js';

/** Linear views on the probabilities of scenarios. View k states sum_t p_t values[k, t] = bound[k], or at least that. */
export interface ViewRows {
  /** [K x T] row-major */
  readonly values: Float64Array;
  /** [K] */
  readonly bounds: Float64Array;
  /** 1 for an equality, 0 for a lower bound, [K]. */
  readonly equalities: Uint8Array;
}

/** View on an average of the worst losses, the conditional value at risk. */
export interface TailView {
  /** Loss by scenario, [T]. */
  readonly losses: Float64Array;
  /** Probability of the tail, above 0 and at most 1. */
  readonly share: number;
  /** Bound of the average: the probabilities raise it to at least this value, or lower it to at most this value. */
  readonly bound: number;
  readonly side: 'at_least' | 'at_most';
}

/** Probabilities nearest to the prior, with the multipliers that prove it. */
export interface PooledEntropy {
  /** `infeasible` is proven: no probabilities satisfy the views. `unsolved`: rounding or the limit of steps prevented a solution. */
  readonly status: 'solved' | 'infeasible' | 'unsolved';
  /** [T], of sum 1. */
  readonly probabilities: Float64Array;
  /** Multipliers of the rows, [K], in units of entropy per unit of the bound. */
  readonly multipliers: Float64Array;
  readonly tailMultipliers: Float64Array;
  /** Relative entropy sum p ln(p / q) of the probabilities. */
  readonly entropy: number;
  /** Lower bound of the relative entropy for all probabilities that satisfy the views. The multipliers prove it. */
  readonly bound: number;
}

/** Maximum number of Newton steps; five to fifteen are usual. */
const STEPS_MAX = 200;

/** Maximum distance of a view from its bound, relative to the largest distance of a scenario. */
const TOLERANCE = 1e-14;

/** Maximum distance that counts as solved if rounding prevents further steps. */
const ACCEPTED_MAX = 1e-9;

/** Maximum number of halvings of one step. */
const HALVINGS_MAX = 60;

/** Fraction of the slope that a step must gain. */
const GAIN_SHARE = 1e-4;

/** Ridge of the Newton system, relative to its diagonal, for views that depend on each other. */
const RIDGE = 1e-13;

/** Maximum number of cutting planes for tail views with a lower bound. */
const CUTS_MAX = 200;

/** Distance of a tail average from its bound that counts as zero, relative to the largest loss. */
const TAIL_TOLERANCE = 1e-11;

/**
 * Computes the scenario probabilities with the least relative entropy to a prior that satisfy views. Without tail views
 * the problem is convex, and its dual has one variable per view: minimise ln sum_t q_t exp(sum_k l_k (a_kt - b_k)) with
 * l_k >= 0 for lower bounds. A tail average is concave in the probabilities, so that a lower bound of it is a set of
 * linear views, of which those that bind are added. An upper bound holds if it holds at one tail level; the levels are
 * tried in order of their distance from that of the prior, and most are excluded by the bound of the multipliers.
 * @param prior  [T], positive, of sum 1.
 * @param tails  At most one with an upper bound.
 * @throws       KernelFault on a shape mismatch, or for two tail views with upper bounds.
 * @cost         About 10 K^2 T multiply-adds; with an upper bound of a tail T exponentials for each of T levels.
 * @source       Meucci (2008), Fully Flexible Views: Theory and Practice, Risk 21(10); Meucci, Ardia & Keel (2011), Fully
 *   Flexible Extreme Views, Journal of Risk 14(2), for views on tails. Bertsekas (1982), SIAM Journal on Control and
 *   Optimization 20(2), for Newton steps within bounds.
 */
export function poolEntropy(prior: Float64Array, rows: ViewRows, tails: readonly TailView[] = []): PooledEntropy {
  const count = rows.bounds.length;
  assert(
    rows.values.length === count * prior.length && rows.equalities.length === count,
    `values: ${rows.values.length} for ${count} views of ${prior.length} scenarios`,
  );
  const lowered = tails.flatMap((tail, position) => (tail.side === 'at_most' ? [position] : []));
  assert(lowered.length <= 1, `tails: ${lowered.length} upper bounds, at most 1 possible`);
  const problem = { prior, rows, tails };
  return lowered.length === 0 ? solveRaised(problem, null, null) : solveLowered(problem, lowered[0]!);
}

interface PooledProblem {
  readonly prior: Float64Array;
  readonly rows: ViewRows;
  readonly tails: readonly TailView[];
}

/** View that was added for a tail. */
interface TailRow {
  readonly tail: number;
  /** [T] */
  readonly values: Float64Array;
  readonly bound: number;
}

/** Returns the view that a tail average at one level implies: level + excess / share, with the sign of its side. */
function createTailRow(tails: readonly TailView[], tail: number, level: number): TailRow {
  const { losses, share, bound, side } = tails[tail]!;
  const sign = side === 'at_least' ? 1 : -1;
  return {
    tail,
    values: losses.map((loss) => sign * (level + Math.max(loss - level, 0) / share)),
    bound: sign * bound,
  };
}

/** Solves with lower bounds of tails, and with at most one view for an upper bound. */
function solveRaised(
  { prior, rows, tails }: PooledProblem,
  fixed: TailRow | null,
  limit: { readonly start: Float64Array; readonly entropyMax: number } | null,
): PooledEntropy {
  const cuts: TailRow[] = fixed === null ? [] : [fixed];
  let start = limit?.start;
  for (let round = 0; ; round++) {
    const result = solveDual(prior, appendRows(rows, cuts), start, limit?.entropyMax ?? Infinity);
    const { probabilities, multipliers } = result;
    const added = result.status === 'solved' && round < CUTS_MAX ? listViolatedCuts(tails, probabilities) : [];
    if (added.length === 0) {
      const count = rows.bounds.length;
      const tailMultipliers = new Float64Array(tails.length);
      cuts.forEach(({ tail }, k) => (tailMultipliers[tail]! += multipliers[count + k]!));
      const isCut = round < CUTS_MAX || listViolatedCuts(tails, probabilities).length === 0;
      const status = isCut ? result.status : 'unsolved';
      return { ...result, status, multipliers: multipliers.slice(0, count), tailMultipliers };
    }
    cuts.push(...added);
    start = new Float64Array(rows.bounds.length + cuts.length);
    start.set(multipliers);
  }
}

function listViolatedCuts(tails: readonly TailView[], probabilities: Float64Array): TailRow[] {
  return tails.flatMap((tail, position) => {
    if (tail.side === 'at_most') return [];
    const { average, level } = averageTail(tail, probabilities);
    const scale = tail.losses.reduce((most, loss) => Math.max(most, Math.abs(loss)), Math.abs(tail.bound));
    return tail.bound - average > TAIL_TOLERANCE * scale ? [createTailRow(tails, position, level)] : [];
  });
}

/** Returns the average of the worst losses with a given total probability, and the smallest of them. */
export function averageTail(
  { losses, share }: Pick<TailView, 'losses' | 'share'>,
  probabilities: Float64Array,
): { readonly average: number; readonly level: number } {
  const order = Int32Array.from(losses.keys()).sort((a, b) => losses[b]! - losses[a]! || a - b);
  let open = share;
  let total = 0;
  let level = losses[order[0]!]!;
  for (const t of order) {
    const part = Math.min(open, probabilities[t]!);
    if (part <= 0) continue;
    total += part * losses[t]!;
    level = losses[t]!;
    open -= part;
    if (open <= 0) break;
  }
  return { average: total / (share - Math.max(open, 0)), level };
}

/** Tries the levels of a tail with an upper bound, beginning with those near the level of the prior. */
function solveLowered(problem: PooledProblem, position: number): PooledEntropy {
  const { prior, rows, tails } = problem;
  const { losses, share, bound } = tails[position]!;
  const first = averageTail({ losses, share }, prior).level;
  // A level above the bound cannot have an average below it.
  const levels = [...new Set(losses)]
    .filter((level) => level <= bound)
    .sort((a, b) => Math.abs(a - first) - Math.abs(b - first) || a - b);
  let best: PooledEntropy | undefined;
  let start = new Float64Array(rows.bounds.length + 1);
  let isProven = true;
  for (const level of levels) {
    const row = createTailRow(tails, position, level);
    const entropyMax = best?.entropy ?? Infinity;
    const result = solveRaised(problem, row, { start, entropyMax });
    if (result.status === 'unsolved' && !(result.bound >= entropyMax)) isProven = false;
    if (result.status !== 'solved' || result.entropy >= entropyMax) continue;
    best = result;
    start = Float64Array.of(...result.multipliers, result.tailMultipliers[position]!);
  }
  if (best === undefined) {
    const none = solveRaised({ ...problem, tails: [] }, null, null);
    return { ...none, status: isProven ? 'infeasible' : 'unsolved', tailMultipliers: new Float64Array(tails.length) };
  }
  // The multipliers prove the bound for one level; the search over the levels proves it for the others.
  return isProven ? best : { ...best, bound: 0 };
}

function appendRows({ values, bounds, equalities }: ViewRows, cuts: readonly TailRow[]): ViewRows {
  if (cuts.length === 0) return { values, bounds, equalities };
  const all = new Float64Array(values.length + cuts.length * cuts[0]!.values.length);
  all.set(values);
  cuts.forEach((cut, k) => all.set(cut.values, values.length + k * cut.values.length));
  return {
    values: all,
    bounds: Float64Array.of(...bounds, ...cuts.map(({ bound }) => bound)),
    equalities: Uint8Array.of(...equalities, ...cuts.map(() => 0)),
  };
}

type DualResult = Omit<PooledEntropy, 'tailMultipliers'>;

/**
 * Maximises the dual by Newton steps within the signs of the multipliers.
 * @param start        Initial multipliers; shorter ones are extended by zeros.
 * @param entropyMax   Relative entropy above which the search ends, as `unsolved`.
 */
function solveDual(
  prior: Float64Array,
  rows: ViewRows,
  start: Float64Array | undefined,
  entropyMax: number,
): DualResult {
  const { length: n } = prior;
  const { length: count } = rows.bounds;
  const { distances, scales } = scaleDistances(rows, n);
  // No probabilities have a larger relative entropy, so that a larger bound proves that none satisfy the views.
  const most = prior.reduce((largest, q) => Math.max(largest, -computeLogarithm(q)), 0);
  let multipliers = new Float64Array(count);
  start?.forEach((value, k) => (multipliers[k] = value * scales[k]!));
  let point = evaluateDual(prior, distances, multipliers);
  let status: DualResult['status'] = 'unsolved';
  for (let step = 0; step < STEPS_MAX; step++) {
    const error = measureError(point.gradient, multipliers, rows.equalities);
    if (error <= TOLERANCE) status = 'solved';
    else if (-point.value > most * (1 + 1e-9) + 1e-9) status = 'infeasible';
    if (status !== 'unsolved' || -point.value > entropyMax) break;
    const direction = findDirection({ distances, point, multipliers, equalities: rows.equalities });
    const next = direction && searchLine({ prior, distances, multipliers, point, direction, rows });
    if (next === undefined) {
      if (error <= ACCEPTED_MAX) status = 'solved';
      break;
    }
    ({ multipliers, point } = next);
  }
  const { probabilities } = point;
  return {
    status,
    probabilities,
    multipliers: multipliers.map((value, k) => value / scales[k]!),
    entropy: probabilities.reduce((sum, p, t) => (p > 0 ? sum + p * computeLogarithm(p / prior[t]!) : sum), 0),
    bound: Math.max(-point.value, 0),
  };
}

/** Returns the distances of the scenarios from the bounds, [K x T], divided by the largest of each view. */
function scaleDistances({ values, bounds }: ViewRows, n: number) {
  const scales = new Float64Array(bounds.length);
  const distances = values.map((value, e) => value - bounds[Math.floor(e / n)]!);
  bounds.forEach((_, k) => {
    const row = distances.subarray(k * n, k * n + n);
    const scale = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    scales[k] = scale > 0 ? scale : 1;
    for (let t = 0; t < n; t++) row[t]! /= scales[k]!;
  });
  return { distances, scales };
}

interface DualPoint {
  /** Minimised value, the negative dual. */
  readonly value: number;
  /** Distance of each view from its bound at the probabilities, [K]. */
  readonly gradient: Float64Array;
  /** [T] */
  readonly probabilities: Float64Array;
}

function evaluateDual(prior: Float64Array, distances: Float64Array, multipliers: Float64Array): DualPoint {
  const { length: n } = prior;
  const exponents = new Float64Array(n);
  multipliers.forEach((value, k) => {
    if (value !== 0) for (let t = 0; t < n; t++) exponents[t]! += value * distances[k * n + t]!;
  });
  const shift = exponents.reduce((most, value) => Math.max(most, value), -Infinity);
  let total = 0;
  const probabilities = exponents.map((value, t) => {
    const weight = prior[t]! * (value - shift < -700 ? 0 : computeExponential(value - shift));
    total += weight;
    return weight;
  });
  for (let t = 0; t < n; t++) probabilities[t]! /= total;
  const gradient = multipliers.map((_, k) => {
    let sum = 0;
    for (let t = 0; t < n; t++) sum += probabilities[t]! * distances[k * n + t]!;
    return sum;
  });
  return { value: shift + computeLogarithm(total), gradient, probabilities };
}

/** Returns the largest violation of the views and of complementarity. */
function measureError(gradient: Float64Array, multipliers: Float64Array, equalities: Uint8Array): number {
  return gradient.reduce((most, slack, k) => {
    const isFree = equalities[k] === 1 || multipliers[k]! > 0;
    return Math.max(most, isFree ? Math.abs(slack) : -slack);
  }, 0);
}

interface DirectionInput {
  readonly distances: Float64Array;
  readonly point: DualPoint;
  readonly multipliers: Float64Array;
  readonly equalities: Uint8Array;
}

/** Fraction of the gradient outside the range of the Hessian above which views contradict each other. */
const CONTRADICTION_MIN = 0.01;

/**
 * Returns the Newton step on the views that may move; undefined if it is not a descent. If views that depend on each
 * other have different bounds, returns a step along which the dual is unbounded.
 */
function findDirection({
  distances,
  point: { gradient, probabilities },
  multipliers,
  equalities,
}: DirectionInput): Float64Array | undefined {
  const { length: n } = probabilities;
  let free = [...gradient.keys()].filter((k) => equalities[k] === 1 || multipliers[k]! > 0 || gradient[k]! < 0);
  while (free.length > 0) {
    const m = free.length;
    const hessian = new Float64Array(m * m);
    for (let a = 0; a < m; a++)
      for (let b = 0; b <= a; b++) {
        const [one, other] = [free[a]! * n, free[b]! * n];
        let sum = 0;
        for (let t = 0; t < n; t++) sum += probabilities[t]! * distances[one + t]! * distances[other + t]!;
        const value = sum - gradient[free[a]!]! * gradient[free[b]!]!;
        hessian[a * m + b] = a === b ? value * (1 + RIDGE) : value;
      }
    const direction = new Float64Array(gradient.length);
    const right = Float64Array.from(free, (k) => -gradient[k]!);
    const step = solveFactored(factoriseSemidefinite(hessian, m).lower, right);
    const rest = right.map((value, a) => {
      let product = 0;
      for (let b = 0; b < m; b++) product += hessian[b <= a ? a * m + b : b * m + a]! * step[b]!;
      return value - product;
    });
    const square = (values: Float64Array) => values.reduce((sum, value) => sum + value * value, 0);
    const isContradiction = square(rest) > CONTRADICTION_MIN ** 2 * square(right);
    (isContradiction ? solveDamped(hessian, right) : step).forEach((value, a) => (direction[free[a]!] = value));
    const blocked = free.filter((k) => equalities[k] === 0 && multipliers[k] === 0 && direction[k]! < 0);
    if (blocked.length === 0) {
      const slope = direction.reduce((sum, value, k) => sum + value * gradient[k]!, 0);
      return slope < 0 ? direction : undefined;
    }
    free = free.filter((k) => !blocked.includes(k));
  }
  return undefined;
}

/** Damping of a singular system, relative to its largest entry. It amplifies the directions without curvature. */
const DAMPING = 1e-9;

/** Solves a symmetric system, given by its lower triangle, with a small multiple of the identity added. */
function solveDamped(lower: Float64Array, right: Float64Array): Float64Array {
  const m = right.length;
  const largest = lower.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const matrix = lower.map((_, e) => {
    const [row, column] = [Math.floor(e / m), e % m];
    return lower[Math.max(row, column) * m + Math.min(row, column)]! + (row === column ? DAMPING * (largest || 1) : 0);
  });
  const x = right.slice();
  return solveSquare(matrix, m, x) ? x : right;
}

/** Solves L L' x = b, with zeros where the pivot is zero. */
function solveFactored(lower: Float64Array, b: Float64Array): Float64Array {
  const m = b.length;
  const x = b.slice();
  for (let i = 0; i < m; i++) {
    const pivot = lower[i * m + i]!;
    for (let j = 0; j < i; j++) x[i]! -= lower[i * m + j]! * x[j]!;
    x[i] = pivot === 0 ? 0 : x[i]! / pivot;
  }
  for (let i = m - 1; i >= 0; i--) {
    const pivot = lower[i * m + i]!;
    for (let j = i + 1; j < m; j++) x[i]! -= lower[j * m + i]! * x[j]!;
    x[i] = pivot === 0 ? 0 : x[i]! / pivot;
  }
  return x;
}

interface LineSearch {
  readonly prior: Float64Array;
  readonly distances: Float64Array;
  readonly multipliers: Float64Array;
  readonly point: DualPoint;
  readonly direction: Float64Array;
  readonly rows: ViewRows;
}

/** Returns the first halving of a step that improves the dual enough; undefined if rounding prevents it. */
function searchLine({ prior, distances, multipliers, point, direction, rows: { equalities } }: LineSearch) {
  for (let length = 1, halving = 0; halving < HALVINGS_MAX; halving++, length /= 2) {
    const moved = multipliers.map((value, k) => {
      const next = value + length * direction[k]!;
      return equalities[k] === 1 ? next : Math.max(next, 0);
    });
    const next = evaluateDual(prior, distances, moved);
    const gain = moved.reduce((sum, value, k) => sum + (value - multipliers[k]!) * point.gradient[k]!, 0);
    if (next.value <= point.value + GAIN_SHARE * gain && next.value < point.value)
      return { multipliers: moved, point: next };
    const isNearer =
      measureError(next.gradient, moved, equalities) < measureError(point.gradient, multipliers, equalities) / 2;
    if (isNearer && next.value <= point.value + 1e-14) return { multipliers: moved, point: next };
  }
  return undefined;
}
