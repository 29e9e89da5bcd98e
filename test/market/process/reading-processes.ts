import { execFileSync } from 'node:child_process';
import { prepareMarketProcess } from '#market/process/process-pool.js';

/** Processes that a process has started and that live. @param program part of their command line */
export function childrenOf(pid: number, program = ''): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  return rows
    .filter(
      ([, parent, state, ...args]) =>
        Number(parent) === pid && !state!.startsWith('Z') && args[0] !== 'ps' && args.join(' ').includes(program),
    )
    .map(([id]) => Number(id));
}

/** Makes what this process asks of its reading processes wait. @returns lets it go on */
export function pauseReaders(): () => void {
  prepareMarketProcess(); // unless one has worked before
  const signal = (name: NodeJS.Signals) =>
    childrenOf(process.pid, 'process-pool-main').forEach((pool) => process.kill(pool, name));
  signal('SIGSTOP');
  return () => signal('SIGCONT');
}

/** Processes of market tasks that a process has working or waiting: children of the one that starts them. */
export function readersOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => childrenOf(child));
}
