import type { Buffer } from 'node:buffer';
import { encodeKey } from './document-format.js';

/** Values that one commit writes, by key (bytes as latin-1 text). Null deletes a key. */
export type CommitWrites = ReadonlyMap<string, Buffer | null>;

export interface WritableDatabase {
  /** Runs the puts and removals of `action` in one atomic transaction. */
  batch(action: () => void): Promise<boolean>;
  put(key: Buffer, value: Buffer): unknown;
  remove(key: Buffer): unknown;
  /** Resolves when every earlier commit is on disk. */
  readonly flushed: Promise<boolean>;
}

/**
 * Writes all values or none, and resolves when they are on disk. The transaction makes the writes visible, and the
 * flush makes them durable.
 * @throws Error with the reason of the engine
 */
export async function commitDurably(database: WritableDatabase, writes: CommitWrites): Promise<void> {
  try {
    await database.batch(() => {
      for (const [key, value] of writes) {
        if (value === null) void database.remove(encodeKey(key));
        else void database.put(encodeKey(key), value);
      }
    });
    await database.flushed;
  } catch (failure) {
    const cause = await findCommitError(failure);
    throw new Error(`LMDB did not commit: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause: failure,
    });
  }
}

/**
 * Returns the reason of a failed commit. It is the rejection of a second promise of lmdb-js. That promise must be
 * awaited, because an unhandled rejection would end the process.
 */
async function findCommitError(failure: unknown): Promise<unknown> {
  if (!(failure instanceof Error) || !('commitError' in failure)) return failure;
  try {
    return await failure.commitError;
  } catch (cause) {
    return cause;
  }
}
