import type { ArtifactRef } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';

/** Output of one or more parts. */
export interface PartOutput {
  /** Outputs in the order of the parts. The job drops it when it ends. */
  readonly artifact: ArtifactRef;
  /** Other artifacts that the parts wrote. They are kept with the output until the effect of the job names them. */
  readonly files?: readonly ArtifactRef[];
}

/** Output of parts, with their numbers. */
export interface WrittenParts extends PartOutput {
  readonly parts: readonly number[];
}

/** Returns the names of all artifacts of an output. */
export const namesOf = ({ artifact, files = [] }: PartOutput): string[] => [artifact, ...files].map(({ name }) => name);

/**
 * Parts of running jobs that are offered to other nodes. The node of the job decides: it computes a part that is not
 * among the offered ones itself.
 */
export interface OfferedParts {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  /** Withdraws a part to compute it here, even from a silent node; undefined if there is none to take. */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Takes the outputs that other nodes wrote; their parts are no longer offered. */
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  /** Lists parts that are still offered, whether a node has taken them or not. */
  remaining(key: AttemptKey): Promise<readonly number[]>;
  withdraw(key: AttemptKey): Promise<void>;
}
