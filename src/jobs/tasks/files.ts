import type { Day } from '#domain/time/days.js';
import type { ArtifactDestination } from '#store/port.js';
import type { HashCells } from '../thread-messages.js';

/** Bytes of a response. They are moved out of the worker and not stored. */
export interface ResponseBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Response bytes with their hash, computed by the worker. */
export interface HashedBytes extends ResponseBytes {
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Names of the artifacts that a task writes, by content. */
export type OutputNames<K extends string> = Readonly<Record<K, string>>;

/** Names of the artifacts that a task writes, with their destination. */
export interface TaskOutputs<K extends string> {
  readonly destination: ArtifactDestination;
  readonly names: OutputNames<K>;
}

/** Input that names its outputs; the node that runs the task adds their destination. */
export type WithOutputNames<I> = {
  readonly [K in keyof I]: I[K] extends TaskOutputs<infer F> ? OutputNames<F> : I[K];
};

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Files that a process wrote or hashed, in memory that its threads share. See `workers/run-files/checked-files.ts`. */
export type CheckedFiles = BigUint64Array<SharedArrayBuffer>;

/**
 * Changes from which earlier contents of a market are restored. Decisions then use the data that was known at their
 * time.
 */
export interface EarlierContentFiles {
  /** Day at whose end the content of the market itself was known. */
  readonly knownOn: Day;
  /**
   * Changes that restore earlier contents, the latest first. Each is the difference from the next content, with the day
   * at whose end the content was known.
   */
  readonly earlier: readonly (HashedFile & { readonly knownOn: Day })[];
}

/** File that a task wrote. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Files that several threads hash. The first thread that claims a file hashes it. */
export interface SharedHashes {
  readonly paths: readonly string[];
  readonly cells: HashCells;
}
