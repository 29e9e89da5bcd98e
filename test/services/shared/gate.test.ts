import { expect, test } from 'vitest';
import { createGate, type Requester } from '#services/shared/gate.js';

/** Creates work that ends when the test requests it. */
function createControlledWork() {
  let end!: (value: string) => void;
  let fail!: (reason: Error) => void;
  let isStarted = false;
  const done = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { end, fail, hasStarted: () => isStarted, work: () => ((isStarted = true), done) };
}

const IMPORTS = { name: 'imports', runningMax: 3, waitingMax: 4, clientRunningMax: 2, clientWaitingMax: 2 };
const createAsker = (client: string | null, signal = new AbortController().signal): Requester => ({ client, signal });
const anonymous = createAsker(null);

test('two run, two wait, the fifth is refused with both numbers; each end or failure starts the first in the queue', async () => {
  const gate = createGate({ ...IMPORTS, runningMax: 2, waitingMax: 2 });
  const errands = Array.from({ length: 4 }, createControlledWork);
  const answers = errands.map(({ work }) => gate(work, anonymous));
  expect(errands.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false]);
  await expect(gate(async () => 'fifth', anonymous)).rejects.toMatchObject({
    code: 'OVERLOADED',
    message: 'Queue full: 2 imports waiting (limit 2).',
  });
  errands[1]!.fail(new Error('broken'));
  await expect(answers[1]).rejects.toThrow('broken');
  expect(errands.map(({ hasStarted }) => hasStarted())).toEqual([true, true, true, false]);
  for (const { end } of errands) end('done');
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
  const others = [modest, second].map(({ work }) => gate(work, createAsker('modest')));
  expect([modest.hasStarted(), second.hasStarted()]).toEqual([true, false]);
  modest.end('modest');
  await others[0];
  expect([second.hasStarted(), greedy[2]!.hasStarted()]).toEqual([true, false]);
  for (const { end } of [...greedy, second]) end('done');
  await Promise.all([...answers, others[1]]);
  expect(greedy.every(({ hasStarted }) => hasStarted())).toBe(true);
});

test('work whose client disconnects before its turn never starts, and its slot in the queue is free', async () => {
  const gate = createGate({ ...IMPORTS, runningMax: 1, waitingMax: 1 });
  const [first, left, next] = [createControlledWork(), createControlledWork(), createControlledWork()];
  const running = gate(first.work, anonymous);
  const leaving = new AbortController();
  const waiting = gate(left.work, createAsker('a', leaving.signal));
  leaving.abort(new Error('left'));
  await expect(waiting).rejects.toThrow('left');
  const behind = gate(next.work, createAsker('b'));
  first.end('first');
  next.end('next');
  expect([await running, await behind, left.hasStarted()]).toEqual(['first', 'next', false]);
  await expect(gate(left.work, createAsker('a', leaving.signal))).rejects.toThrow('left');
});
