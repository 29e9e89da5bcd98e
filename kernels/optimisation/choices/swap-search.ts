import { type CounterRandom, createCounterRandom } from '../../random/counter-random.js';
import type { DenseAlgebra } from '../factors/algebra.js';
import type { Count } from './split-covariance.js';

/**
 * Problem that minimises x' P x - 2 linear' x over x within bounds, optionally with a given sum, and with a limited
 * number of nonzero variables.
 */
export interface ChosenQuadratic {
  readonly n: number;
  /** P, [n x n] row-major, symmetric. */
  readonly matrix: Float64Array;
  /** [n] */
  readonly linear: Float64Array;
  /** Sum of x; undefined: unrestricted. */
  readonly sum: number | undefined;
  /** Bounds of the variables in the choice, [n]. */
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  /** 1 for variables that every choice must include, [n]. */
  readonly needed: Uint8Array;
  /** Cardinality constraints, which together contain all variables. */
  readonly counts: readonly Count[];
}

/** Minimum relative decrease of the value that counts as an improvement. */
const GAIN_MIN = 1e-9;

/** Curvature added along the sum, as a multiple of the mean diagonal, to enforce the sum. */
const SUM_CURVATURE_RATIO = 1e4;

/** Maximum number of moves that are tried per choice, because the bounds of other variables may exclude a move. */
const TRIALS_MAX = 6;

/** Evaluated choice of variables, with the terms from which the effect of all swaps is computed. */
interface EvaluatedChoice {
  readonly chosen: Uint8Array;
  readonly names: Int32Array;
  readonly value: number;
  /** Optimum of the chosen variables, [h]. */
  readonly x: Float64Array;
  /** Diagonal of the inverse of the submatrix of P for the chosen variables, [h]. */
  readonly inverse: Float64Array;
  /** Inverse of the submatrix of P times the rows of P for the chosen variables, [h x n]. */
  readonly responses: Float64Array;
  /**
   * Slope of the objective that remains in each variable, and its curvature if the chosen variables respond optimally,
   * [n].
   */
  readonly residuals: Float64Array;
  readonly curvatures: Float64Array;
}

export interface SwapMove {
  /** Position of the leaving variable in `names` of the choice; -1 if none leaves. */
  readonly place: number;
  readonly incoming: number;
  readonly change: number;
}

export interface SwapMoves {
  /**
   * Returns the optimum of a choice, even if it is outside the bounds; undefined if the submatrix of P is not positive
   * definite.
   * @cost h^2 n for h variables
   */
  evaluate(chosen: Uint8Array): EvaluatedChoice | undefined;
  /**
   * Returns the additions that lower the optimum most. If no addition lowers it, returns the best exchanges. Ignores
   * the bounds of the other variables. @cost h n
   */
  listBest(choice: EvaluatedChoice): SwapMove[];
  /**
   * Returns true if the cardinality constraints permit a variable to replace another. @param heldCounts number of chosen
   * members per constraint
   */
  isAllowed(heldCounts: readonly number[], leaving: number, incoming: number): boolean;
  countHeldMembers(chosen: Uint8Array): number[];
  /**
   * Returns a choice of all mandatory variables and of the first variables of an order. The cardinality constraints
   * limit how many are chosen.
   */
  takeFirst(order: readonly number[]): Uint8Array;
}

/**
 * Creates the moves of a problem. A rank-two update of one factorisation gives the change of the optimum by any move.
 */
export function createSwapMoves(algebra: DenseAlgebra, quadratic: ChosenQuadratic): SwapMoves {
  const { n, matrix, linear, sum, lower, upper, needed, counts } = quadratic;
  let trace = 0;
  for (let i = 0; i < n; i++) trace += matrix[i * n + i]!;
  const sumCurvature = sum === undefined ? 0 : (SUM_CURVATURE_RATIO * trace) / n;
  const sumGradient = sumCurvature * (sum ?? 0);
  const rowsBySecurity = Array.from({ length: n }, () => [] as number[]);
  counts.forEach(({ members }, r) => {
    for (const i of members) rowsBySecurity[i]!.push(r);
  });
  return { evaluate, listBest, isAllowed, countHeldMembers: countHoldings, takeFirst };

  function evaluate(chosen: Uint8Array): EvaluatedChoice | undefined {
    const names = Int32Array.from(chosen.keys()).filter((i) => chosen[i] === 1);
    const h = names.length;
    return algebra.scope(() => {
      const factor = algebra.room(h * h);
      const responses = algebra.room(h * n);
      names.forEach((i, place) => {
        for (let j = 0; j < n; j++) responses[place * n + j] = matrix[i * n + j]! + sumCurvature;
        names.forEach((j, other) => (factor[place * h + other] = matrix[i * n + j]! + sumCurvature));
      });
      if (algebra.cholesky(factor, h) < h) return undefined;
      algebra.solveLower(factor, h, responses);
      const x = Float64Array.from(names, (i) => linear[i]! + sumGradient);
      algebra.solveLower(factor, h, x);
      const residuals = linear.map((slope) => slope + sumGradient);
      const curvatures = Float64Array.from(residuals, (_, i) => matrix[i * n + i]! + sumCurvature);
      let value = sumGradient * (sum ?? 0);
      for (let place = 0; place < h; place++) {
        const leavingWeight = x[place]!;
        value -= leavingWeight * leavingWeight;
        for (let j = 0; j < n; j++) {
          const response = responses[place * n + j]!;
          residuals[j]! -= leavingWeight * response;
          curvatures[j]! -= response * response;
        }
      }
      algebra.solveLowerTransposed(factor, h, responses);
      algebra.solveLowerTransposed(factor, h, x);
      const unit = algebra.room(h * h).fill(0);
      for (let place = 0; place < h; place++) unit[place * h + place] = 1;
      algebra.solveLower(factor, h, unit);
      const inverse = new Float64Array(h);
      for (let e = 0; e < h * h; e++) inverse[e % h]! += unit[e]! * unit[e]!;
      return { chosen, names, value, x, inverse, responses: responses.slice(), residuals, curvatures };
    });
  }

  function listBest({
    chosen,
    names,
    x,
    inverse,
    responses,
    residuals,
    curvatures,
    value,
  }: EvaluatedChoice): SwapMove[] {
    const heldCounts = countHoldings(chosen);
    const changeMax = -GAIN_MIN * Math.abs(value);
    const swapMoves: SwapMove[] = [];
    const insertMove = (move: SwapMove) => {
      let insertAt = swapMoves.length;
      while (insertAt > 0 && swapMoves[insertAt - 1]!.change > move.change) insertAt--;
      swapMoves.splice(insertAt, 0, move);
      if (swapMoves.length > TRIALS_MAX) swapMoves.pop();
    };
    const candidates = Int32Array.from(chosen.keys()).filter((j) => chosen[j] === 0 && lower[j]! <= upper[j]!);
    for (const j of candidates) {
      if (rowsBySecurity[j]!.some((r) => heldCounts[r]! >= counts[r]!.maximum)) continue;
      const weight = residuals[j]! / curvatures[j]!;
      const change = -residuals[j]! * weight;
      if (change < changeMax && weight >= lower[j]! && weight <= upper[j]!)
        insertMove({ place: -1, incoming: j, change });
    }
    if (swapMoves.length > 0) return swapMoves;
    names.forEach((i, place) => {
      if (needed[i] === 1) return;
      const step = x[place]! / inverse[place]!;
      const cost = x[place]! * step;
      for (const j of candidates) {
        const response = responses[place * n + j]!;
        const residual = residuals[j]! + response * step;
        const curvature = curvatures[j]! + (response * response) / inverse[place]!;
        const change = cost - (residual * residual) / curvature;
        if (change >= (swapMoves.length < TRIALS_MAX ? changeMax : swapMoves.at(-1)!.change)) continue;
        const weight = residual / curvature;
        if (weight < lower[j]! || weight > upper[j]!) continue;
        if (isAllowed(heldCounts, i, j)) insertMove({ place, incoming: j, change });
      }
    });
    return swapMoves;
  }

  function isAllowed(heldCounts: readonly number[], leaving: number, incoming: number): boolean {
    return rowsBySecurity[incoming]!.every(
      (r) => heldCounts[r]! < counts[r]!.maximum || rowsBySecurity[leaving]!.includes(r),
    );
  }

  function countHoldings(chosen: Uint8Array): number[] {
    return counts.map(({ members }) => members.reduce((count, i) => count + chosen[i]!, 0));
  }

  function takeFirst(order: readonly number[]): Uint8Array {
    const newChoice = needed.slice();
    const heldCounts = countHoldings(newChoice);
    for (const i of order) {
      if (newChoice[i] === 1 || rowsBySecurity[i]!.some((r) => heldCounts[r]! >= counts[r]!.maximum)) continue;
      newChoice[i] = 1;
      for (const r of rowsBySecurity[i]!) heldCounts[r]!++;
    }
    return newChoice;
  }
}

/** Choice with the optimum of its variables, which is within their bounds. */
export interface SwappedChoice {
  /** [n] */
  readonly chosen: Uint8Array;
  /** Minimum of the objective for this choice, up to rounding of the sum. */
  readonly value: number;
}

/**
 * Number of variables that are exchanged at random before a further descent. The second limit is the maximum number of
 * descents without an improvement.
 */
const KICK_EXCHANGES = 4;
const DESCENTS_MAX = 300;

/**
 * Searches for a good choice by local search. From each start, it applies the best addition or exchange until none
 * improves the choice. It then repeats this from random changes of the best choice. The effect of all
 * exchanges follows from one factorisation, because an exchange is a rank-two update of the inverse.
 * @param algebra    Dense operations.
 * @param quadratic  Problem without its other constraints.
 * @param orders     Starts: orders of the variables by preference, [n] each.
 * @param workMax    Maximum number of multiplications.
 * @returns          The best choice; undefined if no start has an optimum within its bounds.
 * @cost             h^2 n per exchange in a choice of h variables.
 * @source           Lin & Kernighan (1973), Operations Research 21(2), for repeated descents from exchanges.
 */
export function searchSwaps(
  algebra: DenseAlgebra,
  quadratic: ChosenQuadratic,
  orders: readonly (readonly number[])[],
  workMax: number,
): SwappedChoice | undefined {
  const { n, lower, upper, needed } = quadratic;
  const moves = createSwapMoves(algebra, quadratic);
  let work = 0;
  let bestChoice: EvaluatedChoice | undefined;
  for (const order of orders) {
    if (bestChoice !== undefined && !isLeft()) break;
    const result = descend(moves.takeFirst(order));
    if (result !== undefined && isBetter(result, bestChoice)) bestChoice = result;
  }
  if (bestChoice === undefined) return undefined;
  const random = createCounterRandom({ seed: 1, stream: 0 });
  for (let descents = 0; descents < DESCENTS_MAX && isLeft(); descents++) {
    const result = descend(exchangeRandomly(bestChoice, random));
    if (result === undefined || !isBetter(result, bestChoice)) continue;
    bestChoice = result;
    descents = 0;
  }
  return { chosen: bestChoice.chosen, value: bestChoice.value };

  function isLeft(): boolean {
    return work < workMax;
  }

  function isBetter({ value }: EvaluatedChoice, than: EvaluatedChoice | undefined): boolean {
    return than === undefined || value < than.value - GAIN_MIN * Math.abs(than.value);
  }

  /** Applies the best addition or exchange until none improves the choice. */
  function descend(start: Uint8Array): EvaluatedChoice | undefined {
    let evaluatedChoice = evaluateBounded(start);
    while (evaluatedChoice !== undefined && isLeft()) {
      const next = improveChoice(evaluatedChoice);
      if (next === undefined) break;
      evaluatedChoice = next;
    }
    return evaluatedChoice;
  }

  function improveChoice(evaluatedChoice: EvaluatedChoice): EvaluatedChoice | undefined {
    for (const { place, incoming } of moves.listBest(evaluatedChoice)) {
      const newChoice = evaluatedChoice.chosen.slice();
      if (place >= 0) newChoice[evaluatedChoice.names[place]!] = 0;
      newChoice[incoming] = 1;
      const next = evaluate(newChoice);
      if (next !== undefined && isWithinBounds(next) && isBetter(next, evaluatedChoice)) return next;
    }
    return undefined;
  }

  /**
   * Removes variables whose optimum is below their lower bound, and evaluates the remaining choice. Returns undefined
   * if its optimum is outside the bounds.
   */
  function evaluateBounded(start: Uint8Array): EvaluatedChoice | undefined {
    let currentChoice = start;
    for (;;) {
      const result = evaluate(currentChoice);
      if (result === undefined || isWithinBounds(result)) return result;
      const nextChoice = currentChoice.slice();
      let isLess = false;
      result.names.forEach((i, place) => {
        if (needed[i] === 1 || result.x[place]! >= lower[i]!) return;
        nextChoice[i] = 0;
        isLess = true;
      });
      if (!isLess) return undefined;
      currentChoice = nextChoice;
    }
  }

  function isWithinBounds({ names, x }: EvaluatedChoice): boolean {
    return x.every((value, place) => value >= lower[names[place]!]! && value <= upper[names[place]!]!);
  }

  function evaluate(chosen: Uint8Array): EvaluatedChoice | undefined {
    const h = chosen.reduce((count, isChosen) => count + isChosen, 0);
    work += h * h * n;
    return moves.evaluate(chosen);
  }

  /** Exchanges random variables for others with a large gain. */
  function exchangeRandomly(
    { chosen, names, residuals, curvatures }: EvaluatedChoice,
    random: CounterRandom,
  ): Uint8Array {
    const nextChoice = chosen.slice();
    const computeGain = (j: number) => (residuals[j]! * residuals[j]!) / curvatures[j]!;
    const leavingNames = names.filter((i) => needed[i] === 0);
    const enteringNames = Array.from(chosen.keys())
      .filter((j) => chosen[j] === 0 && lower[j]! <= upper[j]!)
      .toSorted((a, b) => computeGain(b) - computeGain(a) || a - b);
    if (leavingNames.length === 0 || enteringNames.length === 0) return nextChoice;
    for (let k = 0; k < KICK_EXCHANGES; k++) {
      const i = leavingNames[random.integer(leavingNames.length)]!;
      const j = enteringNames[Math.floor(enteringNames.length * random.uniform() ** 2)]!;
      if (nextChoice[i] === 0 || nextChoice[j] === 1 || !moves.isAllowed(moves.countHeldMembers(nextChoice), i, j))
        continue;
      nextChoice[i] = 0;
      nextChoice[j] = 1;
    }
    return nextChoice;
  }
}
