import { Refusal } from '#domain/base/refusals.js';
import type { Clock } from '#jobs/port/clock.js';
import { type ComputePool, TaskStopped, WorkerLost } from '#jobs/port/compute-pool.js';
import type { ArtifactRef, ArtifactStore, DocumentKind, DocumentStore, TransactionBody } from '#store/port.js';
import { formatJobId, type Payload, type World } from './world.js';

/** Listeners of one process. After the process has ended, they have no effect. */
export interface PortListeners {
  /** Called when a process has written a job. */
  onJobWritten(jobId: string, owner: number): void;
  /** Called when the worker of an attempt has died. */
  onCrash(token: string): void;
}

export const EPOCH_MS = 1.7e12;
/** Probability that a write fails because the disk is full. */
const DISK_FULL = 0.005;

export function createClock({ agenda, later }: World, owner: number): Clock {
  return {
    now: () => EPOCH_MS + agenda.now(),
    monotonicMs: () => agenda.now(),
    after: (ms, call) => later(owner, ms, call),
  };
}

type StagedTexts = Map<string, string | null>;

/** Creates a store in which commits keep their order. Each acknowledgement is delayed by a random time. */
export function createStore(world: World, owner: number, { onJobWritten }: PortListeners): DocumentStore {
  const { disk, agenda, between, later } = world;
  let lastCommitMs = 0;

  const get = (kind: DocumentKind, id: string, staged?: StagedTexts) => {
    const key = `${kind}/${id}`;
    const text = staged?.has(key) ? staged.get(key) : disk.get(key);
    return text === undefined || text === null ? undefined : { id, body: JSON.parse(text), etag: '', updatedAt: '' };
  };

  function write(staged: StagedTexts): void {
    world.isDiskChanged = true;
    const droppedFiles = [...staged.keys()].flatMap((key) => disk.get(key)?.match(/file-[^"]+/g) ?? []);
    for (const [key, text] of staged) {
      if (text === null) disk.delete(key);
      else disk.set(key, text);
      if (key.startsWith('job/')) onJobWritten(key.slice(4), owner);
    }
    world.removeUnowned(droppedFiles);
  }

  async function commitTransaction<T>(change: TransactionBody<T>, acknowledge: (result: T) => void): Promise<void> {
    const stagedTexts: StagedTexts = new Map();
    const result = await change({
      get: async (kind, id) => get(kind, id, stagedTexts),
      ids: async () => [],
      lastNumber: async () => 0,
      put: async (kind, id, body) => (stagedTexts.set(`${kind}/${id}`, JSON.stringify(body)), ''),
      delete: async (kind, id) => (stagedTexts.set(`${kind}/${id}`, null), true),
      publish: () => {},
    });
    if (world.callPort(() => write(stagedTexts))) later(owner, between(0, 10), () => acknowledge(result));
  }

  const listIds = (kind: DocumentKind): string[] =>
    [...disk.keys()].flatMap((key) => (key.startsWith(`${kind}/`) ? [key.slice(kind.length + 1)] : [])).sort();

  return {
    get: async (kind, id) => get(kind, id),
    ids: async (kind) => listIds(kind),
    lastNumber: async () => 0,
    numbers: async () => [],
    revision: async () => 0,
    list: async (kind, read) => ({
      documents: [...disk].flatMap(([key, text]) =>
        key.startsWith(`${kind}/`)
          ? (read(JSON.parse(text), key.slice(kind.length + 1), { etag: '', updatedAt: '' }) ?? [])
          : [],
      ),
      skipped: 0,
      skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 },
    }),
    transaction: <T>(change: TransactionBody<T>) =>
      new Promise<T>((resolve, reject) => {
        lastCommitMs = Math.max(lastCommitMs, agenda.now() + between(0, 20));
        later(owner, lastCommitMs - agenda.now(), () => {
          if (world.chance(DISK_FULL)) reject(new Refusal('STORAGE_FULL', 'simulated'));
          else commitTransaction(change, resolve).catch(reject);
        });
      }),
    subscribe: () => () => {},
    close: async () => {},
  };
}

export function createArtifacts(world: World, owner: number): ArtifactStore {
  const { files, agenda, random } = world;
  const refuseCall = (): never => world.say('the engine reads and writes no artifacts');
  return {
    destination: { kind: 'folder', folder: '/nothing-is-written', lowWaterMark: {} },
    write: refuseCall,
    writeFile: refuseCall,
    newName: () => `file-${files.size}-${agenda.now()}-${random()}`,
    async remove(names) {
      for (const name of names) if (owner === world.process) files.delete(name);
      world.isDiskChanged = true;
    },
    stream: refuseCall,
    read: refuseCall,
    isIntact: refuseCall,
    damaged: refuseCall,
    file: refuseCall,
    claim: refuseCall,
    link: refuseCall,
    settle: () => settle(world, owner),
    sweep: refuseCall,
    discard: refuseCall,
    restore: refuseCall,
  };
}

/** Waits, then records that a power failure can no longer lose the artifacts that were written before the call. */
function settle(world: World, owner: number): Promise<void> {
  const names = [...world.unsettled];
  return new Promise((resolve, reject) => {
    world.later(owner, world.between(0, 5), () => {
      try {
        if (world.callPort(() => names.forEach((name) => world.unsettled.delete(name)))) resolve();
      } catch (thrown) {
        reject(thrown);
      }
    });
  });
}

export function writeFile(world: World, owner: number, name: string): Promise<ArtifactRef> {
  return new Promise((resolve, reject) => {
    world.later(owner, world.between(0, 10), () => {
      if (world.chance(DISK_FULL)) return reject(new Refusal('STORAGE_FULL', 'simulated'));
      try {
        if (world.callPort(() => recordWrittenFile(world, owner, name))) resolve({ name, bytes: 1, sha256: '' });
      } catch (thrown) {
        reject(thrown);
      }
    });
  });
}

function recordWrittenFile(world: World, owner: number, name: string): void {
  world.files.set(name, owner);
  world.unsettled.add(name);
}

/**
 * Creates threads that behave in different ways: they finish, fail, die, stop responding, or ignore a cancellation and
 * respond too late.
 */
export function createPool(world: World, owner: number, { onCrash }: PortListeners): ComputePool {
  const { agenda, between, later, random } = world;
  return {
    run({ input, signal }) {
      const { token } = input as unknown as Payload;
      const startMs = agenda.now();
      const durationMs = between(1, 8000);
      let isDeaf = world.chance(0.2);
      const isEndless = world.chance(0.03);
      let isLost = false;
      const output = new Promise<never>((resolve, reject) => {
        const finish = (): void => {
          const dice = world.isKind || world.fault !== undefined ? 1 : random();
          if (dice < 0.15) {
            if (signal?.aborted !== true) onCrash(token);
            isLost = true;
            reject(new WorkerLost('simulated'));
          } else if (dice < 0.2) reject(new Refusal('MISSING_PRICE', 'simulated'));
          else if (dice < 0.22) reject(new Error('a simulated defect'));
          else if (dice < 0.25) {
            isLost = isDeaf = true; // Half of the lost messages arrive later, when no caller waits for them any more.
            if (dice < 0.235) later(owner, between(5000, 15_000), () => resolve(token as never));
          } else resolve(token as never);
        };
        if (!isEndless) later(owner, durationMs, finish);
        signal?.addEventListener('abort', () => {
          const isGivenUp = world.recordOnDisk(formatJobId(token))?.status === 'pending';
          if (isGivenUp && !isLost && !world.isStopping) world.say(`an attempt of ${token} that was well was given up`);
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
