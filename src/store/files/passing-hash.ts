import { createHash } from 'node:crypto';

/** SHA-256 of bytes that pass. */
export interface PassingHash {
  /** Adds bytes, which may not be touched until it resolves; one call at a time. */
  add(bytes: Uint8Array): Promise<void> | void;
  /** Of all that was added, hex. Called once. */
  hex(): Promise<string> | string;
}

/** The hash of about so many bytes, made by another thread; undefined where this one makes it. */
export type HashApart = (bytes: number) => PassingHash | undefined;

/** A hash made by this thread. */
export function ownHash(): PassingHash {
  const hash = createHash('sha256');
  return { add: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}
