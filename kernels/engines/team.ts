import { Worker } from 'node:worker_threads';
import type { Arena, KernelExports } from './wasm-instance.js';
import type { NativeKernels, NativeSet } from './native-kernels.js';

/** Start data of an additional thread: the memory, the compiled kernels, and the cells for its commands. */
export interface FollowerData {
  readonly memory: WebAssembly.Memory;
  readonly module: WebAssembly.Module;
  /** Instruction set of the native kernels; undefined without native kernels. */
  readonly set: NativeSet | undefined;
  /**
   * Cells for the state, the commands, scratch numbers, and the system's ids of both threads. They have separate memory,
   * because the layout of the kernel memory changes with every call.
   */
  readonly cells: Int32Array;
  /** Time without a call after which the follower ends, in milliseconds. */
  readonly idleMs: number;
}

/** Indices of the words in the cells. */
export const CELL = { state: 0, board: 1, scratch: 2, follower: 3, leader: 4 } as const;

/**
 * States of an additional thread. Only the leader changes `ready` to `chosen` and `chosen` to `called`. The additional
 * thread sets `ready`, and so does the leader when it releases a thread that it chose.
 */
export const STATE = { starting: 0, ready: 1, chosen: 2, called: 3, gone: 4 } as const;

/** Idle time after which a follower ends; long enough to keep it through a series of jobs. */
const IDLE_MS = 10_000;

/**
 * Maximum time to wait for a follower to start. Start takes tens of milliseconds; on a busier machine a follower would
 * not help either.
 */
const FOLLOWER_START_MS = 1_000;

/** Maximum time from the end of a call until a follower waits for the next call. */
const RETURN_MS = 5;

/** Maximum size of an arena that waiting followers may keep in memory. They are dismissed if the arena is larger. */
const RETAINED_ARENA_BYTES_MAX = 128 * 2 ** 20;

export interface TeamOptions {
  readonly arena: Arena;
  readonly module: WebAssembly.Module;
  readonly kernels: KernelExports;
  /** Native kernels of the leader. Default: none. */
  readonly native?: Pick<NativeKernels, 'set' | 'threads'> | undefined;
}

/**
 * Team of additional threads that process parts of the products of a kernel (`wasm/team`). The parts are equal for any
 * number of threads, so results are bit-identical.
 */
export interface Team {
  /**
   * Runs a large kernel with `count` threads, including this one. Uses only this thread if not all of these threads are
   * ready in time.
   * @cost 20 to 40 ms and 10 MB to start each missing thread
   */
  gather<T>(count: number, work: () => T): T;
  /**
   * Runs a smaller kernel with the threads that are ready, without waiting for others. Frequent calls start more
   * threads.
   */
  present<T>(count: number, work: () => T): T;
}

export function createTeam({ arena, module, kernels, native }: TeamOptions): Team {
  let followers: Int32Array[] = [];
  let request = Number.NEGATIVE_INFINITY;

  function startMissing(count: number): void {
    while (followers.length < count)
      followers.push(start({ memory: arena.memory, module, set: native?.set }, native?.threads.getId()));
  }

  function runWithFollowers<T>(chosenFollowers: readonly Int32Array[], work: () => T): T {
    const mark = arena.mark();
    const boardBytes = kernels.teamBoardBytes();
    const board = arena.reserve(boardBytes);
    const scratches = chosenFollowers.map(() => arena.reserve(kernels.gemmScratch()));
    new Uint8Array(arena.memory.buffer, board, boardBytes).fill(0);
    kernels.leadTeam(board, chosenFollowers.length);
    chosenFollowers.forEach((cells, k) => {
      Atomics.store(cells, CELL.board, board);
      Atomics.store(cells, CELL.scratch, scratches[k]!);
      native?.threads.wakeElsewhere(Atomics.load(cells, CELL.follower));
      setState(cells, STATE.called);
    });
    try {
      return work();
    } finally {
      kernels.endTeam();
      arena.release(mark);
    }
  }

  function run<T>(chosenFollowers: readonly Int32Array[], work: () => T): T {
    try {
      return chosenFollowers.length === 0 ? work() : runWithFollowers(chosenFollowers, work);
    } finally {
      if (arena.bytes() > RETAINED_ARENA_BYTES_MAX) {
        followers.forEach(dismiss);
        followers = [];
      }
    }
  }

  const removeEnded = (): void =>
    void (followers = followers.filter((cells) => Atomics.load(cells, CELL.state) !== STATE.gone));

  return {
    gather(count, work) {
      removeEnded();
      startMissing(count - 1);
      const deadline = performance.now() + FOLLOWER_START_MS;
      const chosenFollowers = followers.slice(0, count - 1).filter((cells) => isChosen(cells, deadline));
      if (chosenFollowers.length === count - 1) return run(chosenFollowers, work);
      chosenFollowers.forEach(release);
      return run([], work);
    },
    present(count, work) {
      removeEnded();
      const nowMs = performance.now();
      if (nowMs - request < IDLE_MS) startMissing(count - 1);
      request = nowMs;
      const readyFollowers = followers
        .slice(0, count - 1)
        .filter((cells) => Atomics.load(cells, CELL.state) !== STATE.starting);
      const activeFollowers = readyFollowers.filter((cells) => isChosen(cells, nowMs + RETURN_MS));
      return run(activeFollowers, work);
    },
  };
}

function start(place: Pick<FollowerData, 'memory' | 'module' | 'set'>, leader = 0): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(Object.keys(CELL).length * Int32Array.BYTES_PER_ELEMENT));
  const workerData: FollowerData = { ...place, cells, idleMs: IDLE_MS };
  Atomics.store(cells, CELL.leader, leader);
  const follower = new Worker(new URL('./team-thread.js', import.meta.url), { workerData, execArgv: [] });
  follower.unref();
  // Marks a thread that fails to start as gone, so that no call waits for it.
  follower.on('error', () => Atomics.store(cells, CELL.state, STATE.gone));
  return cells;
}

/** Waits until a follower is ready and assigns it to a call. @returns true if it was ready by the deadline */
function isChosen(cells: Int32Array, deadline: number): boolean {
  for (;;) {
    const state = Atomics.compareExchange(cells, CELL.state, STATE.ready, STATE.chosen);
    if (state === STATE.ready) return true;
    const remainingMs = deadline - performance.now();
    if (state === STATE.gone || remainingMs <= 0) return false;
    Atomics.wait(cells, CELL.state, state, remainingMs);
  }
}

/** Makes a follower wait for the next call. */
function release(cells: Int32Array): void {
  setState(cells, STATE.ready);
}

function dismiss(cells: Int32Array): void {
  setState(cells, STATE.gone);
}

function setState(cells: Int32Array, state: number): void {
  Atomics.store(cells, CELL.state, state);
  Atomics.notify(cells, CELL.state);
}
