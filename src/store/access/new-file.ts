import type { FileHandle } from 'node:fs/promises';

/** A file of an artifact, all of whose bytes are on disk. */
export interface NewFile {
  /** Still open. */
  readonly file: FileHandle;
  /** Of the artifact, which it has none of yet. */
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}
