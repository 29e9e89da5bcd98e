/**
 * Immutable byte strings beside the documents (run results, records, columns, renders): written once under the home,
 * named by the document that owns them, served as streams. A document refers to an artifact by this value.
 */
export interface ArtifactRef {
  /** File name below the artifacts folder, unique for ever. */
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the content, hex. */
  readonly sha256: string;
}

export interface ArtifactStore {
  /** Writes and flushes bytes whose hash the caller already knows. Not yet owned: commit a document that refers to it. */
  write(bytes: Uint8Array, sha256: string): Promise<ArtifactRef>;
  /** A readable stream over the bytes, or over a byte range of them (`end` exclusive). */
  stream(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): ReadableStream<Uint8Array>;
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Path of the file, for a worker that reads it itself. */
  path(ref: ArtifactRef): string;
  /** Removes files; absent ones are fine. Called after the transaction that dropped the last reference. */
  remove(refs: readonly ArtifactRef[]): Promise<void>;
  /** At start: removes every file that no document refers to. */
  sweep(referenced: ReadonlySet<string>): Promise<number>;
}
