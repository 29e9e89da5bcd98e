/** How much of everything is to happen to a cluster. */
export interface FaultPlan {
  /** Writes and jobs that were acknowledged. */
  readonly acknowledged: number;
  readonly workerKills: number;
  readonly databaseKills: number;
  /** For longer than a lease. */
  readonly databaseOutages: number;
  readonly pauses: number;
  readonly partitions: number;
  readonly frontKills: number;
  readonly failovers: number;
  readonly objectStoreOutages: number;
}

const FULL: FaultPlan = {
  acknowledged: 10_000,
  workerKills: 50,
  databaseKills: 10,
  databaseOutages: 3,
  pauses: 10,
  partitions: 10,
  frontKills: 5,
  failovers: 1,
  objectStoreOutages: 1,
};
/** A twentieth lasts minutes, all of it an hour or two. */
const SHARE = 0.05;

/**
 * The plan of a run: `CLUSTER_SHARE=1` is all of it, and each number has a variable, such as
 * `CLUSTER_WORKER_KILLS=50`.
 */
export function faultPlan(environment: NodeJS.ProcessEnv): FaultPlan {
  const share = Number(environment['CLUSTER_SHARE'] ?? SHARE);
  const counts = Object.entries(FULL as unknown as Record<string, number>).map(([name, count]) => {
    const variable = `CLUSTER_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
    return [name, Number(environment[variable] ?? Math.max(1, Math.round(count * share)))];
  });
  return Object.fromEntries(counts) as FaultPlan; // It has the same keys.
}
