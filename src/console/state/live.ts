import { computed, effect, signal } from '@preact/signals';
import type { Health, JobStatus } from '#clients/typescript/divisor.js';
import { jobAddress, jobTitle } from '../words/jobs.js';
import { hasKey, isReached, keyWanted, service, sharedName } from './service.js';
import { canShare, shareAmongTabs } from './tabs.js';
import { changed } from './resource.js';
import { say } from './toasts.js';

/*
 * What the service tells by itself: one stream of the states of all jobs. A browser opens six connections to a host at most, so one
 * visible tab holds the stream and tells the others; where tabs cannot share, each one polls. Whatever is shown of jobs derives from
 * it, and a stream that ends is how the page learns that the service went away.
 */

/** What tabs tell each other: a question of one that has come into sight, all that the leading one has, one state of a job. */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'all'; readonly isOpen: boolean; readonly stream: string; readonly jobs: readonly JobStatus[] }
  | { readonly kind: 'status'; readonly job: JobStatus };
type Tell = (message: Message) => void;

/** Jobs that are not over, and those that ended while the page was looking; newest first. */
const known = signal<ReadonlyMap<string, JobStatus>>(new Map());
export const liveJobs = computed(() => [...known.value.values()].filter(isUnfinished).toSorted(byAge));
export const health = signal<Health | null>(null);
/** Whether the stream is open. */
export const isFollowing = signal(false);
/** The version of the service that this page belongs to. */
const builtFor = signal<string | null>(null);
/** Whether another version of the service answers than the page came from. */
export const isOutdated = computed(
  () => builtFor.value !== null && health.value !== null && health.value.version !== builtFor.value,
);

const isUnfinished = ({ status }: JobStatus): boolean => status === 'pending' || status === 'running';
const byAge = (a: JobStatus, b: JobStatus): number => b.created_at.localeCompare(a.created_at);

/** The state of a job as last reported by the stream. */
export const jobOf = (jobId: string): JobStatus | undefined => known.value.get(jobId);

/** Adds a state from an answer that came before the stream reported it. */
export function noteJob(job: JobStatus): void {
  const before = known.value.get(job.job_id);
  if (before !== undefined && !isUnfinished(before) && before.created_at >= job.created_at) return;
  known.value = new Map(known.value).set(job.job_id, { ...job, result: null });
}

const RETRY_MS = [250, 500, 1000, 2000, 4000];
/** The service says something every 15 seconds; twice that without a word is a connection that is gone. */
const SILENCE_MS = 32_000;

/** The stream that tells this tab, whichever tab holds it; empty before the first. */
let stream = '';
/** No stream is called so: the next one is another. */
const LEFT = 'left';

/** What ended between one stream and the next was told by neither: pages ask again. */
function takeStream(next: string): void {
  const isOther = stream !== '' && next !== stream;
  stream = next;
  if (isOther) changed();
}

/** Follows the service for as long as the page lives. */
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
  // While the tab was out of sight nothing told it.
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
  if (isBack) changed();
  if (!isOpen) return;
  takeStream(told);
  await noteAll(jobs);
}

/** Every unfinished job there is. */
async function noteAll(jobs: readonly JobStatus[]): Promise<void> {
  for (const job of jobs) note(job);
  await settleMissing(new Set(jobs.map(({ job_id: id }) => id)));
}

const POLL_MS = 2_000;
/** Unfinished jobs asked for at once: as many as the service lists. */
const POLLED_MAX = 100;

async function pollUntil(ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    try {
      if (!isFollowing.peek()) await lookAround();
      const query = { status: ['pending' as const, 'running' as const], limit: POLLED_MAX };
      const { jobs } = await service.peek().call('listJobs', { query, signal: ended });
      if (!isFollowing.peek()) changed();
      isFollowing.value = true;
      await noteAll(jobs);
    } catch {
      isFollowing.value = false; // Why is said above the page.
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
      // The stream ended or was lost: what is to be said of it stands above the page.
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

/** A service that was started again says at first that it serves nothing, and nothing tells when it does. */
const isWell = (now: Health | null): boolean => now?.status === 'ok' && now.store.end !== null;

/** Looks again after a while: sooner when something is not well, also where that began during the pause. */
async function watchHealth(ended: AbortSignal): Promise<void> {
  for (let waited = 0; !ended.aborted; waited += HEALTH_MS.degraded) {
    await new Promise((resolve) => setTimeout(resolve, HEALTH_MS.degraded));
    if (ended.aborted || !isFollowing.peek() || (isWell(health.peek()) && waited < HEALTH_MS.ok)) continue;
    waited = 0;
    const before = health.peek()?.store;
    await lookAround().catch(() => undefined);
    if (JSON.stringify(before) !== JSON.stringify(health.peek()?.store)) changed();
  }
}

/** What the service is, and whether it is still the one that was there before. */
export async function lookAround(): Promise<void> {
  const before = health.peek();
  const now = await service.peek().call('getHealth');
  if (!('store' in now)) return; // The key is not valid any more, which what the page asks for says.
  health.value = now;
  builtFor.value ??= now.version;
  if (before !== null && before.started_at !== now.started_at) {
    say(
      'info',
      `The service was started again at ${now.started_at.slice(11, 16)} UTC; the page asks for everything again.`,
    );
    changed();
  }
}

async function followOnce(given: AbortController, tell: Tell): Promise<void> {
  /** Unfinished jobs the service tells of at first: those missing have ended meanwhile. */
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
  changed();
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

/** What is said above the page of the connection; null while there is nothing to say. */
export const connectionTrouble = computed(() =>
  isReached.value || (keyWanted.value !== null && !hasKey.value)
    ? null
    : 'The service does not answer. What is shown is as it was; the page resumes when the service is back.',
);
