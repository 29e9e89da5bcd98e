import { Refusal } from '#domain/base/refusals.js';
import { type ComputePool, TaskStopped, WorkerLost } from '#jobs/port/compute-pool.js';
import type { Clock } from '#jobs/port/clock.js';
import { createJobSystem } from '#jobs/job-system.js';
import type { JobKind, JobSystem } from '#jobs/port/job-kind.js';
import { createSharedQueue } from '#jobs/distributed/queue.js';
import type { FreeCapacity } from '#jobs/port/queue.js';
import type { ArtifactStore } from '#store/port.js';
import type { Agenda } from './agenda.js';
import type { Call, SharedDatabase } from './shared-database.js';
import type { Payload } from './world.js';
import { RETRIES_AT_ONCE } from '../retries-at-once.js';

const EPOCH_MS = 1.7e12;
/** Interval between polls in ms. It is long enough for other events to occur in between. */
const LOOK_MS = 200;
const WATCH_MS = 2000;
export const LEASE_MS = 5000;
const LIMITS = {
  getRetryPolicy: RETRIES_AT_ONCE,
  queueMax: 100,
  ownerQueueMax: 100,
  endedMax: 1000,
  jobBytesMax: 100,
  leaseMs: LEASE_MS,
  runningMax: { heavy: 2, light: 1 },
  ownerRunningMax: 100,
  memoryBytes: 100,
  jobMsMax: 20_000,
  cancelGraceMs: 2000,
  queryMsMax: 10_000,
};

/** State shared by the nodes of a simulation. */
export interface NodeWorld {
  readonly agenda: Agenda;
  readonly database: SharedDatabase;
  readonly files: Set<string>;
  readonly random: () => number;
  between(low: number, high: number): number;
  /** Draws whether an event of this probability occurs. Without faults the result is always false. */
  chance(probability: number): boolean;
  /** True if threads may end spontaneously. */
  readonly threadsEnd: boolean;
  readonly makeKind: () => JobKind<Payload>;
  /** Counts completions that came too late. */
  onStale(): void;
}

/** A machine on which processes run one after the other. Its database connection may be cut. */
export interface SimulatedNode {
  /** Job system of the current process, or undefined while no process runs. */
  readonly system: JobSystem | undefined;
  /** Kills the process; the next process starts later. */
  kill(): void;
  /** Releases all jobs and starts a new process. */
  restart(): void;
  /** Cuts the connection for a while. Requests that began before the cut may still be executed. */
  cut(ms: number): void;
  /** Pauses the process without notifying it. */
  pause(ms: number): void;
  setClock(ms: number): void;
}

export function createNode(world: NodeWorld, name: string): SimulatedNode {
  const { agenda, between, chance } = world;
  let life = 0;
  let system: JobSystem | undefined;
  let cutUntil = 0;
  let pausedUntil = 0;
  let clockMs = 0;

  /**
   * Runs a function later in this process. It does not run if the process has ended. If the process is paused, it runs
   * after the pause.
   */
  function runLater(lifeAtStart: number, ms: number, run: () => void): () => void {
    let stop = agenda.add(ms, function due() {
      if (lifeAtStart !== life) return;
      if (pausedUntil > agenda.now()) stop = agenda.add(pausedUntil - agenda.now(), due);
      else run();
    });
    return () => stop();
  }

  const createCall =
    (lifeAtStart: number): Call =>
    <T>(request: () => T) =>
      new Promise<T>((resolve, reject) => {
        const loseAnswer = (ms: number) =>
          runLater(lifeAtStart, ms, () => reject(new Refusal('STORE_UNAVAILABLE', 'simulated')));
        agenda.add(between(0, 4), () => {
          const isCut = cutUntil > agenda.now();
          // A message that was already sent may still arrive after its process has ended or lost its connection.
          if ((isCut || lifeAtStart !== life) && world.random() < 0.5)
            return void (isCut && loseAnswer(cutUntil - agenda.now()));
          const result = request();
          if (isCut) loseAnswer(cutUntil - agenda.now());
          else if (chance(0.004)) loseAnswer(between(1, 400)); // the request was executed, but the caller receives no response
          else runLater(lifeAtStart, between(0, 4), () => resolve(result));
        });
      });

  async function boot(): Promise<void> {
    const lifeAtStart = ++life;
    const { rows, documents } = world.database.createPorts(createCall(lifeAtStart));
    const clock: Clock = {
      now: () => EPOCH_MS + agenda.now() + clockMs,
      monotonicMs: () => agenda.now(),
      after: (ms, call) => runLater(lifeAtStart, Math.max(ms, 40), call),
    };
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    let watchMs = agenda.now() + WATCH_MS;
    const presence = {
      announce: async () => {},
      pauseMs: () => LOOK_MS,
      async look(capacity: FreeCapacity | undefined) {
        const isToWatch = agenda.now() >= watchMs;
        if (isToWatch) watchMs = agenda.now() + WATCH_MS;
        const memoryBytes = LIMITS.jobBytesMax;
        const isOpen = capacity !== undefined && capacity.lanes.length > 0;
        const [hasWork, silent] = await Promise.all([
          isOpen && rows.isWaiting({ ...capacity, memoryBytes }),
          isToWatch ? rows.silent() : [],
        ]);
        return { hasWork, silent };
      },
      jobBytesMax: async () => LIMITS.jobBytesMax,
      noteStale: () => world.onStale(),
      leave: async () => {},
      loads: () => Promise.reject(new Error('nobody asks')),
    };
    const queue = createSharedQueue({ documents, rows, presence, node: name, clock, limits: LIMITS, log });
    const pool = createPool(world, (ms, run) => runLater(lifeAtStart, ms, run));
    const next = createJobSystem({ queue, artifacts: createArtifacts(world), pool, clock, limits: LIMITS, log });
    const kind = world.makeKind();
    next.register({ [kind.kind]: kind });
    try {
      await next.start();
      if (lifeAtStart === life) system = next;
    } catch {
      if (lifeAtStart === life) bootAfter(100); // restarts like a supervisor
    }
  }

  function bootAfter(ms: number): void {
    life++;
    system = undefined;
    agenda.add(ms, () => void boot());
  }

  bootAfter(0);
  return {
    get system() {
      return system;
    },
    kill: () => bootAfter(between(100, 8000)),
    restart() {
      const lifeAtStart = life;
      void system?.stop().then(() => lifeAtStart === life && bootAfter(between(10, 500)));
      system = undefined;
    },
    cut: (ms) => void (cutUntil = Math.max(cutUntil, agenda.now() + ms)),
    pause: (ms) => void (pausedUntil = agenda.now() + ms),
    setClock: (ms) => void (clockMs = ms),
  };
}

function createPool(
  { between, chance, threadsEnd }: NodeWorld,
  later: (ms: number, run: () => void) => void,
): ComputePool {
  return {
    run({ signal }) {
      const output = new Promise<never>((resolve, reject) => {
        later(between(1, 3000), () => {
          if (threadsEnd && chance(0.06)) reject(new WorkerLost('simulated'));
          else if (chance(0.08)) reject(new Refusal('MISSING_PRICE', 'simulated'));
          else resolve('done' as never);
        });
        signal?.addEventListener('abort', () => later(between(0, 250), () => reject(new TaskStopped('simulated'))));
      });
      return { output, progress: () => ({ fraction: 0.5, message: undefined }), isAlive: () => true };
    },
    load: () => 0,
    close: async () => {},
  };
}

let names = 0;
function createArtifacts({ files }: NodeWorld): ArtifactStore {
  const refuseCall = (): never => {
    throw new Error('the engine reads and writes no artifacts');
  };
  return {
    destination: { kind: 'folder', folder: '/nothing-is-written', lowWaterMark: {} },
    write: refuseCall,
    writeFile: refuseCall,
    newName: () => `file-${++names}`,
    async remove(removed) {
      for (const file of removed) files.delete(file);
    },
    stream: refuseCall,
    read: refuseCall,
    isIntact: refuseCall,
    damaged: refuseCall,
    file: refuseCall,
    claim: refuseCall,
    link: refuseCall,
    settle: async () => {},
    sweep: refuseCall,
    discard: refuseCall,
    restore: refuseCall,
  };
}
