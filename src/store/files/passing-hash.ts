import { createHash } from 'node:crypto';

/** Incremental SHA-256. */
export interface PassingHash {
  /** Adds bytes to the hash. They must not change until the promise resolves. Calls must not overlap. */
  add(bytes: Uint8Array): Promise<void> | void;
  /** Returns the hash of all bytes, hex. Called once. */
  hex(): Promise<string> | string;
}

/**
 * Function that returns a hash on another thread for about this many bytes. It returns undefined if this thread must
 * hash them.
 */
export type BackgroundHash = (bytes: number) => PassingHash | undefined;

/** Creates a hash on this thread. */
export function createThreadHash(): PassingHash {
  const hash = createHash('sha256');
  return { add: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}
