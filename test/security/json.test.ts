import { expect, test } from 'vitest';
import { parseJson, scanJson } from '#domain/base/json.js';
import { LIMITS } from '#domain/base/limits.js';

const formatNested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;

test.each([
  ['arrays', '[', ']'],
  ['objects', '{"a":', '}'],
  ['one in the other', '[{"a":', '}]'],
])(
  '%s are read to the depth of the limit and refused one level below, however deeply they are nested',
  (_name, open, close) => {
    const levels = open.length === 6 && close.length === 2 ? 2 : 1;
    const depthMax = LIMITS.MAX_JSON_DEPTH / levels;
    expect(scanJson(formatNested(open, close, depthMax)).fault).toBeUndefined();
    for (const depth of [depthMax + 1, 5000, 200_000])
      expect(scanJson(formatNested(open, close, depth)).fault?.reason).toMatch(/deep|nest|level/i);
  },
);

test('colliding keys take no longer than others', () => {
  const createBody = (key: (i: number) => number) =>
    Buffer.from(`{${Array.from({ length: 20_000 }, (_, i) => `"${key(i)}":0`).join(',')}}`);
  const cpuMs = (bytes: Buffer) => {
    const before = process.cpuUsage();
    parseJson(bytes);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const measureLeast = (bytes: Buffer) => Math.min(...Array.from({ length: 5 }, () => cpuMs(bytes)));
  // A degenerate hash table takes quadratic time. For this number of keys it would take seconds.
  for (const stride of [1, 65_536, 1 << 20, 4_294_967])
    expect(measureLeast(createBody((i) => i * stride))).toBeLessThan(250);
});

test('a text of one megabyte that only opens brackets is refused at once', () => {
  const before = process.cpuUsage();
  expect(scanJson('['.repeat(1_048_576)).fault).toBeDefined();
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(100);
});
