import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createKernelImports, type KernelExports, type NativeImports } from './wasm-instance.js';

const require = createRequire(import.meta.url);

/**
 * Instruction sets, best first. Each entry contains the suffix of function names, the readable name, and the bit in the
 * result of `sets_here`.
 */
const INSTRUCTION_SETS = [
  { set: 'avx512', name: 'AVX-512', bit: 2 },
  { set: 'avx2', name: 'AVX2', bit: 1 },
  { set: 'neon', name: 'NEON', bit: 4 },
] as const;
export type NativeSet = (typeof INSTRUCTION_SETS)[number]['set'];

/** Minimum number of multiply-adds for which a native kernel is faster, including the cost of the call. */
const NATIVE_WORK_MIN = 8_192;

/** Native kernels, which work on any memory. Another thread can open the same kernels with the value of `set`. */
export interface NativeKernels {
  readonly set: NativeSet;
  /** Readable name of the instruction set. */
  readonly name: string;
  /**
   * Instantiates the kernel module with native kernels. The module calls a native kernel for at least `worth`
   * multiply-adds.
   */
  instantiate(module: WebAssembly.Module, memory: WebAssembly.Memory, worth?: number): KernelExports;
  readonly threads: ThreadPlacement;
}

/**
 * Placement of the threads of a team. Linux often wakes a follower on the processor of its leader although another one is
 * idle: on a virtual machine, an idle processor seems to be occupied by the host. Does nothing on other systems.
 */
export interface ThreadPlacement {
  /** Returns the system's id of the calling thread. */
  readonly getId: () => number;
  /** Makes the next wake-up of a sleeping thread choose a processor other than that of the calling thread. */
  readonly wakeElsewhere: (thread: number) => void;
  /** Permits the calling thread to run on all processors of another thread. */
  readonly runAnywhere: (thread: number) => void;
}

/**
 * Returns the instruction sets that the library and this processor support, best first. @throws Error if there is no
 * library
 */
export function listNativeSets(): readonly NativeSet[] {
  const readSetBits = openLibrary().func('int32_t sets_here()') as unknown as () => number; // The prototypes in C match the types.
  const bits = readSetBits();
  return INSTRUCTION_SETS.filter(({ bit }) => (bits & bit) !== 0).map(({ set }) => set);
}

/**
 * Opens the native kernels of an instruction set. Default: the best one that this processor supports.
 * @throws Error with the reason if no native kernels are available
 */
export function openNativeKernels(set: NativeSet | undefined = listNativeSets()[0]): NativeKernels {
  if (set === undefined) throw new Error('the processor has none of AVX2, AVX-512 and NEON');
  const functions = declareFunctions(set);
  return {
    set,
    name: INSTRUCTION_SETS.find((entry) => entry.set === set)!.name,
    threads: functions.threads,
    instantiate(module, memory, worth = NATIVE_WORK_MIN) {
      const base = functions.addressOf(new Uint8Array(memory.buffer)); // Shared memory grows in place, so its base address remains valid.
      const nativeImports = createImports(functions, base);
      const { exports } = new WebAssembly.Instance(module, createKernelImports(memory, nativeImports));
      const kernels = exports as unknown as KernelExports; // The module is built from kernels/wasm/index.ts, and `KernelExports` lists its exports.
      kernels.useNative(worth, functions.productScratch());
      return kernels;
    },
  };
}

/** Kernels as functions of the library. Addresses are absolute; strides are in doubles. */
interface LibraryFunctions extends NativeImports {
  readonly addressOf: (bytes: Uint8Array) => number;
  readonly productScratch: () => number;
  readonly threads: ThreadPlacement;
}

type Library = import('koffi').LibraryHandle;

let openedLibrary: Library | undefined;

function openLibrary(): Library {
  return (openedLibrary ??= loadLibrary());
}

/** Loads the library. @throws Error with the reason if there is no library */
function loadLibrary(): Library {
  const folder = new URL('../native/', import.meta.url);
  const manifestUrl = new URL('built.json', folder);
  if (!existsSync(manifestUrl)) throw new Error('the native kernels have not been built');
  const { library: file, why } = JSON.parse(readFileSync(manifestUrl, 'utf8')) as {
    library: string | null;
    why: string | null;
  }; // written by kernels/native/build.mjs
  const suffix = `-${process.platform}-${process.arch}.`;
  if (file === null) throw new Error(why ?? 'the native kernels have not been built');
  if (!file.includes(suffix)) throw new Error(`the native kernels were built for another platform: ${file}`);
  return loadKoffi().load(fileURLToPath(new URL(file, folder)));
}

function loadKoffi(): typeof import('koffi') {
  try {
    return require('koffi') as typeof import('koffi');
  } catch (cause) {
    throw new Error('the package koffi is not installed', { cause });
  }
}

const POINTER_TYPE = 'uintptr_t';
const STRIDE_TYPE = 'intptr_t';
const PRODUCT_TYPES = [
  'int',
  'int',
  'int',
  POINTER_TYPE,
  STRIDE_TYPE,
  STRIDE_TYPE,
  POINTER_TYPE,
  STRIDE_TYPE,
  STRIDE_TYPE,
  POINTER_TYPE,
  STRIDE_TYPE,
  'double',
  'int',
  POINTER_TYPE,
];

function declareFunctions(set: NativeSet): LibraryFunctions {
  const library = openLibrary();
  const declareKernel = <F>(name: string, result: string, parameters: readonly string[]): F =>
    library.func(name, result, [...parameters]) as unknown as F; // The prototypes in C match the types.
  const bindKernel = <F>(name: string, result: string, ...parameters: readonly string[]): F =>
    declareKernel(`${name}_${set}`, result, parameters);
  return {
    addressOf: declareKernel('address_of', POINTER_TYPE, ['void *']),
    productScratch: bindKernel('product_scratch', 'int64_t'),
    threads: {
      getId: declareKernel('thread_here', 'int32_t', []),
      wakeElsewhere: declareKernel('wake_elsewhere', 'void', ['int32_t']),
      runAnywhere: declareKernel('run_anywhere', 'void', ['int32_t']),
    },
    product: declareKernel(`product_${set}`, 'void', PRODUCT_TYPES),
    symmetricRankK: bindKernel('symmetric_rank_k', 'void', POINTER_TYPE, 'int', 'int', POINTER_TYPE, POINTER_TYPE),
    packSlab: bindKernel('pack_slab', 'void', POINTER_TYPE, 'int', 'int', 'int', POINTER_TYPE),
    addSlabGroup: bindKernel('add_slab_group', 'void', 'int', 'int', POINTER_TYPE, 'int', 'int', POINTER_TYPE),
    cholesky: bindKernel('cholesky', 'int', POINTER_TYPE, 'int', POINTER_TYPE),
    solveLower: bindKernel('solve_lower', 'void', POINTER_TYPE, 'int', POINTER_TYPE, 'int', POINTER_TYPE),
    solveLowerTransposed: bindKernel(
      'solve_lower_transposed',
      'void',
      POINTER_TYPE,
      'int',
      POINTER_TYPE,
      'int',
      POINTER_TYPE,
    ),
    symvRows: bindKernel(
      'symv_rows',
      'void',
      POINTER_TYPE,
      'int',
      STRIDE_TYPE,
      POINTER_TYPE,
      POINTER_TYPE,
      'int',
      'int',
    ),
  };
}

/** Size of a double in bytes. */
const BYTES = 8;

function createImports(libraryFunctions: LibraryFunctions, base: number): NativeImports {
  return {
    product(m, k, n, a, aRow, aInner, b, bInner, bColumn, c, ldc, sign, upper, scratch) {
      libraryFunctions.product(
        m,
        k,
        n,
        base + a,
        aRow / BYTES,
        aInner / BYTES,
        base + b,
        bInner / BYTES,
        bColumn / BYTES,
        base + c,
        ldc / BYTES,
        sign,
        upper,
        base + scratch,
      );
    },
    symmetricRankK: (x, rows, columns, c, panels) =>
      libraryFunctions.symmetricRankK(base + x, rows, columns, base + c, base + panels),
    packSlab: (x, rows, columns, slab, panels) =>
      libraryFunctions.packSlab(base + x, rows, columns, slab, base + panels),
    addSlabGroup: (rows, columns, c, slab, group, panels) =>
      libraryFunctions.addSlabGroup(rows, columns, base + c, slab, group, base + panels),
    cholesky: (a, n, scratch) => libraryFunctions.cholesky(base + a, n, base + scratch),
    solveLower: (l, n, b, columns, scratch) =>
      libraryFunctions.solveLower(base + l, n, base + b, columns, base + scratch),
    solveLowerTransposed: (l, n, b, columns, scratch) =>
      libraryFunctions.solveLowerTransposed(base + l, n, base + b, columns, base + scratch),
    symvRows: (a, n, ld, x, out, first, last) =>
      libraryFunctions.symvRows(base + a, n, ld / BYTES, base + x, base + out, first, last),
  };
}
