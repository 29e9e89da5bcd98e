import { Refusal } from '#domain/refusal.js';
import type { ArtifactRef, ArtifactStore, DocumentKind, DocumentStore, TransactionBody } from '#store/port.js';
import type { Clock } from '#jobs/clock.js';
import { TaskStopped, WorkerLost, type ComputePool } from '#jobs/compute-pool.js';
import { createJobEngine } from '#jobs/engine.js';
import type { JobEngine } from '#jobs/job-engine.js';
import type { Completion, JobKind } from '#jobs/job-kind.js';
import { readJobRecord, type JobRecord } from '#jobs/job-record.js';
import { isTerminal } from '#jobs/life-cycle.js';
import type { JobStatus } from '#jobs/status.js';
import { seeded } from '../seeded.js';

/**
 * The job engine in a world of chance: one seed decides every delay, failure, crash and request, so one number repeats
 * a run. Time, disk and threads are simulated; the engine is the product's. The disk keeps what was committed,
 * a crash forgets everything else, messages of a dead process reach nobody. What must always hold is checked after every event.
 */
export interface SimulationOptions {
  readonly seed: number;
  /** Events of chaos; afterwards the world is kind and everything has to come to an end. */
  readonly events: number;
  /** The call to a port, counted from 1, that fails; chance decides none then. */
  readonly fault?: { readonly call: number; readonly manner: 'refuse' | 'crash-before' | 'crash-after' };
}

export interface SimulationReport {
  readonly events: number;
  readonly restarts: number;
  readonly submissions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Calls to the ports, for loops that fail each in turn. */
  readonly calls: number;
}

interface Payload {
  /** Names one accepted submission for ever. */
  readonly token: string;
}

const IDENTS = ['a', 'b', 'c', 'd'];
const BUDGET = 100;
const EPOCH_MS = 1.7e12;
/** Of one write. */
const DISK_FULL = 0.005;
const LIMITS = {
  attemptsMax: 3,
  queueMax: 3,
  runningMax: { heavy: 2, light: 1 },
  perOwner: { queueMax: 1000, runningMax: 1000 },
  endedMax: 1000,
  memoryBytes: BUDGET,
  heartbeatTimeoutMs: 5000,
  jobMsMax: 20_000,
  cancelGraceMs: 2000,
  queryMsMax: 10_000,
};

export async function simulate({ seed, events, fault }: SimulationOptions): Promise<SimulationReport> {
  const random = seeded(seed);
  const chance = (probability: number): boolean => fault === undefined && !isKind && random() < probability;
  const between = (low: number, high: number): number => low + Math.floor(random() * (high - low));
  const say = (message: string): never => {
    const error = new Error(`${message}\nSEED=${seed} after ${done} events`);
    failure ??= error; // Thrown inside of work, it would only fail the job.
    throw error;
  };

  // The world: time, the disk, and the process that lives at the moment.
  const agenda = createAgenda();
  const disk = new Map<string, string>();
  const files = new Map<string, number>(); // name -> the process that wrote it
  let process = 0;
  let calls = 0;
  let done = 0;
  let restarts = 0;
  let submissions = 0;
  let isKind = false;
  let mustRestart = false;
  let isUp = false;
  let isStopping = false;
  let isDiskChanged = false;
  let failure: unknown;
  let engine: JobEngine;

  // What clients were told, and what was seen.
  const toldDurable = new Map<string, string>(); // job id -> token of the last acknowledged submission
  const toldCancelled = new Set<string>(); // tokens
  const seen = new Map<string, JobStatus>(); // token and time of submission -> last status seen
  const seenBy = new Map<string, number>(); // the process that showed it
  const idleSince = new Map<string, number>(); // running jobs -> when their attempt was last seen
  const startedBy = new Map<string, number>(); // incarnation and attempt -> the process that wrote its start
  const crashed = new Set<string>(); // attempts whose worker or process died
  const newestStart = new Map<string, number>(); // token -> the last attempt that began
  let starts = 0;
  const attempts = new Set<{ readonly token: string; readonly bytes: number; readonly signal: AbortSignal }>(); // under way in the living process

  /** Lets a port's call happen, refuses it, or ends the process around it; returns whether the caller lives to hear of it. */
  function callPort(action: () => void): boolean {
    calls++;
    if (fault?.call === calls) {
      if (fault.manner === 'refuse') throw new Refusal('STORAGE_FULL', 'simulated');
      if (fault.manner === 'crash-after') action();
      mustRestart = true;
      process++; // From here on the process that called is dead: nothing reaches it and nothing it does has an effect.
      return false;
    }
    action();
    return true;
  }

  const later = (owner: number, delayMs: number, run: () => void): (() => void) =>
    agenda.add(delayMs, () => {
      if (owner === process) run();
    });

  function createClock(owner: number): Clock {
    return {
      now: () => EPOCH_MS + agenda.now(),
      monotonicMs: () => agenda.now(),
      after: (ms, call) => later(owner, ms, call),
    };
  }

  function createStore(owner: number): DocumentStore {
    let lastCommitMs = 0;
    const get = (kind: DocumentKind, id: string, staged?: Map<string, string | null>) => {
      const text =
        staged?.get(`${kind}/${id}`) ?? (staged?.has(`${kind}/${id}`) ? undefined : disk.get(`${kind}/${id}`));
      return text === undefined || text === null ? undefined : { id, body: JSON.parse(text), etag: '', updatedAt: '' };
    };
    return {
      get: async (kind, id) => get(kind, id),
      ids: async (kind) =>
        [...disk.keys()]
          .filter((key) => key.startsWith(`${kind}/`))
          .map((key) => key.slice(kind.length + 1))
          .sort(),
      revision: async () => 0,
      list: async (kind, read) => ({
        documents: [...disk].flatMap(([key, text]) =>
          key.startsWith(`${kind}/`) ? (read(JSON.parse(text), key.slice(kind.length + 1)) ?? []) : [],
        ),
        skipped: 0,
        skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 },
      }),
      transaction<T>(change: TransactionBody<T>): Promise<T> {
        return new Promise((resolve, reject) => {
          // Commits keep their order; acknowledgements come when they come.
          lastCommitMs = Math.max(lastCommitMs, agenda.now() + between(0, 20));
          later(owner, lastCommitMs - agenda.now(), () => {
            if (chance(DISK_FULL)) return reject(new Refusal('STORAGE_FULL', 'simulated'));
            const staged = new Map<string, string | null>();
            const body = change({
              get: async (kind, id) => get(kind, id, staged),
              ids: async () => [],
              put: async (kind, id, body) => (staged.set(`${kind}/${id}`, JSON.stringify(body)), ''),
              delete: async (kind, id) => (staged.set(`${kind}/${id}`, null), true),
              publish: () => {},
            });
            body
              .then((result) => {
                const write = (): void => {
                  isDiskChanged = true;
                  const dropped = [...staged.keys()].flatMap((key) => disk.get(key)?.match(/file-[^"]+/g) ?? []);
                  for (const [key, text] of staged) {
                    if (text === null) disk.delete(key);
                    else disk.set(key, text);
                    if (key.startsWith('job/')) noteStart(key.slice(4), owner);
                  }
                  removeUnowned(dropped);
                };
                if (callPort(write)) later(owner, between(0, 10), () => resolve(result));
              })
              .catch(reject);
          });
        });
      },
      subscribe: () => () => {},
      close: async () => {},
    };
  }

  /** Remembers which process put which attempt on disk as running. */
  function noteStart(jobId: string, owner: number): void {
    const record = recordOnDisk(jobId);
    if (record?.status === 'running') startedBy.set(`${incarnationOf(record)}#${record.attempt}`, owner);
  }

  function createArtifacts(owner: number): ArtifactStore {
    const never = (): never => say('the engine reads no artifacts');
    return {
      write: (bytes, sha256) =>
        new Promise((resolve, reject) => {
          const name = `file-${files.size}-${agenda.now()}-${random()}`;
          later(owner, between(0, 10), () => {
            if (chance(DISK_FULL)) return reject(new Refusal('STORAGE_FULL', 'simulated'));
            try {
              if (callPort(() => files.set(name, owner))) resolve({ name, bytes: bytes.length, sha256 });
            } catch (thrown) {
              reject(thrown);
            }
          });
        }),
      async remove(names) {
        for (const name of names) if (owner === process) files.delete(name);
        isDiskChanged = true;
      },
      stream: never,
      read: never,
      isIntact: never,
      path: never,
      claim: never,
      newName: never,
      link: never,
      sweep: never,
    };
  }

  /** Threads that finish, refuse, die, fall silent, or ignore a cancel and answer too late. */
  function createPool(owner: number): ComputePool {
    return {
      run({ input, signal }) {
        const { token } = input as unknown as Payload;
        const startMs = agenda.now();
        const durationMs = between(1, 8000);
        let isDeaf = chance(0.2);
        const isEndless = chance(0.03);
        let isLost = false;
        const output = new Promise<never>((resolve, reject) => {
          const finish = (): void => {
            const dice = isKind || fault !== undefined ? 1 : random();
            if (dice < 0.15) {
              if (signal?.aborted !== true) crashed.add(attemptOnDisk(token));
              reject(new WorkerLost('simulated'));
            } else if (dice < 0.2) reject(new Refusal('MISSING_PRICE', 'simulated'));
            else if (dice < 0.22) reject(new Error('a simulated defect'));
            else if (dice < 0.25) {
              isLost = isDeaf = true; // Half of the lost messages arrive after all, when nobody waits for them any more.
              if (dice < 0.235) later(owner, between(5000, 15_000), () => resolve(token as never));
            } else resolve(token as never);
          };
          if (!isEndless) later(owner, durationMs, finish);
          signal?.addEventListener('abort', () => {
            const isGivenUp = recordOnDisk(`backtest:${token.split('-')[0]}`)?.status === 'pending';
            if (isGivenUp && !isLost && !isStopping) say(`an attempt of ${token} that was well was given up`);
            if (!isDeaf) later(owner, between(0, 250), () => reject(new TaskStopped('simulated')));
          });
        });
        return {
          output,
          progress: () => ({
            fraction: Math.min((agenda.now() - startMs) / durationMs, 1) * (0.8 + 0.2 * random()),
            message: undefined,
          }),
          isAlive: () => !isLost,
        };
      },
      load: () => 0,
      close: async () => {},
    };
  }

  /** Work of two artifacts and an effect of three documents, one of which counts how often the effect happened. */
  const kind: JobKind<Payload> = {
    kind: 'backtest',
    async run(payload, attempt): Promise<Completion> {
      const finish = checkStart(payload, attempt.jobId, attempt.signal);
      const serial = ++starts;
      newestStart.set(payload.token, serial);
      const refs: ArtifactRef[] = [];
      try {
        await attempt.compute('backtest', payload as never);
        for (const sha256 of ['1', '2']) refs.push(await attempt.keep({ bytes: new Uint8Array(1), sha256 }));
      } finally {
        finish();
      }
      return {
        result: { artifact: refs[0]! },
        async effect(tx) {
          if (newestStart.get(payload.token) !== serial)
            say(`an attempt of ${payload.token} that was given up wrote its effect`);
          const before = await tx.get('run', payload.token);
          const count = before === undefined || 'unreadable' in before ? 0 : (before.body as { count: number }).count;
          await tx.put('run', payload.token, { count: count + 1, refs });
          await tx.put('render', payload.token, { of: payload.token });
          await tx.put('watchlist', payload.token, { of: payload.token });
        },
      };
    },
  };

  /** What must hold when work starts: the attempt is on disk, the job is no poison, and no other attempt of it runs. Returns how to say that it ended. */
  function checkStart({ token }: Payload, jobId: string, signal: AbortSignal): () => void {
    const record = recordOnDisk(jobId);
    if (record?.status !== 'running' || tokenOf(record) !== token)
      say(`${jobId} started without being running on disk`);
    const crashes = [...crashed].filter((attempt) => attempt.startsWith(`${incarnationOf(record!)}#`)).length;
    if (crashes >= LIMITS.attemptsMax) say(`${jobId} started again after ${crashes} crashes`);
    const own = { token, bytes: record!.estimated_bytes, signal };
    attempts.add(own);
    const running = [...attempts].filter((attempt) => !attempt.signal.aborted);
    if (running.filter((attempt) => attempt.token === token).length > 1) say(`${jobId} runs twice`);
    if (running.length > LIMITS.runningMax.heavy) say(`${running.length} attempts run at once`);
    const needed = running.reduce((sum, { bytes }) => sum + bytes, 0);
    if (needed > BUDGET) say(`running jobs need ${needed} bytes; ${BUDGET} are there`);
    return () => attempts.delete(own);
  }

  const attemptOnDisk = (token: string): string => {
    const record = recordOnDisk(`backtest:${token.split('-')[0]}`);
    return record === undefined ? '' : `${incarnationOf(record)}#${record.attempt}`;
  };

  const recordOnDisk = (jobId: string): JobRecord | undefined => {
    const text = disk.get(`job/${jobId}`);
    return text === undefined ? undefined : readJobRecord(JSON.parse(text), jobId);
  };

  async function boot(): Promise<void> {
    process++;
    restarts++;
    for (const ident of IDENTS) {
      const record = recordOnDisk(`backtest:${ident}`);
      if (record?.status === 'running') crashed.add(`${incarnationOf(record)}#${record.attempt}`);
    }
    attempts.clear();
    const owner = process;
    const clock = createClock(owner);
    const quiet = { info: () => {}, warn: () => {}, error: () => {} };
    engine = createJobEngine({
      store: createStore(owner),
      artifacts: createArtifacts(owner),
      pool: createPool(owner),
      clock,
      limits: LIMITS,
      log: quiet,
    });
    engine.register({ [kind.kind]: kind });
    removeUnowned([...files.keys()]);
    start(owner);
  }

  /** The service answers once the engine has started; a start whose own writes fail is tried again, as a supervisor would. */
  function start(owner: number): void {
    isUp = isStopping = false;
    engine.start().then(
      () => (isUp ||= owner === process),
      () => later(owner, 10, () => void boot()),
    );
  }

  /** What the product's store does by itself: an artifact goes with its last document, or at the next start. */
  function removeUnowned(names: readonly string[]): void {
    if (names.length === 0) return;
    const owned = [...disk.values()].join('\n');
    for (const name of names) if (!owned.includes(name)) files.delete(name);
  }

  // What clients do

  function submit(): void {
    const ident = IDENTS[between(0, IDENTS.length)]!;
    // Half of the requests repeat what the client sent before.
    const repeated =
      random() < 0.5 ? [...seen.values()].findLast(({ job_id }) => job_id === `backtest:${ident}`) : undefined;
    const token = repeated === undefined ? `${ident}-${submissions}` : tokenOf(repeated);
    submissions++;
    const owner = process;
    engine
      .submit({
        kind,
        ident,
        payload: { token },
        request: { token },
        estimatedBytes: between(1, BUDGET + 10),
        origin: { owner: ident, requestId: `r${submissions}`, traceId: null },
      })
      .then((status) => {
        if (owner === process && tokenOf(status) === token) toldDurable.set(status.job_id, token);
      })
      .catch(onlyRefusals);
  }

  function cancel(): void {
    const jobId = `backtest:${IDENTS[between(0, IDENTS.length)]}`;
    const owner = process;
    engine
      .cancel(jobId)
      .then((status) => {
        if (owner !== process) return;
        if (!isTerminal(status.status)) say(`${jobId} is ${status.status} in the answer to its cancellation`);
        if (status.status === 'cancelled') toldCancelled.add(incarnationOf(status));
      })
      .catch(onlyRefusals);
  }

  function onlyRefusals(thrown: unknown): void {
    if (!(thrown instanceof Refusal) && !mustRestart) failure ??= thrown;
  }

  // What must always hold

  async function checkAll(): Promise<void> {
    if (isDiskChanged) checkDisk();
    for (const ident of IDENTS) await checkStatus(`backtest:${ident}`);
  }

  function checkDisk(): void {
    isDiskChanged = false;
    for (const ident of IDENTS) checkJob(`backtest:${ident}`);
    for (const [key, text] of disk) {
      if (!key.startsWith('run/')) continue;
      const token = key.slice(4);
      const { count, refs } = JSON.parse(text) as { count: number; refs: ArtifactRef[] };
      if (count > (successes.get(token) ?? 0))
        say(`the effect of ${token} happened ${count} times in ${successes.get(token) ?? 0} successes`);
      if (!disk.has(`render/${token}`) || !disk.has(`watchlist/${token}`))
        say(`the effect of ${token} is half on disk`);
      for (const { name } of refs) if (!files.has(name)) say(`the artifact ${name} of ${token} is gone`);
    }
  }

  /** Successes by token: a token that is sent again after its end may succeed again. */
  const successes = new Map<string, number>();

  function checkJob(jobId: string): void {
    const record = recordOnDisk(jobId);
    const acknowledged = toldDurable.get(jobId);
    if (acknowledged !== undefined && record === undefined) say(`${jobId} was acknowledged and is gone`);
    if (record === undefined) return;
    const incarnation = incarnationOf(record);
    for (let attempt = 1; attempt < record.attempt; attempt++) {
      if (!startedBy.has(`${incarnation}#${attempt}`))
        say(`${jobId} is at attempt ${record.attempt} though attempt ${attempt} never started`);
    }
    if (record.status === 'succeeded' && !counted.has(incarnation)) {
      counted.add(incarnation);
      successes.set(tokenOf(record), (successes.get(tokenOf(record)) ?? 0) + 1);
      if (!disk.has(`run/${tokenOf(record)}`)) say(`${jobId} succeeded without its effect`);
    }
    if (toldCancelled.has(incarnation) && record.status !== 'cancelled')
      say(`${jobId} was cancelled and is ${record.status}`);
    if ((record.error !== null) !== (record.status === 'failed'))
      say(`${jobId} is ${record.status} with error ${record.error?.code}`);
    if ((record.result !== null) !== (record.status === 'succeeded')) say(`${jobId} is ${record.status} with a result`);
  }

  async function checkStatus(jobId: string): Promise<void> {
    const status = isUp ? await engine.get(jobId) : undefined;
    if (status !== undefined) checkSequence(status);
  }
  const counted = new Set<string>();

  function checkSequence(status: JobStatus): void {
    const key = incarnationOf(status);
    const before = seen.get(key);
    const isSameProcess = seenBy.get(key) === process;
    seen.set(key, status);
    seenBy.set(key, process);
    if (status.status === 'pending' && status.progress !== 0) say(`${status.job_id} is pending at ${status.progress}`);
    if (status.status === 'succeeded' && status.progress !== 1) say(`${status.job_id} succeeded at ${status.progress}`);
    if (status.status === 'running') {
      const attemptKey = `${key}#${status.attempt}`;
      if (startedBy.get(attemptKey) !== process)
        say(`${status.job_id} is running though this process never started it`);
      const isWorkedOn = [...attempts].some(({ token, signal }) => token === tokenOf(status) && !signal.aborted);
      const idleMs = isWorkedOn ? 0 : agenda.now() - (idleSince.get(attemptKey) ?? agenda.now());
      idleSince.set(attemptKey, agenda.now() - idleMs);
      if (idleMs > LIMITS.heartbeatTimeoutMs + 3000)
        say(`${status.job_id} is running for ${idleMs} ms without an attempt`);
      const silenceMs = EPOCH_MS + agenda.now() - Date.parse(status.heartbeat_at!);
      if (silenceMs > LIMITS.heartbeatTimeoutMs + 3000)
        say(`${status.job_id} is running after ${silenceMs} ms of silence`);
    }
    if (before === undefined) return;
    if (isTerminal(before.status) && JSON.stringify(before) !== JSON.stringify(status))
      say(`${status.job_id} changed from ${before.status} to ${status.status}`);
    if (status.attempt < before.attempt) say(`${status.job_id} went back to attempt ${status.attempt}`);
    if (before.status === 'running' && status.status === 'pending' && status.attempt === before.attempt)
      say(`${status.job_id} waits again under the same attempt`);
    // Progress lives in memory: a job that fails because its process died shows none.
    if (isSameProcess && status.attempt === before.attempt && status.progress < before.progress) {
      say(`${status.job_id} went back from ${before.progress} to ${status.progress}`);
    }
  }

  // The course of the world

  await boot();
  for (; done < events || !isQuiet(); done++) {
    if (done === events) isKind = true;
    if (done > events + 100_000) say('the world does not come to rest');
    if (done < events) happen();
    else if (!agenda.runNext()) break;
    await new Promise((resolve) => setImmediate(resolve));
    if (failure !== undefined) throw failure;
    if (mustRestart) {
      mustRestart = false;
      await boot();
    }
    await checkAll();
  }
  const owned = [...disk.values()].join('\n');
  for (const [name, owner] of files)
    if (owner === process && !owned.includes(name)) say(`the artifact ${name} was left behind`);
  const records = IDENTS.flatMap((ident) => recordOnDisk(`backtest:${ident}`) ?? []);
  for (const { job_id, status } of records) if (!isTerminal(status)) say(`${job_id} stayed ${status}`);
  const ended = [...new Map([...seen].map(([key, status]) => [key, status.status])).values()];
  const count = (state: string): number => ended.filter((status) => status === state).length;
  return {
    events: done,
    restarts,
    submissions,
    calls,
    succeeded: count('succeeded'),
    failed: count('failed'),
    cancelled: count('cancelled'),
  };

  function happen(): void {
    const dice = random();
    if (dice < 0.12 && isUp) submit();
    else if (dice < 0.16 && isUp) cancel();
    else if (dice < 0.165 && chance(1)) mustRestart = true;
    else if (dice < 0.168 && chance(1)) stop();
    else agenda.runNext();
  }

  function stop(): void {
    const owner = process;
    isStopping = true;
    void engine.stop().then(() => (mustRestart ||= owner === process));
  }

  function isQuiet(): boolean {
    const counts = engine.counts();
    return isUp && counts.pending + counts.running === 0 && agenda.isEmpty();
  }
}

function tokenOf(job: { readonly request: unknown }): string {
  return (job.request as Payload).token;
}

/** One accepted submission: a token that is sent again after its end has another. */
function incarnationOf(job: { readonly request: unknown; readonly created_at: string }): string {
  return `${tokenOf(job)}/${job.created_at}`;
}

/** Things to happen, by time and then by order of arrival. */
function createAgenda() {
  let now = 0;
  let count = 0;
  const entries: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    isEmpty: () => entries.length === 0,
    add(delayMs: number, run: () => void): () => void {
      const entry = { at: now + delayMs, order: count++, run };
      const place = entries.findLastIndex(({ at }) => at <= entry.at) + 1;
      entries.splice(place, 0, entry);
      return () => {
        const found = entries.indexOf(entry);
        if (found >= 0) entries.splice(found, 1);
      };
    },
    runNext(): boolean {
      const entry = entries.shift();
      if (entry === undefined) return false;
      now = entry.at;
      entry.run();
      return true;
    },
  };
}
