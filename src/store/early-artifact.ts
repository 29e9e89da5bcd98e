/** A small artifact whose bytes are complete before all work is done; ended or dropped, once. */
export interface EarlyArtifact {
  /**
   * Starts to write and hash the bytes, once.
   * @returns false if there are too many bytes for this path
   * @cost one pass of SHA-256, a copy to the cache of the system
   */
  begin(bytes: Uint8Array): boolean;
  /** Completes the file under its name; the name is settled later. A failure leaves no file. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Deletes the file. */
  drop(): Promise<void>;
}
