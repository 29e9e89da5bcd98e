import type { clientRoutes } from '#contract/clients.js';
import type { scheduleRoutes } from '#contract/schedules.js';
import { Refusal } from '#domain/base/refusals.js';
import { findStepKind, type ScheduleBody } from '#domain/outputs/daily-plans.js';
import type { Days } from '#services/daily-plans/days.js';
import type { Schedules, StoredSchedule } from '#services/daily-plans/schedules.js';
import type { Clients, StoredClient } from '#services/delivery/clients.js';
import type { DeliveryRecords } from '#services/delivery/deliveries.js';
import type { Handlers, Principal, Removals, Reply } from '../handler.js';

export function createClientHandlers(
  clients: Clients,
  records: Pick<DeliveryRecords, 'list' | 'latest'>,
  removals: Removals,
): Handlers<typeof clientRoutes> {
  return {
    async listClients({ query }) {
      const { items, ...skipped } = await clients.page(query);
      const listedClients = await Promise.all(
        items.map(async (client) => ({ ...client, latest_delivery: await records.latest(client.client_id) })),
      );
      return { json: { clients: listedClients, ...skipped } };
    },
    getClient: async ({ params }) => toClientReply(await clients.get(params.client_id)),
    putClient: async ({ params, body, precondition, authorship }) =>
      toClientReply(await clients.put(params.client_id, body(), precondition(), authorship())),
    async deleteClient(request) {
      const id = request.params.client_id;
      const removal = await removals.of(request, { kind: 'client', id });
      if (!('purgedRuns' in removal)) await clients.remove(id, request.precondition(), removal);
      return {};
    },
    async listDeliveries({ params, query }) {
      await clients.get(params.client_id);
      return { json: { deliveries: await records.list(params.client_id, query) } };
    },
  };
}

export const toClientReply = ({ client, etag }: StoredClient): Reply => ({ json: client, documentEtag: etag });

export function createScheduleHandlers(
  schedules: Schedules,
  days: Days,
  records: Pick<DeliveryRecords, 'get'>,
  removals: Removals,
): Handlers<typeof scheduleRoutes> {
  return {
    async listSchedules({ query }) {
      const { items, ...skipped } = await schedules.page(query);
      const readLatest = (id: string) => (query.days === 0 ? null : days.list(id, { limit: query.days }));
      const listedSchedules = await Promise.all(
        items.map(async (schedule) => ({ ...schedule, latest: await readLatest(schedule.schedule_id) })),
      );
      return { json: { schedules: listedSchedules, ...skipped } };
    },
    getSchedulePlan: async ({ params }) => toScheduleReply(await schedules.get(params.schedule_id)),
    async putSchedule({ params, body, precondition, authorship, principal }) {
      const plan = body();
      assertMaySchedule(principal, plan);
      return toScheduleReply(await schedules.put(params.schedule_id, plan, precondition(), authorship()));
    },
    async deleteSchedule(request) {
      const id = request.params.schedule_id;
      const removal = await removals.of(request, { kind: 'schedule', id });
      if (!('purgedRuns' in removal)) await schedules.remove(id, request.precondition(), removal);
      return {};
    },
    listScheduleDays: async ({ params, query }) => ({ json: await days.list(params.schedule_id, query) }),
    getScheduleDay: async ({ params, query, signal }) => ({
      json: await days.get(params.schedule_id, params.date, { waitSeconds: query.wait, signal }),
    }),
    async getScheduleFile({ params }) {
      const { bytes, sha256, open } = await days.file(params.schedule_id, params.date, params.file_name);
      return {
        stream: await open(),
        length: bytes,
        etag: sha256,
        type: 'application/octet-stream',
        headers: { 'Content-Disposition': `attachment; filename="${params.file_name}"` },
      };
    },
    async listDayDeliveries({ params: { schedule_id: scheduleId, date }, signal }) {
      const { steps } = await days.get(scheduleId, date, { waitSeconds: 0, signal });
      const keys = steps.flatMap(({ type, items }) => (type === 'deliver' ? items.map(({ key }) => key) : []));
      const clientIds = [...new Set(keys.map((key) => key.split('/')[0]!))].toSorted(); // split returns at least one part
      const result = await Promise.all(clientIds.map((clientId) => records.get({ clientId, scheduleId, date })));
      return { json: { deliveries: result.flatMap((record) => record ?? []) } };
    },
    runScheduleDay: async ({ params, body, authorship }) => ({
      json: await days.run(params.schedule_id, params.date, body(), authorship()),
    }),
    skipScheduleDay: async ({ params, body, authorship }) => ({
      json: await days.skip(params.schedule_id, params.date, body().reason, authorship()),
    }),
    waiveScheduleCheck: async ({ params, body, authorship }) => ({
      json: await days.waive(params.schedule_id, params.date, body(), authorship()),
    }),
    backfillSchedule: async ({ params, body, authorship }) => ({
      json: await days.backfill(params.schedule_id, body(), authorship()),
    }),
    listJudgements: async ({ params, query }) => ({
      json: { judgements: await days.judgements(params.schedule_id, query) },
    }),
  };
}

export const toScheduleReply = ({ schedule, etag }: StoredSchedule): Reply => ({ json: schedule, documentEtag: etag });

/** Checks that a client has the scope of every step. @throws Refusal FORBIDDEN_SCOPE */
export function assertMaySchedule({ scopes }: Pick<Principal, 'scopes'>, { steps }: Pick<ScheduleBody, 'steps'>): void {
  if (scopes.has('admin')) return;
  for (const { type } of steps) {
    const { scope } = findStepKind(type);
    if (scopes.has(scope)) continue;
    const message = `The key lacks the scope ${scope}, which the step ${type} requires.`;
    throw new Refusal('FORBIDDEN_SCOPE', message, { needed: scope, scopes: [...scopes] });
  }
}
