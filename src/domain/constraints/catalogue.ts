import { createTypeSpec, type TypeSpec } from '../catalogue/type-spec.js';
import { activeBounds } from './classes/active-bounds.js';
import { activeGroupBounds } from './classes/active-group-bounds.js';
import { activeShare } from './classes/active-share.js';
import { beta } from './classes/beta.js';
import { cardinality } from './classes/cardinality.js';
import { cdar } from './classes/cdar.js';
import { concentration5x10x40 } from './classes/concentration-5-10-40.js';
import { concentrationRic } from './classes/concentration-ric.js';
import { cvar } from './classes/cvar.js';
import { effectiveNumber } from './classes/effective-number.js';
import { excludeConstraint } from './classes/exclude.js';
import { expectedReturn } from './classes/expected-return.js';
import { factorExposure } from './classes/factor-exposure.js';
import { freezeConstraint } from './classes/freeze.js';
import { fullInvestment } from './classes/full-investment.js';
import { grossExposure } from './classes/gross-exposure.js';
import { groupBounds } from './classes/group-bounds.js';
import { groupCardinality } from './classes/group-cardinality.js';
import { linearConstraint } from './classes/linear-constraint.js';
import { liquidity } from './classes/liquidity.js';
import { longOnly } from './classes/long-only.js';
import { minimumHolding } from './classes/minimum-holding.js';
import { positionBounds } from './classes/position-bounds.js';
import { relativePositionBounds } from './classes/relative-position-bounds.js';
import { trackingError } from './classes/tracking-error.js';
import { tradeSize } from './classes/trade-size.js';
import { turnover } from './classes/turnover.js';
import { volatility } from './classes/volatility.js';
import { weightSum } from './classes/weight-sum.js';
import { weightedAverage } from './classes/weighted-average.js';
import type { ConstraintClass } from './constraint-class.js';

/** All constraint classes, in the order in which forms list them. */
export const CONSTRAINT_CLASSES: readonly ConstraintClass[] = [
  fullInvestment,
  weightSum,
  grossExposure,
  longOnly,
  positionBounds,
  relativePositionBounds,
  activeBounds,
  groupBounds,
  activeGroupBounds,
  turnover,
  tradeSize,
  trackingError,
  volatility,
  cvar,
  cdar,
  activeShare,
  effectiveNumber,
  factorExposure,
  weightedAverage,
  beta,
  expectedReturn,
  liquidity,
  linearConstraint,
  excludeConstraint,
  freezeConstraint,
  cardinality,
  minimumHolding,
  groupCardinality,
  concentration5x10x40,
  concentrationRic,
];

const CONSTRAINTS_BY_TYPE = new Map(CONSTRAINT_CLASSES.map((entry) => [entry.type, entry]));

export function findConstraintClass(type: string): ConstraintClass | undefined {
  return CONSTRAINTS_BY_TYPE.get(type);
}

/** Returns the constraint catalogue for clients. */
export const listConstraintSpecs = (): TypeSpec[] => CONSTRAINT_CLASSES.map(createTypeSpec);
