import { readFileSync } from 'node:fs';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { reportPanelMemory } from '#market/panels/market-transfer.js';

/**
 * Script of a process that creates versions of panels one after the other. At most two versions are in memory at a
 * time. It reports its peak resident memory in bytes.
 */
const [versions, panels, bytes] = process.argv.slice(2).map(Number) as [number, number, number];
let heldPanels: SharedArrayBuffer[] = [];
for (let version = 0; version < versions; version++) {
  const next = Array.from({ length: panels }, () => new SharedArrayBuffer(bytes));
  reportPanelMemory(next);
  await setTimeout(20); // reading a real version takes longer
  for (const panel of next) {
    new Uint8Array(panel).fill(1);
    await setImmediate();
  }
  heldPanels = next;
}
if (heldPanels.length !== panels) throw new Error('the last version is held');
const peak = 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]);
process.send!(peak, () => process.disconnect()); // the test has forked this process
