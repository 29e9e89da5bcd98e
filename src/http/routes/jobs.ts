import type { jobRoutes } from '#contract/jobs.js';
import type { AnyJobEvent } from '#services/operations/job-events.js';
import type { JobsService, JobView } from '#services/operations/jobs.js';
import { framedStream } from '#services/shared/framed-stream.js';
import type { Handlers, Reply } from '../handler.js';

/** Proxies close a connection that says nothing; this is well below the 60 s most of them wait. */
const COMMENT_EVERY_MS = 15_000;

export function jobHandlers(jobs: JobsService): Handlers<typeof jobRoutes> {
  return {
    listJobs: async ({ query: { kind, status, limit, before } }) => ({
      json: await jobs.list({ kinds: kind, statuses: status, limit, before }),
    }),
    getJob: async ({ params, query, signal }) =>
      jobReply(await jobs.read(params.job_id, { waitSeconds: query.wait, signal })),
    cancelJob: async ({ params }) => jobReply(await jobs.cancel(params.job_id)),
    followJob: async ({ params, header }) =>
      eventsReply(await jobs.follow(params.job_id, parseEventId(header('last-event-id')))),
    followJobs: async ({ query }) => eventsReply(await jobs.followAll(query.seconds)),
  };
}

function eventsReply(events: AsyncIterableIterator<AnyJobEvent>): Reply {
  return {
    stream: eventStream(events),
    type: 'text/event-stream; charset=utf-8',
    headers: { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' },
  };
}

/** A status with its result. A result kept as bytes is passed through between head and tail, never parsed. */
export async function jobReply({ status, resultBytes }: JobView): Promise<Reply> {
  if (resultBytes === null) return { json: status };
  const { result: _, ...rest } = status;
  const before = new TextEncoder().encode(`${JSON.stringify(rest).slice(0, -1)},"result":`);
  const after = new TextEncoder().encode('}');
  const { length } = resultBytes;
  const result = await resultBytes.open();
  if (length === null) return { stream: between(before, result, after) };
  return { stream: framedStream(result, { before, after }), length: before.length + length + after.length };
}

function between(head: Uint8Array, middle: ReadableStream<Uint8Array>, tail: Uint8Array): ReadableStream<Uint8Array> {
  const reader = middle.getReader();
  let isHeadSent = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!isHeadSent) {
        isHeadSent = true;
        controller.enqueue(head);
        return;
      }
      const { done, value } = await reader.read();
      controller.enqueue(done ? tail : value);
      if (done) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function parseEventId(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,16}$/.test(header) ? Number(header) : undefined;
}

function eventStream(events: AsyncIterableIterator<AnyJobEvent>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let comments: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      comments = setInterval(() => {
        // A client that reads nothing has comments waiting for it already.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'));
      }, COMMENT_EVERY_MS);
      comments.unref();
    },
    async pull(controller) {
      const { done, value } = await events.next();
      if (done === true) {
        clearInterval(comments);
        controller.close();
      } else {
        controller.enqueue(encoder.encode(eventText(value)));
      }
    },
    async cancel() {
      clearInterval(comments);
      await events.return?.();
    },
  });
}

function eventText(event: AnyJobEvent): string {
  if (event === null) return 'event: caught-up\ndata: {}\n\n';
  return `event: status\nid: ${event.id}\ndata: ${JSON.stringify(event.status)}\n\n`;
}
