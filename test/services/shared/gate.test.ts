import { expect, test } from 'vitest';
import { createGate } from '#services/shared/gate.js';

/** A piece of work that ends when the test says so. */
function errand() {
  let end!: (value: string) => void;
  let fail!: (reason: Error) => void;
  let isStarted = false;
  const done = new Promise<string>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { end, fail, hasStarted: () => isStarted, work: () => ((isStarted = true), done) };
}

test('two run, two wait, the fifth is told both numbers; whoever ends or fails hands its place to the first in line', async () => {
  const gate = createGate({ name: 'imports', runningMax: 2, waitingMax: 2 });
  const errands = Array.from({ length: 4 }, errand);
  const answers = errands.map(({ work }) => gate(work));
  expect(errands.map(({ hasStarted }) => hasStarted())).toEqual([true, true, false, false]);
  await expect(gate(async () => 'fifth')).rejects.toMatchObject({
    code: 'OVERLOADED',
    message: 'Queue full: 2 imports waiting (limit 2).',
  });
  errands[1]!.fail(new Error('broken'));
  await expect(answers[1]).rejects.toThrow('broken');
  expect(errands.map(({ hasStarted }) => hasStarted())).toEqual([true, true, true, false]);
  for (const { end } of errands) end('done');
  expect(await Promise.all([answers[0], answers[2], answers[3]])).toEqual(['done', 'done', 'done']);
  expect(await gate(async () => 'later')).toBe('later');
});
