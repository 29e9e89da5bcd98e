import { execFileSync } from 'node:child_process';
import { prepareMarketProcess } from '#market/process/process-pool.js';

/** Returns running processes that a process has started. @param program part of their command line */
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

/** Pauses requests of this process to its reading processes. @returns a function that resumes them */
export function pauseReaders(): () => void {
  prepareMarketProcess(); // Unless one has worked before.
  const signal = (name: NodeJS.Signals) =>
    childrenOf(process.pid, 'process-pool-main').forEach((pool) => process.kill(pool, name));
  signal('SIGSTOP');
  return () => signal('SIGCONT');
}

/**
 * Returns the processes of market tasks that a process uses or keeps waiting: children of the process that starts them.
 */
export function readersOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => childrenOf(child));
}
