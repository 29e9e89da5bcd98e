import { describe, expect, test } from 'vitest';
import type { RunState, StaleState } from '#domain/backtest/plan.js';
import { createStateHead, prependHead, removeMarks, streamWithHead } from '#services/shared/stamped-json.js';
import { createByteStream, readInto } from '../shared/byte-streams.js';

const STALE: StaleState = {
  definition: false,
  data: true,
  engine: false,
  reasons: ['The store desk holds other content than the run was made on.'],
  store_id: null,
};
const createRunState = (stale: StaleState | null): RunState => ({ index_version: 3, store_id: 'market', stale });
const SAMPLE_OBJECT = { index_id: 'X', name: '{"Ünïcode"}', values: Array.from({ length: 15 }, (_, i) => i / 7) };
const BYTES = new TextEncoder().encode(JSON.stringify(SAMPLE_OBJECT));

describe('a view with the state of its run', () => {
  test('equals the view with the state of its run before the other members', () => {
    for (const stale of [null, STALE])
      expect(JSON.parse(new TextDecoder().decode(prependHead(createStateHead(createRunState(stale)), BYTES)))).toEqual({
        index_version: 3,
        store_id: 'market',
        stale,
        ...SAMPLE_OBJECT,
      });
  });

  test.each([
    [1, 1],
    [7, 64],
    [1000, 3],
    [65_536, 65_536],
    [64, 262_144],
  ])('streams equal bytes, in pieces of %i read into %i bytes', async (piece, room) => {
    const wholeText = Buffer.from(prependHead(createStateHead(createRunState(STALE)), BYTES)).toString('utf8');
    expect(
      String(
        await readInto(streamWithHead(createStateHead(createRunState(STALE)), createByteStream(BYTES, piece)), room),
      ),
    ).toBe(wholeText);
    expect(
      await new Response(streamWithHead(createStateHead(createRunState(STALE)), createByteStream(BYTES, piece))).text(),
    ).toBe(wholeText);
  });

  test('ends as its stream does: with an error, and when it is cancelled', async () => {
    const brokenStream = new ReadableStream({
      type: 'bytes',
      pull: (controller) => controller.error(new Error('the disk is gone')),
    }) as ReadableStream<Uint8Array>;
    await expect(
      new Response(streamWithHead(createStateHead(createRunState(null)), brokenStream)).text(),
    ).rejects.toThrow('the disk is gone');
    let isCancelled = false;
    await streamWithHead(
      createStateHead(createRunState(null)),
      createByteStream(BYTES, 10, { onCancel: () => (isCancelled = true) }),
    ).cancel();
    expect(isCancelled).toBe(true);
  });

  test('has the etag of the stored run while it is current, and a separate one for each state', () => {
    const otherEtag = createStateHead(createRunState({ ...STALE, engine: true })).toEtag('abc');
    const ownEtag = createStateHead(createRunState(STALE)).toEtag('abc');
    expect(createStateHead(createRunState(null)).toEtag('abc')).toBe('abc');
    expect(new Set(['abc', ownEtag, otherEtag]).size).toBe(3);
    expect([ownEtag, otherEtag, 'abc'].map(removeMarks)).toEqual(['abc', 'abc', 'abc']);
  });
});
