import type { calendarRoutes, eventRoutes, EventsView } from '#contract/calendars.js';
import type { IndexDeletion } from '#contract/indices/definitions.js';
import type { indexRoutes } from '#contract/indices/routes.js';
import type { pluginRoutes } from '#contract/plugins.js';
import { JSON_TYPE } from '#contract/route.js';
import type { strategyRoutes } from '#contract/strategies.js';
import type { watchlistRoutes } from '#contract/watchlists.js';
import { type Day, parseValidDay } from '#domain/base/time.js';
import { findTextInEffect } from '#domain/definition/amendments.js';
import { EXPORT_FORMATS } from '#domain/outputs/export-table.js';
import type { CalendarViews } from '#services/indices/calendars.js';
import type { Events } from '#services/indices/events.js';
import type { Indices } from '#services/indices/indices.js';
import type { PluginPreviews, Plugins } from '#services/indices/plugins.js';
import type { DatapointQuestions, IndexQuestions } from '#services/indices/questions.js';
import type { Strategies } from '#services/indices/strategies.js';
import type { MethodologyTemplates } from '#services/indices/templates.js';
import type { Watchlists } from '#services/indices/watchlists.js';
import type { PurgedDocument } from '#services/shared/versions.js';
import { formatCalendar } from '#views/icalendar.js';
import { toDocumentReply } from '../answers.js';
import { getContentType, type Handlers, parseExportFormat, type Removals } from '../handler.js';

export function createCalendarHandlers(calendars: CalendarViews): Handlers<typeof calendarRoutes> {
  return {
    listCalendars: () => ({ json: calendars.list() }),
    getSchedule: async ({ params, query }) => ({ json: await calendars.schedule(params.index_id, query) }),
  };
}

export function createEventHandlers(events: Events, today: () => Day): Handlers<typeof eventRoutes> {
  return {
    async listEvents({ query, media }) {
      const result = await events.list(query);
      if (media === JSON_TYPE) return { json: result };
      const bytes = new TextEncoder().encode(formatIcalendar(result, today()));
      return {
        bytes,
        type: `${media}; charset=utf-8`,
        headers: { 'Content-Disposition': 'attachment; filename="divisor-events.ics"' },
      };
    },
  };
}

function formatIcalendar(view: EventsView, today: Day): string {
  const { events, from, to, covered_from: coveredFrom, covered_to: coveredTo } = view;
  const coverage =
    coveredFrom === null
      ? ''
      : ` All calendars of the indices cover ${coveredFrom} to ${coveredTo}: outside, events are missing.`;
  const description = `Events from ${from} to ${to}.${coverage}`;
  return formatCalendar(
    { name: 'Divisor: index events', description, stamp: today },
    events.map(({ date, kind, index_id: indexId, calendar, effective, summary }) => ({
      uid: `${date}-${kind}-${indexId ?? calendar}${kind === 'announcement' ? `-${effective}` : ''}@divisor`,
      day: parseValidDay(date),
      summary: formatSummary(summary, indexId),
      category: kind,
    })),
  );
}

/**
 * Adds the id of the index to the summary. Several indices can have the same name, and a calendar entry shows nothing
 * else about the index.
 */
function formatSummary(summary: string, indexId: string | null): string {
  return indexId === null || summary.startsWith(`${indexId}: `) ? summary : `${summary} (${indexId})`;
}

export function createIndexHandlers(
  indices: Indices,
  questions: IndexQuestions,
  datapoints: DatapointQuestions,
  templates: MethodologyTemplates,
  removals: Removals,
): Handlers<typeof indexRoutes> {
  return {
    listIndices: async ({ query }) => ({ json: await indices.list(query) }),
    createIndex: async ({ body, authorship }) => toDocumentReply(await indices.create(body(), authorship())),
    listRuleTypes: () => ({ json: indices.ruleTypes() }),
    listOverlayTypes: () => ({ json: indices.overlayTypes() }),
    listMethodologyTemplates: async () => ({ json: await templates.list() }),
    getMethodologyTemplate: async ({ params, query }) => ({
      json: await templates.get(params.methodology_id, query),
    }),
    getMethodologyTemplateLevel: async ({ params, signal }) => ({
      json: await templates.level(params.methodology_id, signal),
    }),
    validateIndex: async ({ body }) => ({ json: await indices.validate(body()) }),
    evaluateDatapoint: async ({ body, signal }) => ({ json: await datapoints.evaluate(body(), signal) }),
    previewDocument: async ({ body, signal }) => ({ bytes: await questions.previewDocument(body(), signal) }),
    sketchLevel: async ({ body, signal }) => ({ json: await questions.sketchLevel(body(), signal) }),
    whatIf: async ({ body, signal }) => ({ bytes: await questions.whatIf(body(), signal) }),
    async getIndex({ params, query }) {
      const { document, etag } = await indices.get(params.index_id);
      if (query.on === undefined) return { json: document, etag };
      return { json: findTextInEffect(document, parseValidDay(query.on)).document };
    },
    putIndex: async ({ params, body, precondition, authorship }) =>
      toDocumentReply(await indices.replace(params.index_id, body(), precondition(), authorship())),
    async deleteIndex(request) {
      const { params, precondition } = request;
      const removal = await removals.of(request, { kind: 'index', id: params.index_id });
      if ('purgedRuns' in removal) return { json: { deleted: selectPurged(params.index_id, removal) } };
      return { json: await indices.remove(params.index_id, precondition(), removal) };
    },
    previewIndex: async ({ params, body, signal }) => ({
      bytes: await questions.previewStored(params.index_id, body, signal),
    }),
    explainName: async ({ params, query, signal }) => ({
      bytes: await questions.explain(
        { indexId: params.index_id, identifier: params.identifier, asOf: query.as_of, runId: query.run_id },
        signal,
      ),
    }),
    async packRebalance({ params, media, body, signal }) {
      const format = parseExportFormat(media);
      const bytes = await questions.rebalancePack(params.index_id, { request: body(), format }, signal);
      if (format === 'json') return { bytes };
      const file = `${params.index_id}-orders.${EXPORT_FORMATS[format].extension}`;
      const headers = { 'Content-Disposition': `attachment; filename="${file}"` };
      return { bytes, type: getContentType(format), headers };
    },
    getMethodology: async ({ params }) => ({ json: await questions.methodology(params.index_id) }),
  };
}

/** Returns the deletion of an index that was already deleted before, if this purge removed its published runs. */
function selectPurged(index_id: string, { purgedRuns: runs }: PurgedDocument): IndexDeletion['deleted'] {
  if (runs === 0) return [];
  return [{ index_id, backtest_record_deleted: true, backtest_results_deleted: runs, derived_from: null }];
}

export function createPluginHandlers(
  plugins: Plugins,
  previews: PluginPreviews,
  removals: Removals,
): Handlers<typeof pluginRoutes> {
  return {
    listPlugins: async ({ query }) => ({ json: await plugins.list(query) }),
    getPlugin: async ({ params }) => toDocumentReply(await plugins.get(params.plugin_id)),
    putPlugin: async ({ params, body, precondition, authorship }) =>
      toDocumentReply(await plugins.put(params.plugin_id, body(), precondition(), authorship())),
    previewPlugin: async ({ body, signal }) => ({ json: await previews.preview(body(), signal) }),
    deletePlugin: (request) => removals.run(request, { kind: 'plugin', id: request.params.plugin_id }, plugins.remove),
  };
}

export function createStrategyHandlers(strategies: Strategies, removals: Removals): Handlers<typeof strategyRoutes> {
  return {
    listStrategies: async ({ query }) => ({ json: await strategies.list(query) }),
    createStrategy: async ({ body, authorship }) => toDocumentReply(await strategies.create(body(), authorship())),
    validateStrategy: async ({ body }) => ({ json: await strategies.validate(body()) }),
    getStrategy: async ({ params }) => toDocumentReply(await strategies.get(params.strategy_id)),
    putStrategy: async ({ params, body, precondition, authorship }) =>
      toDocumentReply(await strategies.replace(params.strategy_id, body(), precondition(), authorship())),
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

export function createWatchlistHandlers(watchlists: Watchlists, removals: Removals): Handlers<typeof watchlistRoutes> {
  return {
    listWatchlists: async ({ query }) => ({ json: await watchlists.list(query) }),
    getWatchlist: async ({ params }) => toDocumentReply(await watchlists.get(params.watchlist_id)),
    putWatchlist: async ({ params, body, precondition, authorship }) =>
      toDocumentReply(await watchlists.put(params.watchlist_id, body(), precondition(), authorship())),
    deleteWatchlist: (request) =>
      removals.run(request, { kind: 'watchlist', id: request.params.watchlist_id }, watchlists.remove),
  };
}
