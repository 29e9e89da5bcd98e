import { JOB_KINDS, type JobKindName } from '#domain/jobs/job-kinds.js';
import { JOB_PRIORITIES, type JobPriority } from '#domain/jobs/priority.js';
import type { Lane } from '../compute-pool.js';

/**
 * Raise it when a node of the last release would fail a job of this one, or compute other values: payloads, settings of
 * documents or index mathematics changed. Such a node claims rows by their kind, and the number is part of that.
 *
 * | generation | releases |
 * | 1, not written | up to 0.3.0 |
 * | 2 | 0.4.0 |
 * | 3 | from 0.5.0: plug-ins call functions of `rows` |
 */
const GENERATION = 3;
const SEPARATOR = '/';

const inGeneration = (kind: JobKindName, generation: number): string =>
  generation === 1 ? kind : `${kind}${SEPARATOR}${generation}`;

/** Kind in the row of a job that this release submits. */
export const formatKind = (kind: JobKindName): string => inGeneration(kind, GENERATION);

/** Kinds in rows that this release claims: its own and those of earlier releases. */
export const CLAIMED_KINDS: readonly string[] = listClaimedKinds(JOB_KINDS);

/** Returns those kinds without paused ones. */
export const listStartedKinds = (isPaused: (kind: JobKindName) => boolean): readonly string[] =>
  JOB_KINDS.some(isPaused) ? listClaimedKinds(JOB_KINDS.filter((kind) => !isPaused(kind))) : CLAIMED_KINDS;

function listClaimedKinds(kinds: readonly JobKindName[]): readonly string[] {
  return Array.from({ length: GENERATION }, (_, i) => kinds.map((kind) => inGeneration(kind, i + 1))).flat();
}

/** SQL expression for the kind of a job in a row of any release. */
export const kindOfRow = `split_part(kind, '${SEPARATOR}', 1)`;

/**
 * Lane in the row of a job: each priority has its own line, in which owners take turns. Nodes of releases without
 * priorities claim those of normal priority.
 */
export const formatLane = (lane: Lane, priority: JobPriority = 'normal'): string =>
  priority === 'normal' ? lane : `${lane}${SEPARATOR}${priority}`;

/** Returns the lanes in rows, in the order in which their jobs start. */
export const formatLanes = (lane: Lane): string[] => JOB_PRIORITIES.map((priority) => formatLane(lane, priority));

/** SQL expression for the lane of a row. @param column its column */
export const laneOfRow = (column: string): string => `split_part(${column}, '${SEPARATOR}', 1)`;

/** SQL expression by which rows of several lanes are in the order of their priorities. @param column of the lane */
export const byPriority = (column: string): string =>
  `CASE split_part(${column}, '${SEPARATOR}', 2) WHEN 'high' THEN 0 WHEN 'low' THEN 2 ELSE 1 END`;
