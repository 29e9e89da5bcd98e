/** Words that arrive while something is under way whose listener is there only afterwards. */
export interface Hearing {
  hear(word: string): void;
  /** @returns what the work gives, and all that was heard meanwhile */
  during<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly heard: ReadonlySet<string> }>;
}

export function createHearing(): Hearing {
  const underWay = new Set<Set<string>>();
  return {
    hear: (word) => underWay.forEach((heard) => heard.add(word)),
    async during(work) {
      const heard = new Set<string>();
      underWay.add(heard);
      try {
        return { value: await work(), heard };
      } finally {
        underWay.delete(heard);
      }
    },
  };
}
