// Replaces `kernels/memory/system-calls.ts` in the bundle: a browser tab has no system calls.

export const loadSystemCalls = (): null => null;
