import { loadSandbox } from '#base/sandbox/load-sandbox.js';
import { LIMITS } from '../refusals/limits.js';
import { ROW_FUNCTIONS } from './row-functions.js';

/** Loads the sandbox of this thread once, with the limits and the functions for plug-ins. */
export const loadPluginSandbox = (): Promise<void> =>
  loadSandbox({
    steps: LIMITS.MAX_PLUGIN_STEPS,
    memory: LIMITS.MAX_PLUGIN_MEMORY_BYTES,
    functions: ROW_FUNCTIONS,
  });
