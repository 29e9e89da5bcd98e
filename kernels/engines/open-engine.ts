import type { Engine, EngineName } from './engine.js';
import { openblasEngine } from './openblas.js';
import { referenceEngine } from './reference.js';
import { tensorflowEngine } from './tensorflow.js';
import { relaxedWasmEngine, wasmEngine } from './wasm.js';

/** What the setting `numerics` may say; `auto` takes OpenBLAS where there is one, else `wasm`. */
export type EngineSetting = EngineName | 'auto';

/** The engine that runs, and why others do not. */
export interface EngineChoice {
  readonly engine: Engine;
  /**
   * What computes all that no result may tell to be less than float64, levels and weights before all: `engine` itself
   * unless its products are float32.
   */
  readonly exact: Engine;
  /** Engines that were wished for and refused, in the order in which they were tried. */
  readonly refused: readonly { readonly name: EngineName; readonly why: string }[];
  /** Whether the engine is the one the setting names; always so for `auto`. */
  readonly asAsked: boolean;
}

/** Engines to try, best first, by setting: whatever is asked for, something runs in the end. */
const CANDIDATES: Readonly<Record<EngineSetting, readonly EngineName[]>> = {
  wasm: ['wasm', 'reference'],
  'wasm-relaxed': ['wasm-relaxed', 'wasm', 'reference'],
  openblas: ['openblas', 'wasm', 'reference'],
  tensorflow: ['tensorflow', 'wasm', 'reference'],
  auto: ['openblas', 'wasm', 'reference'],
  reference: ['reference'],
};

/**
 * Opens the engine of a setting, or the best that works in its stead. `threads` tells how many a large problem may
 * have: see `wasmEngine`.
 */
export async function openEngine(setting: EngineSetting, threads: () => number = () => 1): Promise<EngineChoice> {
  const refused: { name: EngineName; why: string }[] = [];
  for (const name of CANDIDATES[setting]) {
    try {
      const { engine, exact = engine } = await OPEN[name](threads);
      return { engine, exact, refused, asAsked: setting === 'auto' || name === setting };
    } catch (failure) {
      refused.push({ name, why: failure instanceof Error ? failure.message : String(failure) });
    }
  }
  throw new Error(`no engine runs: ${refused.map(({ name, why }) => `${name}: ${why}`).join('; ')}`);
}

/** One sentence for logs and health: what runs and why others do not. */
export function describeChoice({ engine, refused }: EngineChoice): string {
  const running = `${engine.name}: ${engine.description}.`;
  return [running, ...refused.map(({ name, why }) => `Not ${name}: ${why}.`)].join(' ');
}

/** An engine, and what stands in where it is float32. */
interface Opened {
  readonly engine: Engine;
  readonly exact?: Engine;
}

const OPEN: Readonly<Record<EngineName, (threads: () => number) => Promise<Opened>>> = {
  wasm: async (threads) => ({ engine: wasmEngine({ threads }) }),
  'wasm-relaxed': async (threads) => ({ engine: relaxedWasmEngine({ threads }) }),
  openblas: async (threads) => ({ engine: await openblasEngine(wasmOrPlain(threads)) }),
  async tensorflow(threads) {
    const exact = wasmOrPlain(threads);
    return { engine: await tensorflowEngine(exact), exact };
  },
  reference: async () => ({ engine: referenceEngine }),
};

/** What serves beside a foreign library; where WebAssembly SIMD is missing, the plain definitions do. */
function wasmOrPlain(threads: () => number): Engine {
  try {
    return wasmEngine({ threads });
  } catch {
    return referenceEngine;
  }
}
