import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openblasEngine } from '#kernels/engines/openblas.js';
import type { Engine } from '#kernels/engines/engine.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { processMs } from '../../thread-time.js';
import { seededPanel, SIZES } from '../measure.js';

/**
 * X'X by the openblas engine, by numpy on the same library and by our own kernels, one thread each, turn and turn about in one run: processor
 * time, the least of so many. Without an OpenBLAS it ends with a sentence. Goals from 500 names on: openblas at most 1.1 of numpy's time, our kernels at most 3.0 of OpenBLAS's.
 */
const ROUNDS = 3;
const script = fileURLToPath(new URL('../../../../bench/kernels/engines/rank-k.py', import.meta.url));
const base = wasmEngine();
const openblas = await openblasEngine(base).catch((failure: Error) => failure);

if (openblas instanceof Error)
  console.log(
    `No comparison: OpenBLAS does not load; Debian has it as libopenblas0-pthread. Tried: ${openblas.message.split('; ')[0]}.`,
  );
else compareOn([base, openblas]);

function compareOn(engines: readonly Engine[]): void {
  for (const [assets, observations] of SIZES) {
    const repeats = Math.max(5, Math.ceil(2e9 / (observations * assets * assets)));
    const best = { wasm: Infinity, openblas: Infinity, numpy: Infinity };
    for (let round = 0; round < ROUNDS; round++) {
      for (const engine of engines) {
        const name = engine.name === 'wasm' ? 'wasm' : 'openblas';
        engine.scope(() => {
          const x = engine.allocate(observations * assets);
          x.set(seededPanel(x.length));
          const out = engine.allocate(assets * assets);
          engine.symmetricRankK(x, assets, out);
          for (let repeat = 0; repeat < repeats; repeat++) {
            const start = processMs();
            engine.symmetricRankK(x, assets, out);
            best[name] = Math.min(best[name], processMs() - start);
          }
        });
      }
      best.numpy = Math.min(best.numpy, numpyMs(observations, assets, repeats));
    }
    const { wasm, openblas, numpy } = best;
    console.log(
      `${`${observations} x ${assets}`.padEnd(12)} wasm ${wasm.toFixed(2)} ms, openblas ${openblas.toFixed(2)} ms, numpy ${numpy.toFixed(2)} ms; openblas / numpy ${(openblas / numpy).toFixed(2)}, wasm / openblas ${(wasm / openblas).toFixed(2)}`,
    );
  }
}

/** Best of so many by numpy; NaN where there is none. */
function numpyMs(observations: number, assets: number, repeats: number): number {
  try {
    const env = { ...process.env, OPENBLAS_NUM_THREADS: '1' };
    return Number(
      execFileSync('python3', [script, String(observations), String(assets), String(repeats)], {
        encoding: 'utf8',
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    );
  } catch {
    return Number.NaN;
  }
}
