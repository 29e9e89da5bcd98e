import { expect } from 'vitest';
import type { ListeningProcess } from '../process.js';
import type { RunningCluster } from './running-cluster.js';

/** A job that is divided into parts, the node that runs it, and the node that has claimed parts. */
export interface HeldParts {
  readonly jobId: string;
  /** Node that runs the job itself. */
  readonly own: string;
  /** Other node, which has claimed parts of the job. */
  readonly other: string;
}

interface HeldJob {
  readonly workerAt: (node: string) => ListeningProcess;
  /** Submits the job and returns its id. */
  start(): Promise<string>;
}

/**
 * Starts a job and lets another node claim parts. This node cannot write the outputs of the parts. The node of the job
 * is stopped while its offer of parts waits for a table lock, and the lock is then released. So the parts exist and
 * none is computed, however slow the machine is.
 */
export async function startHeldParts(cluster: RunningCluster, { workerAt, start }: HeldJob): Promise<HeldParts> {
  const listHolders = async (): Promise<readonly string[]> =>
    (await cluster.query<{ node: string }>('SELECT DISTINCT node FROM divisor.parts WHERE node IS NOT NULL')).map(
      ({ node }) => node,
    );

  /** Returns the offers of parts that wait for the table lock. */
  async function listOffers() {
    await cluster.query('SELECT pg_stat_clear_snapshot()'); // otherwise a transaction keeps its first snapshot of the statistics
    return cluster.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE '%INSERT INTO%parts%'`,
    );
  }

  cluster.s3.isHeld = true;
  await cluster.query('BEGIN');
  await cluster.query('LOCK TABLE divisor.parts IN EXCLUSIVE MODE');
  const jobId = await start();
  const { node: ownNode } = await cluster.until(jobId, ({ status }) => status === 'running');
  await expect.poll(listOffers, { interval: 20 }).toHaveLength(1);
  workerAt(ownNode!).child.kill('SIGSTOP');
  await cluster.query('COMMIT');
  await expect.poll(listHolders, { interval: 20 }).toHaveLength(1);
  workerAt(ownNode!).child.kill('SIGCONT');
  return { jobId, own: ownNode!, other: (await listHolders())[0]! };
}
