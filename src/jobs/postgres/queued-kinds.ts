import { JOB_KINDS, type JobKindName } from '#domain/jobs/job-kinds.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/jobs/priority.js';
import type { Lane } from '../compute-pool.js';

/**
 * Generation of job kinds. Increase it when a node of the last release would fail a job of this release or compute
 * other values, because payloads, settings of documents or index mathematics changed. Such a node claims rows by their
 * kind, which contains the generation.
 *
 * - 1, not written: up to 0.3.0
 * - 2: 0.4.0
 * - 3: from 0.5.0, because plug-ins call functions of `rows`
 * - 4: from 0.7.0, because reviews of weights keep replacements, and phase-ins count reviews with an early reference date
 * - 5: from 0.8.0, because index shares and the divisor are state of an index
 */
const GENERATION = 5;
const SEPARATOR = '/';

const formatGeneration = (kind: JobKindName, generation: number): string =>
  generation === 1 ? kind : `${kind}${SEPARATOR}${generation}`;

/** Returns the kind that this release writes into the row of a job. */
export const formatKind = (kind: JobKindName): string => formatGeneration(kind, GENERATION);

/** Kinds in rows that this release claims: the kinds of this release and of earlier releases. */
export const CLAIMED_KINDS: readonly string[] = listClaimedKinds(JOB_KINDS);

/** Returns the claimed kinds without paused kinds. */
export const listStartedKinds = (isPaused: (kind: JobKindName) => boolean): readonly string[] =>
  JOB_KINDS.some(isPaused) ? listClaimedKinds(JOB_KINDS.filter((kind) => !isPaused(kind))) : CLAIMED_KINDS;

function listClaimedKinds(kinds: readonly JobKindName[]): readonly string[] {
  return Array.from({ length: GENERATION }, (_, i) => kinds.map((kind) => formatGeneration(kind, i + 1))).flat();
}

/** SQL expression for the kind of a job in a row of any release. */
export const ROW_KIND = `split_part(kind, '${SEPARATOR}', 1)`;

/**
 * Returns the lane in the row of a job. Each priority has a separate lane, in which owners take turns. Nodes of
 * releases without priorities take only rows of normal priority.
 */
export const formatLane = (lane: Lane, priority: JobPriority = 'normal'): string =>
  priority === 'normal' ? lane : `${lane}${SEPARATOR}${priority}`;

/** Returns the lanes in rows, in the order in which their jobs start. */
export const formatLanes = (lane: Lane): string[] => JOB_PRIORITIES.map((priority) => formatLane(lane, priority));

/** Returns the SQL expression for the lane of a row. @param column column with the lane */
export const formatRowLane = (column: string): string => `split_part(${column}, '${SEPARATOR}', 1)`;

/** Returns the SQL expression that sorts rows of several lanes by priority. @param column column with the lane */
export const formatPriorityOrder = (column: string): string =>
  `CASE split_part(${column}, '${SEPARATOR}', 2) WHEN 'high' THEN 0 WHEN 'low' THEN 2 ELSE 1 END`;
