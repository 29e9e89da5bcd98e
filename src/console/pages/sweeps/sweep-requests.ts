import { isObject, type Json, type JsonObject } from '../../words/paths.js';

/** Pointer of the transaction cost. */
const COSTS_POINTER = '/request/transaction_cost_bps';

const toObject = (value: unknown): JsonObject => {
  const json = value as Json | undefined; // requests are plain JSON
  return isObject(json) ? json : {};
};

/** Returns the terms of the backtests in the request of a sweep, without empty members. */
export const getSweepTerms = (request: unknown): JsonObject =>
  Object.fromEntries(Object.entries(toObject(toObject(request)['request'])).filter(([, value]) => value !== null));

/** Returns the values of a sweep by pointer; null if its variants are listed one by one. */
export function getGrid(request: unknown): Readonly<Record<string, readonly Json[]>> | null {
  const { grid } = toObject(request);
  return isObject(grid) ? (grid as Readonly<Record<string, readonly Json[]>>) : null; // the service accepted the grid
}

/** Returns the number of variants that a request describes. */
export function countVariants(request: unknown): number {
  const grid = getGrid(request);
  if (grid !== null) return Object.values(grid).reduce((product, values) => product * values.length, 1);
  const { patches } = toObject(request);
  return Array.isArray(patches) ? patches.length : 0;
}

/** Returns the transaction cost in basis points; null if the sweep varies it. */
export function getCosts(request: unknown): number | null {
  const { patches } = toObject(request);
  const changes = Array.isArray(patches) ? patches : [getGrid(request) ?? {}];
  if (changes.some((change) => isObject(change) && COSTS_POINTER in change)) return null;
  const costs = getSweepTerms(request)['transaction_cost_bps'];
  return typeof costs === 'number' ? costs : 0;
}
