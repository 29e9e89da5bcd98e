import { z } from 'zod';
import { defineObject, Id } from '#domain/base/schema.js';
import { StrategyDocument } from '#domain/definition/strategies.js';
import { FindingPayload, listingQuery, purgeQuery, skippedFields, ValidationReport } from './payloads.js';
import { defineRoutes } from './route.js';

export const SavedStrategy = defineObject(() => ({
  strategy: StrategyDocument,
  findings: z.array(FindingPayload).meta({ description: 'Warnings that did not prevent the save.' }),
})).meta({ id: 'SavedStrategy' });
export type SavedStrategy = z.infer<typeof SavedStrategy>;

export const StoredStrategy = defineObject(() => ({
  strategy: StrategyDocument,
  problems: z
    .array(FindingPayload)
    .meta({ description: 'Broken references of the strategy, for example to a deleted index.' }),
  has_run: z.boolean().meta({ description: 'True if a backtest record is stored.' }),
  run_at: z.string().nullable().meta({ description: 'Time of the backtest record.' }),
})).meta({ id: 'StoredStrategy' });
export type StoredStrategy = z.infer<typeof StoredStrategy>;

export const StrategyCollection = defineObject(() => ({ strategies: z.array(StoredStrategy), ...skippedFields })).meta({
  id: 'StrategyCollection',
});
export type StrategyCollection = z.infer<typeof StrategyCollection>;

export const StrategyDeletion = defineObject(() => ({
  strategy_id: z.string(),
  backtest_record_deleted: z.boolean(),
  backtest_results_deleted: z.int().min(0).meta({ description: 'Number of deleted job records and stored results.' }),
})).meta({ id: 'StrategyDeletion' });
export type StrategyDeletion = z.infer<typeof StrategyDeletion>;

const params = defineObject(() => ({ strategy_id: Id }));
const example = {
  id: 'LARGE-100-LOW-TURNOVER',
  name: 'Large hundred, traded once a year',
  index_id: 'LARGE-100',
  transaction_cost_bps: 5,
  rebalance: { frequency: 'annual', anchor: 'last_session' },
  drift_tolerance: 0.002,
  exposure: 0.98,
};
const body = { schema: StrategyDocument, document: true, example } as const;

export const strategyRoutes = defineRoutes('strategies', {
  listStrategies: {
    method: 'GET',
    path: '/strategies',
    call: 'strategies.list',
    scope: 'read',
    summary: 'Lists the stored strategies, each with its problems.',
    query: listingQuery,
    success: {
      status: 200,
      description: 'The strategies by id. Strategies that cannot be read are counted.',
      schema: StrategyCollection,
    },
  },
  createStrategy: {
    method: 'POST',
    path: '/strategies',
    call: 'strategies.create',
    scope: 'write',
    summary: 'Stores a new strategy.',
    versioned: true,
    description:
      'An existing id is refused. Use PUT to replace a strategy. `POST /analytics/{strategy_id}/backtest` runs the strategy, and every view of a run accepts its id.',
    body,
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedStrategy },
    errors: ['STRATEGY_EXISTS'],
  },
  validateStrategy: {
    method: 'POST',
    path: '/strategies/validate',
    call: 'strategies.validate',
    scope: 'read',
    summary: 'Validates a strategy in the same way as a save. Nothing is stored.',
    body: { ...body, report: true },
    success: { status: 200, description: 'The report.', schema: ValidationReport },
  },
  getStrategy: {
    method: 'GET',
    path: '/strategies/{strategy_id}',
    call: 'strategies.get',
    scope: 'read',
    summary: 'Returns a stored strategy.',
    params,
    success: { status: 200, description: 'The strategy with its problems.', schema: StoredStrategy },
    errors: ['STRATEGY_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  putStrategy: {
    method: 'PUT',
    path: '/strategies/{strategy_id}',
    call: 'strategies.replace',
    scope: 'write',
    summary: 'Stores or replaces a strategy.',
    versioned: true,
    params,
    body,
    success: { status: 200, description: 'The stored document with its warnings.', schema: SavedStrategy },
    errors: ['ID_MISMATCH'],
  },
  deleteStrategy: {
    method: 'DELETE',
    path: '/strategies/{strategy_id}',
    scope: 'write',
    summary: 'Deletes a strategy, its stored runs and all results of its backtests.',
    versioned: true,
    params,
    query: purgeQuery,
    success: { status: 200, description: 'The deleted objects.', schema: StrategyDeletion },
    errors: ['STRATEGY_NOT_FOUND'],
  },
});
