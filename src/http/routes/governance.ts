import type { approvalRoutes } from '#contract/approvals.js';
import type { closureRoutes } from '#contract/calendars.js';
import type { clientRoutes } from '#contract/clients.js';
import type { auditRoutes, GovernanceOverview, governanceRoutes } from '#contract/governance.js';
import type { publicationRoutes } from '#contract/publication.js';
import { BUNDLE_MEDIA, LOG_MEDIA } from '#contract/route.js';
import type { scheduleRoutes } from '#contract/schedules.js';
import { createCalendarFileName } from '#domain/calendars/exchange-calendars.js';
import type { ApprovalAction } from '#domain/definition/approvals.js';
import type { Days } from '#services/daily-plans/days.js';
import { assertMaySchedule, type Schedules } from '#services/daily-plans/schedules.js';
import type { Clients } from '#services/delivery/clients.js';
import type { DeliveryRecords } from '#services/delivery/deliveries.js';
import type { Audit, AuditReading } from '#services/governance/audit.js';
import type { Closures } from '#services/governance/closures.js';
import type { Procedures, Statements } from '#services/governance/statements.js';
import type { Indices } from '#services/indices/indices.js';
import { listClientNames } from '#services/keys/access.js';
import type { Bundles } from '#services/publication/bundles.js';
import type { Publications } from '#services/publication/publications.js';
import type { Approvals } from '#services/shared/approvals.js';
import { streamLogLines, streamLogObject } from '#views/formats/text.js';
import { formatStatement } from '#views/statement-text.js';
import { createByteStream, nameFile, toDocumentReply } from '../answers.js';
import type { OwnHandlers, Removals } from '../calls.js';

export function createApprovalHandlers(approvals: Approvals): OwnHandlers<typeof approvalRoutes> {
  const rules = Object.entries(approvals.rules).map(([action, rule]) => ({
    action: action as ApprovalAction, // Object.entries returns plain strings.
    ...rule,
  }));
  return {
    listApprovals: async ({ query }) => ({ json: { rules, approvals: await approvals.list(query) } }),
    async decideApproval({ params, body, principal, authorship }) {
      await approvals.get(params.approval_id);
      const { decision, comment } = body();
      const decider = { by: authorship(), names: listClientNames(principal), scopes: principal.scopes };
      return { json: await approvals.decide(params.approval_id, decision, comment, decider) };
    },
  };
}

export function createAuditHandlers(audit: Audit): OwnHandlers<typeof auditRoutes> {
  return {
    async getAudit({ query, media }) {
      const { head, batches, seals, keys, left, isWhole } = await audit.read(query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(isWhole ? addSeals(batches, seals) : batches), type: LOG_MEDIA }
        : {
            stream: streamLogObject(batches, `${JSON.stringify({ head, seals, keys, ...left }).slice(1, -1)},`),
            type: 'application/json; charset=utf-8',
          };
    },
  };
}

/** Yields the entries of a log and then its signatures. */
async function* addSeals(batches: AuditReading['batches'], seals: AuditReading['seals']): AsyncGenerator<object[]> {
  for await (const batch of batches) yield [...batch];
  yield seals.map((seal) => ({ seal }));
}

export function createClosureHandlers(closures: Closures, removals: Removals): OwnHandlers<typeof closureRoutes> {
  return {
    listClosures: async () => ({ json: { calendars: await closures.list() } }),
    async putClosures({ params, body, precondition, authorship }) {
      const { dry_run: isDry, ...document } = body();
      const code = params.calendar_code;
      const effect = await closures.computeEffect(code, document);
      const storedClosures = isDry
        ? await closures.get(code)
        : await closures.put(code, document, precondition(), authorship());
      const changes = isDry ? document.changes : storedClosures.closures.changes;
      return {
        ...toDocumentReply(storedClosures),
        json: { ...storedClosures.closures, changes, dry_run: isDry, effect },
      };
    },
    deleteClosures: (request) =>
      removals.run(
        request,
        { kind: 'closures', id: createCalendarFileName(request.params.calendar_code) },
        closures.remove,
      ),
  };
}

interface GovernanceServices {
  readonly overview: () => Promise<GovernanceOverview>;
  readonly statements: Statements;
  readonly procedures: Procedures;
  readonly indices: Pick<Indices, 'get'>;
}

export function createGovernanceHandlers({
  overview,
  statements,
  procedures,
  indices,
}: GovernanceServices): OwnHandlers<typeof governanceRoutes> {
  return {
    getGovernance: async () => ({ json: await overview() }),
    async getStatement({ params, media, signal }) {
      const statement = await statements.statement(params.index_id, signal);
      if (media !== 'text/markdown') return { json: statement };
      return { bytes: new TextEncoder().encode(formatStatement(statement)), type: `${media}; charset=utf-8` };
    },
    async listMethodologyChanges({ params, query }) {
      const { document } = await indices.get(params.index_id);
      const changes = await statements.changes(params.index_id, query.limit);
      return { json: { changes, amendments: document.amendments ?? [] } };
    },
    async listProcedures({ query }) {
      const { items, ...skipped } = await procedures.page(query);
      return { json: { procedures: items, ...skipped } };
    },
  };
}

export function createPublicationHandlers(
  publications: Publications,
  bundles: Bundles,
): OwnHandlers<typeof publicationRoutes> {
  return {
    publishIndex: async ({ params, body, authorship, signal }) => ({
      json: await publications.publish(params.index_id, body, { by: authorship(), signal }),
    }),
    async getPublished({ params, query, media }) {
      const batches = await publications.entries(params.index_id, query);
      return media === LOG_MEDIA
        ? { stream: streamLogLines(batches), type: LOG_MEDIA }
        : { stream: streamLogObject(batches), type: 'application/json; charset=utf-8' };
    },
    async getPublishedBundle({ params, authorship, signal }) {
      const { parts, length } = await bundles.of(params.index_id, { by: authorship(), signal });
      return { stream: createByteStream(parts), length, type: BUNDLE_MEDIA };
    },
    listPublishedErrors: async ({ params, query }) => ({
      json: { errors: await publications.errors(params.index_id, query.limit) },
    }),
    rotateSigningKey: async ({ authorship }) => ({ json: await publications.rotateKey(authorship()) }),
  };
}

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
      assertMaySchedule(principal.scopes, plan);
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
