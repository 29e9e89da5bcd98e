import { workerData } from 'node:worker_threads';
import { LEADER_WORD, type FollowerPlace } from './team.js';
import type { KernelExports } from './wasm-exports.js';

/** A thread that follows the leader of a team until it is sent home. */
const { memory, module, board, scratch, muster } = workerData as FollowerPlace; // made by `withTeam` alone
const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelExports;
Atomics.add(muster, 0, 1);
Atomics.notify(muster, 0);
Atomics.wait(muster, 1, LEADER_WORD.wait);
if (Atomics.load(muster, 1) === LEADER_WORD.start) kernels.followTeam(board, scratch);
