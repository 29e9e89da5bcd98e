import type { ScenarioTerms } from '../../objectives/scenario-terms.js';
import { createTailGoal, computeTailSlopes, type TailGoal, type TailMeasure } from '../../objectives/tail.js';

/** Cutting plane of a tail: slopes'w is at most the tail average at w. */
export interface TailCut {
  readonly goal: TailGoal;
  /** [N] */
  readonly slopes: Float64Array;
}

/** Tails in the rows of a problem, with the cutting planes found so far. The planes are valid for all limits. */
export interface TailCuts {
  /** Returns the tail goal for given terms. Equal terms return the identical object. */
  goal(measure: TailMeasure, confidence: number, terms: ScenarioTerms): TailGoal;
  /** Known planes, in the order in which they were found. */
  readonly known: readonly TailCut[];
  /**
   * Adds the tangent plane of a tail at some weights.
   * @cost T N
   */
  add(goal: TailGoal, weights: Float64Array): TailCut;
  /** Adds a plane that is proven to be below the tail average. */
  hold(cut: TailCut): void;
}

/**
 * Creates the tails of a problem without cutting planes.
 * @param scenarios simple returns by scenario, [T x N]
 */
export function createTailCuts(securityCount: number, scenarios: (terms: ScenarioTerms) => Float64Array): TailCuts {
  const goals = new Map<string, TailGoal>();
  const tailCuts: TailCut[] = [];
  return {
    known: tailCuts,
    goal(measure, confidence, terms) {
      const key = JSON.stringify([measure, confidence, terms]);
      const result = goals.get(key) ?? createTailGoal(measure, confidence, scenarios(terms), securityCount);
      goals.set(key, result);
      return result;
    },
    add(goal, weights) {
      const cut = { goal, slopes: computeTailSlopes(goal, weights) };
      tailCuts.push(cut);
      return cut;
    },
    hold: (cut) => void tailCuts.push(cut),
  };
}
