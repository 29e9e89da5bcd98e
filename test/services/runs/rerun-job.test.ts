import { expect, test } from 'vitest';
import type { RunDocument } from '#domain/definition/runs.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Attempt } from '#jobs/port/job-kind.js';
import type { PartOutput } from '#jobs/port/queue.js';
import type { Parts } from '#jobs/port/parts.js';
import { createRerunJob } from '#services/runs/backtests.js';
import { findRun, readRunList } from '#services/shared/run-documents.js';
import { openDocumentStore } from '#store/lmdb/document-store.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { createTestContext } from '../context.js';

const IDS = Array.from({ length: 20 }, (_, i) => `I${i}`);
const PAYLOAD = { rerun_id: 'r', ids: IDS, reach: null, engine_version: '1' };
const formatHex = (n: number) => `${n.toString(16).padStart(32, '0')}.art`;
const createRefTo = (name: string) => ({ name, bytes: 1, sha256: 'ab'.repeat(32) });

/** Creates a job that runs stale indices again. Their runs are documents with one file each. */
async function createWorld(findRefusal: (id: string) => Refusal | undefined = () => undefined) {
  const documents = await openDocumentStore({ folder: await createTemporaryFolder() });
  const writtenFiles = new Map<string, Uint8Array>();
  const droppedNames: string[] = [];
  const files = { made: 0, outputs: 0xf000 };
  const summedParts: { readonly parts: readonly number[] }[] = [];
  const runOf = (id: string): RunDocument => ({
    run_id: id,
    index_id: id,
    name: id,
    run_at: null,
    start: '2024-01-02',
    end: '2024-01-03',
    run_hash: 'h',
    store_content_hash: 'c',
    extended_from: null,
    full_run_reason: null,
    engine_version: '1',
    request: {},
    artifacts: { columns: createRefTo(formatHex(++files.made)) },
  });
  const context = createTestContext({
    documents,
    artifacts: { read: async ({ name }) => writtenFiles.get(name)! },
    markets: { settled: async () => {} },
    workers: 1,
  });
  const kind = createRerunJob(context, {
    runnables: {
      onStoredTerms: async () => ({}) as never,
      currentRun: async () => undefined,
      async planRunnable(id) {
        const refusal = findRefusal(id);
        if (refusal !== undefined) throw refusal;
        return { plan: { runId: id }, version: 1, dataVersion: {} } as never;
      },
    },
    runMaker: { make: async ({ plan }) => runOf(plan.runId) },
    runsKept: 3,
  });
  const createAttempt = (inParts: Attempt['inParts']) =>
    ({
      inParts,
      compute: async (_: string, { files: all }: { files: typeof summedParts }) => {
        summedParts.push(...all);
        return {
          view: createRefTo(formatHex(0xffff)),
          rows: { artifact: createRefTo(formatHex(0xfffe)), count: 0, blocks: [] },
        };
      },
      outputs: () => ({}),
      drop: async (names: readonly string[]) => void droppedNames.push(...names),
      async write(bytes: Uint8Array) {
        const ref = createRefTo(formatHex(++files.outputs));
        writtenFiles.set(ref.name, bytes);
        return ref;
      },
    }) as unknown as Attempt;
  await documents.transaction(async (tx) => {
    for (const id of IDS) await tx.put('index', id, {});
  });
  return { documents, kind, attempt: createAttempt, dropped: droppedNames, files, summed: summedParts };
}

/** Computes parts on two nodes. Both nodes compute the first part. The node of the job receives both outputs. */
const computeOnTwoNodes = (computeOtherParts: () => Promise<PartOutput>) => async (parts: Parts) => {
  const otherOutput = { ...(await computeOtherParts()), parts: [0, 2] };
  const ownOutputs = (await Promise.all([0, 1].map((part) => parts.here(part, 0)))) as PartOutput[];
  return [otherOutput, ...ownOutputs.map((output, part) => ({ ...output, parts: [part] }))];
};

test('a part that two nodes computed counts once, and the files of the other are deleted', async () => {
  const { documents, kind, attempt, dropped, files, summed } = await createWorld();
  const other = attempt(() => Promise.reject(new Error('it computes some parts')));
  const runTheirParts = async () => (await kind.runParts!(PAYLOAD, [0, 2], other)).result as PartOutput;
  const { effect } = await kind.run(PAYLOAD, attempt(computeOnTwoNodes(runTheirParts)));
  await documents.transaction(async (tx) => void (await effect!(tx)));
  const runs = await Promise.all(IDS.map((id) => findRun(documents, id)));
  expect(runs.every((run) => run !== undefined)).toBe(true);
  const storedNames = runs.map((run) => run!.artifacts.columns.name);
  // 20 indices, and the eight indices of the first part a second time
  expect(files.made).toBe(28);
  expect(new Set([...storedNames, ...dropped]).size).toBe(28);
  expect(dropped).toHaveLength(8);
  expect(summed.map(({ parts }) => parts)).toEqual([[0, 2], [0], [1]]);
  for (const id of IDS) expect((await readRunList(documents, id)).earlier).toEqual([]);
  await documents.close();
});

test('an attempt after a recorded end has no second effect', async () => {
  const { documents, kind, attempt } = await createWorld();
  const singleOutput = attempt(async (parts) =>
    Promise.all([0, 1, 2].map(async (part) => ({ ...((await parts.here(part, 0)) as PartOutput), parts: [part] }))),
  );
  const [first, second] = [await kind.run(PAYLOAD, singleOutput), await kind.run(PAYLOAD, singleOutput)];
  await documents.transaction(async (tx) => void (await first.effect!(tx)));
  const newest = await findRun(documents, 'I7');
  await documents.transaction(async (tx) => void (await second.effect!(tx)));
  expect(await findRun(documents, 'I7')).toEqual(newest);
  await documents.close();
});

test('an index that cannot be run is refused, and the others run; a service that cannot run any ends the attempt', async () => {
  const goneRefusal = new Refusal('INDEX_NOT_FOUND', 'It is not there.');
  const { documents, kind, attempt } = await createWorld((id) => (id === 'I3' ? goneRefusal : undefined));
  const other = attempt(() => Promise.reject(new Error('it computes some parts')));
  const { result } = await kind.runParts!(PAYLOAD, [0], other);
  expect((result as PartOutput).files).toHaveLength(7);
  await documents.close();
  const awayWorld = await createWorld(() => new Refusal('STORE_UNAVAILABLE', 'It is unavailable.'));
  await expect(
    awayWorld.kind.runParts!(
      PAYLOAD,
      [0],
      awayWorld.attempt(async () => []),
    ),
  ).rejects.toThrow('It is unavailable.');
  await awayWorld.documents.close();
});
