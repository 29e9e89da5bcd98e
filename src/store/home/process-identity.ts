import { readFileSync, readlinkSync } from 'node:fs';

/** A process as another one can recognise it, although numbers of processes are used again. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start in clock ticks since boot, where the system tells. */
  readonly started: string | null;
  /** Boot and process namespace in which `pid` and `started` mean something. */
  readonly world: string | null;
}

export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: startOf(process.pid), world: ownWorld() };
}

/**
 * Whether that process runs now: `unknown` where it cannot be determined from here (another container or machine,
 * a system without /proc whose number may have been used again).
 */
export function isAlive(identity: ProcessIdentity): boolean | 'unknown' {
  const world = ownWorld();
  if (world !== null && identity.world === world) return startOf(identity.pid) === identity.started;
  if (world === null && identity.world === null) return hasProcess(identity.pid) ? 'unknown' : false;
  return 'unknown';
}

/** States of a process that has ended and is only not reaped by its parent yet: zombie, dead. */
const ENDED: ReadonlySet<string | undefined> = new Set(['Z', 'X', 'x']);

/**
 * Field 22 of /proc/PID/stat, null of a process that has ended; the second field, the name, may hold spaces and
 * brackets.
 */
function startOf(pid: number): string | null {
  const stat = readOrNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return ENDED.has(fields[0]) ? null : (fields[19] ?? null);
}

function ownWorld(): string | null {
  const boot = readOrNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = readOrNull(() => readlinkSync('/proc/self/ns/pid'));
  return boot === null || namespace === null ? null : `${boot} ${namespace}`;
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null; // Absent outside Linux, or the process is gone: both are answers here.
  }
}
