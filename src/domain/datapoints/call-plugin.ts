import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import { Refusal } from '../refusals/refusal.js';
import { formatDay, type Day } from '../time/days.js';
import type { PluginCall } from './expressions/tree.js';

interface PluginArguments {
  /** Number of securities. */
  readonly count: number;
  /** Day of the decision. */
  readonly day: Day;
}

/**
 * Computes the values of a plug-in at a decision. The plug-in receives only data known at that time, and no data of
 * other calls.
 * @param inputs one array per input of its program
 * @returns [count], NaN if missing
 * @throws Refusal PLUGIN_FAILED
 */
export function callPlugin(
  { id, program }: PluginCall,
  inputs: readonly Float64Array[],
  { count, day }: PluginArguments,
): Float64Array {
  if (program === null)
    throw new Error(`the plug-in ${id} has no program: documents must be completed before computation`);
  try {
    return requireSandbox()
      .compute(program, inputs, count)
      .map((value) => (value - value === 0 ? value : NaN));
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const date = formatDay(day);
    const message = `The plug-in ${id} ${error.message}, at the decision on ${date}.`;
    throw new Refusal('PLUGIN_FAILED', message, { plugin_id: id, fault: error.fault, date });
  }
}
