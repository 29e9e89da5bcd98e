import { expect } from 'vitest';
import type { OptimisationRunResult } from '#contract/optimise.js';
import type { RiskModelImportResult } from '#contract/risk-models.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { NAMES, put, service } from '../../optimisation/optimise/set-up.js';

/** Media type of an Arrow stream. Imports use the market of the optimisation tests: twelve securities from 2023 on. */

export const ARROW = 'application/vnd.apache.arrow.stream';

export interface Frame {
  readonly index: readonly string[];
  readonly columns: readonly string[];
  readonly data: readonly (readonly number[])[];
}
export interface ExportedModels {
  readonly units: string;
  readonly models: readonly {
    readonly date: string;
    readonly covariance?: Frame;
    readonly exposures?: Frame;
    readonly factor_covariance?: Frame;
    readonly specific_variances?: Readonly<Record<string, number>>;
  }[];
}
export interface ServedModel {
  readonly date?: string;
  readonly asset_ids: readonly string[];
  readonly covariance: Frame;
  readonly findings: readonly { readonly code: string }[];
}

export const importStore = (id: string, body: unknown) =>
  service.ask<RiskModelImportResult>('POST', `/risk-models/${id}/import`, body);

export async function requireImport(id: string, body: unknown): Promise<RiskModelImportResult> {
  const { status, body: result } = await importStore(id, body);
  expect(status, JSON.stringify(result).slice(0, 800)).toBe(201);
  return result;
}

export async function sendFile(id: string, query: string, type: string, bytes: string | Uint8Array) {
  const response = await fetch(`${service.url()}/risk-models/${id}/import?${query}`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: bytes as unknown as string,
  });
  return { status: response.status, body: (await response.json()) as RiskModelImportResult };
}

export const readModel = async (id: string, query = '') =>
  (await service.ask<ServedModel>('GET', `/risk-models/${id}${query}`)).body;
export const exportModel = async (id: string) =>
  (await service.ask<ExportedModels>('GET', `/risk-models/${id}/export`)).body;

export async function estimateToEnd(id: string, request: object): Promise<void> {
  const { body } = await service.ask<JobStatus>('POST', `/risk-models/${id}/estimate`, request);
  expect((await service.waitForJob(body.job_id)).error).toBeNull();
}

export const LEAST_VARIANCE = {
  objective: 'min_variance',
  candidates: 'universe',
  index_id: 'BROAD',
  constraint_set_id: 'capped',
};

export async function runJob(request: object): Promise<JobStatus> {
  await put('capped', [{ type: 'PositionBounds', params: { upper: 0.3 } }]);
  const { status, body } = await service.ask<JobStatus>('POST', '/optimise/runs', { ...LEAST_VARIANCE, ...request });
  expect(status, JSON.stringify(body)).toBe(202);
  return service.waitForJob(body.job_id);
}

export async function requireSolution(request: object): Promise<OptimisationRunResult> {
  const { result, error } = await runJob(request);
  expect(error, JSON.stringify(error)).toBeNull();
  return result as OptimisationRunResult;
}

export const listWeights = (run: OptimisationRunResult) =>
  new Map(run.weights.map(({ identifier, weight }) => [identifier, weight]));

export function expectSameOptimum(run: OptimisationRunResult, otherRun: OptimisationRunResult): void {
  const [a, b] = [listWeights(run), listWeights(otherRun)];
  expect([...a.keys()]).toEqual([...b.keys()]);
  for (const [name, weight] of a) expect(Math.abs(weight - b.get(name)!)).toBeLessThan(1e-12);
  expect(run.volatility).toBeCloseTo(otherRun.volatility, 12);
}

/** Returns a positive definite covariance of some securities. A formula computes it. */
export function createFrame(names: readonly string[], common: number): Frame {
  const readOwnVolatility = (name: string) => 0.02 + 0.01 * NAMES.indexOf(name);
  return {
    index: names,
    columns: names,
    data: names.map((row) => names.map((column) => common + (row === column ? readOwnVolatility(row) : 0))),
  };
}

export const EARLY_DATE = '2023-02-28';
export const FIRST = '2023-03-01';

export const FACTORS = ['VALUE', 'MARKET'];
export const EXPOSURES = NAMES.map((_, i) => [0.1 * i - 0.5, 1 + 0.02 * i]);
export const F = [
  [0.01, 0.002],
  [0.002, 0.04],
];
export const SPECIFIC = Object.fromEntries(NAMES.map((name, i) => [name, 0.01 + 0.002 * i]));
export const factorModel = (date: string) => ({
  date,
  exposures: { index: NAMES, columns: FACTORS, data: EXPOSURES },
  factor_covariance: { index: FACTORS, columns: FACTORS, data: F },
  specific_variances: SPECIFIC,
});
