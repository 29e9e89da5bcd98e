export interface SweepOptions {
  /** Minimum age of files that are deleted. Attempts that wrote younger files may still run. */
  readonly olderThanMs?: number;
  /** Time after which files are deleted from the trash of a shared store. Default: at once. */
  readonly trashMs?: number;
  /** Pause after each page of names. Use it for a sweep on a database with other load. Default: none. */
  readonly pauseMs?: number;
  /** Returns false if the sweep must stop. */
  readonly isWanted?: () => boolean;
}

/** Function that returns some of the given names, at most `SWEEP_PAGE`: those that documents refer to. */
export type ReferencedAmong = (names: readonly string[]) => Promise<ReadonlySet<string>>;

/** Number of names per page of a sweep. The names of a page are in memory and in one query of the documents. */
export const SWEEP_PAGE = 1000;

/** Artifact of a document, with the latest possible time of its content, ms since 1970. */
export interface DatedArtifact {
  readonly ref: { readonly name: string; readonly bytes: number; readonly sha256: string };
  readonly madeAt: number;
}
