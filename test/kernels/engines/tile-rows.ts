import { readFileSync } from 'node:fs';
import { createArena, createKernelImports, type KernelExports } from '#kernels/engines/wasm-instance.js';

/** Computes X'X as a whole and in ranges of tile rows. It calls the exports of the WebAssembly module directly. */
export function instantiateForTest(
  x: Float64Array,
  columns: number,
  cuts: readonly number[],
): readonly [Float64Array, Float64Array] {
  const arena = createArena();
  const bytes = readFileSync(new URL('../../../kernels/wasm/kernels.wasm', import.meta.url));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), createKernelImports(arena.memory));
  const kernels = instance.exports as KernelExports; // built from kernels/wasm/index.ts
  const rows = x.length / columns;
  const px = arena.reserve(x.byteLength);
  arena.view(px, x.length).set(x);
  const results = [[0, kernels.symmetricRankKTileRows(columns)], cuts].map((edges) => {
    const address = arena.reserve(columns * columns * 8);
    const out = arena.view(address, columns * columns).fill(Number.NaN); // uninitialised memory may contain any values
    const scratch = arena.reserve(kernels.symmetricRankKScratch(rows, columns));
    for (let k = 1; k < edges.length; k++)
      kernels.symmetricRankK(px, rows, columns, address, edges[k - 1]!, edges[k]!, scratch);
    return out;
  });
  return [results[0]!, results[1]!];
}
