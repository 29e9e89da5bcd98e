import { expect, test } from 'vitest';
import { createGate, type Requester } from '#services/shared/gate.js';

/** Creates work for which the test decides when it ends. */
function createControlledWork() {
  let end!: (value: string) => void;
  let fail!: (reason: Error) => void;
  let isStarted = false;
  const completion = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { end, fail, hasStarted: () => isStarted, work: () => ((isStarted = true), completion) };
}

const IMPORTS = { name: 'imports', runningMax: 3, waitingMax: 4, clientRunningMax: 2, clientWaitingMax: 2 };
const createAsker = (client: string | null, signal = new AbortController().signal): Requester => ({ client, signal });
const anonymous = createAsker(null);

test('two run, two wait, the fifth is refused with both numbers; each end or failure starts the first in the queue', async () => {
  const gate = createGate({ ...IMPORTS, runningMax: 2, waitingMax: 2 });
  const works = Array.from({ length: 4 }, createControlledWork);
  const answers = works.map(({ work }) => gate(work, anonymous));
  expect(works.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false]);
  await expect(gate(async () => 'fifth', anonymous)).rejects.toMatchObject({
    code: 'OVERLOADED',
    message: 'Queue full: 2 imports waiting (limit 2).',
  });
  works[1]!.fail(new Error('broken'));
  await expect(answers[1]).rejects.toThrow('broken');
  expect(works.map(({ hasStarted }) => hasStarted())).toEqual([true, true, true, false]);
  for (const { end } of works) end('done');
  expect(await Promise.all([answers[0], answers[2], answers[3]])).toEqual(['done', 'done', 'done']);
  expect(await gate(async () => 'later', anonymous)).toBe('later');
});

test('a client beyond its share waits although slots are free, and another client starts before it', async () => {
  const gate = createGate(IMPORTS);
  const greedy = Array.from({ length: 4 }, createControlledWork);
  const answers = greedy.map(({ work }) => gate(work, createAsker('greedy')));
  expect(greedy.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false]);
  await expect(gate(async () => 'fifth', createAsker('greedy'))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    detail: { waiting: 2, limit: 2 },
  });
  const [modest, second] = [createControlledWork(), createControlledWork()];
  const otherCalls = [modest, second].map(({ work }) => gate(work, createAsker('modest')));
  expect([modest.hasStarted(), second.hasStarted()]).toEqual([true, false]);
  modest.end('modest');
  await otherCalls[0];
  expect([second.hasStarted(), greedy[2]!.hasStarted()]).toEqual([true, false]);
  for (const { end } of [...greedy, second]) end('done');
  await Promise.all([...answers, otherCalls[1]]);
  expect(greedy.every(({ hasStarted }) => hasStarted())).toBe(true);
});

test('work whose client disconnects before its turn never starts, and its slot in the queue is free', async () => {
  const gate = createGate({ ...IMPORTS, runningMax: 1, waitingMax: 1 });
  const [firstWork, leftWork, nextWork] = [createControlledWork(), createControlledWork(), createControlledWork()];
  const runningCall = gate(firstWork.work, anonymous);
  const leavingController = new AbortController();
  const waitingCall = gate(leftWork.work, createAsker('a', leavingController.signal));
  leavingController.abort(new Error('left'));
  await expect(waitingCall).rejects.toThrow('left');
  const laterCall = gate(nextWork.work, createAsker('b'));
  firstWork.end('first');
  nextWork.end('next');
  expect([await runningCall, await laterCall, leftWork.hasStarted()]).toEqual(['first', 'next', false]);
  await expect(gate(leftWork.work, createAsker('a', leavingController.signal))).rejects.toThrow('left');
});
