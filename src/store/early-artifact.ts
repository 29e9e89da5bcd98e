/** A small artifact whose bytes are known before all work is done: ended or dropped, once. */
export interface EarlyArtifact {
  /**
   * Writes and hashes the bytes at once, once.
   * @returns whether they are as few as are written so
   * @cost one pass of SHA-256, a copy to the cache of the system
   */
  begin(bytes: Uint8Array): boolean;
  /** What was begun, on disk under its name; the name is settled later. Where that fails, nothing is left of it. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Takes it back. */
  drop(): Promise<void>;
}
