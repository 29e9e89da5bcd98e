/** Small artifact with bytes that are complete before all work is done. It is either ended or dropped, once. */
export interface EarlyArtifact {
  /**
   * Starts to write and hash the bytes, once.
   * @returns false if there are too many bytes for an early write
   * @cost one pass of SHA-256, a copy to the page cache of the operating system
   */
  begin(bytes: Uint8Array): boolean;
  /** Completes the file under its final name, which `settle` makes durable. A failure leaves no file. */
  end(): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** Deletes the draft of the file. */
  drop(): Promise<void>;
}
