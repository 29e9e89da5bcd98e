/** Days that are hashed together: what is appended to a store changes the last block alone. */
export const BLOCK_DAYS = 64;

export const DIGEST_BYTES = 32;

/** Digests of the blocks of the first days of a content, known before. */
export interface KnownBlocks {
  readonly digests: Uint8Array;
  readonly days: number;
}
