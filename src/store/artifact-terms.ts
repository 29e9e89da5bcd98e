export interface SweepOptions {
  /** Younger files stay: the attempt that has written them is under way. */
  readonly olderThanMs?: number;
  /** Of a shared place: files that have been in the trash for so long are deleted. Default: at once. */
  readonly trashMs?: number;
}

/** An artifact of a document, and a time before which its content was made, ms since 1970. */
export interface DatedArtifact {
  readonly ref: { readonly name: string; readonly bytes: number; readonly sha256: string };
  readonly madeAt: number;
}
