import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { reportPanelMemory } from '#market/panels/market-transfer.js';

const MIB = 1 << 20;

test('unreferenced versions do not accumulate in memory', async ({ skip }) => {
  if (!existsSync('/proc/self/status')) skip('the system does not report the peak of a process');
  const version = { panels: 6, bytes: 16 * MIB };
  const child = fork(fileURLToPath(new URL('panels-in-turn.js', import.meta.url)), [
    '10',
    String(version.panels),
    String(version.bytes),
  ]);
  const [peak] = (await once(child, 'message')) as [number];
  await once(child, 'close');
  const wholeBytes = version.panels * version.bytes;
  expect(peak).toBeGreaterThan(wholeBytes);
  // Space for the new version, the previous version, and versions that are being collected. All ten versions would need
  // 960 MiB.
  expect(peak).toBeLessThan(4 * wholeBytes + 80 * MIB);
});

test('the recorded weight uses no memory, and is not recorded twice', () => {
  const panels = [new SharedArrayBuffer(64 * MIB)];
  const before = process.memoryUsage();
  for (let i = 0; i < 20; i++) reportPanelMemory(panels);
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThanOrEqual(64 * MIB + MIB);
  expect(after.rss - before.rss).toBeLessThan(32 * MIB);
  expect(() => reportPanelMemory([])).not.toThrow();
});
