import { weighed, type RawWeights, type Unweighed } from '../weighting-class.js';

/** Solved weights below this are zero up to the solver's accuracy. */
const WEIGHT_MIN = 1e-9;

export interface Solved {
  /** By covered name. */
  readonly weights: Float64Array;
  /** Position of each covered name among the survivors. */
  readonly positions: ArrayLike<number>;
  /** Survivors. */
  readonly count: number;
}

/** Weights of the covered names laid out over the survivors; the others are not held. */
export function solved({ weights, positions, count }: Solved): RawWeights {
  const values = new Float64Array(count);
  weights.forEach((weight, k) => {
    if (weight >= WEIGHT_MIN) values[positions[k]!] = weight;
  });
  return weighed(values);
}

export function solverRefusal(what: string): Unweighed {
  return { kind: 'refused', code: 'SOLVER_FAILED', finding: { code: 'NO_WEIGHT_DATA', message: `The ${what} could not be solved.`, path: 'params' } };
}
