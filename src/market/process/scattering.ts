import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { memoryLimit, writtenPlace, type WrittenPlace } from '#kernels/memory/paged-memory.js';
import { compareText } from '#domain/findings.js';
import { BLOCK_DAYS } from '../content/day-blocks.js';
import { floorsOf, type DayFollower, type Scattered, type Target } from '../content/scatter-rows.js';
import { rowsTogether, STAGED_BLOCKS_MAX, stripeDaysOf, type StripeTarget } from '../content/stripes.js';
import { handedPanel, panelBytes } from '../serving/panels.js';
import { batchDays } from '../serving/shared-market.js';
import { settleAll } from './settle-all.js';

/** What a thread is to do. */
export type ScatterMessage =
  /** It opens a DuckDB that runs these settings. */
  { readonly kind: 'open'; readonly settings: string } | { readonly kind: 'scatter'; readonly order: ScatterOrder };

export interface ScatterOrder {
  readonly target: StripeTarget;
  /** By panel, the file that it is written to. */
  readonly places: readonly (WrittenPlace | undefined)[];
  /** The column of each spelling of a name. */
  readonly positions: readonly (readonly [string, number])[];
  /** Queries of day, name and numbers, each row in one of them. */
  readonly parts: readonly string[];
  /** Number of the part that the next free thread takes, [1] in shared memory. */
  readonly next: Int32Array;
}

export type ScatterAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'complete'; readonly batch: number }
  | { readonly kind: 'digest'; readonly block: number; readonly digest: Uint8Array }
  | { readonly kind: 'done'; readonly rows: number; readonly isSound: boolean }
  | { readonly kind: 'failed'; readonly message: string };

/** Bytes of the files of a market from which on threads of their own read it: each takes 0.1 s to start. */
export const SCATTERED_BYTES_MIN = 64 << 20;

/** Threads that read one market: beyond these the disk and the hashes are slower. */
const THREADS_MAX = 4;

/** Of the memory of panels, what threads may take that fill blocks of panels on a disk. */
const STAGED_SHARE = 0.5;

/** Parts for each thread, so that all of them end at about the same time. */
const PARTS_PER_THREAD = 4;

/** What is read by the threads. */
export interface Scattering {
  /** Parts that rows are best divided into. */
  readonly parts: number;
  /** Whether all threads can read. */
  areReady(): Promise<boolean>;
  /**
   * Reads the parts of a market into its panels.
   * @param positions as `shortNames` takes them, none of which is too long
   * @throws Error with what DuckDB says
   */
  scatter(
    reading: Pick<ScatterOrder, 'parts' | 'positions'>,
    target: Target,
    onRows: (rows: number) => void,
    follower?: DayFollower,
  ): Promise<Scattered>;
  /** Ends the threads. */
  end(): Promise<void>;
}

/** Starts the threads that read a market. @param settings of their DuckDBs */
export function startScattering(settings: string): Scattering {
  const count = Math.min(THREADS_MAX, availableParallelism());
  const threads = Array.from({ length: count }, () => new Worker(new URL('./scattering-thread.js', import.meta.url)));
  for (const thread of threads) thread.on('error', () => {}); // and it exits
  const ready = threads.map(async (thread) => {
    const asked = askedOf(thread, { kind: 'open', settings: `SET threads = 1; ${settings}` }, () => {});
    return (await asked).kind === 'ready';
  });
  const areReady = Promise.all(ready).then(
    (each) => each.every(Boolean),
    () => false,
  );
  return {
    parts: count * PARTS_PER_THREAD,
    areReady: () => areReady,
    async scatter(reading, target, onRows, follower) {
      const { order, panels, days } = orderOf(reading, target, count);
      const { left } = order.target;
      let rows = 0;
      const onAnswer = (answer: ScatterAnswer): void => {
        if (answer.kind === 'rows') onRows((rows += answer.rows));
        if (answer.kind === 'digest') follower?.digested?.(answer.block, answer.digest);
        if (answer.kind === 'complete')
          follower?.complete(answer.batch * days, Math.min((answer.batch + 1) * days, target.dates.length));
      };
      follower?.begin(panels);
      const ended = await settleAll(threads.map((thread) => askedOf(thread, { kind: 'scatter', order }, onAnswer)));
      let isSound = left.every((count) => count === 0);
      for (const answer of ended) {
        if (answer.kind === 'failed') throw new Error(answer.message);
        if (answer.kind === 'done') rows += answer.rows;
        if (answer.kind !== 'done' || !answer.isSound) isSound = false;
      }
      return { panels, rows, isSound };
    },
    async end() {
      await Promise.all(threads.map((thread) => thread.terminate()));
    },
  };
}

/** The last answer of a thread to a message. @throws Error when it ends without one */
function askedOf(
  thread: Worker,
  message: ScatterMessage,
  onAnswer: (answer: ScatterAnswer) => void,
): Promise<ScatterAnswer> {
  return new Promise<ScatterAnswer>((resolve, reject) => {
    const onMessage = (answer: ScatterAnswer): void => {
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

function orderOf(
  { parts, positions }: Pick<ScatterOrder, 'parts' | 'positions'>,
  { identifiers, dates, fields, rowsOfDay }: Target,
  threads: number,
) {
  const assets = identifiers.length;
  const panels = fields.map(() => handedPanel(dates.length * assets, fields.length));
  const shape = { assets, fields: fields.length };
  const days = batchDays(shape, BLOCK_DAYS);
  const places = panels.map(({ buffer }) => writtenPlace(buffer));
  const isHashed =
    places.every((place) => place?.isOnDisk) && threads * stagedBytes(shape) <= STAGED_SHARE * memoryLimit().panelBytes;
  const stripeDays = isHashed ? BLOCK_DAYS : stripeDaysOf(shape);
  const target: StripeTarget = {
    assets,
    dates,
    rowsOfDay,
    panels,
    floors: floorsOf(fields),
    batchDays: days,
    stripeDays,
    left: sharedIntegers(rowsTogether(rowsOfDay, days)),
    whole: sharedIntegers(new Int32Array(Math.ceil(dates.length / stripeDays))),
    filled: new Uint8Array(new SharedArrayBuffer(dates.length * assets)),
    hashed: isHashed ? fields.toSorted(compareText).map((name) => fields.indexOf(name)) : null,
  };
  const next = sharedIntegers(new Int32Array(1));
  return {
    order: { target, places, positions, parts, next } satisfies ScatterOrder,
    panels: { identifiers, dates, fields: new Map(fields.map((name, f) => [name, panels[f]!])) },
    days,
  };
}

/** What a thread takes that fills whole blocks. */
const stagedBytes = ({ assets, fields }: { readonly assets: number; readonly fields: number }): number =>
  STAGED_BLOCKS_MAX * panelBytes({ dates: BLOCK_DAYS, identifiers: assets, fields });

function sharedIntegers(values: Int32Array): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(values.byteLength));
  shared.set(values);
  return shared;
}
