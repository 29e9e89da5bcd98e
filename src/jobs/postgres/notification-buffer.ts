/** Buffer of notifications that arrive during work, before its listener exists. */
export interface NotificationBuffer {
  hear(word: string): void;
  /** @returns the result of the work, and all notifications during it */
  during<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly heard: ReadonlySet<string> }>;
}

export function createNotificationBuffer(): NotificationBuffer {
  const openBuffers = new Set<Set<string>>();
  return {
    hear: (word) => openBuffers.forEach((heard) => heard.add(word)),
    async during(work) {
      const notifiedIds = new Set<string>();
      openBuffers.add(notifiedIds);
      try {
        return { value: await work(), heard: notifiedIds };
      } finally {
        openBuffers.delete(notifiedIds);
      }
    },
  };
}
