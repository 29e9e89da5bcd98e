/**
 * State of an artifact store that may become unavailable. Each check has a time limit, and requests do not wait for
 * checks.
 */
export interface ArtifactHealth {
  /** Returns the reason why artifacts are unavailable, as a sentence; undefined if they are available. */
  fault(): string | undefined;
  /**
   * Explains a failed operation on artifacts. If the store is unavailable, missing bytes are not lost.
   * @returns Refusal STORE_UNAVAILABLE if the store is unavailable, otherwise the failure
   */
  explain(thrown: unknown): Promise<unknown>;
}
