import { decodeUtf8 } from '#base/text/utf8.js';
import { createHash } from 'node:crypto';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { BundledVersions, KNOWN_FILE, createModelFileName } from '#domain/documents/bundle-document.js';
import { loadPluginSandbox } from '#domain/datapoints/plugin-sandbox.js';
import type { MarketData } from '#domain/market/market-data.js';
import { compareText } from '#domain/refusals/findings.js';
import { computeFileBytes } from '#domain/risk/model-parts.js';
import { openStoredModel } from '#domain/risk/open-stored-model.js';
import { openPackedMatrix } from '#domain/risk/packed-matrix.js';
import type { StoredModels } from '#domain/risk/stored-model.js';
import { unpackChange } from '#market/versions/content-change.js';
import { createDatedMarkets } from '#market/versions/known-markets.js';

type Files = ReadonlyMap<string, Uint8Array>;

/** Inputs of a plan other than the market and its calendars. */
export interface PlanInputs {
  readonly models: StoredModels;
  readonly known: DatedMarkets | undefined;
}

/**
 * Opens the stored risk models and earlier contents of a bundle. Loads the sandbox if the plan has plug-ins.
 * @throws Error if a file is missing or differs from the hash in the plan
 */
export async function openPlanInputs(plan: BacktestPlan, market: MarketData, files: Files): Promise<PlanInputs> {
  if (Object.values(plan.documents).some(({ plugins }) => plugins !== undefined)) await loadPluginSandbox();
  return { models: openModels(plan, files), known: selectKnownMarkets(plan, market, files) };
}

function getFile(files: Files, name: string): Uint8Array {
  const bytes = files.get(name);
  if (bytes === undefined) throw new Error(`the file ${name} is missing`);
  return bytes;
}

function openModels({ models: plannedModels = {} }: BacktestPlan, files: Files): StoredModels {
  const ids = Object.keys(plannedModels).toSorted(compareText);
  const models = new Map(
    ids.map((id, place) => {
      const { asset_ids: names, observed_end: observedEnd, covariance, dates } = plannedModels[id]!;
      const bytes = getFile(files, createModelFileName(place)).slice();
      if (!listHashes(bytes, names.length).includes(covariance))
        throw new Error(`${createModelFileName(place)} is not the covariance of the risk model ${id}`);
      const numbers = new Float64Array(bytes.buffer);
      const readMatrix = () => openPackedMatrix(numbers, names.length);
      return [id, openStoredModel(id, { names, observedEnd, dates, matrix: readMatrix, numbers: () => numbers })];
    }),
  );
  return (id) => {
    const model = models.get(id);
    if (model === undefined) throw new Error(`the plan has no risk model ${id}`);
    return model;
  };
}

/**
 * Returns the two valid hashes of a matrix. One applies if the matrix is stored in one file, the other if it is stored
 * in one file per part.
 */
function listHashes(bytes: Uint8Array, assetCount: number): string[] {
  let offset = 0;
  const files = computeFileBytes(assetCount).map((length) => bytes.subarray(offset, (offset += length)));
  return [computeSha256(bytes), computeSha256(files.map(computeSha256).join(''))];
}

const computeSha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

function selectKnownMarkets({ request }: BacktestPlan, market: MarketData, files: Files): DatedMarkets | undefined {
  if (request.as_known === undefined) return undefined;
  const text = decodeUtf8(getFile(files, KNOWN_FILE));
  const { known_on: knownOn, earlier } = BundledVersions.parse(JSON.parse(text));
  return createDatedMarkets(market, {
    knownOn,
    earlier: earlier.map(({ known_on: on, file }) => ({ knownOn: on, change: unpackChange(getFile(files, file)) })),
  });
}
