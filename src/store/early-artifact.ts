/** Small artifact whose bytes are complete before all work is done. Call either `end` or `drop`, once. */
export interface EarlyArtifact {
  /**
   * Starts to write and hash the bytes. Called once.
   * @returns false if there are too many bytes for an early write
   * @cost one pass of SHA-256, a copy to the page cache of the operating system
   */
  begin(bytes: Uint8Array): boolean;
  /**
   * Completes the file under its final name. `settle` of the store then makes the name durable. A failure leaves no
   * file.
   */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Deletes the draft of the file. */
  drop(): Promise<void>;
}
