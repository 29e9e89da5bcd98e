import { execFileSync } from 'node:child_process';
import { prepareMarketProcess } from '#market/serve/market-process.js';

/** Returns running child processes of a process. @param program part of their command line */
export function listChildren(pid: number, program = ''): number[] {
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

/**
 * Pauses the requests of this process to the processes that read stores. @returns a function that resumes the requests
 */
export function pauseReaders(): () => void {
  prepareMarketProcess(); // starts the market process unless it is running already
  const signalChildren = (name: NodeJS.Signals) =>
    listChildren(process.pid, 'process-pool-main').forEach((pool) => process.kill(pool, name));
  signalChildren('SIGSTOP');
  return () => signalChildren('SIGCONT');
}

/**
 * Returns the processes for tasks of the market that a process uses or keeps waiting. Their parent is the process that
 * starts them.
 */
export function listReaders(pid: number): number[] {
  return listChildren(pid).flatMap((child) => listChildren(child));
}
