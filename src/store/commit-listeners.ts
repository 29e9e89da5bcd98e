import type { CommitEvent, CommitEventType } from '#domain/documents/commit-events.js';

/** Listeners for events of commits. */
export interface CommitListeners {
  add<T extends CommitEventType>(type: T, listener: (event: CommitEvent<T>) => void): () => void;
  /** Calls the listeners of each event in order. */
  call(events: readonly CommitEvent[]): void;
}

/**
 * Creates the listeners of commits.
 * @param onFailure receives the error of a listener, whose state may no longer agree with the documents
 */
export function createCommitListeners(onFailure: (cause: unknown) => void): CommitListeners {
  const listeners = new Map<CommitEventType, Set<(event: never) => void>>();

  return {
    add(type, listener) {
      const typeListeners = listeners.get(type) ?? new Set();
      listeners.set(type, typeListeners.add(listener));
      return () => void typeListeners.delete(listener);
    },
    call(events) {
      for (const event of events) {
        for (const listener of listeners.get(event.type) ?? []) {
          try {
            listener(event as never); // registered for events of this type
          } catch (thrown) {
            onFailure(thrown);
          }
        }
      }
    },
  };
}
