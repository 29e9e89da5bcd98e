import { readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import type { KernelExports } from '#kernels/engines/wasm-exports.js';
import type { TileRows } from './share-tile-rows.js';

const { memory, x, rows, columns, out, first, last, scratch } = workerData as TileRows; // made by shareTileRows alone
const bytes = readFileSync(new URL('../../kernels/wasm/kernels.wasm', import.meta.url));
const kernels = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } }).exports as KernelExports;
kernels.symmetricRankK(x, rows, columns, out, first, last, scratch);
