import { Worker } from 'node:worker_threads';
import type { Arena } from './arena.js';
import type { KernelExports } from './wasm-exports.js';

/** What a follower needs to know: the memory, the compiled kernels, and its place. */
export interface FollowerPlace {
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  readonly board: number;
  readonly scratch: number;
  /**
   * [followers that have come, the word of the leader]; not on the memory of the kernels, which is another's when the
   * last one comes late.
   */
  readonly muster: Int32Array;
}

/** What the leader says once it knows who has come. */
export const LEADER_WORD = { wait: 0, start: 1, goHome: 2 } as const;

/**
 * Followers are there within some tens of milliseconds; on a machine that is so busy that they are not, they would not
 * help either.
 */
const MUSTER_MS = 1_000;

export interface TeamOf {
  readonly arena: Arena;
  readonly module: WebAssembly.Module;
  readonly kernels: KernelExports;
  /** Threads, the calling one among them. */
  readonly count: number;
}

/**
 * Runs a kernel on this thread with others at its side; they come for this one call and leave after it. They take parts
 * of its products (`wasm/team`), which are cut the same way for any number of threads: so the bits are those of one. If
 * not all of them come it runs alone.
 *
 * @cost 20 to 40 ms to start the threads, 10 MB each.
 */
export function withTeam<T>({ arena, module, kernels, count }: TeamOf, work: () => T): T {
  const mark = arena.mark();
  const boardBytes = kernels.teamBoardBytes();
  const board = arena.reserve(boardBytes);
  const scratches = Array.from({ length: count - 1 }, () => arena.reserve(kernels.gemmScratch()));
  new Uint8Array(arena.memory.buffer, board, boardBytes).fill(0);
  const muster = new Int32Array(new SharedArrayBuffer(8));
  for (const scratch of scratches) start({ memory: arena.memory, module, board, scratch, muster });
  try {
    if (!haveCome(muster, count - 1)) {
      tell(muster, LEADER_WORD.goHome);
      return work();
    }
    tell(muster, LEADER_WORD.start);
    kernels.leadTeam(board, count - 1);
    try {
      return work();
    } finally {
      kernels.endTeam();
    }
  } finally {
    arena.release(mark);
  }
}

function start(workerData: FollowerPlace): void {
  const follower = new Worker(new URL('./team-thread.js', import.meta.url), { workerData, execArgv: [] });
  follower.unref();
  follower.on('error', () => {}); // One that fails to start never comes, which the leader notices.
}

function haveCome(cells: Int32Array, wanted: number): boolean {
  const deadline = performance.now() + MUSTER_MS;
  for (let come = 0; come < wanted; come = Atomics.load(cells, 0)) {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    Atomics.wait(cells, 0, come, left);
  }
  return true;
}

function tell(cells: Int32Array, word: number): void {
  Atomics.store(cells, 1, word);
  Atomics.notify(cells, 1);
}
