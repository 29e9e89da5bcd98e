/** Kernels of the host that the module calls for larger work, by addresses in its memory; strides are bytes. */
export interface NativeImports {
  product(
    m: number,
    k: number,
    n: number,
    a: number,
    aRow: number,
    aInner: number,
    b: number,
    bInner: number,
    bColumn: number,
    c: number,
    ldc: number,
    sign: number,
    upper: number,
    scratch: number,
  ): void;
  symmetricRankK(x: number, rows: number, columns: number, c: number, panels: number): void;
  packSlab(x: number, rows: number, columns: number, slab: number, panels: number): void;
  addSlabGroup(rows: number, columns: number, c: number, slab: number, group: number, panels: number): void;
  cholesky(a: number, n: number, scratch: number): number;
  solveLower(l: number, n: number, b: number, columns: number, scratch: number): void;
  solveLowerTransposed(l: number, n: number, b: number, columns: number, scratch: number): void;
}

const never = (): never => {
  throw new Error('a module without native kernels calls none');
};

const NONE: NativeImports = {
  product: never,
  symmetricRankK: never,
  packSlab: never,
  addSlabGroup: never,
  cholesky: never,
  solveLower: never,
  solveLowerTransposed: never,
};

/** Imports of the kernel module: its memory, and native kernels where there are any. */
export function kernelImports(memory: WebAssembly.Memory, native: NativeImports = NONE): WebAssembly.Imports {
  return { env: { memory }, native };
}
