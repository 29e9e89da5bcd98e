import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { RunningService } from '../../services/running-service.js';

/** Jobs of every expensive kind on the market of a service. */
export interface Suite {
  /** Submits the jobs of the first stage. */
  submit(): Promise<void>;
  /** Returns the SHA-256 of every result, by name, after all jobs have ended. */
  hashes(): Promise<Readonly<Record<string, string>>>;
}

type SuiteRequest = readonly [path: string, body: Readonly<Record<string, unknown>>];

/** Indices of the suite. Each has another weighting. */
const WEIGHTINGS = { CAPPED: { type: 'MarketCapWeight', cap: 0.4 }, EVENLY: { type: 'EqualWeight' } };
const CONSTRAINTS = [{ id: 'position', type: 'PositionBounds', params: { lower: 0, upper: 0.5 } }];
/** Jobs in stages. Each stage needs results of the previous stage. */
const STAGES: readonly (readonly SuiteRequest[])[] = [
  [
    ['/analytics/CAPPED/backtest', { transaction_cost_bps: 10 }],
    ['/analytics/EVENLY/backtest', {}],
    [
      '/analytics/sweeps',
      { sweep_id: 'costs', index_id: 'EVENLY', grid: { '/request/transaction_cost_bps': [0, 5, 10] } },
    ],
  ],
  [
    ['/risk-models/shrunk/estimate', { index_id: 'CAPPED', intensity_method: 'ledoit_wolf' }],
    ['/optimise/runs', { index_id: 'EVENLY', constraint_set_id: 'core', objective: 'min_variance' }],
    ['/analytics/CAPPED/simulate', { horizon: 21, paths: 2_000_000 }],
  ],
];
/** Paths of results as clients read them. */
const VIEWS = [
  '/analytics/CAPPED/record',
  '/analytics/EVENLY/record',
  '/analytics/EVENLY/weights',
  '/risk-models/shrunk',
];

export function createSuite({ ask, waitForJob }: RunningService): Suite {
  const results: Record<string, string> = {};
  let submissions: readonly (readonly [path: string, jobId: string])[] = [];

  const submitAll = (works: readonly SuiteRequest[]) =>
    Promise.all(
      works.map(async ([path, body]) => {
        const answer = await ask<{ job_id: string }>('POST', path, body);
        expect(answer.status, JSON.stringify(answer.body)).toBe(202);
        return [path, answer.body.job_id] as const;
      }),
    );

  async function collect(): Promise<void> {
    for (const [path, jobId] of submissions) {
      const { status, error, result } = await waitForJob(jobId);
      expect([path, status, error]).toEqual([path, 'succeeded', null]);
      results[path] = computeHash(result);
    }
  }

  return {
    async submit() {
      for (const [id, weighting] of Object.entries(WEIGHTINGS)) {
        const pipeline = { treatment: { dividends: 'total' }, weighting };
        const index = { id, name: id, calendar: 'XNYS', base_date: '2024-02-01', rebalance: { frequency: 'monthly' } };
        expect((await ask('PUT', `/indices/${id}`, { ...index, pipeline })).status).toBe(200);
      }
      await ask('PUT', '/optimise/constraint-sets/core', { id: 'core', name: 'Core', constraints: CONSTRAINTS });
      submissions = await submitAll(STAGES[0]!);
    },
    async hashes() {
      await collect();
      for (const stage of STAGES.slice(1)) {
        submissions = await submitAll(stage);
        await collect();
      }
      for (const path of VIEWS) {
        const { status, body } = await ask('GET', path);
        expect([path, status]).toEqual([path, 200]);
        results[path] = computeHash(body);
      }
      return results;
    },
  };
}

/** Names of members that contain times and run ids. They differ between equal results. */
const OF_THEIR_TIME = new Set(['run_at', 'run_id', 'created_at', 'estimated_at', 'updated_at', 'validated_at']);

const computeHash = (result: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(result, (name, value: unknown) => (OF_THEIR_TIME.has(name) ? null : value)))
    .digest('hex');
