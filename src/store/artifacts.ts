/**
 * Immutable byte strings beside the documents (run results, records, columns, renders): written once under the home,
 * named by the document that owns them, served as streams. A document refers to an artifact by this value.
 */
export interface ArtifactRef {
  /** File name below the artifacts folder, unique for ever. */
  readonly name: string;
  /** Bytes of the file. */
  readonly bytes: number;
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
  /** Another artifact whose bytes are read within these. */
  readonly inset?: ArtifactInset;
}

/** An artifact within another one: a long text that several artifacts share is stored once. */
export interface ArtifactInset extends Omit<ArtifactRef, 'inset'> {
  /** Position in the file of the other one that its bytes come before. */
  readonly at: number;
}

/** An artifact, and another name for its file. */
export interface ArtifactLink {
  readonly ref: ArtifactRef;
  readonly name: string;
}

/** Bytes of an artifact with what is read within it. */
export function lengthOf({ bytes, inset }: ArtifactRef): number {
  return bytes + (inset?.bytes ?? 0);
}

export interface ArtifactStore {
  /** Writes and flushes bytes whose hash the caller already knows. Not yet owned: commit a document that refers to it. */
  write(bytes: Uint8Array, sha256: string): Promise<ArtifactRef>;
  /** A name for an artifact to come. */
  newName(): string;
  /**
   * The files of artifacts under other names, so that they stay when the first ones go. Not yet owned, as `write`. When one cannot be
   * had, none is.
   * @throws Refusal DOCUMENT_UNREADABLE when a file is missing or has another length
   */
  link(files: readonly ArtifactLink[]): Promise<readonly ArtifactRef[]>;
  /**
   * A readable stream over the bytes with those of an inset, or over a byte range of the file (`end` exclusive). A whole stream
   * is checked against its hashes while it passes and breaks off before the last chunk of a file that was damaged.
   * @throws Refusal DOCUMENT_UNREADABLE when a file is missing or has another length
   */
  stream(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): ReadableStream<Uint8Array>;
  /** The bytes of the file, checked against their hash unless a range is asked for. @throws Refusal DOCUMENT_UNREADABLE */
  read(ref: ArtifactRef, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array>;
  /** Whether the file is there with its content. @cost of other threads; memory for all of it */
  isIntact(ref: Omit<ArtifactRef, 'inset'>): Promise<boolean>;
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
