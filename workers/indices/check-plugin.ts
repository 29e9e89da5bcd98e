import { requireSandbox, SandboxError } from '#base/sandbox/sandbox.js';
import type { Task } from '#jobs/tasks.js';

/** Checks a plug-in in the sandbox, in the same way as its first call. */
export const checkPlugin: Task<'check-plugin'> = ({ program }) => {
  try {
    requireSandbox().check(program);
    return { fault: null };
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { fault: thrown.message };
    throw thrown;
  }
};
