export interface SweepOptions {
  /** Keeps younger files, because the attempt that wrote them may still run. */
  readonly olderThanMs?: number;
  /** Deletes files that have been in the trash of a shared place for this time. Default: at once. */
  readonly trashMs?: number;
}

/** An artifact of a document, and the latest possible time of its content, ms since 1970. */
export interface DatedArtifact {
  readonly ref: { readonly name: string; readonly bytes: number; readonly sha256: string };
  readonly madeAt: number;
}
