import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { TaskStopped } from '#jobs/port/compute-pool.js';
import type { OfferedParts, PartOutput, WrittenParts } from '#jobs/port/queue.js';
import { type PartsContext, runParts } from '#jobs/port/parts.js';
import type { ArtifactRef } from '#store/port.js';
import { createTestClock } from './test-clock.js';

const createRef = (name: string): ArtifactRef => ({ name, bytes: 1, sha256: 'ab' });
const lease = { jobId: 'sweep:s', sequence: 1, attempt: 2 };
const KEEP_MS = 2000;

/** Creates a job that is divided into parts. Each part takes one second of the test clock. */
function createWorld(
  count: number,
  context: Partial<PartsContext> = {},
  createOutput: (part: number) => ArtifactRef | PartOutput = (part) => createRef(`here${part}`),
) {
  const { clock, pass } = createTestClock();
  const computedParts: number[] = [];
  const keptParts: (readonly WrittenParts[])[] = [];
  const names = { taken: [] as string[], kept: [] as string[] };
  const stoppingController = new AbortController();
  let otherCount = 0;
  const endedRun = runParts(
    {
      count,
      atOnce: 1,
      share: 1,
      async here(part) {
        computedParts.push(part);
        await new Promise<void>((resolve) => void clock.after(1000, resolve));
        return createOutput(part);
      },
    },
    {
      offered: undefined,
      kept: { earlier: [], keep: async (parts) => keptParts.push(parts) > 0 },
      lease,
      artifacts: { damaged: async () => new Set(), settle: async () => {} },
      clock,
      signal: stoppingController.signal,
      onElsewhere: (share) => void (otherCount = share),
      onTaken: (of) => names.taken.push(...of),
      onKept: (of) => names.kept.push(...of),
      ...context,
    },
  );
  endedRun.catch(() => {});
  return {
    ended: endedRun,
    pass,
    computed: computedParts,
    kept: keptParts,
    names,
    stopping: stoppingController,
    share: () => otherCount,
  };
}

const listWrittenParts = (outputs: readonly WrittenParts[]): number[] =>
  [...new Set(outputs.flatMap(({ parts }) => parts))].toSorted((a, b) => a - b);

test('outputs are stored while parts run, and their names are passed to the attempt', async () => {
  const { ended, pass, kept, names } = createWorld(6);
  await pass(KEEP_MS + 1000);
  const firstNames = kept[0]!.map(({ artifact }) => artifact.name);
  expect(firstNames).toEqual(['here0', 'here1'].slice(0, firstNames.length));
  expect(names.kept).toEqual(firstNames);
  await pass(6000);
  expect(listWrittenParts(await ended)).toEqual([0, 1, 2, 3, 4, 5]);
});

test('an attempt computes the missing and damaged parts', async () => {
  const earlierParts = [
    { artifact: createRef('a'), parts: [0, 1] },
    { artifact: createRef('gone'), parts: [2] },
    { artifact: createRef('c'), parts: [3] },
  ];
  const { ended, pass, computed, names, share } = createWorld(5, {
    kept: { earlier: earlierParts, keep: async () => true },
    artifacts: { damaged: async () => new Set(['gone']), settle: async () => {} },
  });
  await pass(3000);
  expect(listWrittenParts(await ended)).toEqual([0, 1, 2, 3, 4]);
  expect(computed).toEqual([2, 4]);
  expect(share()).toBe(3 / 5);
  expect(names.kept.slice(0, 2)).toEqual(['a', 'c']);
});

test('files of a part are stored, reused and checked together with its output', async () => {
  const earlierParts = [
    { artifact: createRef('a'), files: [createRef('a1'), createRef('a2')], parts: [0] },
    { artifact: createRef('b'), files: [createRef('gone')], parts: [1] },
  ];
  const { ended, pass, kept, names } = createWorld(
    5,
    {
      offered: createOfferedParts([{ artifact: createRef('theirs'), files: [createRef('t1')], parts: [2] }], []),
      kept: { earlier: earlierParts, keep: async (parts) => kept.push(parts) > 0 },
      artifacts: { damaged: async () => new Set(['gone']), settle: async () => {} },
    },
    (part) => ({ artifact: createRef(`here${part}`), files: [createRef(`file${part}`)] }),
  );
  await pass(KEEP_MS + 3000);
  const createOwnOutput = (part: number) => ({
    artifact: createRef(`here${part}`),
    files: [createRef(`file${part}`)],
    parts: [part],
  });
  const otherOutput = { artifact: createRef('theirs'), files: [createRef('t1')], parts: [2] };
  const outputs = (await ended).toSorted((a, b) => a.parts[0]! - b.parts[0]!);
  expect(outputs).toEqual([earlierParts[0], createOwnOutput(1), otherOutput, createOwnOutput(3), createOwnOutput(4)]);
  expect(names.taken).toEqual(['a', 'a1', 'a2', 'theirs', 't1']);
  const firstNames = kept[0]!.flatMap(({ artifact, files = [] }) => [artifact, ...files].map(({ name }) => name));
  expect(names.kept.slice(0, firstNames.length)).toEqual(firstNames);
  expect(firstNames).toContain('file4');
});

test('an attempt completes if its outputs cannot be kept', async () => {
  const refuse = async () => Promise.reject(new Refusal('STORE_UNAVAILABLE', 'It is unavailable.'));
  const { ended, pass } = createWorld(4, { kept: { earlier: [], keep: refuse } });
  await pass(5000);
  expect(listWrittenParts(await ended)).toEqual([0, 1, 2, 3]);
});

test('an attempt that is ended stops between its parts', async () => {
  const { ended, pass, computed, stopping } = createWorld(4);
  await pass(1000);
  stopping.abort();
  await pass(2000);
  await expect(ended).rejects.toThrow(TaskStopped);
  expect(computed.length).toBeLessThan(4);
});

/**
 * Offers parts to other nodes, which compute some of them. `writtenParts` parts are complete at the first poll.
 * `lostParts` rows have disappeared.
 */
function createOfferedParts(writtenParts: readonly WrittenParts[], lostParts: readonly number[]): OfferedParts {
  let offers: number[] = [];
  let remaining = [...writtenParts];
  return {
    async offer(_, parts) {
      offers = parts.filter((part) => !lostParts.includes(part));
    },
    async take() {
      const takenParts = offers.filter((part) => !remaining.some(({ parts }) => parts.includes(part)));
      const part = takenParts.at(-1);
      offers = offers.filter((each) => each !== part);
      return part;
    },
    async collect() {
      const result = remaining;
      remaining = [];
      offers = offers.filter((part) => !result.some(({ parts }) => parts.includes(part)));
      return result;
    },
    remaining: async () => offers,
    withdraw: async () => {},
  };
}

test('parts of other nodes count, and a part whose offer is lost is computed by this node', async () => {
  const offeredParts = createOfferedParts([{ artifact: createRef('theirs'), parts: [0, 1, 2] }], [4]);
  const { ended, pass, computed, names, share } = createWorld(6, { offered: offeredParts });
  await pass(12_000);
  expect(listWrittenParts(await ended)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(computed.toSorted((a, b) => a - b)).toEqual([3, 4, 5]);
  expect(names.taken).toEqual(['theirs']);
  expect(share()).toBe(1 / 2);
});

test('an unavailable database leaves all parts to this node', async () => {
  const rejectUnavailable = async () => Promise.reject(new Refusal('STORE_UNAVAILABLE', 'It is unavailable.'));
  const { ended, pass, computed } = createWorld(3, {
    offered: { ...createOfferedParts([], []), offer: rejectUnavailable },
  });
  await pass(4000);
  expect(listWrittenParts(await ended)).toEqual([0, 1, 2]);
  expect(computed).toEqual([0, 1, 2]);
});
