import { expect, test } from 'vitest';
import { assertOrder, isReversed } from '#domain/base/schema.js';
import { Refusal } from '#domain/base/refusals.js';

const [EARLIER, LATER] = ['2024-01-02', '2024-01-03'];

function catchRefusal(...range: Parameters<typeof assertOrder>): unknown {
  try {
    assertOrder(...range);
  } catch (thrown) {
    return (thrown as Refusal).toDetail();
  }
  return null;
}

test('a range that begins after its end is refused with both dates, under the names of the request', () => {
  expect(catchRefusal({ start: LATER, end: EARLIER })).toMatchObject({
    code: 'INVALID_RANGE',
    message: 'start 2024-01-03 is after end 2024-01-02.',
    detail: { path: 'start', start: LATER, end: EARLIER },
  });
  expect(catchRefusal({ start: LATER, end: EARLIER }, ['from', 'to'])).toMatchObject({
    message: 'from 2024-01-03 is after to 2024-01-02.',
    detail: { path: 'from', from: LATER, to: EARLIER },
  });
});

test('a single day, a range in order and an open range are accepted', () => {
  for (const range of [
    { start: EARLIER, end: EARLIER },
    { start: EARLIER, end: LATER },
    { start: LATER },
    { end: null },
  ])
    expect(catchRefusal(range)).toBeNull();
});

test('an invalid day is neither before nor after another day', () => {
  expect(isReversed({ start: LATER, end: EARLIER })).toBe(true);
  for (const range of [
    { start: '2024-13-01', end: EARLIER },
    { start: LATER, end: '' },
    { start: LATER, end: 1 },
  ])
    expect(isReversed(range)).toBe(false);
});
