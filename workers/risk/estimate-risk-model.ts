import { formatDay } from '#domain/time/days.js';
import { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { packFactors } from '#domain/risk/packed-factors.js';
import { packUpper } from '#domain/risk/packed-matrix.js';
import type { EstimateStage } from '#kernels/moments/estimate-covariance.js';
import type { Task } from '#jobs/tasks.js';
import type { RiskModelSource } from '#jobs/tasks/indices.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { runOnProductEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';
import { computeContentHash, openEstimate } from './opened-estimate.js';
import { copyOutput, runWithEarlyOutput, writeOutputs } from '../output/task-outputs.js';

/** Completed share of the work at the start of each stage. It does not depend on the number of securities. */
const EMPTY_RESULT: Readonly<Record<EstimateStage | 'returns', number>> = {
  returns: 0.05,
  moments: 0.15,
  product: 0.2,
  eigenvalues: 0.4,
  repair: 0.7,
};

/** Estimates a covariance model of the universe over the window. Writes its matrix, and returns all other results. */
export const estimateModel: Task<'estimate-risk-model'> = async (input, control) =>
  runWithEarlyOutput(input.outputs, 'covariance', async (output) => {
    const { matrix, parts, ...model } = await computeModel(input, control, output.begin);
    const covarianceOutput = output.end(matrix);
    const factorOutput = writeOutputs(input.outputs, { factors: parts });
    await Promise.allSettled([covarianceOutput, factorOutput]); // a failed task writes nothing afterwards
    const [covariance, { factors }] = await Promise.all([covarianceOutput, factorOutput]);
    return { ...model, covariance, factors, contentHash: computeContentHash(model.assetIds, covariance) };
  });

/**
 * Number of securities of a practice model; the number of days follows. They have the size of a usual request, because
 * code that is compiled for a smaller model runs half as fast at the first large one. One practice model takes about 30
 * ms once the code is compiled.
 */
const PRACTICE_SECURITIES = 500;
const PRACTICE_DAYS = 2520;

/**
 * Number of practice models that this thread has estimated. Each uses another window, because missing prices of the
 * latest window are cached.
 */
let practiceTurns = 0;

/**
 * Estimates and discards a model of some securities of a market, which compiles the code. @throws Refusal
 * RISK_INSUFFICIENT_DATA
 */
export async function practiseRiskModel(market: MarketHandle, control: TaskControl): Promise<void> {
  const { identifiers, dates } = openCachedMarket(market);
  const universe = { kind: 'names', identifiers: identifiers.slice(0, PRACTICE_SECURITIES) } as const;
  const start = formatDay(dates[Math.max(0, dates.length - PRACTICE_DAYS - practiceTurns++)]!);
  await computeModel({ market, universe, request: RiskModelRequest.parse({ start }) }, control, () => {});
}

/**
 * Computes the model, with the bytes of its matrix and factors.
 * @param onMatrix receives the bytes of the matrix before the check of its eigenvalues, after which a repair may change
 * the matrix
 */
async function computeModel(
  source: RiskModelSource,
  control: TaskControl,
  onMatrix: (bytes: Uint8Array<ArrayBuffer>) => void,
) {
  reportStage(control, 'returns');
  const { whole } = openEstimate(source);
  return runOnProductEngine((engine) => {
    let matrix: Uint8Array<ArrayBuffer> | undefined;
    const onStage = (stage: EstimateStage, covariance: Float64Array): void => {
      reportStage(control, stage);
      if (stage === 'eigenvalues') onMatrix((matrix = packBytes(covariance)));
      if (stage === 'repair') matrix = undefined;
    };
    const { covariance, factors, ...model } = whole(engine, onStage);
    return {
      ...model,
      matrix: matrix ?? packBytes(covariance),
      parts: factors && copyOutput(new Uint8Array(packFactors(factors).buffer)),
    };
  });
}

/** Packs a matrix into bytes. @param matrix [n x n] row-major, symmetric */
function packBytes(matrix: Float64Array): Uint8Array<ArrayBuffer> {
  return copyOutput(new Uint8Array(packUpper(matrix, Math.sqrt(matrix.length)).buffer));
}

function reportStage(control: TaskControl, stage: EstimateStage | 'returns'): void {
  control.report(EMPTY_RESULT[stage], stage);
}
