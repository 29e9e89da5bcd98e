import { JOB_KINDS, type JobKindName } from '#domain/jobs/job-kinds.js';

/**
 * Raise it when a node of the last release would fail a job of this one, or compute other values: payloads, settings of
 * documents or index mathematics changed. Such a node claims rows by their kind, and the number is part of that.
 *
 * | generation | releases |
 * | 1, not written | up to 0.3.0 |
 * | 2 | later ones |
 */
const GENERATION = 2;
const SEPARATOR = '/';

const inGeneration = (kind: JobKindName, generation: number): string =>
  generation === 1 ? kind : `${kind}${SEPARATOR}${generation}`;

/** Kind in the row of a job that this release submits. */
export const queuedKind = (kind: JobKindName): string => inGeneration(kind, GENERATION);

/** Kinds in rows that this release claims: its own and those of earlier releases. */
export const CLAIMED_KINDS: readonly string[] = Array.from({ length: GENERATION }, (_, i) =>
  JOB_KINDS.map((kind) => inGeneration(kind, i + 1)),
).flat();

/** SQL expression for the kind of a job in a row of any release. */
export const kindOfRow = `split_part(kind, '${SEPARATOR}', 1)`;
