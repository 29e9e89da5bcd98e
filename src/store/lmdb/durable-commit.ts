import type { Buffer } from 'node:buffer';
import type { Writes } from './commit-queue.js';
import { keyBytes } from './document-key.js';

/** The part of lmdb-js that a commit needs. */
export interface WritableDatabase {
  /** Puts and removals made by `action` become one transaction, or none of them happens. */
  batch(action: () => void): Promise<boolean>;
  put(key: Buffer, value: Buffer): unknown;
  remove(key: Buffer): unknown;
  /** Resolves when every commit before is on disk. */
  readonly flushed: Promise<boolean>;
}

/**
 * Writes all or nothing and resolves when it is on disk: a commit alone is visible, but only the flush makes it last.
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

/**
 * lmdb-js rejects a second promise with the reason and leaves it to whoever reads it: unread, it would end the process.
 */
async function commitErrorOf(failure: unknown): Promise<unknown> {
  if (!(failure instanceof Error) || !('commitError' in failure)) return failure;
  try {
    return await failure.commitError;
  } catch (cause) {
    return cause;
  }
}
