import { execFileSync } from 'node:child_process';

/** Processes that a process has started and that live. */
export function childrenOf(pid: number): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  return rows
    .filter(([, parent, state, ...args]) => Number(parent) === pid && !state!.startsWith('Z') && args[0] !== 'ps')
    .map(([id]) => Number(id));
}

/** Processes of market tasks that a process has working or waiting: children of the one that starts them. */
export function readersOf(pid: number): number[] {
  return childrenOf(pid).flatMap(childrenOf);
}
