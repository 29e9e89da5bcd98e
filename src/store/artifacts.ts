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
  /** A name for an artifact to come. */
  newName(): string;
  /**
   * The bytes of an artifact under another name, so that they stay when the first one goes. Not yet owned, as `write`.
   * @throws Refusal DOCUMENT_UNREADABLE when the file is missing or has another length
   */
  link(ref: ArtifactRef, name: string): Promise<ArtifactRef>;
  /**
   * A readable stream over the bytes, or over a byte range of them (`end` exclusive). A whole stream is checked against
   * its hash while it passes and breaks off before its last chunk when the file was damaged.
   * @throws Refusal DOCUMENT_UNREADABLE when the file is missing or has another length
   */
  stream(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): ReadableStream<Uint8Array>;
  /** The bytes, checked against their hash unless a range is asked for. @throws Refusal DOCUMENT_UNREADABLE */
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Path of the file, for a worker that reads it itself. */
  path(ref: Pick<ArtifactRef, 'name'>): string;
  /**
   * A name for a file that a worker writes itself and that can be made again: it is not flushed, no document refers to it, and it is
   * gone after the next start. Whoever asked removes it.
   * @param bytes about how many there will be
   * @throws Refusal STORAGE_FULL
   */
  claim(bytes: number): Promise<string>;
  /**
   * Removes files; absent ones are fine. The store calls it for artifacts that lost their last document, the job engine
   * for those of an attempt that did not complete: nobody else has to.
   */
  remove(names: readonly string[]): Promise<void>;
  /** At start: removes every file that no document refers to. @returns how many there were */
  sweep(referenced: ReadonlySet<string>): Promise<number>;
}
