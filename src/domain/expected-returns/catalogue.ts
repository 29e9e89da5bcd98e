import { createTypeSpec, type TypeSpec } from '../catalogue/type-spec.js';
import { blackLitterman } from './classes/black-litterman.js';
import { capmReturns } from './classes/capm.js';
import { fieldReturns } from './classes/field.js';
import { historicalReturns } from './classes/historical.js';
import type { ReturnsClass } from './returns-class.js';

/** All models of expected returns, in the order in which forms list them. */
export const RETURNS_CLASSES: readonly ReturnsClass[] = [fieldReturns, historicalReturns, capmReturns, blackLitterman];

const RETURNS_BY_TYPE = new Map(RETURNS_CLASSES.map((entry) => [entry.type, entry]));

export function findReturnsClass(type: string): ReturnsClass | undefined {
  return RETURNS_BY_TYPE.get(type);
}

/** Returns the catalogue of expected-return models for clients. */
export const listReturnsSpecs = (): TypeSpec[] => RETURNS_CLASSES.map(createTypeSpec);
