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
  /** Which of so many parts, of about equal area. */
  readonly part: number;
  readonly parts: number;
  readonly scratch: number;
}

const { memory, x, rows, columns, out, part, parts, scratch } = workerData as TileRowsTask; // made by the bench alone
const module = new WebAssembly.Module(readFileSync(new URL('../../../kernels/wasm/kernels.wasm', import.meta.url)));
const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as KernelExports;
const tileRows = kernels.symmetricRankKTileRows(columns);
const cut = (share: number): number => Math.round(tileRows * (1 - Math.sqrt(1 - share)));
parentPort?.on('message', () => {
  kernels.symmetricRankK(x, rows, columns, out, cut(part / parts), cut((part + 1) / parts), scratch);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage('done');
});
