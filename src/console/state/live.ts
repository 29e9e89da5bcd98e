import { computed, effect, signal } from '@preact/signals';
import type { Health, JobStatus } from '#clients/typescript/divisor.js';
import { jobAddress, jobTitle } from '../words/jobs.js';
import { hasKey, isReached, keyWanted, service, sharedName } from './service.js';
import { canShare, shareAmongTabs } from './tabs.js';
import { noteLine } from './job-log.js';
import { notifyChange } from './resource.js';
import { say } from './toasts.js';

/*
 * Events of the service: one stream of the states of all jobs. A browser opens at most six connections to a host, so one
 * visible tab holds the stream and forwards it to the others; where tabs cannot share, each one polls. All job states on a page come from
 * this stream, and its end shows that the service is unavailable.
 */

/** Messages between tabs: a request of a tab that became visible, all states of the leading tab, one state of a job. */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'all'; readonly isOpen: boolean; readonly stream: string; readonly jobs: readonly JobStatus[] }
  | { readonly kind: 'status'; readonly job: JobStatus };
type Tell = (message: Message) => void;

/** Unfinished jobs, and those that ended while the page was open; newest first. */
const known = signal<ReadonlyMap<string, JobStatus>>(new Map());
export const liveJobs = computed(() => [...known.value.values()].filter(isUnfinished).toSorted(compareByAge));
export const health = signal<Health | null>(null);
/** True if the stream is open. */
export const isFollowing = signal(false);
/** Version of the service for which this page was built. */
const builtFor = signal<string | null>(null);
/** True if the service was updated after the page was loaded. */
export const isOutdated = computed(
  () => builtFor.value !== null && health.value !== null && health.value.version !== builtFor.value,
);

const isUnfinished = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';
const compareByAge = (a: JobStatus, b: JobStatus): number => b.created_at.localeCompare(a.created_at);

/** The state of a job as last reported by the stream. */
export const jobOf = (jobId: string): JobStatus | undefined => known.value.get(jobId);

/** Adds a state from an answer that arrived before the stream reported it. */
export function noteJob(job: JobStatus): void {
  const before = known.value.get(job.job_id);
  if (before !== undefined && !isUnfinished(before) && before.created_at >= job.created_at) return;
  noteLine(job);
  known.value = new Map(known.value).set(job.job_id, { ...job, result: null });
}

/** Forgets how a job ended, because it is queued again. */
export function forgetJob(jobId: string): void {
  const others = new Map(known.value);
  others.delete(jobId);
  known.value = others;
}

const RETRY_MS = [250, 500, 1000, 2000, 4000];
/** The service sends something every 15 seconds. Twice that without data means a lost connection. */
const SILENCE_MS = 32_000;

/** Id of the stream that feeds this tab, held by any tab; empty before the first. */
let stream = '';
/** Id that no stream has, so that the next one counts as new. */
const LEFT = 'left';

/** Jobs that ended between two streams were reported by neither: pages reload. */
function takeStream(next: string): void {
  const isOther = stream !== '' && next !== stream;
  stream = next;
  if (isOther) notifyChange();
}

/** Follows the service while the page exists. */
export function startLive(): void {
  const isVisible = signal(!document.hidden);
  document.addEventListener('visibilitychange', () => {
    isVisible.value = !document.hidden;
  });
  effect(() => {
    if (!isVisible.value || keyWanted.value !== null) return undefined;
    void service.value;
    const given = new AbortController();
    if (canShare()) void follow(sharedName.value, given.signal);
    else void pollUntil(given.signal);
    void watchHealth(given.signal);
    return () => given.abort();
  });
}

/** Leads, or hears of the tab that does. */
async function follow(name: string, ended: AbortSignal): Promise<void> {
  let leads = false;
  // A hidden tab receives no events.
  if (stream !== '') stream = LEFT;
  void lookAround().catch(() => undefined);
  await shareAmongTabs<Message>(
    {
      name,
      ended,
      onMessage(message, tell) {
        if (!leads) void hear(message);
        else if (message.kind === 'ask') tell(all());
      },
      lead(tell) {
        leads = true;
        return followUntil(ended, tell);
      },
    },
    { kind: 'ask' },
  );
}

const all = (): Message => ({ kind: 'all', isOpen: isFollowing.peek(), stream, jobs: liveJobs.peek() });

async function hear(message: Message): Promise<void> {
  if (message.kind === 'status') note(message.job);
  if (message.kind !== 'all') return;
  const { isOpen, jobs, stream: told } = message;
  const isBack = isOpen && !isReached.peek();
  const isNews = isOpen !== isFollowing.peek();
  isFollowing.value = isOpen;
  if (isNews) await lookAround().catch(() => undefined);
  if (isBack) notifyChange();
  if (!isOpen) return;
  takeStream(told);
  await noteAll(jobs);
}

/** Adds all unfinished jobs. */
async function noteAll(jobs: readonly JobStatus[]): Promise<void> {
  for (const job of jobs) note(job);
  await settleMissing(new Set(jobs.map(({ job_id: id }) => id)));
}

const POLL_MS = 2_000;
/** Unfinished jobs per request: the maximum of the service. */
const POLLED_MAX = 100;

async function pollUntil(ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    try {
      if (!isFollowing.peek()) await lookAround();
      const query = { status: ['pending' as const, 'running' as const], limit: POLLED_MAX };
      const { jobs } = await service.peek().call('listJobs', { query, signal: ended });
      if (!isFollowing.peek()) notifyChange();
      isFollowing.value = true;
      await noteAll(jobs);
    } catch {
      isFollowing.value = false; // The reason is shown above the page.
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function followUntil(ended: AbortSignal, tell: Tell): Promise<void> {
  for (let failures = 0; !ended.aborted; failures++) {
    const given = new AbortController();
    const stop = () => given.abort();
    ended.addEventListener('abort', stop);
    try {
      await lookAround();
      await followOnce(given, tell);
    } catch {
      // The stream ended or was lost; a banner reports it.
    }
    ended.removeEventListener('abort', stop);
    if (isFollowing.peek()) failures = 0;
    isFollowing.value = false;
    if (ended.aborted) return;
    tell(all());
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
  }
}

const HEALTH_MS = { ok: 60_000, degraded: 3_000 };

/** A restarted service first serves nothing, and sends no event when it does. */
const isWell = (now: Health | null): boolean => now?.status === 'ok' && now.store.end !== null;

/** Checks again after a while, sooner if there is a problem, including one that began during the pause. */
async function watchHealth(ended: AbortSignal): Promise<void> {
  for (let waited = 0; !ended.aborted; waited += HEALTH_MS.degraded) {
    await new Promise((resolve) => setTimeout(resolve, HEALTH_MS.degraded));
    if (ended.aborted || !isFollowing.peek() || (isWell(health.peek()) && waited < HEALTH_MS.ok)) continue;
    waited = 0;
    const before = health.peek()?.store;
    await lookAround().catch(() => undefined);
    if (JSON.stringify(before) !== JSON.stringify(health.peek()?.store)) notifyChange();
  }
}

/**
 * Reads the identity of the service and compares it with the previous one. Before the first answer, one request is
 * sufficient.
 */
export function lookAround(): Promise<void> {
  if (health.peek() !== null) return look();
  looking ??= look().finally(() => {
    looking = null;
  });
  return looking;
}

let looking: Promise<void> | null = null;

async function look(): Promise<void> {
  const before = health.peek();
  const now = await service.peek().call('getHealth');
  if (!('store' in now)) return; // The key is no longer valid, which requests of the page report.
  health.value = now;
  builtFor.value ??= now.version;
  if (before !== null && before.started_at !== now.started_at) {
    say('info', `The service was restarted at ${now.started_at.slice(11, 16)} UTC. The page was refreshed.`);
    notifyChange();
  }
}

async function followOnce(given: AbortController, tell: Tell): Promise<void> {
  /** Unfinished jobs of the first message. Missing ones ended in the meantime. */
  const seen = new Set<string>();
  const own = Math.random().toString(36);
  let timer = setTimeout(() => given.abort(), SILENCE_MS);
  try {
    for await (const { event, data } of service.peek().events('followJobs', { signal: given.signal })) {
      clearTimeout(timer);
      timer = setTimeout(() => given.abort(), SILENCE_MS);
      isFollowing.value = true;
      if (event === 'status') {
        const job = data as JobStatus; // The stream's statuses are those of the contract.
        seen.add(job.job_id);
        note(job);
        tell({ kind: 'status', job });
      } else if (event === 'caught-up') {
        takeStream(own);
        await settleMissing(seen);
        tell(all());
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function note(job: JobStatus): void {
  const before = known.peek().get(job.job_id);
  known.value = new Map(known.peek()).set(job.job_id, job);
  const hasEnded = !isUnfinished(job) && (before === undefined || isUnfinished(before));
  if (!hasEnded) return;
  announceEnd(job);
  notifyChange();
  void lookAround().catch(() => undefined);
}

function announceEnd(job: JobStatus): void {
  const link = { address: jobAddress(job), text: 'Open' };
  if (job.status === 'succeeded') say('good', `${jobTitle(job)}: done.`, link);
  else if (job.status === 'failed') say('bad', `${jobTitle(job)}: ${job.error?.message ?? 'failed.'}`, link);
  else say('info', `${jobTitle(job)}: cancelled.`);
}

/** Jobs that were unfinished when the connection was lost and are no more. */
async function settleMissing(seen: ReadonlySet<string>): Promise<void> {
  const missing = [...known.peek().values()].filter((job) => isUnfinished(job) && !seen.has(job.job_id));
  for (const { job_id: jobId } of missing) {
    const job = await service
      .peek()
      .call('getJob', { params: { job_id: jobId } })
      .catch(() => null);
    if (job !== null) note({ ...job, result: null });
    else known.value = new Map([...known.peek()].filter(([id]) => id !== jobId));
  }
}

/** Banner about the connection; null if there is none. */
export const connectionTrouble = computed(() =>
  isReached.value || (keyWanted.value !== null && !hasKey.value)
    ? null
    : 'The service is not reachable. The page shows the last known state and resumes when the service is available.',
);
