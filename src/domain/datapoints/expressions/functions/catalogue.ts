import type { FunctionNode } from '../tree.js';
import { CROSS_SECTIONAL } from './cross-sectional.js';
import { ELEMENTWISE } from './elementwise.js';
import type { FunctionEntry } from './function-entry.js';
import { OF_DECISION } from './of-decision.js';
import { OVER_TIME } from './over-time.js';

/** Every function of expressions. A name may stand for one across securities and one over time, which has a window. */
export const FUNCTIONS: readonly FunctionEntry[] = [...ELEMENTWISE, ...CROSS_SECTIONAL, ...OVER_TIME, ...OF_DECISION];

const byName = new Map<string, FunctionEntry[]>();
for (const entry of FUNCTIONS) byName.set(entry.name, [...(byName.get(entry.name) ?? []), entry]);

export const FUNCTION_NAMES: readonly string[] = [...byName.keys()];

/** The function that a node calls: over time where it has a window or a lag; undefined where there is none. */
export function functionOf(node: Pick<FunctionNode, 'name' | 'window' | 'lag'>): FunctionEntry | undefined {
  const entries = byName.get(node.name) ?? [];
  const isOverTime = node.window !== undefined || node.lag !== undefined;
  return entries.find(({ form }) => (form === 'over_time') === isOverTime) ?? entries[0];
}

/** One function as clients read it. */
export interface FunctionSpec extends Pick<FunctionEntry, 'name' | 'form' | 'signature' | 'help' | 'example'> {}

export function functionSpecs(): FunctionSpec[] {
  return FUNCTIONS.map(({ name, form, signature, help, example }) => ({ name, form, signature, help, example }));
}
