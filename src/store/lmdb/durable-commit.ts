import type { Buffer } from 'node:buffer';
import type { Writes } from './commit-queue.js';
import { keyBytes } from './document-key.js';

/** Part of lmdb-js that a commit needs. */
export interface WritableDatabase {
  /** Combines puts and removals of `action` into one atomic transaction. */
  batch(action: () => void): Promise<boolean>;
  put(key: Buffer, value: Buffer): unknown;
  remove(key: Buffer): unknown;
  /** Resolves when every earlier commit is on disk. */
  readonly flushed: Promise<boolean>;
}

/**
 * Writes all or nothing and resolves when it is on disk: a commit is only visible; the flush makes it durable.
 * @throws Error with the engine's reason
 */
export async function commitDurably(database: WritableDatabase, writes: Writes): Promise<void> {
  try {
    await database.batch(() => {
      for (const [key, value] of writes) {
        if (value === null) void database.remove(keyBytes(key));
        else void database.put(keyBytes(key), value);
      }
    });
    await database.flushed;
  } catch (failure) {
    const cause = await commitErrorOf(failure);
    throw new Error(`LMDB did not commit: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause: failure,
    });
  }
}

/** Reads a second promise that lmdb-js rejects with the reason: unread, it would end the process. */
async function commitErrorOf(failure: unknown): Promise<unknown> {
  if (!(failure instanceof Error) || !('commitError' in failure)) return failure;
  try {
    return await failure.commitError;
  } catch (cause) {
    return cause;
  }
}
