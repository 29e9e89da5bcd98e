import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { newRequestId, requestIdOf } from '#http/request-id.js';

const UUID_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('every new id is another UUID', () => {
  const ids = Array.from({ length: 10_000 }, newRequestId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => UUID_8.test(id))).toBe(true);
});

test('processes draw different ids', () => {
  const module = JSON.stringify(new URL('../../src/http/request-id.js', import.meta.url).href);
  const code = `import(${module}).then(({ newRequestId }) => console.log(newRequestId()))`;
  const other = execFileSync(process.execPath, ['-e', code], { encoding: 'utf8' }).trim();
  expect(other).toMatch(UUID_8);
  expect(other.slice(0, 23)).not.toBe(newRequestId().slice(0, 23));
});

test('the id of a client is kept where it is short visible ASCII', () => {
  expect(requestIdOf('order-7')).toBe('order-7');
  for (const sent of [null, '', 'a b', 'ü', 'x'.repeat(129)]) expect(requestIdOf(sent)).toMatch(UUID_8);
});
