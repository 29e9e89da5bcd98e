import { sandbox, SandboxError } from '#base/sandbox/sandbox.js';
import type { Task } from '#jobs/tasks.js';

/** Reads a plug-in in the sandbox, as before its first call. */
export const checkPlugin: Task<'check-plugin'> = ({ program }) => {
  try {
    sandbox().check(program);
    return { fault: null };
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { fault: thrown.message };
    throw thrown;
  }
};
