import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { createLaneQueue } from '#jobs/local/queue.js';

/** Removes all waiting jobs and returns them in order. */
function drain(queue: ReturnType<typeof createLaneQueue>): string[] {
  const order: string[] = [];
  for (let jobId = queue.shift(); jobId !== undefined; jobId = queue.shift()) order.push(jobId);
  return order;
}

test('jobs of one owner run in order of submission', () => {
  const queue = createLaneQueue();
  for (const jobId of ['a', 'b', 'c']) queue.push('', jobId);
  expect(drain(queue)).toEqual(['a', 'b', 'c']);
});

test('owners take turns, so that many jobs of one owner do not delay another owner', () => {
  const queue = createLaneQueue();
  for (const jobId of ['a1', 'a2', 'a3', 'a4']) queue.push('a', jobId);
  queue.push('b', 'b1');
  queue.push('b', 'b2');
  expect(drain(queue)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4']);
});

test('an owner at its limit is skipped and keeps its turn', () => {
  const queue = createLaneQueue();
  for (const [owner, jobId] of [
    ['a', 'a1'],
    ['b', 'b1'],
    ['b', 'b2'],
  ] as const)
    queue.push(owner, jobId);
  const isNotOwnedByA = (owner: string): boolean => owner !== 'a';
  expect([
    queue.peek(isNotOwnedByA),
    queue.shift(isNotOwnedByA),
    queue.countWaiting('b'),
    queue.countWaiting('c'),
  ]).toEqual(['b1', 'b1', 1, 0]);
  expect(queue.peek(() => false)).toBeUndefined();
  expect(drain(queue)).toEqual(['a1', 'b2']);
});

test('a returned job precedes the other jobs of its owner', () => {
  const queue = createLaneQueue();
  queue.push('a', 'second');
  queue.unshift('a', 'first');
  expect(drain(queue)).toEqual(['first', 'second']);
});

test('no job is lost, duplicated or miscounted', () => {
  const action = fc.record({
    verb: fc.constantFrom('push', 'unshift', 'shift', 'remove' as const),
    owner: fc.constantFrom('a', 'b', 'c'),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const queue = createLaneQueue();
      const waitingJobs = new Map<string, string>();
      for (const [i, { verb, owner, pick }] of actions.entries()) {
        if (verb === 'push' || verb === 'unshift') {
          queue[verb](owner, `job-${i}`);
          waitingJobs.set(`job-${i}`, owner);
        } else if (verb === 'shift') {
          const shownJob = queue.peek();
          const takenJob = queue.shift();
          expect(takenJob).toBe(shownJob);
          expect(takenJob === undefined).toBe(waitingJobs.size === 0);
          if (takenJob !== undefined) expect(waitingJobs.delete(takenJob)).toBe(true);
        } else {
          const [jobId, of] = [...waitingJobs][pick % Math.max(waitingJobs.size, 1)] ?? ['none', owner];
          expect(queue.remove(of, jobId)).toBe(waitingJobs.delete(jobId));
        }
        expect(queue.length).toBe(waitingJobs.size);
      }
      expect(drain(queue).sort()).toEqual([...waitingJobs.keys()].sort());
    }),
  );
});
