import { createTypeSpec, type TypeSpec } from '../catalogue/type-spec.js';
import { maxDecorrelation } from './classes/max-decorrelation.js';
import { maxDiversification } from './classes/max-diversification.js';
import { maxReturn } from './classes/max-return.js';
import { maxSharpe } from './classes/max-sharpe.js';
import { maxUtility } from './classes/max-utility.js';
import { minCdar } from './classes/min-cdar.js';
import { minCvar } from './classes/min-cvar.js';
import { minTrackingError } from './classes/min-tracking-error.js';
import { minVariance } from './classes/min-variance.js';
import { riskParity } from './classes/risk-parity.js';
import type { Measure, ObjectiveClass } from './objective-class.js';

/** All objectives, in the order in which forms list them. */
export const OBJECTIVE_CLASSES: readonly ObjectiveClass[] = [
  minTrackingError,
  minVariance,
  maxUtility,
  maxReturn,
  maxSharpe,
  riskParity,
  maxDiversification,
  maxDecorrelation,
  minCvar,
  minCdar,
];

const OBJECTIVES_BY_TYPE = new Map(OBJECTIVE_CLASSES.map((entry) => [entry.type, entry]));

export function findObjectiveClass(type: string): ObjectiveClass | undefined {
  return OBJECTIVES_BY_TYPE.get(type);
}

/** Objective as the API returns it. */
export interface ObjectiveTypeSpec extends TypeSpec {
  readonly measure: Pick<Measure, 'name' | 'form'>;
}

/** Returns the catalogue of objectives for clients. */
export const listObjectiveSpecs = (): ObjectiveTypeSpec[] =>
  OBJECTIVE_CLASSES.map((entry) => {
    const { name, form } = entry.measure;
    return { ...createTypeSpec(entry), measure: { name, form } };
  });
