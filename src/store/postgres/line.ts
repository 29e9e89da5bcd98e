/** Work of which one piece at a time runs, in the order of arrival. */
export interface Line {
  take<T>(work: () => Promise<T>): Promise<T>;
}

export function createLine(): Line {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      const next = last.then(work);
      last = next.catch(() => undefined);
      return next;
    },
  };
}
