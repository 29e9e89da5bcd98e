import type { Day } from '#domain/time/days.js';
import type { ArtifactDestination } from '#store/port.js';
import type { HashCells } from '../thread-messages.js';

/** Bytes of an answer, transferred out of the worker; they are not stored. */
export interface AnswerBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The same with their hash, computed by the worker. */
export interface HashedBytes extends AnswerBytes {
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Names of the artifacts that a task writes, by what they hold. */
export type OutputNames<K extends string> = Readonly<Record<K, string>>;

/** The same, and where they are written. */
export interface TaskOutputs<K extends string> {
  readonly destination: ArtifactDestination;
  readonly names: OutputNames<K>;
}

/** An input that names its outputs; the node that runs the task adds where they are written. */
export type WithOutputNames<I> = {
  readonly [K in keyof I]: I[K] extends TaskOutputs<infer F> ? OutputNames<F> : I[K];
};

export interface HashedFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * Shared memory of the threads of a process: which files it has written or hashed, as `workers/run-files/checked-files.ts` has
 * them.
 */
export type CheckedFiles = BigUint64Array<SharedArrayBuffer>;

/** Changes back to earlier contents of a market: what decisions see that are made on what was known. */
export interface KnownFiles {
  /** Day at whose end the market itself was known. */
  readonly knownOn: Day;
  /** By content, the latest first: how it is made from the one after it, and the day at whose end it was known. */
  readonly earlier: readonly (HashedFile & { readonly knownOn: Day })[];
}

/** A file that a task wrote. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Files that several threads hash: each file is hashed by the thread that takes it first. */
export interface SharedHashes {
  readonly paths: readonly string[];
  readonly cells: HashCells;
}
