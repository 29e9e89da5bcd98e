import type { Engine, EngineName } from './engine.js';
import { openNativeKernels, type NativeSet } from './native-kernels.js';
import { openNativeEngine } from './native.js';
import { referenceEngine } from './reference.js';
import { openTensorflowEngine } from './tensorflow.js';
import { openWasmEngine } from './wasm.js';

/** Values of the setting `numerics`. `auto` uses `native` if its bits equal those of `wasm`, otherwise `wasm`. */
export type EngineSetting = EngineName | 'auto';

/** The engine that runs, and why others do not. */
export interface EngineChoice {
  readonly engine: Engine;
  /**
   * Engine for results that require float64 precision, such as levels and weights: `engine` itself unless its products
   * are float32.
   */
  readonly exact: Engine;
  /** Engines that were requested and unavailable, in the order in which they were tried. */
  readonly refused: readonly { readonly name: EngineName; readonly why: string }[];
  /** True if the engine is the one that the setting names; always true for `auto`. */
  readonly asAsked: boolean;
}

/** Engines to try by setting, best first. Every list ends with an engine that is always available. */
const CANDIDATES: Readonly<Record<EngineSetting, readonly EngineName[]>> = {
  wasm: ['wasm', 'reference'],
  native: ['native', 'wasm', 'reference'],
  tensorflow: ['tensorflow', 'wasm', 'reference'],
  auto: ['native', 'wasm', 'reference'],
  reference: ['reference'],
};

/**
 * Opens the engine of a setting, or the best available one instead. `threads` returns the number of threads that a
 * large problem may use: see `openWasmEngine`. `native` may name an instruction set, such as `native:avx2`; the best one by default.
 */
export async function openEngine(
  setting: EngineSetting | `native:${NativeSet}`,
  threads: () => number = () => 1,
): Promise<EngineChoice> {
  const refusals: { name: EngineName; why: string }[] = [];
  const [asked, set] = setting.split(':') as [EngineSetting, NativeSet | undefined]; // By the type of the setting.
  for (const name of CANDIDATES[asked]) {
    try {
      const { engine, exact = engine } = await OPEN[name](threads, set);
      return { engine, exact, refused: refusals, asAsked: asked === 'auto' || name === asked };
    } catch (failure) {
      refusals.push({ name, why: failure instanceof Error ? failure.message : String(failure) });
    }
  }
  throw new Error(`no engine runs: ${refusals.map(({ name, why }) => `${name}: ${why}`).join('; ')}`);
}

/** Describes the chosen engine and the reasons against the others in one sentence, for logs and health. */
export function describeChoice({ engine, refused }: EngineChoice): string {
  const running = `${engine.name}: ${engine.description}.`;
  return [running, ...refused.map(({ name, why }) => `Not ${name}: ${why}.`)].join(' ');
}

/** An engine, and its replacement where it is float32. */
interface Opened {
  readonly engine: Engine;
  readonly exact?: Engine;
}

const OPEN: Readonly<Record<EngineName, (threads: () => number, set?: NativeSet) => Promise<Opened>>> = {
  wasm: async (threads) => ({ engine: openWasmEngine({ threads }) }),
  native: async (threads, set) => ({ engine: openNativeEngine({ threads, native: openNativeKernels(set) }) }),
  async tensorflow(threads) {
    const { engine: exact } = await openEngine('auto', threads);
    return { engine: await openTensorflowEngine(exact), exact };
  },
  reference: async () => ({ engine: referenceEngine }),
};
