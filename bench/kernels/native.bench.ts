import { createArena, createKernelImports, type KernelExports } from '#kernels/engines/wasm-instance.js';
import { compileKernelModule } from '#kernels/engines/kernel-module.js';
import { listNativeSets, openNativeKernels } from '#kernels/engines/native-kernels.js';
import { formatTime, measureTasks } from '../measure.js';

/**
 * Compares the native kernels of each instruction set of this processor with WebAssembly kernels. Prints the median
 * processor time of each, its margin of error, and the ratio to WebAssembly. The results are bit-identical.
 */
const BYTES = 8;

const arena = createArena();
const plainInstance = new WebAssembly.Instance(compileKernelModule(), createKernelImports(arena.memory))
  .exports as KernelExports;
const sides: readonly (readonly [string, KernelExports])[] = [
  ['wasm', plainInstance],
  ...listNativeSets()
    .toReversed()
    .map((set) => [set, openNativeKernels(set).instantiate(compileKernelModule(), arena.memory)] as const),
];

for (const [rows, columns] of [
  [756, 500],
  [2520, 500],
  [1260, 2016],
  [756, 3000],
] as const) {
  const [x, c] = [fillArray(rows * columns), fillArray(columns * columns)];
  compare(`X'X, ${rows} x ${columns}`, (kernels) =>
    kernels.teamSymmetricRankK(x, rows, columns, c, arena.reserve(kernels.teamSymmetricRankKScratch(rows, columns))),
  );
}

for (const n of [32, 128, 1000]) {
  const [a, b, c] = [fillArray(n * n), fillArray(n * n), fillArray(n * n)];
  const row = n * BYTES;
  compare(`product, ${n} x ${n} x ${n}`, (kernels) =>
    kernels.gemm(n, n, n, a, row, BYTES, b, row, BYTES, c, row, 1, 0, arena.reserve(kernels.gemmScratch())),
  );
}

for (const n of [128, 500, 1000, 1334]) {
  const [a, work] = [fillArray(n * n), fillArray(n * n)];
  for (let i = 0; i < n; i++) arena.view(a, n * n)[i * (n + 1)] = n / 3;
  compare(`Cholesky, ${n}`, (kernels) => {
    arena.view(work, n * n).set(arena.view(a, n * n));
    kernels.cholesky(work, n, arena.reserve(kernels.choleskyScratch(n)));
  });
  const b = fillArray(n * 100);
  compare(`solve of 100 columns, ${n}`, (kernels) => {
    const scratch = arena.reserve(kernels.triangularSolveScratch());
    kernels.solveLower(work, n, b, 100, scratch);
    kernels.solveLowerTransposed(work, n, b, 100, scratch);
    arena.view(b, n * 100).fill(1);
  });
}

for (const n of [250, 600]) {
  const [a, values, vectors] = [fillArray(n * n), fillArray(n), fillArray(n * n)];
  const work = fillArray(n * n);
  compare(`eigenpairs, ${n}`, (kernels) => {
    arena.view(work, n * n).set(arena.view(a, n * n));
    arena.view(vectors, n * n).fill(0);
    kernels.symmetricEigen(work, n, n, values, vectors, arena.reserve(kernels.symmetricEigenScratch(n)));
  });
}

/** Reserves an array in the arena for the rest of the process and fills it with numbers. */
function fillArray(length: number): number {
  const address = arena.reserve(length * BYTES);
  const values = arena.view(address, length);
  for (let k = 0; k < length; k++) values[k] = ((k * 0.618033988749895) % 1) - 0.5;
  return address;
}

function compare(label: string, work: (kernels: KernelExports) => void): void {
  const mark = arena.mark();
  const tasks = sides.map(([name, kernels]) => {
    const run = (): void => {
      work(kernels);
      arena.release(mark);
    };
    return [name, run] as const;
  });
  const times = [...measureTasks(Object.fromEntries(tasks))];
  const [, { median: least }] = times[0]!;
  const cells = times.map(([name, time]) => `${name} ${formatTime(time)} (${(time.median / least).toFixed(2)})`);
  console.log(`${label.padEnd(28)} ${cells.join('   ')}`);
}
