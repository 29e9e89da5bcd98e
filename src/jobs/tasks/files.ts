import type { ArtifactDestination } from '#store/port.js';
import type { HashCells } from '../thread-messages.js';

/** Bytes that leave a worker by transfer, for whoever asked and not to be stored. */
export interface AnswerBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes that leave a worker by transfer to be stored, with their hash computed there. */
export interface OutputBytes extends AnswerBytes {
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Names under which a task writes artifacts, by what they hold, and where. */
export interface TaskOutputs<K extends string> {
  readonly destination: ArtifactDestination;
  readonly names: Readonly<Record<K, string>>;
}

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

/** A file that a task wrote. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Files that threads hash between them: each is hashed by whoever takes it first. */
export interface SharedHashes {
  readonly paths: readonly string[];
  readonly cells: HashCells;
}
