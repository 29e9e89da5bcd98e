import type { clientRoutes } from '#contract/clients.js';
import type { scheduleRoutes } from '#contract/schedules.js';
import { Refusal } from '#domain/base/refusals.js';
import { findStepKind, type ScheduleBody } from '#domain/outputs/daily-plans.js';
import type { Days } from '#services/daily-plans/days.js';
import type { Schedules } from '#services/daily-plans/schedules.js';
import type { Clients } from '#services/delivery/clients.js';
import type { DeliveryRecords } from '#services/delivery/deliveries.js';
import { nameFile, toDocumentReply } from '../answers.js';
import type { OwnHandlers } from '../calls.js';
import type { Principal } from '../handler.js';

export function createClientHandlers(
  clients: Clients,
  records: Pick<DeliveryRecords, 'list' | 'latest'>,
): OwnHandlers<typeof clientRoutes> {
  return {
    async listClients({ query }) {
      const { items, ...skipped } = await clients.page(query);
      const listedClients = await Promise.all(
        items.map(async (client) => ({ ...client, latest_delivery: await records.latest(client.client_id) })),
      );
      return { json: { clients: listedClients, ...skipped } };
    },
    async listDeliveries({ params, query }) {
      await clients.get(params.client_id);
      return { json: { deliveries: await records.list(params.client_id, query) } };
    },
  };
}

export function createScheduleHandlers(
  schedules: Schedules,
  days: Days,
  records: Pick<DeliveryRecords, 'get'>,
): OwnHandlers<typeof scheduleRoutes> {
  return {
    async listSchedules({ query }) {
      const { items, ...skipped } = await schedules.page(query);
      const readLatest = (id: string) => (query.days === 0 ? null : days.list(id, { limit: query.days }));
      const listedSchedules = await Promise.all(
        items.map(async (schedule) => ({ ...schedule, latest: await readLatest(schedule.schedule_id) })),
      );
      return { json: { schedules: listedSchedules, ...skipped } };
    },
    async putSchedule({ params, body, precondition, authorship, principal }) {
      const plan = body();
      assertMaySchedule(principal, plan);
      return toDocumentReply(await schedules.put(params.schedule_id, plan, precondition(), authorship()));
    },
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
        headers: nameFile(params.file_name),
      };
    },
    async listDayDeliveries({ params: { schedule_id: scheduleId, date }, signal }) {
      const { steps } = await days.get(scheduleId, date, { waitSeconds: 0, signal });
      const keys = steps.flatMap(({ type, items }) => (type === 'deliver' ? items.map(({ key }) => key) : []));
      const clientIds = [...new Set(keys.map((key) => key.split('/')[0]!))].toSorted(); // split returns at least one part
      const result = await Promise.all(clientIds.map((clientId) => records.get({ clientId, scheduleId, date })));
      return { json: { deliveries: result.flatMap((record) => record ?? []) } };
    },
    skipScheduleDay: async ({ params, body, authorship }) => ({
      json: await days.skip(params.schedule_id, params.date, body().reason, authorship()),
    }),
    listJudgements: async ({ params, query }) => ({
      json: { judgements: await days.judgements(params.schedule_id, query) },
    }),
  };
}

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
