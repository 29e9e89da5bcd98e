import type { Engine, EngineName } from './engine.js';
import { openNativeKernels, type NativeSet } from './native-kernels.js';
import { openNativeEngine } from './native.js';
import { referenceEngine } from './reference.js';
import { openTensorflowEngine } from './tensorflow.js';
import { openWasmEngine } from './wasm.js';

/** Values of the setting `numerics`. `auto` uses `native` if it is bit-identical to `wasm`, otherwise `wasm`. */
export type EngineSetting = EngineName | 'auto';

/** Selected engine, and the reasons why preferred engines are unavailable. */
export interface EngineChoice {
  readonly engine: Engine;
  /**
   * Engine for results that require float64 precision, such as levels and weights. It is `engine` unless `engine`
   * computes products in float32.
   */
  readonly exact: Engine;
  /** Engines that were tried and are unavailable, in the order of the attempts. */
  readonly refused: readonly { readonly name: EngineName; readonly why: string }[];
  /** True if the engine is the one that the setting names; always true for `auto`. */
  readonly asAsked: boolean;
}

/** Engines to try for each setting, best first. Every list ends with an engine that is always available. */
const CANDIDATES: Readonly<Record<EngineSetting, readonly EngineName[]>> = {
  wasm: ['wasm', 'reference'],
  native: ['native', 'wasm', 'reference'],
  tensorflow: ['tensorflow', 'wasm', 'reference'],
  auto: ['native', 'wasm', 'reference'],
  reference: ['reference'],
};

/**
 * Opens the engine of a setting, or the best available engine instead. `threads` returns the number of threads that a
 * large problem may use: see `openWasmEngine`. `native` may name an instruction set, such as `native:avx2`; default:
 * the best one.
 */
export async function openNumericEngine(
  setting: EngineSetting | `native:${NativeSet}`,
  threads: () => number = () => 1,
): Promise<EngineChoice> {
  const refusals: { name: EngineName; why: string }[] = [];
  const [engineSetting, set] = setting.split(':') as [EngineSetting, NativeSet | undefined]; // Safe by the type of `setting`.
  for (const name of CANDIDATES[engineSetting]) {
    try {
      const { engine, exact = engine } = await OPENERS[name](threads, set);
      return { engine, exact, refused: refusals, asAsked: engineSetting === 'auto' || name === engineSetting };
    } catch (failure) {
      refusals.push({ name, why: failure instanceof Error ? failure.message : String(failure) });
    }
  }
  throw new Error(`no engine runs: ${refusals.map(({ name, why }) => `${name}: ${why}`).join('; ')}`);
}

/**
 * Describes the selected engine and the reasons why others are unavailable in one sentence, for logs and the health
 * page.
 */
export function describeChoice({ engine, refused }: EngineChoice): string {
  const engineText = `${engine.name}: ${engine.description}.`;
  return [engineText, ...refused.map(({ name, why }) => `Not ${name}: ${why}.`)].join(' ');
}

/** Opened engine, and an exact engine if the opened one is float32. */
interface OpenedEngine {
  readonly engine: Engine;
  readonly exact?: Engine;
}

const OPENERS: Readonly<Record<EngineName, (threads: () => number, set?: NativeSet) => Promise<OpenedEngine>>> = {
  wasm: async (threads) => ({ engine: openWasmEngine({ threads }) }),
  native: async (threads, set) => ({ engine: openNativeEngine({ threads, native: openNativeKernels(set) }) }),
  async tensorflow(threads) {
    const { engine: exact } = await openNumericEngine('auto', threads);
    return { engine: await openTensorflowEngine(exact), exact };
  },
  reference: async () => ({ engine: referenceEngine }),
};
