import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Engine } from './engine.js';
import { selfTest } from './self-test.js';
import { engineOn, type WasmEngineOptions } from './wasm.js';

/**
 * The kernels on relaxed SIMD, after a self-test: products, factorisations and solves take one rounding for a
 * product and its sum where the processor fuses them, and two elsewhere, so that their bits are those of the machine.
 *
 * @throws Error when the platform has no relaxed SIMD, or an operation disagrees with its definition
 */
export function relaxedWasmEngine(options: WasmEngineOptions = {}): Engine {
  const engine = engineOn(relaxedModule(), options, { name: 'wasm-relaxed', description: '' });
  selfTest(engine);
  const operations = isFused(engine) ? 'fused operations' : 'no fused operations on this processor';
  return { ...engine, description: `WebAssembly relaxed SIMD, float64, ${operations}` };
}

function relaxedModule(): WebAssembly.Module {
  const bytes = readFileSync(new URL('../wasm/kernels-relaxed.wasm', import.meta.url));
  if (!WebAssembly.validate(bytes)) setFlagsFromString('--experimental-wasm-relaxed-simd'); // Node 20 has it behind this flag
  return new WebAssembly.Module(bytes);
}

/** True when -1 + (1 + e) (1 - e) is -e^2, and not the 0 that two roundings give. */
function isFused(engine: Engine): boolean {
  const e = 2 ** -30;
  const out = new Float64Array(1);
  engine.gemm({ rows: 1, inner: 2, columns: 1 }, Float64Array.of(-1, 1 + e), Float64Array.of(1, 1 - e), out);
  return out[0] !== 0;
}
