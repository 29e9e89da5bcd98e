import { expect, test } from 'vitest';
import { handThreadsOn, openLaneThreads } from '#jobs/lane-threads.js';

const open = () =>
  openLaneThreads({
    lane: 'light',
    threads: 1,
    numerics: 'wasm',
    startsAhead: true,
    heapMegabytes: 257,
    onFault: () => {},
  });

test('idle threads serve the next pool of their kind once they are handed on, not before; those of a task end', async () => {
  handThreadsOn();
  const first = open();
  await first.close();
  const second = open();
  expect(second.piscina).not.toBe(first.piscina);
  handThreadsOn();
  const third = open();
  expect(third.piscina).toBe(first.piscina);
  for (const { running } of [second, third]) running[0] = 1;
  await Promise.all([second.close(), third.close()]);
  handThreadsOn();
  const fourth = open();
  expect([first.piscina, second.piscina]).not.toContain(fourth.piscina);
  fourth.running[0] = 1;
  await fourth.close();
});
