import { setImmediate as awaitTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runForClient, workInTurns } from '#store/reach.js';

/** Longer than the time of a turn, so that each item takes a separate turn. */
const ITEM_MS = 7;

function work(): void {
  const end = performance.now() + ITEM_MS;
  while (performance.now() < end);
}

test('short work is done before the call returns', () => {
  const done: number[] = [];
  const pending = workInTurns([1, 2, 3], (item) => void done.push(item));
  expect(done).toEqual([1, 2, 3]);
  return pending;
});

test('long work lets other work run between its items', async () => {
  await awaitTurn(); // the next items are then in the next turns
  const events: string[] = [];
  const pending = workInTurns(['a', 'b', 'c'], (item) => {
    work();
    events.push(item);
  });
  const watch = (async () => {
    while (events.filter((event) => event !== 'turn').length < 3) {
      await awaitTurn();
      events.push('turn');
    }
  })();
  await Promise.all([pending, watch]);
  const between = (first: string, last: string) => events.slice(events.indexOf(first) + 1, events.indexOf(last));
  expect(between('b', 'c')).toContain('turn');
});

test('long work of one client shares its turns, and does not delay short work of another', async () => {
  await awaitTurn();
  let turn = 0;
  const turnsOfItems: number[] = [];
  const pending = Array.from({ length: 5 }, () =>
    runForClient('busy', () =>
      workInTurns([1, 2], () => {
        work();
        turnsOfItems.push(turn);
      }),
    ),
  );
  let isOtherDone = false;
  const other = runForClient('other', () => workInTurns([1], () => void (isOtherDone = true)));
  expect(isOtherDone).toBe(true);
  while (turnsOfItems.length < 10) {
    await awaitTurn();
    turn++;
  }
  await Promise.all([...pending, other]);
  // One item in each turn. In the first one, a turn of the client and its next one may meet.
  expect(new Set(turnsOfItems).size).toBeGreaterThanOrEqual(9);
});

test('an error of an item is that of the call', async () => {
  const fail = () => {
    throw new Error('of the item');
  };
  await expect(workInTurns([1], fail)).rejects.toThrow('of the item');
});
