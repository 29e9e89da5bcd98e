import { workerData } from 'node:worker_threads';
import { createKernelImports, type KernelExports } from './wasm-instance.js';
import { openNativeKernels } from './native-kernels.js';
import { CELL, STATE, type FollowerData } from './team.js';

/** Thread of a team. It joins every call of the leader until it is idle for `idleMs` or is dismissed. */
const { memory, module, set, cells, idleMs } = workerData as FollowerData; // created by `createTeam` only
const native = set === undefined ? undefined : openNativeKernels(set);
const kernels =
  native?.instantiate(module, memory) ??
  (new WebAssembly.Instance(module, createKernelImports(memory)).exports as unknown as KernelExports);
if (native !== undefined) Atomics.store(cells, CELL.follower, native.threads.getId());
let state = waitForCall(STATE.starting);
while (state !== STATE.gone) {
  if (state === STATE.called) {
    native?.threads.runAnywhere(Atomics.load(cells, CELL.leader));
    kernels.followTeam(Atomics.load(cells, CELL.board), Atomics.load(cells, CELL.scratch));
    state = waitForCall(STATE.called);
  } else {
    const isIdle = Atomics.wait(cells, CELL.state, state, idleMs) === 'timed-out';
    if (isIdle) Atomics.compareExchange(cells, CELL.state, STATE.ready, STATE.gone);
    state = Atomics.load(cells, CELL.state);
  }
}

/** Waits for a call unless the team has dismissed the thread. @returns the next state */
function waitForCall(from: number): number {
  Atomics.compareExchange(cells, CELL.state, from, STATE.ready);
  Atomics.notify(cells, CELL.state);
  return Atomics.load(cells, CELL.state);
}
