import type { FileHandle } from 'node:fs/promises';

/** New file of an artifact, completely written to disk. */
export interface NewFile {
  /** Open handle of the file. */
  readonly file: FileHandle;
  /** Name of the artifact. The file does not have this name yet. */
  readonly name: string;
  readonly bytes: number;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}
