export interface SweepOptions {
  /** Keeps younger files, because the attempt that wrote them may still run. */
  readonly olderThanMs?: number;
  /** Deletes files that have been in the trash of a shared place for this time. Default: at once. */
  readonly trashMs?: number;
  /** Pause after each page of names, for a sweep that other work shares the database with. Default: none. */
  readonly pauseMs?: number;
  /** Returns false once the sweep has to stop. */
  readonly isWanted?: () => boolean;
}

/** Returns those of some names, at most `SWEEP_PAGE`, to which documents refer. */
export type ReferencedAmong = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/** Number of names of a sweep in memory, and in one question to the documents. */
export const SWEEP_PAGE = 1000;

/** An artifact of a document, and the latest possible time of its content, ms since 1970. */
export interface DatedArtifact {
  readonly ref: { readonly name: string; readonly bytes: number; readonly sha256: string };
  readonly madeAt: number;
}
