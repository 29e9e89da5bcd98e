import type { ArtifactRef } from '#store/port.js';
import type { AttemptKey } from './attempt-key.js';

/** Output of one or more parts. */
export interface PartOutput {
  /** Outputs in the order of the parts. The job drops the artifact when it ends. */
  readonly artifact: ArtifactRef;
  /** Other artifacts that the parts wrote. They are kept with the output until the effect of the job refers to them. */
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
 * Parts of running jobs that are offered to other nodes. The node of the job decides: it computes every part itself
 * that is not offered.
 */
export interface OfferedParts {
  offer(key: AttemptKey, parts: readonly number[]): Promise<void>;
  /**
   * Takes a part back to compute it on this node, even if a node that stopped sending heartbeats has the part. Returns
   * undefined if no part is left.
   */
  take(key: AttemptKey): Promise<number | undefined>;
  /** Takes the outputs that other nodes wrote. Their parts are no longer offered. */
  collect(key: AttemptKey): Promise<readonly WrittenParts[]>;
  /** Lists parts that are still offered, whether a node has taken them or not. */
  remaining(key: AttemptKey): Promise<readonly number[]>;
  withdraw(key: AttemptKey): Promise<void>;
}
