import { describe, expect, test } from 'vitest';
import { createGate, Postponed, type Requester } from '#services/shared/gate.js';

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

describe('turns', () => {
  const TURNS = { ...IMPORTS, waitingMax: 10, clientWaitingMax: 10, keptPlaces: 1, turnMs: 40 };
  type Work = ReturnType<typeof createControlledWork>;

  /** Starts work that records its pauses. */
  function start(gate: ReturnType<typeof createGate>, client: string) {
    const controlled: Work = createControlledWork();
    const turns: boolean[] = [];
    const answer = gate(({ follow }) => {
      follow((isRunning) => turns.push(isRunning));
      return controlled.work();
    }, createAsker(client));
    return { ...controlled, turns, answer };
  }

  test('one place is kept for clients that run nothing', () => {
    const gate = createGate({ ...TURNS, clientRunningMax: 3 });
    const [first, second, third, other] = ['a', 'a', 'a', 'b'].map((client) => start(gate, client));
    expect([first, second, third, other].map((work) => work!.hasStarted())).toEqual([true, true, false, true]);
  });

  test('work beyond the first of its client pauses at once, and continues when there is a place', async () => {
    const gate = createGate(TURNS);
    const works = ['a', 'a', 'b'].map((client) => start(gate, client));
    const third = start(gate, 'c');
    await expect.poll(() => third.hasStarted()).toBe(true);
    expect(works.map(({ turns }) => turns)).toEqual([[false], [], []]);
    third.end('third');
    works[2]!.end('other');
    expect([await third.answer, await works[2]!.answer]).toEqual(['third', 'other']);
    expect(works[0]!.turns).toEqual([false, true]);
  });

  test('the only work of a client keeps its place for a turn, and the longest gives it back first', async () => {
    const gate = createGate(TURNS);
    const works = ['a', 'b', 'c', 'd'].map((client) => start(gate, client));
    expect(works.map((work) => work.hasStarted())).toEqual([true, true, true, false]);
    await expect.poll(() => works[3]!.hasStarted()).toBe(true);
    expect(works.map(({ turns }) => turns[0])).toEqual([false, undefined, undefined, undefined]);
    await expect.poll(() => works[0]!.turns).toEqual([false, true]); // the others give their places back in turn
    for (const { end } of works) end('done');
    expect(await Promise.all(works.map(({ answer }) => answer))).toEqual(['done', 'done', 'done', 'done']);
  });

  test('a client with its share of paused work begins no further work, and another task of a client with less does', async () => {
    const gate = createGate(TURNS);
    const works = ['a', 'a', 'b', 'c', 'd'].map((client) => start(gate, client));
    const further = start(gate, 'a');
    await expect.poll(() => works[0]!.turns.length + works[1]!.turns.length).toBeGreaterThanOrEqual(2); // both are paused once
    expect(further.hasStarted()).toBe(false);
    const second = start(gate, 'b');
    await expect.poll(() => second.hasStarted()).toBe(true); // when the first task of the client is paused
    expect(further.hasStarted()).toBe(false);
    for (const { end } of [...works, further, second]) end('done');
    await Promise.all([...works, further, second].map(({ answer }) => answer));
    expect(further.hasStarted()).toBe(true);
  });

  test('postponed work starts again, and keeps its place then', async () => {
    const gate = createGate({ ...TURNS, runningMax: 1, keptPlaces: 0 });
    let starts = 0;
    const again = createControlledWork();
    const answer = gate(() => {
      starts += 1;
      return starts === 1 ? Promise.reject(new Postponed('memory')) : again.work();
    }, createAsker('a'));
    await expect.poll(() => starts).toBe(2);
    const other = start(gate, 'b');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(other.hasStarted()).toBe(false);
    again.end('again');
    other.end('other');
    expect([await answer, await other.answer]).toEqual(['again', 'other']);
  });

  test('a client without space waits, until a review finds space', async () => {
    let hasSpace = false;
    const gate = createGate({ ...TURNS, mayBegin: (client) => client !== 'a' || hasSpace });
    const [full, other] = [start(gate, 'a'), start(gate, 'b')];
    expect([full.hasStarted(), other.hasStarted()]).toEqual([false, true]);
    hasSpace = true;
    gate.review();
    await expect.poll(() => full.hasStarted()).toBe(true);
    full.end('done');
    other.end('done');
    expect(await Promise.all([full.answer, other.answer])).toEqual(['done', 'done']);
  });
});
