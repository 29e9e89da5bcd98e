import { beforeAll, describe, expect, test } from 'vitest';
import type { RerunView, StoredRuns } from '#contract/runs.js';
import { IS_SOAK } from '../../../soak.js';
import { createS3Client } from '#store/s3/client.js';
import { MARKET } from '../../even-index.js';
import type { ListeningProcess } from '../../process.js';
import { startHeldParts } from '../paused-parts.js';
import { prepare, putIndices, type RunningCluster } from '../running-cluster.js';
import { waitUntil } from '../../../waiting.js';
import type { SharedWork } from './shared-work.js';

/** Ids of the indices. There are enough of them for more than one part per node. */
const IDS = Array.from({ length: IS_SOAK ? 80 : 20 }, (_, i) => `I${String(i).padStart(2, '0')}`);

export function describeReruns(work: SharedWork): void {
  describe('a rerun of stale indices on several workers', () => {
    let cluster: RunningCluster;
    let seed = 3;
    beforeAll(async () => {
      cluster = work.cluster();
      while (work.workers.length < 2) work.workers.push(await cluster.startWorker());
      await putIndices(cluster.frontEnd, IDS);
      await cluster.frontEnd.ask('POST', '/analytics/reruns', { rerun_id: 'first', ids: IDS });
      expect((await cluster.frontEnd.waitForJob('rerun:first')).result).toMatchObject({ stored: IDS.length });
    });

    const findWorker = (node: string): ListeningProcess => work.workers.find(({ home }) => node.endsWith(home))!;

    /** Starts a job that runs all indices again after a change of the data. Another node claims some of its parts. */
    async function startPausedRerun(name: string) {
      const before = (await cluster.nodes())[0]!.market;
      await prepare(cluster.frontEnd, [], { ...MARKET, store_id: `market${++seed}`, seed });
      // A worker cannot fetch a market while the object store is blocked, so each worker fetches it first.
      const isFetched = ({ market }: { readonly market: string | null }) => market !== null && market !== before;
      const isAlive = ({ node }: { readonly node: string }) => work.workers.some(({ home }) => node.endsWith(home));
      const areFetched = async () => (await cluster.nodes()).filter(isAlive).every(isFetched);
      await waitUntil(areFetched);
      return startHeldParts(cluster, {
        workerAt: findWorker,
        async start() {
          const { status, body } = await cluster.frontEnd.ask<{ job_id: string }>('POST', '/analytics/reruns', {
            rerun_id: name,
          });
          expect(status).toBe(202);
          return body.job_id;
        },
      });
    }

    const readRuns = async (id: string) =>
      (await cluster.frontEnd.ask<StoredRuns>('GET', `/analytics/${id}/runs`)).body.runs;

    /**
     * Checks that every index has one new run, that the run has the same files as a single backtest, and that no part
     * is left.
     */
    async function assertWhole(jobId: string, before: ReadonlyMap<string, readonly string[]>): Promise<void> {
      const { status, error, result } = await cluster.frontEnd.waitForJob(jobId);
      expect([status, error]).toEqual(['succeeded', null]);
      const { rows, ...counts } = result as RerunView;
      expect(counts).toMatchObject({ indices: IDS.length, stored: IDS.length, current: 0, refused: 0 });
      for (const { index_id: id, run_id: run } of rows) {
        const ids = (await readRuns(id)).map(({ run_id }) => run_id);
        expect(ids).toEqual([run, ...before.get(id)!]);
        expect((await readLevels(id)).status).toBe(200);
      }
      const [sharedLevels, sharedHash] = [(await readLevels(IDS[9]!)).body, (await readRuns(IDS[9]!))[0]!.run_hash];
      await cluster.frontEnd.ask('POST', `/analytics/${IDS[9]!}/backtest`);
      await cluster.frontEnd.waitForJob(`backtest:${IDS[9]!}`);
      expect([(await readLevels(IDS[9]!)).body, (await readRuns(IDS[9]!))[0]!.run_hash]).toEqual([
        sharedLevels,
        sharedHash,
      ]);
      expect(await cluster.query('SELECT FROM divisor.parts')).toHaveLength(0);
    }

    const readLevels = (id: string) => cluster.frontEnd.ask('GET', `/analytics/${id}/exports/levels?format=json`);

    /** Returns objects that no document references. */
    async function listUnreferenced(): Promise<string[]> {
      const namedObjects = new Set(
        (await cluster.query<{ name: string }>('SELECT DISTINCT unnest(artifacts) AS name FROM divisor.documents')).map(
          ({ name }) => name,
        ),
      );
      const objects: string[] = [];
      for await (const { name } of createS3Client(cluster.s3.access).list()) objects.push(name);
      return objects.filter((name) => name.endsWith('.art') && !name.startsWith('trash/') && !namedObjects.has(name));
    }

    async function readRunIdsBefore(): Promise<ReadonlyMap<string, readonly string[]>> {
      const ids = new Map<string, readonly string[]>();
      for (const id of IDS)
        ids.set(
          id,
          (await readRuns(id)).map(({ run_id: run }) => run),
        ); // one at a time, because the write queue is short
      return ids;
    }

    /** Kills a worker and starts another one after the object store accepts writes again. */
    async function kill(worker: ListeningProcess): Promise<void> {
      worker.child.kill('SIGKILL');
      await worker.ended;
      cluster.s3.isHeld = false;
      work.workers = [...work.workers.filter((each) => each !== worker), await cluster.startWorker()];
    }

    test('is divided among all of them, and stores each run once', async () => {
      const before = await readRunIdsBefore();
      const { jobId, own, other } = await startPausedRerun('all');
      expect(other).not.toBe(own);
      cluster.s3.isHeld = false;
      await assertWhole(jobId, before);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
      // The service removes files a minute after it has removed the last document that references them.
      if (IS_SOAK) await expect.poll(listUnreferenced).toEqual([]);
    });

    test.runIf(IS_SOAK)('continues after a worker is killed; its node computes the parts of that worker', async () => {
      const before = await readRunIdsBefore();
      const { jobId, other } = await startPausedRerun('helper');
      await kill(findWorker(other));
      await assertWhole(jobId, before);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 1, crashes: 0, losses: 0 });
    });

    test.runIf(IS_SOAK)('restarts when its own worker is killed, and stores each run once', async () => {
      const before = await readRunIdsBefore();
      const { jobId, own } = await startPausedRerun('own');
      await kill(findWorker(own));
      await assertWhole(jobId, before);
      expect(await cluster.row(jobId)).toMatchObject({ attempt: 2, crashes: 0, losses: 1 });
    });
  });
}
