import type { Engine } from '../engine.js';
import { assertPaths, closeCircle } from '../../simulation/simulate-paths.js';
import { BYTES, type Kernels } from './kernels.js';

const WORD_VALUES = 2 ** 32;

/** Creates the operation that simulates paths of a portfolio. */
export function createPathOperations({ kernels, arena, operands, run }: Kernels): Pick<Engine, 'simulatePaths'> {
  return {
    simulatePaths(request, tallies) {
      assertPaths(request, tallies);
      const { model, horizon, seed, first, bins } = request;
      run(() => {
        const low = operands.input(bins.low);
        const scale = operands.input(bins.scale);
        const counts = operands.integers(tallies.counts);
        const [finals, writeFinals] = operands.output(tallies.finals);
        const [lows, writeLows] = operands.output(tallies.lows);
        const [drawdowns, writeDrawdowns] = operands.output(tallies.drawdowns);
        const underwater = operands.integers(tallies.underwater);
        const steps = arena.reserve(horizon * BYTES);
        const commonArguments = [low, scale, bins.count, counts, finals, lows, drawdowns, underwater, steps] as const;
        const start = [
          horizon,
          (seed % WORD_VALUES) | 0,
          Math.floor(seed / WORD_VALUES),
          first,
          tallies.finals.length,
        ] as const;
        if (model.kind === 'block_bootstrap') {
          kernels.bootstrapPaths(
            operands.input(closeCircle(model.growth, model.block)),
            model.growth.length,
            model.block,
            ...start,
            ...commonArguments,
          );
        } else kernels.gaussianPaths(model.mean, model.deviation, ...start, ...commonArguments);
        writeFinals();
        writeLows();
        writeDrawdowns();
        operands.read(counts, tallies.counts);
        operands.read(underwater, tallies.underwater);
      });
    },
  };
}
