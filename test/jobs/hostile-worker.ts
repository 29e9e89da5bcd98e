import { getHeapStatistics } from 'node:v8';
import { threadId } from 'node:worker_threads';
import type { TaskControl } from '#jobs/tasks/messages.js';
import { timeRequest } from '#base/tracing/tracing.js';
import { Refusal } from '#domain/base/refusals.js';
import { createEntryPoint, releaseMemory } from '#workers/tasks.js';
import { copyWithHash } from '#workers/output/task-outputs.js';

declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>;
};

/** Bytes of `(module (func (export "spin") (loop $again (br $again))))` */
const ENDLESS = Uint8Array.of(
  0,
  97,
  115,
  109,
  1,
  0,
  0,
  0,
  1,
  4,
  1,
  96,
  0,
  0,
  3,
  2,
  1,
  0,
  7,
  8,
  1,
  4,
  115,
  112,
  105,
  110,
  0,
  0,
  10,
  9,
  1,
  7,
  0,
  3,
  64,
  12,
  0,
  11,
  11,
);

/** Number of rests of this thread. */
let rests = 0;

/**
 * Tasks that the worker of the product must survive. A test pool uses this entry point in place of that of the product.
 */
const tasks = {
  echo: (input: unknown) => input,
  thread: () => threadId,
  /** Fills the heap with objects that are no longer used, as many backtests do. @returns bytes of the heap */
  litter() {
    const rows: object[] = [];
    for (let i = 0; i < 1_000_000; i++) rows.push({ i, text: `row ${i}` });
    return getHeapStatistics().total_heap_size + rows.length;
  },
  'heap-bytes': () => getHeapStatistics().total_heap_size,
  rest: async (input: Parameters<typeof releaseMemory>[0], control: TaskControl) => {
    rests += 1;
    return releaseMemory(input, control);
  },
  rests: () => rests,
  bytes: (size: number) => ({
    first: copyWithHash(new Uint8Array(size).fill(7)),
    nested: { second: copyWithHash('text') },
  }),
  step({ steps, ms }: { steps: number; ms: number }, control: TaskControl) {
    for (let step = 0; step < steps; step++) {
      control.report(step / steps, `step ${step} of ${steps}`);
      const end = performance.now() + ms;
      while (performance.now() < end);
    }
    return steps;
  },
  refuse: () => {
    throw new Refusal('MISSING_PRICE', 'No price for ABC on 2024-01-03.', { identifier: 'ABC' });
  },
  throws: () => {
    throw new TypeError('a defect');
  },
  throwsLater: () =>
    new Promise(() => {
      setTimeout(() => {
        throw new Error('a late defect');
      }, 1);
    }),
  exits: () => process.exit(3),
  heap: () => {
    const rows: number[][] = [];
    for (;;) rows.push(Array.from({ length: 10_000 }, () => rows.length));
  },
  buffers: () => new ArrayBuffer(2 ** 46),
  spin(_: unknown, control: TaskControl) {
    control.report(0, 'spinning');
    for (;;);
  },
  async spinWasm(_: unknown, control: TaskControl) {
    const { instance } = await WebAssembly.instantiate(ENDLESS);
    control.report(0, 'spinning');
    (instance.exports['spin'] as () => void)();
  },
  regex: () => /^(a+)+$/.test(`${'a'.repeat(40)}b`),
  unclonable: () => () => 0,
  async asksStore({ methods, fails }: { methods: readonly string[]; fails: boolean }) {
    for (const method of methods) await timeRequest(method, async () => new Response(null, { status: 200 }));
    if (fails) throw new Refusal('MISSING_PRICE', 'No price.');
  },
};

// The entry point calls the task with the input that the test gives.
export const runTask = createEntryPoint(
  Object.fromEntries(Object.entries(tasks).map(([name, task]) => [name, async () => task as never])),
);
