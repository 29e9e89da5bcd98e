import type { ArtifactRef } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';

/** Output of one or more parts. */
export interface PartOutput {
  /** Outputs in the order of the parts. The job drops the artifact when it ends. */
  readonly artifact: ArtifactRef;
  /** Other artifacts that the parts wrote, kept with the output until the effect of the job names them. */
  readonly files?: readonly ArtifactRef[];
}

/** Output of parts, with their numbers. */
export interface WrittenParts extends PartOutput {
  readonly parts: readonly number[];
}

/** Returns the names of all artifacts of an output. */
export const listNames = ({ artifact, files = [] }: PartOutput): string[] =>
  [artifact, ...files].map(({ name }) => name);

/**
 * Parts of running jobs that are offered to other nodes. The node of the job decides: it computes a part itself if the
 * part is not among the offered ones.
 */
export interface OfferedParts {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  /** Withdraws a part to compute it on this node, even from a silent node; undefined if no part is left. */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Takes the outputs that other nodes wrote; the parts of these outputs are no longer offered. */
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  /** Lists parts that are still offered, whether a node has taken them or not. */
  remaining(key: AttemptKey): Promise<readonly number[]>;
  withdraw(key: AttemptKey): Promise<void>;
}
