import { expect, test } from 'vitest';
import { type Attempt, createJobKind } from '#jobs/port/job-kind.js';

const doneOutcome = { result: { value: null } };
const ranKinds: string[] = [];
const attempt = { compute: async (task: string) => void ranKinds.push(task) } as unknown as Attempt;

test('a task with shared memory compiles only in kinds with sharedMemory', async () => {
  const tiedKind = createJobKind('diff', async (_, { compute }) => {
    await compute('total-return', {} as never);
    return doneOutcome;
  });
  const portable = createJobKind('optimise', async (_, { compute }) => {
    await compute('optimise', {} as never);
    // @ts-expect-error -- the catalogue does not tie optimisations to the memory of a process
    await compute('total-return', {} as never);
    return doneOutcome;
  });
  for (const kind of [tiedKind, portable]) await kind.run({} as never, attempt);
  expect(ranKinds).toEqual(['total-return', 'optimise', 'total-return']);
});

test('a kind takes its key and the reading of its payloads from the catalogue', () => {
  const { key, decode } = createJobKind('replay', async () => doneOutcome);
  const payload = { run_id: 'I', run_hash: 'h', engine_version: '1' };
  expect(decode(payload)).toEqual(payload);
  expect(decode({ run_id: 'I' })).toBeUndefined();
  expect(key(payload)).toBe('I');
});
