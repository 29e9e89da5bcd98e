import { describe, expect, test, vi } from 'vitest';
import { LIMITS } from '#domain/base/limits.js';
import { Refusal } from '#domain/base/refusals.js';
import { ask, readEvents, openWorld } from './routes-world.js';
import { waitFor } from '../waiting.js';

/** Reads a stream to its end. @throws the error of the stream */
async function readUntilFailure(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  while (!(await reader.read()).done);
}

describe('GET /jobs/{job_id}/events', () => {
  test('reports the status on connection and after every change, and ends with the last', async () => {
    const { app, submit, finish } = await openWorld();
    await submit('a');
    const response = await ask(app, '/jobs/backtest:a/events');
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const seenEvents: string[] = [];
    let last = 0;
    for await (const { id, data } of readEvents(response)) {
      expect(id).toBeGreaterThan(last);
      last = id;
      seenEvents.push(data.status);
      expect(data.result).toBeNull();
      if (data.status === 'running') finish({ large: 'value' });
    }
    expect(seenEvents.at(-1)).toBe('succeeded');
    expect(new Set(seenEvents)).toContain('running');
  });

  test('sends a reconnected client only the events that it has not seen', async () => {
    const { app, engine, submit } = await openWorld();
    await submit('a');
    await engine.cancel('backtest:a');
    const first: number[] = [];
    for await (const { id } of readEvents(await ask(app, '/jobs/backtest:a/events'))) first.push(id);
    expect(first).toHaveLength(1);
    const secondStream = await ask(app, '/jobs/backtest:a/events', { headers: { 'last-event-id': String(first[0]) } });
    expect(await secondStream.text()).toBe('');
    const staleAnswer = await ask(app, '/jobs/backtest:a/events', { headers: { 'last-event-id': '1' } });
    expect(await staleAnswer.text()).toContain(`id: ${first[0]}`);
  });

  test('releases slots when clients leave, and refuses more than the maximum', async () => {
    const { app, submit } = await openWorld();
    await submit('a');
    const streams = await Promise.all(
      Array.from({ length: LIMITS.MAX_EVENT_STREAMS }, () => ask(app, '/jobs/backtest:a/events')),
    );
    const refusal = await ask(app, '/jobs/backtest:a/events');
    expect(refusal.status).toBe(503);
    expect(await refusal.json()).toMatchObject({ error: { code: 'OVERLOADED' } });
    for (const stream of streams) await stream.body!.cancel();
    const acceptedAnswer = await ask(app, '/jobs/backtest:a/events');
    expect(acceptedAnswer.status).toBe(200);
    await acceptedAnswer.body!.cancel();
  });

  test('gives a key at most its share of slots, without affecting other keys', async () => {
    const { app, submit } = await openWorld();
    await submit('a');
    const follow = (key: string, path = '/jobs/backtest:a/events') => ask(app, path, { headers: { 'x-api-key': key } });
    const streams = await Promise.all(
      Array.from({ length: LIMITS.MAX_EVENT_STREAMS }, (_, i) =>
        follow('greedy', i % 2 === 0 ? '/jobs/backtest:a/events' : '/jobs/events'),
      ),
    );
    const openStreams = streams.filter(({ status }) => status === 200);
    expect(openStreams).toHaveLength(20);
    const refusal = streams.find(({ status }) => status !== 200)!;
    expect(refusal.status).toBe(429);
    expect(await refusal.json()).toMatchObject({
      error: { code: 'RATE_LIMITED', detail: { streams: 20, limit: 20 } },
    });
    const other = await follow('modest');
    expect(other.status).toBe(200);
    await openStreams[0]!.body!.cancel();
    const secondStream = await follow('greedy');
    expect(secondStream.status).toBe(200);
    for (const stream of [...openStreams.slice(1), other, secondStream]) await stream.body!.cancel();
  });

  test.each(['/jobs/backtest:a/events', '/jobs/events'])(
    '%s of an ended key ends before the next event',
    async (path) => {
      const { app, engine, submit, ended } = await openWorld();
      await submit('a');
      const events = readEvents(await ask(app, path, { headers: { 'x-api-key': 'revoked' } }));
      let first = await events.next();
      while (first.value!.data.status !== 'running') first = await events.next();
      ended.add('revoked');
      await engine.cancel('backtest:a');
      expect(await events.next()).toEqual({ done: true, value: undefined });
    },
  );

  test('a stream without events of an ended key ends within fifteen seconds', async () => {
    const { app, submit, ended } = await openWorld();
    await submit('a');
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const reader = (await ask(app, '/jobs/backtest:a/events', { headers: { 'x-api-key': 'revoked' } }))
        .body!.pipeThrough(new TextDecoderStream())
        .getReader();
      let text = '';
      while (!text.includes('running')) text += (await reader.read()).value;
      vi.advanceTimersByTime(15_000);
      expect((await reader.read()).value).toBe(':\n\n');
      ended.add('revoked');
      vi.advanceTimersByTime(15_000);
      expect(await reader.read()).toEqual({ done: true, value: undefined });
    } finally {
      vi.useRealTimers();
    }
  });

  test('releases the slot if a stream fails or cannot start', async () => {
    const { app, engine, submit } = await openWorld();
    await submit('a');
    const follow = (path: string) => ask(app, path, { headers: { 'x-api-key': 'unlucky' } });
    const outage = new Refusal('STORE_UNAVAILABLE', 'The database does not answer.');
    for (let i = 0; i < LIMITS.MAX_KEY_EVENT_STREAMS; i++) {
      const liveIdsSpy = vi.spyOn(engine, 'liveIds').mockRejectedValueOnce(outage);
      expect((await follow('/jobs/events')).status).toBe(503);
      liveIdsSpy.mockRestore();
      const reader = (await follow('/jobs/backtest:a/events')).body!.getReader();
      const find = vi.spyOn(engine, 'find').mockRejectedValue(outage);
      await expect(readUntilFailure(reader)).rejects.toThrow(/does not answer/);
      find.mockRestore();
    }
    const acceptedAnswer = await follow('/jobs/backtest:a/events');
    expect(acceptedAnswer.status).toBe(200);
    await acceptedAnswer.body!.cancel();
  });

  test('a wait for a job returns nothing to a key that has ended meanwhile', async () => {
    const { app, engine, submit, ended } = await openWorld();
    await submit('a');
    await waitFor(async () => expect((await engine.get('backtest:a'))!.status).toBe('running'));
    const watchSpy = vi.spyOn(engine, 'watch');
    const waitingAnswer = ask(app, '/jobs/backtest:a?wait=60', { headers: { 'x-api-key': 'revoked' } });
    await waitFor(() => expect(watchSpy).toHaveBeenCalled());
    ended.add('revoked');
    await engine.cancel('backtest:a');
    expect((await waitingAnswer).status).toBe(401);
  });

  test('responds with 404 for an unknown job', async () => {
    const { app } = await openWorld();
    expect((await ask(app, '/jobs/backtest:none/events')).status).toBe(404);
  });
});
