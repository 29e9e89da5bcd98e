import { expect, test } from 'vitest';
import { createHistory } from './history.js';

/** Opens a history with a clock that advances on every call. */
function openHistory() {
  let time = 1;
  const history = createHistory(() => time++);
  return { history, tick: () => time++ };
}

test('the last acknowledged value is consistent, an older one is not', () => {
  for (const [found, isExplained] of [
    ['b', true],
    ['a', false],
    [null, false],
    ['c', false],
  ] as const) {
    const { history, tick } = openHistory();
    for (const value of ['a', 'b']) history.begin('k', value).ackMs = tick();
    expect(history.settle('k', found) === undefined).toBe(isExplained);
  }
});

test('an unacknowledged write may or may not have happened', () => {
  for (const [value, isExplained] of [
    ['a', true],
    ['b', true],
    [null, false],
  ] as const) {
    const { history, tick } = openHistory();
    history.begin('k', 'a').ackMs = tick();
    history.begin('k', 'b');
    expect(history.settle('k', value) === undefined).toBe(isExplained);
  }
});

test('of overlapping writes either can be the last', () => {
  for (const value of ['a', 'b']) {
    const { history, tick } = openHistory();
    const a = history.begin('k', 'a');
    const b = history.begin('k', 'b');
    a.ackMs = tick();
    b.ackMs = tick();
    expect(history.settle('k', value)).toBeUndefined();
  }
});

test('a value that was found once must be found again', () => {
  const { history, tick } = openHistory();
  history.begin('k', 'a').ackMs = tick();
  history.settle('k', 'a');
  expect(history.settle('k', 'a')).toBeUndefined();
  expect(history.settle('k', null)).toContain('holds nothing');
  expect(history.acknowledged).toBe(1);
});
