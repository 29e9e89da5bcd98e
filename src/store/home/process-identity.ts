import { readFileSync, readlinkSync } from 'node:fs';

/** Identity of a process. Other processes can verify it, although process ids are reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start of the process in clock ticks since boot; null if the system does not report it. */
  readonly started: string | null;
  /** Boot and process namespace to which `pid` and `started` belong. */
  readonly world: string | null;
}

export function readProcessIdentity(): ProcessIdentity {
  return { pid: process.pid, started: readStartTime(process.pid), world: findContainerId() };
}

/**
 * Returns true if the process is running. Returns `unknown` if this process cannot determine it. This happens if the
 * process is in another container or on another machine, or if a system without /proc may have reused the id.
 */
export function isAlive(identity: ProcessIdentity): boolean | 'unknown' {
  const containerId = findContainerId();
  if (containerId !== null && identity.world === containerId) return readStartTime(identity.pid) === identity.started;
  if (containerId === null && identity.world === null) return hasProcess(identity.pid) ? 'unknown' : false;
  return 'unknown';
}

/** States of a process that has ended but is still listed: zombie, dead. */
const ENDED_STATES: ReadonlySet<string | undefined> = new Set(['Z', 'X', 'x']);

/**
 * Reads field 22 of /proc/PID/stat. Returns null for a process that has ended. The second field, the process name, may
 * contain spaces and brackets.
 */
function readStartTime(pid: number): string | null {
  const stat = readOrNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return ENDED_STATES.has(fields[0]) ? null : (fields[19] ?? null);
}

function findContainerId(): string | null {
  const bootId = readOrNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = readOrNull(() => readlinkSync('/proc/self/ns/pid'));
  return bootId === null || namespace === null ? null : `${bootId} ${namespace}`;
}

export function hasProcess(pid: number): boolean {
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
    return null; // absent outside Linux, or after the end of the process
  }
}
