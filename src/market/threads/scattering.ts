import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { findMemoryLimit, findWritableFile, type WritableFile } from '#kernels/memory/paged-memory.js';
import { compareText } from '#domain/refusals/findings.js';
import { BLOCK_DAYS } from '../panels/day-blocks.js';
import { listFloors, type DayFollower, type ScatterResult, type RowTarget } from './scatter-rows.js';
import { sumRowGroups, STAGED_BLOCKS_MAX, computeStripeDays, type StripeTarget } from './stripes.js';
import { allocateHandedPanel, computePanelBytes } from '../panels/panels.js';
import { computeBatchDays } from '../panels/shared-market.js';
import { awaitAll } from '../panels/settle-all.js';

/** Message to a reading thread. */
export type ScatterMessage =
  /** Opens DuckDB with these settings. */
  { readonly kind: 'open'; readonly settings: string } | { readonly kind: 'scatter'; readonly order: ScatterOrder };

export interface ScatterOrder {
  readonly target: StripeTarget;
  /** File to which each panel is written. It is undefined for a panel in memory. */
  readonly places: readonly (WritableFile | undefined)[];
  /** Panel column of each spelling of an identifier. */
  readonly positions: readonly (readonly [string, number])[];
  /** Queries of day, identifier and numbers, which together return each row once. */
  readonly parts: readonly string[];
  /** Index of the next part to read, [1] in shared memory. */
  readonly next: Int32Array;
}

export type ScatterReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'complete'; readonly batch: number }
  | { readonly kind: 'digest'; readonly block: number; readonly digest: Uint8Array }
  | { readonly kind: 'done'; readonly rows: number; readonly isSound: boolean }
  | { readonly kind: 'failed'; readonly message: string };

/** Minimum size in bytes of the files of a market for separate reading threads. Each thread takes 0.1 s to start. */
export const SCATTERED_BYTES_MIN = 64 << 20;

/** Maximum number of threads that read one market. With more threads, the disk and the hashes limit the speed. */
const THREADS_MAX = 4;

/** Maximum size of the buffers of all threads, as a share of the memory for panels. */
const STAGED_SHARE = 0.5;

/** Number of parts per thread. With several parts, all threads end at about the same time. */
const PARTS_PER_THREAD = 4;

/** Threads that read a market. */
export interface Scattering {
  /** Suggested number of parts of the source. */
  readonly parts: number;
  /** Resolves to true if all threads are ready to read. */
  areReady(): Promise<boolean>;
  /**
   * Reads the parts of a market into its panels.
   * @param positions arguments of `createNameTable`, without spellings that are too long
   * @throws Error with the message of DuckDB
   */
  scatter(
    reading: Pick<ScatterOrder, 'parts' | 'positions'>,
    target: RowTarget,
    onRows: (rows: number) => void,
    follower?: DayFollower,
  ): Promise<ScatterResult>;
  /** Ends the threads. */
  end(): Promise<void>;
}

/** Starts the threads that read a market. @param settings SQL settings of the DuckDB of each thread */
export function startScattering(settings: string): Scattering {
  const count = Math.min(THREADS_MAX, availableParallelism());
  const start = (): StartedThread => {
    const thread = new Worker(new URL('./scattering-thread.js', import.meta.url));
    thread.on('error', () => {}); // an exit follows
    const openReport = requestReport(thread, { kind: 'open', settings: `SET threads = 1; ${settings}` }, () => {});
    const isReady = openReport.then(
      ({ kind }) => kind === 'ready',
      () => false,
    );
    return { thread, isReady };
  };
  const startedThreads = Array.from({ length: count }, start);
  return {
    parts: count * PARTS_PER_THREAD,
    areReady: async () => (await Promise.all(startedThreads.map(({ isReady }) => isReady))).every(Boolean),
    async scatter(reading, target, onRows, follower) {
      const { order, panels, days } = createOrder(reading, target, count + 1);
      const { left, hashed } = order.target;
      if (hashed !== null) startedThreads.push(start()); // compensates for a thread that waits for the disk
      let rows = 0;
      const onReport = (answer: ScatterReport): void => {
        if (answer.kind === 'rows') onRows((rows += answer.rows));
        if (answer.kind === 'digest') follower?.digested?.(answer.block, answer.digest);
        if (answer.kind === 'complete')
          follower?.complete(answer.batch * days, Math.min((answer.batch + 1) * days, target.dates.length));
      };
      follower?.begin(panels);
      const answers = await awaitAll(
        startedThreads.map(async ({ thread, isReady }) =>
          (await isReady) ? requestReport(thread, { kind: 'scatter', order }, onReport) : EMPTY_REPORT,
        ),
      );
      let isSound = left.every((rest) => rest === 0);
      for (const answer of answers) {
        if (answer.kind === 'failed') throw new Error(answer.message);
        if (answer.kind === 'done') rows += answer.rows;
        if (answer.kind !== 'done' || !answer.isSound) isSound = false;
      }
      return { panels, rows, isSound };
    },
    async end() {
      await Promise.all(startedThreads.map(({ thread }) => thread.terminate()));
    },
  };
}

interface StartedThread {
  readonly thread: Worker;
  /** Resolves to true if the thread can read. */
  readonly isReady: Promise<boolean>;
}

/** Answer in place of a thread that is not ready. The other threads read its parts. */
const EMPTY_REPORT: ScatterReport = { kind: 'done', rows: 0, isSound: true };

/** Returns the last answer of a thread to a message. @throws Error if the thread ends without an answer */
function requestReport(
  thread: Worker,
  message: ScatterMessage,
  onAnswer: (answer: ScatterReport) => void,
): Promise<ScatterReport> {
  return new Promise<ScatterReport>((resolve, reject) => {
    const onMessage = (answer: ScatterReport): void => {
      onAnswer(answer);
      if (answer.kind === 'rows' || answer.kind === 'complete' || answer.kind === 'digest') return;
      thread.off('message', onMessage);
      thread.off('error', reject);
      resolve(answer);
    };
    thread.on('message', onMessage);
    thread.on('error', reject);
    thread.once('exit', () => reject(new Error('a thread that reads ended')));
    thread.postMessage(message, []);
  });
}

function createOrder(
  { parts, positions }: Pick<ScatterOrder, 'parts' | 'positions'>,
  { identifiers, dates, fields, rowsOfDay }: RowTarget,
  threads: number,
) {
  const assets = identifiers.length;
  const panels = fields.map(() => allocateHandedPanel(dates.length * assets, fields.length));
  const shape = { assets, fields: fields.length };
  const days = computeBatchDays(shape, BLOCK_DAYS);
  const writableFiles = panels.map(({ buffer }) => findWritableFile(buffer));
  const isHashed =
    writableFiles.every((place) => place?.isOnDisk) &&
    threads * computeStageBytes(shape) <= STAGED_SHARE * findMemoryLimit().panelBytes;
  const stripeDays = isHashed ? BLOCK_DAYS : computeStripeDays(shape);
  const target: StripeTarget = {
    assets,
    dates,
    rowsOfDay,
    panels,
    floors: listFloors(fields),
    batchDays: days,
    stripeDays,
    left: copyToSharedIntegers(sumRowGroups(rowsOfDay, days)),
    whole: copyToSharedIntegers(new Int32Array(Math.ceil(dates.length / stripeDays))),
    filled: new Uint8Array(new SharedArrayBuffer(dates.length * assets)),
    hashed: isHashed ? fields.toSorted(compareText).map((name) => fields.indexOf(name)) : null,
  };
  const next = copyToSharedIntegers(new Int32Array(1));
  return {
    order: { target, places: writableFiles, positions, parts, next } satisfies ScatterOrder,
    panels: { identifiers, dates, fields: new Map(fields.map((name, f) => [name, panels[f]!])) },
    days,
  };
}

/** Returns the staging memory of one thread in bytes. */
const computeStageBytes = ({ assets, fields }: { readonly assets: number; readonly fields: number }): number =>
  STAGED_BLOCKS_MAX * computePanelBytes({ dates: BLOCK_DAYS, identifiers: assets, fields });

function copyToSharedIntegers(values: Int32Array): Int32Array {
  const sharedIntegers = new Int32Array(new SharedArrayBuffer(values.byteLength));
  sharedIntegers.set(values);
  return sharedIntegers;
}
