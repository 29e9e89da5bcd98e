import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { KernelExports } from '#kernels/engines/wasm-exports.js';

/** Computes its tile rows of X'X on the shared memory whenever it is told to. */
export interface TileRowsTask {
  readonly memory: WebAssembly.Memory;
  readonly x: number;
  readonly rows: number;
  readonly columns: number;
  readonly out: number;
  readonly first: number;
  readonly last: number;
  readonly scratch: number;
}

const { memory, x, rows, columns, out, first, last, scratch } = workerData as TileRowsTask; // made by the bench alone
const module = new WebAssembly.Module(readFileSync(new URL('../../../kernels/wasm/kernels.wasm', import.meta.url)));
const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as KernelExports;
parentPort?.on('message', () => {
  kernels.symmetricRankK(x, rows, columns, out, first, last, scratch);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage('done');
});
