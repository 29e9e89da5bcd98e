import type { FileHandle } from 'node:fs/promises';

/** A new file of an artifact, completely on disk. */
export interface NewFile {
  /** Open handle of the file. */
  readonly file: FileHandle;
  /** Name of the artifact, which the file does not have yet. */
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}
