import { computed, effect, signal } from '@preact/signals';
import type { Health, JobStatus } from '#clients/typescript/divisor.js';
import { formatJobAddress, formatJobTitle } from '../words/jobs.js';
import { hasKey, isReached, notifyChange, requiredKeyMessage, service, sharedName } from './service.js';
import { showToast } from './toasts.js';

/** A message that a job reported while this page was open. */
export interface LogLine {
  readonly at: string;
  readonly text: string;
  readonly progress: number;
}

/** Maximum number of lines that are kept per job, and maximum number of jobs. */
const LINES_MAX = 200;
const JOBS_MAX = 50;

const logsByJob = signal<ReadonlyMap<string, readonly LogLine[]>>(new Map());

export const getLog = (jobId: string): readonly LogLine[] => logsByJob.value.get(jobId) ?? [];

/** Appends the message of a job if it changed. */
function addLogLine({ job_id: id, status, message, error, progress, attempt }: JobStatus): void {
  const lines = logsByJob.peek().get(id) ?? [];
  const text = error?.message ?? (message === '' ? status : message);
  const line = `${attempt > 1 ? `Attempt ${attempt}: ` : ''}${text}`;
  if (lines.at(-1)?.text === line) return;
  const all = new Map(logsByJob.peek());
  all.delete(id);
  all.set(id, [...lines, { at: new Date().toISOString(), text: line, progress }].slice(-LINES_MAX));
  logsByJob.value = new Map([...all].slice(-JOBS_MAX));
}

/**
 * Options of a group of tabs. The browser makes one visible tab the leader. If that tab is hidden or closed, another
 * tab becomes the leader.
 */
interface TabSharing<M> {
  /** Name shared by the tabs of the group. */
  readonly name: string;
  /** Signal that removes this tab from the group. */
  readonly ended: AbortSignal;
  /** Called with a message of another tab. */
  onMessage(message: M, tell: (message: M) => void): void;
  /** Does the work of the leading tab. Returns when the work has ended. */
  lead(tell: (message: M) => void): Promise<void>;
}

/** Returns true if tabs can share work. They need locks, which browsers provide only for this machine and for HTTPS. */
const canShare = (): boolean => 'locks' in navigator && typeof BroadcastChannel === 'function';

/**
 * Joins a group of tabs in which only the leader does the work.
 * @returns a promise that resolves when this tab has left the group
 */
async function shareAmongTabs<M>({ name, ended, onMessage, lead }: TabSharing<M>, first: M): Promise<void> {
  const channel = new BroadcastChannel(name);
  const tell = (message: M) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no origin to be named
    if (!ended.aborted) channel.postMessage(message);
  };
  // All tabs run the same version. They send no other messages.
  channel.addEventListener('message', ({ data }) => onMessage(data as M, tell));
  ended.addEventListener('abort', () => channel.close());
  tell(first);
  try {
    await navigator.locks.request(name, { signal: ended }, () => lead(tell));
  } catch (failure) {
    if (!ended.aborted) throw failure;
  }
}

/*
 * Events of the service: one stream with the states of all jobs. A browser opens at most six connections per host, so
 * one visible tab opens the stream and forwards it to the other tabs; if tabs cannot share, each tab polls. All job
 * states on a page come from this stream, and a lost stream shows that the service is unavailable.
 */

/** Messages between tabs: a request for all states, all states that the leading tab knows, or one state of a job. */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'all'; readonly isOpen: boolean; readonly stream: string; readonly jobs: readonly JobStatus[] }
  | { readonly kind: 'status'; readonly job: JobStatus };
type TabMessageSender = (message: Message) => void;

/** Unfinished jobs and jobs that ended while the page was open, by id. */
const knownJobs = signal<ReadonlyMap<string, JobStatus>>(new Map());
export const liveJobs = computed(() => [...knownJobs.value.values()].filter(isUnfinished).toSorted(compareByAge));
export const health = signal<Health | null>(null);

/** Returns true if a document names a data store that is not the served one. */
export const isOtherStore = (store: string | null | undefined): store is string =>
  store != null && store !== health.value?.store?.active;
/** True if the stream is open. */
export const isFollowing = signal(false);
/** Version of the service that served this page. */
const builtFor = signal<string | null>(null);
/** True if the service was updated after this page was loaded. */
export const isOutdated = computed(
  () => builtFor.value !== null && health.value !== null && health.value.version !== builtFor.value,
);

const isUnfinished = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';
const compareByAge = (a: JobStatus, b: JobStatus): number => b.created_at.localeCompare(a.created_at);

/** Returns the last state of a job that the stream reported. */
export const getJob = (jobId: string): JobStatus | undefined => knownJobs.value.get(jobId);

/** Stores the state of a job in a response. The response may arrive before the event of the stream. */
export function storeJob(job: JobStatus): void {
  const before = knownJobs.value.get(job.job_id);
  if (before !== undefined && !isUnfinished(before) && before.created_at >= job.created_at) return;
  addLogLine(job);
  knownJobs.value = new Map(knownJobs.value).set(job.job_id, { ...job, result: null });
}

/** Removes how a job ended, because it was queued again. */
export function forgetJob(jobId: string): void {
  const otherJobs = new Map(knownJobs.value);
  otherJobs.delete(jobId);
  knownJobs.value = otherJobs;
}

const RETRY_MS = [250, 500, 1000, 2000, 4000];
/**
 * Maximum time without data in milliseconds. The service sends an event at least every 15 seconds. After twice that
 * time, the connection counts as lost.
 */
const SILENCE_MS = 32_000;

/** Returns the kind of the badge for the result of a health check. */
export const getCheckKind = ({ ok, warning }: Pick<Health['checks'][number], 'ok' | 'warning'>) =>
  !ok ? 'bad' : warning ? 'warning' : 'good';

/** Id of the stream from which this tab gets its data. Any tab may have opened it. Empty before the first stream. */
let streamId = '';
/** Id that no stream has. The next stream then counts as new. */
const NO_STREAM = 'left';

/**
 * Stores the id of the stream. If it changed, the pages are reloaded: jobs that ended between two streams were reported
 * by neither.
 */
function recordStream(next: string): void {
  const isOther = streamId !== '' && next !== streamId;
  streamId = next;
  if (isOther) notifyChange();
}

export function startLive(): void {
  const isVisible = signal(!document.hidden);
  document.addEventListener('visibilitychange', () => {
    isVisible.value = !document.hidden;
  });
  effect(() => {
    if (!isVisible.value || requiredKeyMessage.value !== null) return undefined;
    void service.value;
    const controller = new AbortController();
    if (canShare()) void follow(sharedName.value, controller.signal);
    else void pollUntil(controller.signal);
    void watchHealth(controller.signal);
    return () => controller.abort();
  });
}

/** If this tab is the leading tab, opens the stream. Otherwise receives the data from the leading tab. */
async function follow(name: string, ended: AbortSignal): Promise<void> {
  let leads = false;
  // A hidden tab received no events.
  if (streamId !== '') streamId = NO_STREAM;
  void checkHealth().catch(() => undefined);
  await shareAmongTabs<Message>(
    {
      name,
      ended,
      onMessage(message, tell) {
        if (!leads) void handleMessage(message);
        else if (message.kind === 'ask') tell(createMessage());
      },
      lead(tell) {
        leads = true;
        return followUntil(ended, tell);
      },
    },
    { kind: 'ask' },
  );
}

const createMessage = (): Message => ({
  kind: 'all',
  isOpen: isFollowing.peek(),
  stream: streamId,
  jobs: liveJobs.peek(),
});

async function handleMessage(message: Message): Promise<void> {
  if (message.kind === 'status') recordJob(message.job);
  if (message.kind !== 'all') return;
  const { isOpen, jobs, stream: streamState } = message;
  const isBack = isOpen && !isReached.peek();
  const isNews = isOpen !== isFollowing.peek();
  isFollowing.value = isOpen;
  if (isNews) await checkHealth().catch(() => undefined);
  if (isBack) notifyChange();
  if (!isOpen) return;
  recordStream(streamState);
  await storeJobs(jobs);
}

/** Adds the states of all unfinished jobs. */
async function storeJobs(jobs: readonly JobStatus[]): Promise<void> {
  for (const job of jobs) recordJob(job);
  await settleMissing(new Set(jobs.map(({ job_id: id }) => id)));
}

const POLL_MS = 2_000;
/** Maximum number of unfinished jobs per request, as in the service. */
const POLLED_MAX = 100;

async function pollUntil(ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    try {
      if (!isFollowing.peek()) await checkHealth();
      const query = { status: ['pending' as const, 'running' as const], limit: POLLED_MAX };
      const { jobs } = await service.peek().call('listJobs', { query, signal: ended });
      if (!isFollowing.peek()) notifyChange();
      isFollowing.value = true;
      await storeJobs(jobs);
    } catch {
      isFollowing.value = false; // a banner above the page shows the reason
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function followUntil(ended: AbortSignal, tell: TabMessageSender): Promise<void> {
  for (let failures = 0; !ended.aborted; failures++) {
    const controller = new AbortController();
    const stop = () => controller.abort();
    ended.addEventListener('abort', stop);
    try {
      await checkHealth();
      await followOnce(controller, tell);
    } catch {
      // The stream ended or was lost. A banner reports it.
    }
    ended.removeEventListener('abort', stop);
    if (isFollowing.peek()) failures = 0;
    isFollowing.value = false;
    if (ended.aborted) return;
    tell(createMessage());
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
  }
}

const HEALTH_MS = { ok: 60_000, degraded: 3_000 };

/** Returns true if the service is healthy and serves a store. After a restart, the store is loaded without an event. */
const isWell = (now: Health | null): boolean => now?.status === 'ok' && now.store.end !== null;

/** Checks the health of the service at intervals. While there is a problem, it checks more often. */
async function watchHealth(ended: AbortSignal): Promise<void> {
  for (let waitedMs = 0; !ended.aborted; waitedMs += HEALTH_MS.degraded) {
    await new Promise((resolve) => setTimeout(resolve, HEALTH_MS.degraded));
    if (ended.aborted || !isFollowing.peek() || (isWell(health.peek()) && waitedMs < HEALTH_MS.ok)) continue;
    waitedMs = 0;
    const before = health.peek()?.store;
    await checkHealth().catch(() => undefined);
    if (JSON.stringify(before) !== JSON.stringify(health.peek()?.store)) notifyChange();
  }
}

/**
 * Reads the health of the service, and notices if it is another service than before. Before the first response, calls
 * share one request.
 */
export function checkHealth(): Promise<void> {
  if (health.peek() !== null) return readHealth();
  healthPoll ??= readHealth().finally(() => {
    healthPoll = null;
  });
  return healthPoll;
}

let healthPoll: Promise<void> | null = null;

async function readHealth(): Promise<void> {
  const before = health.peek();
  const now = await service.peek().call('getHealth');
  if (!('store' in now)) return; // the key is no longer valid; other requests report it
  health.value = now;
  builtFor.value ??= now.version;
  if (before !== null && before.started_at !== now.started_at) {
    showToast('info', `The service was restarted at ${now.started_at.slice(11, 16)} UTC. The page was refreshed.`);
    notifyChange();
  }
}

async function followOnce(given: AbortController, tell: TabMessageSender): Promise<void> {
  /** Unfinished jobs in the first messages. A job that is not among them has ended. */
  const seenIds = new Set<string>();
  const ownId = Math.random().toString(36);
  let timer = setTimeout(() => given.abort(), SILENCE_MS);
  try {
    for await (const { event, data } of service.peek().events('followJobs', { signal: given.signal })) {
      clearTimeout(timer);
      timer = setTimeout(() => given.abort(), SILENCE_MS);
      isFollowing.value = true;
      if (event === 'status') {
        const job = data as JobStatus; // the contract defines the events of the stream
        seenIds.add(job.job_id);
        recordJob(job);
        tell({ kind: 'status', job });
      } else if (event === 'caught-up') {
        recordStream(ownId);
        await settleMissing(seenIds);
        tell(createMessage());
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function recordJob(job: JobStatus): void {
  const before = knownJobs.peek().get(job.job_id);
  knownJobs.value = new Map(knownJobs.peek()).set(job.job_id, job);
  const hasEnded = !isUnfinished(job) && (before === undefined || isUnfinished(before));
  if (!hasEnded) return;
  announceEnd(job);
  notifyChange();
  void checkHealth().catch(() => undefined);
}

function announceEnd(job: JobStatus): void {
  const link = { address: formatJobAddress(job), text: 'Open' };
  if (job.status === 'succeeded') showToast('good', `${formatJobTitle(job)}: done.`, link);
  else if (job.status === 'failed')
    showToast('bad', `${formatJobTitle(job)}: ${job.error?.message ?? 'failed.'}`, link);
  else showToast('info', `${formatJobTitle(job)}: cancelled.`);
}

/** Reads jobs again that were unfinished when the connection was lost and have ended since. */
async function settleMissing(seen: ReadonlySet<string>): Promise<void> {
  const missing = [...knownJobs.peek().values()].filter((job) => isUnfinished(job) && !seen.has(job.job_id));
  for (const { job_id: jobId } of missing) {
    const job = await service
      .peek()
      .call('getJob', { params: { job_id: jobId } })
      .catch(() => null);
    if (job !== null) recordJob({ ...job, result: null });
    else knownJobs.value = new Map([...knownJobs.peek()].filter(([id]) => id !== jobId));
  }
}

/** Text of the banner about a lost connection; null if the service can be reached. */
export const connectionTrouble = computed(() =>
  isReached.value || (requiredKeyMessage.value !== null && !hasKey.value)
    ? null
    : 'The service is not reachable. The page shows the last known state and resumes when the service is available.',
);
