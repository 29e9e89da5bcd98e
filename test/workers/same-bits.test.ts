import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { afterAll, describe, expect, test } from 'vitest';
import { listMatrixFiles, RiskModelRequest } from '#domain/risk/risk-models.js';
import { computeFileBytes, EIGENVALUES_PART, PART_COUNT } from '#domain/risk/estimation.js';
import { createIdentity, shareMarket } from '#domain/market/market-data.js';
import { createPool } from '#jobs/pool.js';
import { createNodePool } from '#jobs/job-system.js';
import type { ThreadPool } from '#jobs/port/compute-pool.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import type { ArtifactRef } from '#store/port.js';
import { createRandomPanel } from '../kernels/engines/random-matrices.js';
import { createMarket, createNames } from './bits-market.js';
import { shareTileRows } from './share-tile-rows.js';
import { writeOutputs } from './task-outputs.js';

const neverAborted = new AbortController().signal;
setMaxListeners(0, neverAborted); // parts of a model run at the same time
/** Pools by number of workers. Each thread loads the program only once for all tests. */
const pools = new Map<number, ThreadPool>();
const findPool = (workers: number): ThreadPool => {
  const pool = pools.get(workers) ?? createPool({ workers });
  pools.set(workers, pool);
  return pool;
};
const writtenOutputs = await writeOutputs();
afterAll(async () => {
  await Promise.all([...pools.values()].map((opened) => opened.close()));
  await writtenOutputs.remove();
});

const ALL_PARTS = Array.from({ length: PART_COUNT }, (_, part) => part);
const handle = shareMarket(createMarket(60, 200));
const identifiers = createNames(60);
const formatSha = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('one, two and four workers give bit-identical', () => {
  test('stored models, estimated concurrently', async () => {
    const requests = [
      {},
      { intensity_method: 'ledoit_wolf' },
      { half_life: 40, target: 'scaled_identity' },
      { intensity: 0 },
    ] as const;
    const createEstimates = async (workers: number) => {
      const pool = findPool(workers);
      const outputs = await Promise.all(
        requests.map(
          (request) =>
            pool.run({
              lane: 'heavy',
              task: 'estimate-risk-model',
              input: {
                market: handle,
                universe: { kind: 'names', identifiers },
                request: RiskModelRequest.parse({ identifiers, ...request }),
                outputs: writtenOutputs.outputs('covariance', 'factors'),
              },
              signal: neverAborted,
            }).output,
        ),
      );
      return outputs.map(({ covariance, diagnostics }) => [covariance.sha256, diagnostics]);
    };
    const singleEstimates = await createEstimates(1);
    expect(await createEstimates(2)).toEqual(singleEstimates);
    expect(await createEstimates(4)).toEqual(singleEstimates);
  });

  test.each([
    {},
    { intensity_method: 'ledoit_wolf' },
    { half_life: 40, target: 'scaled_identity' },
    { intensity: 0 },
    { estimator: 'statistical', factors: 3 },
    { estimator: 'industries' },
    { start: '2022-06-07', intensity_method: 'ledoit_wolf' }, // fewer observations than securities
    { start: '2022-06-07', intensity: 0 },
  ] as const)('a model in parts, and whole: %o', async (settings) => {
    const request = RiskModelRequest.parse({ identifiers, ...settings });
    const source = { market: handle, universe: { kind: 'names', identifiers } as const, request };
    const wholeEstimate = await findPool(1).run({
      lane: 'heavy',
      task: 'estimate-risk-model',
      input: { ...source, outputs: writtenOutputs.outputs('covariance', 'factors') },
      signal: neverAborted,
    }).output;
    const estimateInParts = async (workers: number, groups: readonly (readonly number[])[]) => {
      const rowArtifacts = new Map<number, ArtifactRef>();
      const pool = findPool(workers);
      const files = await Promise.all(
        groups.map(async (parts) => {
          const withRows = parts.filter((part) => part !== EIGENVALUES_PART);
          const outputs = writtenOutputs.outputs('figures', ...withRows.map((part) => `rows ${part}` as const));
          const { figures, rows } = await pool.run({
            lane: 'heavy',
            task: 'risk-model-parts',
            input: { ...source, parts, outputs },
            signal: neverAborted,
          }).output;
          for (const [k, part] of withRows.entries()) rowArtifacts.set(part, rows[k]!);
          return { path: writtenOutputs.path(figures), sha256: figures.sha256, parts };
        }),
      );
      const rows = ALL_PARTS.slice(0, -1).map((part) => rowArtifacts.get(part)!);
      expect(rows.map(({ bytes }) => bytes)).toEqual(computeFileBytes(60));
      const input = {
        ...source,
        files,
        covariance: { sha256: 'joined', files: rows },
        outputs: writtenOutputs.outputs('factors'),
      };
      return pool.run({ lane: 'heavy', task: 'sum-risk-model', input, signal: neverAborted }).output;
    };
    const { covariance, factors, diagnostics, contentHash: _, ...rest } = wholeEstimate;
    for (const [workers, groups] of [
      [1, [ALL_PARTS]],
      [2, [ALL_PARTS.slice(30), ALL_PARTS.slice(0, 40)]], // two nodes have computed some of the parts
      [4, ALL_PARTS.map((part) => [part])],
    ] as const) {
      const model = await estimateInParts(workers, groups);
      expect(model).toMatchObject(rest);
      const bytes = Buffer.concat(listMatrixFiles(model.covariance).map(writtenOutputs.read));
      expect(formatSha(bytes)).toBe(covariance.sha256);
      expect(model.factors?.sha256).toBe(factors?.sha256);
      const { smallest_eigenvalue: smallest, condition_number: condition } = diagnostics;
      expect(model.diagnostics).toEqual({
        ...diagnostics,
        smallest_eigenvalue: expect.closeTo(smallest, 12) as number,
        condition_number: expect.closeTo(condition, condition > 1e12 ? -290 : 5) as number,
      });
    }
  });

  test('a stored model with a named market and an order sent through JSON', async () => {
    const request = RiskModelRequest.parse({ identifiers });
    const order = { universe: { kind: 'names', identifiers } as const, request };
    const pool = findPool(1);
    const node = createNodePool(pool, {
      file: async ({ artifact }) => artifact,
      market: async () => handle,
      destination: writtenOutputs.destination,
    });
    const task = { lane: 'heavy', task: 'estimate-risk-model', signal: neverAborted } as const;
    const heldEstimate = await pool.run({
      ...task,
      input: { ...order, market: handle, outputs: writtenOutputs.outputs('covariance', 'factors') },
    }).output;
    const portable = JSON.parse(
      JSON.stringify({
        ...order,
        market: createIdentity(handle),
        outputs: writtenOutputs.outputs('covariance', 'factors').names,
      }),
    ) as TaskInput<'estimate-risk-model'>;
    const namedOutput = await node.run({ ...task, input: portable }).output;
    expect(formatSha(writtenOutputs.read(namedOutput.covariance))).toBe(heldEstimate.covariance.sha256);
    expect(namedOutput.diagnostics).toEqual(heldEstimate.diagnostics);
  });

  test('a model so large that free threads share its eigenvalues', { timeout: 300_000 }, async () => {
    const names = 1_503;
    const wideMarket = shareMarket(createMarket(names, 101));
    const estimate = async (workers: number) => {
      const request = RiskModelRequest.parse({ identifiers: createNames(names) });
      const { covariance, diagnostics } = await findPool(workers).run({
        lane: 'heavy',
        task: 'estimate-risk-model',
        input: {
          market: wideMarket,
          universe: { kind: 'names', identifiers: request.identifiers! },
          request,
          outputs: writtenOutputs.outputs('covariance', 'factors'),
        },
        signal: neverAborted,
      }).output;
      return [covariance.sha256, diagnostics];
    };
    expect(await estimate(4)).toEqual(await estimate(1));
  });

  test('a product with tile rows shared over one memory', async () => {
    const x = createRandomPanel(300, 150);
    const singleRows = await shareTileRows(x, 150, 1);
    expect(await shareTileRows(x, 150, 2)).toEqual(singleRows);
    expect(await shareTileRows(x, 150, 4)).toEqual(singleRows);
  });
});
