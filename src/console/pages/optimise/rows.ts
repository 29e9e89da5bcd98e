import type { ConstraintRowBody, ConstraintRowInput, ConstraintSet } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';

/** Rows as they are sent: the service checks them, whatever they are. */
export const asConstraints = (rows: readonly JsonObject[]): readonly (ConstraintRowBody & ConstraintRowInput)[] =>
  rows as unknown as readonly (ConstraintRowBody & ConstraintRowInput)[];

/** Stored rows as they are edited. */
export const asRows = (constraints: ConstraintSet['constraints']): readonly JsonObject[] =>
  constraints as unknown as readonly JsonObject[];
