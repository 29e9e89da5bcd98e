import type { accessRoutes, principalRoutes } from '#contract/access.js';
import type { jobRoutes } from '#contract/job-routes.js';
import type { changelogRoutes, Health, healthRoutes, metricsRoutes } from '#contract/service.js';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Access } from '#services/keys/access.js';
import type { AnyJobEvent, JobKindsService, JobsService, JobView } from '#services/shared/jobs.js';
import type { Metrics } from '#services/shared/metrics.js';
import type { Changelog, HealthReport, HealthService } from '#services/shared/service.js';
import { frameStream } from '#services/shared/stamped-json.js';
import type { OwnHandlers } from '../calls.js';
import type { Handlers, Principal, Reply } from '../handler.js';

export function createAccessHandlers(access: Pick<Access, 'read' | 'share'>): Handlers<typeof accessRoutes> {
  return {
    getAccess: async ({ params }) => ({ json: await access.read({ kind: params.kind, id: params.document_id }) }),
    async putAccess(request) {
      const { params, body, authorship } = request;
      const subject = { kind: params.kind, id: params.document_id };
      await access.read(subject);
      return { json: await access.share(subject, body().shared_with, authorship()) };
    },
  };
}

export function createChangelogHandlers(changelog: Changelog): Handlers<typeof changelogRoutes> {
  return {
    getChangelog: ({ query }) => ({ json: changelog.read(query.since) }),
  };
}

const liveReply = { text: JSON.stringify({ status: 'live' }) };

/** @param limits limits of this process */
export function createHealthHandlers(
  health: HealthService,
  limits: Health['limits'] = LIMITS,
): Handlers<typeof healthRoutes> {
  const createReply = (healthReport: HealthReport): Reply => ({ json: { ...healthReport, limits } });
  return {
    getHealth({ principal }) {
      if (isAnonymous(principal)) return { json: { status: 'live', version: health.version } };
      const read = health.health();
      return read instanceof Promise ? read.then(createReply) : createReply(read);
    },
    getLiveness: () => liveReply,
    getReadiness({ principal }) {
      const checks = health.readiness();
      return { json: { status: 'ready', checks: isAnonymous(principal) ? [] : checks } };
    },
  };
}

/** Returns true for an unauthenticated client. */
const isAnonymous = ({ scopes }: Principal): boolean => scopes.size === 0;

export function createMetricsHandlers(metrics: Metrics): Handlers<typeof metricsRoutes> {
  return {
    async getMetrics() {
      const { text, type } = await metrics.expose();
      return { bytes: new TextEncoder().encode(text), type };
    },
  };
}

export const principalHandlers: Handlers<typeof principalRoutes> = {
  getPrincipal: ({ principal: { keyId, scopes } }) => ({ json: { key_id: keyId, scopes: [...scopes] } }),
};

/**
 * Interval in ms between comments on a stream without events. Most proxies close a stream after 60 s without data. At
 * each comment, the streams of expired keys are ended.
 */
const COMMENT_EVERY_MS = 15_000;

export function createJobHandlers(jobs: JobsService, kinds: JobKindsService): OwnHandlers<typeof jobRoutes> {
  return {
    listJobs: async ({ query: { kind, status, limit, before } }) => ({
      json: await jobs.list({ kinds: kind, statuses: status, limit, before }),
    }),
    async getJob({ params, query, signal, isStillAllowed }) {
      const view = await jobs.read(params.job_id, { waitSeconds: query.wait, signal });
      if (query.wait > 0 && !(await isStillAllowed()))
        throw new Refusal('UNAUTHENTICATED', 'The key, token or session ended while the request waited.');
      const { created_at: createdAt, finished_at: finishedAt } = view.status;
      if (query.created_at !== undefined && query.created_at !== createdAt)
        throw new Refusal(
          'JOB_NOT_FOUND',
          `The job ${params.job_id} was submitted at ${createdAt}, not at ${query.created_at}.`,
          { job_id: params.job_id, created_at: createdAt },
        );
      return { ...(await createJobReply(view)), ...(finishedAt !== null && { pins: { created_at: createdAt } }) };
    },
    listJobKinds: async () => ({ json: { kinds: await kinds.list() } }),
    pauseJobKind: async ({ params, body, authorship }) => ({
      json: await kinds.pause(params.job_kind, body().reason, authorship()),
    }),
    resumeJobKind: async ({ params, authorship }) => ({ json: await kinds.resume(params.job_kind, authorship()) }),
    retryJobs: async ({ body }) => ({ json: await jobs.retry(body()) }),
    cancelJob: async ({ params, authorship }) => createJobReply(await jobs.cancel(params.job_id, authorship())),
    followJob: async ({ params, header, principal, isStillAllowed }) =>
      createEventsReply(
        await jobs.follow(params.job_id, parseEventId(header('last-event-id')), principal.keyId),
        isStillAllowed,
      ),
    followJobs: async ({ query, principal, isStillAllowed }) =>
      createEventsReply(await jobs.followAll(query.seconds, principal.keyId), isStillAllowed),
  };
}

function createEventsReply(events: AsyncIterableIterator<AnyJobEvent>, isStillAllowed: () => Promise<boolean>): Reply {
  return {
    stream: createEventStream(events, isStillAllowed),
    type: 'text/event-stream; charset=utf-8',
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}

/** Replies with a status and its result. A result that is stored as bytes is not parsed. */
export async function createJobReply({ status, resultBytes }: JobView): Promise<Reply> {
  if (resultBytes === null) return { json: status };
  const { result: _, ...rest } = status;
  const before = new TextEncoder().encode(`${JSON.stringify(rest).slice(0, -1)},"result":`);
  const after = new TextEncoder().encode('}');
  const { length } = resultBytes;
  const result = await resultBytes.open();
  if (length === null) {
    const frame = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(before),
      flush: (controller) => controller.enqueue(after),
    });
    return { stream: result.pipeThrough(frame) };
  }
  return { stream: frameStream(result, { before, after }), length: before.length + length + after.length };
}

function parseEventId(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,16}$/.test(header) ? Number(header) : undefined;
}

/**
 * Writes events as text. Ends with the events, or when the client loses access; access is checked before each event.
 */
function createEventStream(
  events: AsyncIterableIterator<AnyJobEvent>,
  isStillAllowed: () => Promise<boolean>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let comments: NodeJS.Timeout | undefined;
  const sendComment = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (!(await isStillAllowed())) return void (await events.return?.()); // ends the pending pull
    // If the client does not read, earlier comments are still in the queue.
    if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'));
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      comments = setInterval(() => void sendComment(controller).catch(() => {}), COMMENT_EVERY_MS);
      comments.unref();
    },
    async pull(controller) {
      const { done, value } = await events.next().catch(releaseStream);
      if (done !== true && (await isStillAllowed())) return controller.enqueue(encoder.encode(formatEvent(value)));
      await endStream();
      controller.close();
    },
    cancel: endStream,
  });

  async function endStream(): Promise<void> {
    clearInterval(comments);
    await events.return?.();
  }

  /**
   * Releases the resources of a stream that failed. Such a stream is not cancelled by its reader. @throws the failure
   */
  async function releaseStream(failure: unknown): Promise<never> {
    await endStream();
    throw failure;
  }
}

function formatEvent(event: AnyJobEvent): string {
  if (event === null) return 'event: caught-up\ndata: {}\n\n';
  return `event: status\nid: ${event.id}\ndata: ${JSON.stringify(event.status)}\n\n`;
}
