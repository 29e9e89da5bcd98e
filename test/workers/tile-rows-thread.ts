import { readFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { createKernelImports, type KernelExports } from '#kernels/engines/wasm-instance.js';
import type { TileRows } from './share-tile-rows.js';

// The input always comes from shareTileRows.
const { memory, x, rows, columns, out, part, parts, scratch } = workerData as TileRows;
const bytes = readFileSync(new URL('../../kernels/wasm/kernels.wasm', import.meta.url));
const kernels = new WebAssembly.Instance(new WebAssembly.Module(bytes), createKernelImports(memory))
  .exports as KernelExports;
const tileRows = kernels.symmetricRankKTileRows(columns);
const cut = (share: number): number => Math.round(tileRows * (1 - Math.sqrt(1 - share)));
kernels.symmetricRankK(x, rows, columns, out, cut(part / parts), cut((part + 1) / parts), scratch);
