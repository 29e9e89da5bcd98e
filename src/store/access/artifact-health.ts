/** How a place fares that may be away while the process is well. Each look is bounded, and none is made by who asks. */
export interface ArtifactHealth {
  /** Why artifacts cannot be had now, in a sentence; undefined when they can. */
  fault(): string | undefined;
  /**
   * What a failure of work on artifacts comes to: bytes that are missing from a place that is away are not lost.
   * @returns Refusal STORE_UNAVAILABLE then, else the failure
   */
  explain(thrown: unknown): Promise<unknown>;
}
