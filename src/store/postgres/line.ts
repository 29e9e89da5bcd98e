/** Work of which one piece at a time runs, in the order of arrival. */
export interface Line {
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when all that has arrived is over, well or not. */
  idle(): Promise<void>;
}

export function createLine(): Line {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      const next = last.then(work);
      last = next.catch(() => undefined);
      return next;
    },
    idle: async () => void (await last),
  };
}
