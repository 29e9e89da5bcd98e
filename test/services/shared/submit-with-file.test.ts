import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import type { JobKind, Submission } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { submitWithFile } from '#services/shared/jobs.js';
import type { ArtifactRef, DocumentLookup } from '#store/port.js';
import { createTestContext } from '../context.js';

interface Payload {
  readonly runs: { readonly file: ArtifactRef; readonly count: number };
}

const createRuns = (name: string, sha256: string): Payload['runs'] => ({ file: { name, bytes: 3, sha256 }, count: 1 });

/** Submits runs. @param stored payload of the job after the submission; undefined if the job has ended */
async function submitRuns(runs: Payload['runs'], stored: Payload | undefined, failure?: Refusal) {
  const submitted: Submission<Payload>[] = [];
  const removed: string[] = [];
  const outcome = await submitWithFile<Payload, Payload['runs']>(
    createTestContext({
      documents: {
        get: async () =>
          stored === undefined ? undefined : ({ body: { payload: stored } } as unknown as DocumentLookup),
      },
      jobs: {
        submit: async (submission) => {
          submitted.push(submission as unknown as Submission<Payload>);
          if (failure !== undefined) throw failure;
          return { job_id: 'study:A' } as JobStatus;
        },
      },
      artifacts: { remove: async (names) => void removed.push(...names) },
    }),
    {
      kind: { kind: 'study', decode: (payload) => payload } as JobKind<Payload>,
      input: runs,
      createPayload: (input) => ({ runs: input }),
      select: (payload) => payload.runs,
      request: {},
      estimatedBytes: 1,
    },
  ).catch((refusal: unknown) => refusal);
  return { outcome, removed, compared: submitted[0]!.compared };
}

test('two files with equal content are one input, whatever their names', async () => {
  const [one, same, other] = [createRuns('f1', 'x'), createRuns('f2', 'x'), createRuns('f3', 'y')];
  const compared = (runs: Payload['runs']) => submitRuns(runs, { runs }).then((result) => result.compared);
  expect(await compared(same)).toEqual(await compared(one));
  expect(await compared(other)).not.toEqual(await compared(one));
});

test('the file of a job is kept, and any other is removed', async () => {
  const runs = createRuns('f2', 'x');
  expect((await submitRuns(runs, { runs })).removed).toEqual([]);
  expect((await submitRuns(runs, { runs: createRuns('f1', 'x') })).removed).toEqual(['f2']); // the live job has f1
  expect((await submitRuns(runs, undefined)).removed).toEqual(['f2']); // that job has ended meanwhile
  const refusal = new Refusal('OVERLOADED', 'The queue is full.');
  expect(await submitRuns(runs, undefined, refusal)).toMatchObject({ outcome: refusal, removed: ['f2'] });
});
