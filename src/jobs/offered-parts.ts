import type { ArtifactRef } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';

/** Outputs of parts in one artifact. */
export interface WrittenParts {
  readonly artifact: ArtifactRef;
  readonly parts: readonly number[];
}

export interface FoundPart {
  readonly part: number;
  /** Null while a node computes it, or none has taken it. */
  readonly written: WrittenParts | null;
}

/**
 * Parts of running jobs that are offered to other nodes. The node of the job has the last word: a part that is not among
 * the offered ones is its own.
 */
export interface OfferedParts {
  offer(key: AttemptKey, count: number): Promise<void>;
  /** Takes a part back to compute it here, of a node that fell silent too; undefined when there is none to take. */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Those of some parts that are still offered. */
  find(key: AttemptKey, parts: readonly number[]): Promise<readonly FoundPart[]>;
  withdraw(key: AttemptKey): Promise<void>;
}
