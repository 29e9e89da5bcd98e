import { expect } from 'vitest';
import type { Listening } from '../process.js';
import type { RunningCluster } from './running-cluster.js';

/** A job in parts, and the nodes that have it. */
export interface HeldParts {
  readonly jobId: string;
  /** Node of the job. */
  readonly own: string;
  /** Node that has taken parts. */
  readonly other: string;
}

interface HeldJob {
  readonly workerAt: (node: string) => Listening;
  /** Submits the job and returns its id. */
  start(): Promise<string>;
}

/**
 * A job of which another node has taken parts, whose outputs it cannot write. Its own is stopped while its offer waits for
 * the table, which is then let in: however slow this is, the parts are there and none is computed.
 */
export async function heldParts(cluster: RunningCluster, { workerAt, start }: HeldJob): Promise<HeldParts> {
  const holders = async (): Promise<readonly string[]> =>
    (await cluster.query<{ node: string }>('SELECT DISTINCT node FROM divisor.parts WHERE node IS NOT NULL')).map(
      ({ node }) => node,
    );

  /** Offers of parts that wait for the table. */
  async function offers() {
    await cluster.query('SELECT pg_stat_clear_snapshot()'); // A transaction sees one state of it otherwise.
    return cluster.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE '%INSERT INTO%parts%'`,
    );
  }

  cluster.s3.isHeld = true;
  await cluster.query('BEGIN');
  await cluster.query('LOCK TABLE divisor.parts IN EXCLUSIVE MODE');
  const jobId = await start();
  const { node: own } = await cluster.until(jobId, ({ status }) => status === 'running');
  await expect.poll(offers, { interval: 20 }).toHaveLength(1);
  workerAt(own!).child.kill('SIGSTOP');
  await cluster.query('COMMIT');
  await expect.poll(holders, { interval: 20 }).toHaveLength(1);
  workerAt(own!).child.kill('SIGCONT');
  return { jobId, own: own!, other: (await holders())[0]! };
}
