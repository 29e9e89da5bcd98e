/**
 * Health of a place that may be unavailable while the process works. Each check has a time limit; requests do not wait
 * for checks.
 */
export interface ArtifactHealth {
  /** Returns the reason why artifacts are unavailable, in a sentence; undefined if they are available. */
  fault(): string | undefined;
  /**
   * Explains a failure of work on artifacts: bytes missing from an unavailable place are not lost.
   * @returns Refusal STORE_UNAVAILABLE in that case, else the failure
   */
  explain(thrown: unknown): Promise<unknown>;
}
