import { expect } from 'vitest';
import type { BatchView } from '#contract/batches.js';
import type { AccountResult } from '#domain/personal/account-result.js';
import type { CommonJson } from '#domain/personal/verification.js';
import { seeded } from '../../seeded.js';
import { runService, type RunningService } from '../running-service.js';
import { createEqualIndex } from '../../equal-index.js';

const MARKET = { store_id: 'market', seed: 3, assets: 60, start: '2022-01-03', end: '2024-06-28' };
const INDEX = createEqualIndex('EVEN', { name: 'Even', base_date: '2022-01-03' });
const TERMS = { parent: 'CORE', risk_model: 'factors' };

/** A service with an index and a factor risk model, on which batches of accounts run. */
export interface BatchWorld {
  readonly service: RunningService;
  readonly common: CommonJson;
  /** Submits a batch and returns its job id. */
  start(batchId: string, accounts: readonly unknown[], terms?: object): Promise<string>;
  /** Runs a batch that must succeed, and waits for its end. */
  batch(batchId: string, accounts: readonly unknown[], terms?: object): Promise<BatchView>;
  /** Returns all accounts of a batch, in order. */
  readResults(batchId: string): Promise<AccountResult[]>;
  /** Returns accounts of about a million each. Their lots are up to three years old. */
  createAccounts(count: number, more?: (i: number) => object): readonly TestAccount[];
}

export interface TestAccount {
  readonly account_id: string;
  readonly cash: number;
  readonly lots: { identifier: string; shares: number; cost: number; acquired: string }[];
}

/** @param start first day of the data @param running service to use; default: a new service */
export async function openBatches(start = MARKET.start, running?: RunningService): Promise<BatchWorld> {
  const service = running ?? (await runService());
  await service.ask('POST', '/data/synthetic', { ...MARKET, start });
  await service.waitForJob('generate:market');
  const index = { ...INDEX, base_date: start };
  await service.ask('PUT', '/indices/EVEN', index);
  await service.ask('POST', '/analytics/EVEN/backtest', {});
  await service.waitForJob('backtest:EVEN');
  const { body } = await service.ask<{ job_id: string }>('POST', '/risk-models/factors/estimate', {
    index_id: 'EVEN',
    estimator: 'statistical',
    factors: 8,
  });
  const { error } = await service.waitForJob(body.job_id);
  expect(error).toBeNull();
  // Securities that were listed late have no estimate.
  const { body: model } = await service.ask<{ covariance: { index: string[] } }>('GET', '/risk-models/factors');
  const universe = { kind: 'list', identifiers: model.covariance.index };
  const storedIndex = await service.ask('PUT', '/indices/CORE', { ...index, id: 'CORE', universe });
  expect(storedIndex.status, JSON.stringify(storedIndex.body)).toBeLessThan(300);

  async function submit(batchId: string, accounts: readonly unknown[], terms: object = {}): Promise<string> {
    const request = { ...TERMS, ...terms, batch_id: batchId, accounts };
    const { status, body: job } = await service.ask<{ job_id: string }>('POST', '/optimise/batches', request);
    expect(status, JSON.stringify(job)).toBe(202);
    return job.job_id;
  }

  async function batch(batchId: string, accounts: readonly unknown[], terms: object = {}): Promise<BatchView> {
    const job = await service.waitForJob(await submit(batchId, accounts, terms));
    expect([job.status, job.error]).toEqual(['succeeded', null]);
    return job.result as BatchView;
  }

  await batch('empty', [{ account_id: 'cash', cash: 1000 }]);
  const commonTerms = (await service.ask<CommonJson>('GET', '/optimise/batches/empty/common')).body;
  return {
    service,
    common: commonTerms,
    start: submit,
    batch,
    async readResults(batchId) {
      const results: AccountResult[] = [];
      for (let block = 0, blocks = 1; block < blocks; block++) {
        const path = `/optimise/batches/${batchId}/accounts?block=${block}`;
        const { body: read } = await service.ask<{ blocks: number; accounts: AccountResult[] }>('GET', path);
        blocks = read.blocks;
        results.push(...read.accounts);
      }
      return results;
    },
    createAccounts(count, more = () => ({})) {
      const random = seeded(11);
      return Array.from({ length: count }, (_, at) => ({
        account_id: `A${at}`,
        cash: 5000,
        lots: commonTerms.identifiers.flatMap((identifier, i) =>
          Array.from({ length: 1 + Math.floor(3 * random()) }, () => ({
            identifier,
            shares: 1 + Math.floor((8000 * random()) / commonTerms.prices[i]!),
            cost: commonTerms.prices[i]! * (0.6 + 0.7 * random()),
            acquired: `202${2 + Math.floor(2 * random())}-0${1 + Math.floor(5 * random())}-11`,
          })),
        ),
        ...more(at),
      }));
    },
  };
}
