import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { raiseToPower } from '#kernels/power.js';

/** Returns bases and exponents of every magnitude: annual returns, trading prices, powers of ten, roots, signs. */
function listPairs(): (readonly [number, number])[] {
  let state = 1;
  const drawUniform = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: 20_000 }, () => [
    [1 + 0.5 * (drawUniform() - 0.5), 252 / (1 + Math.floor(drawUniform() * 9000))] as const,
    [drawUniform() * 1e6, [1.5, -1.5, 3, -2, 4][Math.floor(drawUniform() * 5)]!] as const,
    [10, Math.floor(600 * (drawUniform() - 0.5))] as const,
    [drawUniform() * 1e9, 40 * (drawUniform() - 0.5)] as const,
    [-drawUniform() * 5, Math.floor(20 * (drawUniform() - 0.5))] as const,
  ]).flat();
}

test('powers are bit-identical on every version of Node, to Math.pow of versions 20 and 22', () => {
  const result = Float64Array.from(listPairs(), ([x, y]) => raiseToPower(x, y));
  // SHA-256 of the results of Math.pow for these pairs on Node 20.20.2 and 22.23.3.
  expect(createHash('sha256').update(new Uint8Array(result.buffer)).digest('hex')).toBe(
    'd0d7a29027b45a1f3ca9584d4206f7e6f0ff28c04dac3f6196347b9a7994931e',
  );
});

test('powers differ from Math.pow by at most two units in the last place', () => {
  for (const [x, y] of listPairs()) {
    const expected = Math.pow(x, y);
    expect(Math.abs(raiseToPower(x, y) / expected - 1)).toBeLessThan(4 * Number.EPSILON);
  }
});

test('zeros, infinities, NaN, the smallest and the largest numbers have the powers that ECMAScript defines', () => {
  const bases = [0, -0, 1, -1, Infinity, -Infinity, NaN, 5e-324, 1e308, 2];
  const exponents = [0, -0, 1, -1, 0.5, -0.5, Infinity, -Infinity, NaN, 3, 1e300, -2, 1023, -1074];
  for (const x of bases) for (const y of exponents) expect([x, y, raiseToPower(x, y)]).toEqual([x, y, Math.pow(x, y)]);
});
