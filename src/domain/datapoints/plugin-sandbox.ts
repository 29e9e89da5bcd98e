import { loadSandbox } from '#base/sandbox/load-sandbox.js';
import { LIMITS } from '../refusals/limits.js';
import { ROW_FUNCTIONS } from './row-functions.js';

/** Loads the sandbox of this thread with the limits and the functions of plug-ins, once. */
export const loadPluginSandbox = (): Promise<void> =>
  loadSandbox({
    steps: LIMITS.MAX_PLUGIN_STEPS,
    memory: LIMITS.MAX_PLUGIN_MEMORY_BYTES,
    functions: ROW_FUNCTIONS,
  });
