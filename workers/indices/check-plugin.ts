import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import type { Task } from '#jobs/tasks.js';

/** Checks a plug-in in the sandbox, as its first call would. */
export const checkPlugin: Task<'check-plugin'> = ({ program }) => {
  try {
    requireSandbox().check(program);
    return { fault: null };
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { fault: thrown.message };
    throw thrown;
  }
};
