import { readFileSync } from 'node:fs';
import { listProcesses } from '../measure.js';

/**
 * Samples the memory of a process and its descendants, each page once, until a message arrives. Then it sends the highest
 * sum in MiB. Argument: process id.
 */
const SAMPLE_PAUSE_MS = 2000;
const root = Number(process.argv[2]);

let highest = 0;
function sample(): void {
  const bytes = listProcesses(root).reduce((sum, pid) => sum + readProportional(pid), 0);
  highest = Math.max(highest, bytes);
}
sample();
const timer = setInterval(sample, SAMPLE_PAUSE_MS);
process.once('message', () => {
  clearInterval(timer);
  process.send!(Math.round(highest / 1024), () => process.disconnect());
});

/** Returns the proportional memory of a process in KiB. */
function readProportional(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // the process has ended
  }
}
