import type { FunctionNode } from '../tree.js';
import { CROSS_SECTIONAL_FUNCTIONS } from './cross-sectional.js';
import { ELEMENTWISE_FUNCTIONS } from './elementwise.js';
import type { FunctionEntry } from './function-entry.js';
import { DECISION_FUNCTIONS } from './of-decision.js';
import { OVER_TIME_FUNCTIONS } from './over-time.js';

/**
 * Functions of expressions. A name may refer to a function across securities and to a function over time, which has a
 * window.
 */
export const FUNCTIONS: readonly FunctionEntry[] = [
  ...ELEMENTWISE_FUNCTIONS,
  ...CROSS_SECTIONAL_FUNCTIONS,
  ...OVER_TIME_FUNCTIONS,
  ...DECISION_FUNCTIONS,
];

const functionsByName = new Map<string, FunctionEntry[]>();
for (const functionEntry of FUNCTIONS)
  functionsByName.set(functionEntry.name, [...(functionsByName.get(functionEntry.name) ?? []), functionEntry]);

export const FUNCTION_NAMES: readonly string[] = [...functionsByName.keys()];

/**
 * Returns the function that a node calls. With a window or a lag, this is a function over time. Returns undefined for
 * an unknown name.
 */
export function findFunction(node: Pick<FunctionNode, 'name' | 'window' | 'lag'>): FunctionEntry | undefined {
  const entries = functionsByName.get(node.name) ?? [];
  const isOverTime = node.window !== undefined || node.lag !== undefined;
  return entries.find(({ form }) => (form === 'over_time') === isOverTime) ?? entries[0];
}

/** Function, for clients. */
export interface FunctionSpec extends Pick<FunctionEntry, 'name' | 'form' | 'signature' | 'help' | 'example'> {}

export function listFunctionSpecs(): FunctionSpec[] {
  return FUNCTIONS.map(({ name, form, signature, help, example }) => ({ name, form, signature, help, example }));
}
