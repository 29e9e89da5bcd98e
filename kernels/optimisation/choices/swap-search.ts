import type { DenseAlgebra } from '../factors/algebra.js';
import { createCounterRandom, type CounterRandom } from '../../random/counter-random.js';
import { createSwapMoves, GAIN_MIN, type ChosenQuadratic, type EvaluatedChoice } from './swap-moves.js';

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
