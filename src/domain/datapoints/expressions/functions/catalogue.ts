import type { FunctionNode } from '../tree.js';
import { CROSS_SECTIONAL } from './cross-sectional.js';
import { ELEMENTWISE } from './elementwise.js';
import type { FunctionEntry } from './function-entry.js';
import { OF_DECISION } from './of-decision.js';
import { OVER_TIME } from './over-time.js';

/**
 * Functions of expressions. A name may refer to a function across securities and to a function over time, which has a
 * window.
 */
export const FUNCTIONS: readonly FunctionEntry[] = [...ELEMENTWISE, ...CROSS_SECTIONAL, ...OVER_TIME, ...OF_DECISION];

const byName = new Map<string, FunctionEntry[]>();
for (const entry of FUNCTIONS) byName.set(entry.name, [...(byName.get(entry.name) ?? []), entry]);

export const FUNCTION_NAMES: readonly string[] = [...byName.keys()];

/**
 * Returns the function that a node calls; a function over time if the node has a window or a lag. Undefined for an
 * unknown name.
 */
export function findFunction(node: Pick<FunctionNode, 'name' | 'window' | 'lag'>): FunctionEntry | undefined {
  const entries = byName.get(node.name) ?? [];
  const isOverTime = node.window !== undefined || node.lag !== undefined;
  return entries.find(({ form }) => (form === 'over_time') === isOverTime) ?? entries[0];
}

/** Function, for clients. */
export interface FunctionSpec extends Pick<FunctionEntry, 'name' | 'form' | 'signature' | 'help' | 'example'> {}

export function listFunctionSpecs(): FunctionSpec[] {
  return FUNCTIONS.map(({ name, form, signature, help, example }) => ({ name, form, signature, help, example }));
}
