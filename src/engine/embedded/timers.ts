// Replaces `node:timers/promises` in the bundle.

/** Lets other work of the tab run first. */
export function setImmediate(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}
