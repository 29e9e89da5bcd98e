import type { eventRoutes } from '#contract/calendars.js';
import type { IndexDeletion } from '#contract/indices/definitions.js';
import type { indexRoutes } from '#contract/indices/routes.js';
import { JSON_TYPE } from '#contract/route.js';
import type { strategyRoutes } from '#contract/strategies.js';
import { type Day, parseValidDay } from '#domain/base/time.js';
import { findTextInEffect } from '#domain/definition/amendments.js';
import type { Events } from '#services/indices/events.js';
import type { Indices } from '#services/indices/indices.js';
import type { IndexQuestions } from '#services/indices/questions.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { PurgedDocument } from '#services/shared/versions.js';
import { formatEventCalendar } from '#views/icalendar.js';
import { nameFile, parseExportFormat, toFileReply } from '../answers.js';
import type { OwnHandlers, Removals } from '../calls.js';

export function createEventHandlers(events: Events, today: () => Day): OwnHandlers<typeof eventRoutes> {
  return {
    async listEvents({ query, media }) {
      const result = await events.list(query);
      if (media === JSON_TYPE) return { json: result };
      const bytes = new TextEncoder().encode(formatEventCalendar(result, today()));
      return { bytes, type: `${media}; charset=utf-8`, headers: nameFile('divisor-events.ics') };
    },
  };
}

export function createIndexHandlers(
  indices: Indices,
  questions: IndexQuestions,
  removals: Removals,
): OwnHandlers<typeof indexRoutes> {
  return {
    async getIndex({ params, query }) {
      const { document, etag } = await indices.get(params.index_id);
      if (query.on === undefined) return { json: document, etag };
      return { json: findTextInEffect(document, parseValidDay(query.on)).document };
    },
    async deleteIndex(request) {
      const { params, precondition } = request;
      const removal = await removals.of(request, { kind: 'index', id: params.index_id });
      if ('purgedRuns' in removal) return { json: { deleted: selectPurged(params.index_id, removal) } };
      return { json: await indices.remove(params.index_id, precondition(), removal) };
    },
    previewIndex: async ({ params, body, signal }) => ({
      bytes: await questions.previewStored(params.index_id, body, signal),
    }),
    async packRebalance({ params, media, body, signal }) {
      const format = parseExportFormat(media);
      const bytes = await questions.rebalancePack(params.index_id, { request: body(), format }, signal);
      return format === 'json' ? { bytes } : toFileReply(`${params.index_id}-orders`, format, { bytes });
    },
  };
}

/** Returns the deletion of an index that was already deleted before, if this purge removed its published runs. */
function selectPurged(index_id: string, { purgedRuns: runs }: PurgedDocument): IndexDeletion['deleted'] {
  if (runs === 0) return [];
  return [{ index_id, backtest_record_deleted: true, backtest_results_deleted: runs, derived_from: null }];
}

export function createStrategyHandlers(strategies: Strategies, removals: Removals): OwnHandlers<typeof strategyRoutes> {
  return {
    async deleteStrategy(request) {
      const { strategy_id } = request.params;
      const removal = await removals.of(request, { kind: 'strategy', id: strategy_id });
      if ('purgedRuns' in removal) {
        const { purgedRuns: runs } = removal;
        return { json: { strategy_id, backtest_record_deleted: runs > 0, backtest_results_deleted: runs } };
      }
      return { json: await strategies.remove(strategy_id, request.precondition(), removal) };
    },
  };
}
