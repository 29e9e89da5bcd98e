import { expect, test } from 'vitest';
import { chooseRequestId } from '#http/app.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('the id of a client is kept if it is short visible ASCII; other requests get a new UUID each', () => {
  expect(chooseRequestId('order-7')).toBe('order-7');
  const ids = [null, '', 'a b', 'ü', 'x'.repeat(129)].map(chooseRequestId);
  for (const id of ids) expect(id).toMatch(UUID);
  expect(new Set(ids).size).toBe(ids.length);
});
