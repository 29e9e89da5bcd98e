import type { ArtifactRef } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';

/** Outputs of parts in one artifact, in the order of the parts. */
export interface WrittenParts {
  readonly artifact: ArtifactRef;
  readonly parts: readonly number[];
}

/**
 * Parts of running jobs that are offered to other nodes. The node of the job has the last word: a part that is not among
 * the offered ones is its own.
 */
export interface OfferedParts {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  /** Takes a part back to compute it here, of a node that fell silent too; undefined when there is none to take. */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Takes the outputs of parts that other nodes have written: they are offered no more. */
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  /** Parts that are still offered, taken by a node or not. */
  remaining(key: AttemptKey): Promise<readonly number[]>;
  withdraw(key: AttemptKey): Promise<void>;
}
