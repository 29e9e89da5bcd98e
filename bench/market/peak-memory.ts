import { readFileSync } from 'node:fs';

/** Most memory this process has had in place so far, MiB. */
export function peakMegabytes(): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}
