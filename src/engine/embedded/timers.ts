// In the bundle, in place of `node:timers/promises`.

/** Lets other work of the tab have its turn. */
export function setImmediate(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}
