/** Number of faults of each kind, and amount of work, in a test of a cluster. */
export interface FaultPlan {
  /** Number of acknowledged writes and jobs. */
  readonly acknowledged: number;
  readonly workerKills: number;
  readonly databaseKills: number;
  /** Number of database outages that last longer than a lease. */
  readonly databaseOutages: number;
  readonly pauses: number;
  readonly partitions: number;
  readonly frontKills: number;
  readonly failovers: number;
  readonly objectStoreOutages: number;
}

const FULL_PLAN: FaultPlan = {
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
/** Share of the full plan by default. A twentieth takes minutes; the full plan takes one to two hours. */
const SHARE = 0.05;

/**
 * Returns the plan of a test. `CLUSTER_SHARE=1` selects the full plan. A variable such as `CLUSTER_WORKER_KILLS=50`
 * sets one number.
 */
export function createFaultPlan(environment: NodeJS.ProcessEnv): FaultPlan {
  const share = Number(environment['CLUSTER_SHARE'] ?? SHARE);
  const counts = Object.entries(FULL_PLAN as unknown as Record<string, number>).map(([name, count]) => {
    const variable = `CLUSTER_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
    return [name, Number(environment[variable] ?? Math.max(1, Math.round(count * share)))];
  });
  return Object.fromEntries(counts) as FaultPlan; // the entries have the keys of FaultPlan
}
