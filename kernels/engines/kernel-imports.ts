import type { KernelExports } from './wasm-exports.js';

/**
 * Native kernels that the module calls for larger work. Addresses refer to the memory of the module; strides are in
 * bytes.
 */
export interface NativeImports extends Pick<
  KernelExports,
  'cholesky' | 'solveLower' | 'solveLowerTransposed' | 'symvRows'
> {
  product: KernelExports['gemm'];
  symmetricRankK(x: number, rows: number, columns: number, c: number, panels: number): void;
  packSlab(x: number, rows: number, columns: number, slab: number, panels: number): void;
  addSlabGroup(rows: number, columns: number, c: number, slab: number, group: number, panels: number): void;
}

const refuseCall = (): never => {
  throw new Error('a module without native kernels calls none');
};

const NO_NATIVE_KERNELS: NativeImports = {
  product: refuseCall,
  symmetricRankK: refuseCall,
  packSlab: refuseCall,
  addSlabGroup: refuseCall,
  cholesky: refuseCall,
  solveLower: refuseCall,
  solveLowerTransposed: refuseCall,
  symvRows: refuseCall,
};

/** Returns the imports of the kernel module: its memory, and native kernels if available. */
export function createKernelImports(
  memory: WebAssembly.Memory,
  native: NativeImports = NO_NATIVE_KERNELS,
): WebAssembly.Imports {
  return { env: { memory }, native };
}
