import { Refusal } from '#domain/refusals/refusal.js';
import type { DocumentStore } from '#store/port.js';
import { findCause, readStored } from '#store/read-stored.js';
import type { Clock } from '../clock.js';
import { createListing, type LostJobs } from '../job-listing.js';
import { readJobRecord, toStatus } from '../job-record.js';
import { findStoredResult } from '../life-cycle.js';
import type { JobClass } from '../job-class.js';
import type { LocatedJob, JobListing, JobQuery, JobQueue, LaneLoad } from '../queue.js';
import { countLanes } from './lane-tally.js';
import type { LiveJobs } from './live-jobs.js';
import { readSubmission } from './stored-jobs.js';

/** Reads of the queue that need only memory and documents. */
export type TableReader = Pick<JobQueue, 'find' | 'list' | 'ids' | 'liveIds' | 'counts' | 'watch' | 'watchAll'> & {
  lanes(): Promise<Readonly<Record<JobClass, Omit<LaneLoad, 'places'>>>>;
};

export interface TableReaderDependencies {
  readonly store: DocumentStore;
  readonly clock: Clock;
  readonly live: LiveJobs;
  /** Returns the unreadable jobs of the store, if there are any. */
  readonly lost: () => LostJobs | undefined;
}

/** Creates the reads of a table of jobs. */
export function createTableReader({ store, clock, live, lost }: TableReaderDependencies): TableReader {
  async function find(jobId: string): Promise<LocatedJob | undefined> {
    const revision = live.history.getRevision(jobId);
    const entry = live.get(jobId);
    if (entry !== undefined) {
      live.refresh(entry);
      return {
        status: toStatus(entry.identity, entry.life, await readSubmission(store, jobId)),
        stored: null,
        revision,
      };
    }
    const storedJob = await store.get('job', jobId);
    if (storedJob === undefined) return undefined;
    const record = readStored(storedJob, readJobRecord);
    if (record === undefined) throw new Refusal('DOCUMENT_UNREADABLE', `The stored status of ${jobId} cannot be read.`);
    return { status: toStatus(record, record, record), stored: findStoredResult(record), revision };
  }

  async function list({ limit, ...query }: JobQuery): Promise<JobListing> {
    const listing = createListing();
    for (const jobId of live.history.matching(query)) {
      if (listing.count >= limit) break;
      const cause = live.get(jobId) !== undefined ? undefined : findCause(await store.get('job', jobId), readJobRecord);
      const status = cause === undefined ? (await find(jobId))?.status : undefined;
      if (cause !== undefined) listing.skip(cause);
      else if (status !== undefined) listing.add(status);
    }
    for (const cause of (await lost()?.causes(query.kinds)) ?? []) listing.skip(cause);
    return listing.end();
  }

  return {
    find,
    list,
    ids: async (kind) => live.history.ids(kind),
    liveIds: async () => [...live.ids()],
    lanes: async () => countLanes(live.values(), clock.now()),
    counts: async () => live.counts(),
    watch: live.watch,
    watchAll: live.watchAll,
  };
}
