/** Queue that runs one task at a time, in the order of arrival. */
export interface WorkQueue {
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when all queued work has ended, successfully or not. */
  idle(): Promise<void>;
}

export function createWorkQueue(): WorkQueue {
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
