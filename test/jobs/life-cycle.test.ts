import { fc } from '../fast-check.js';
import { describe, expect, test } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { advance, createLife, isTerminal, type JobLife, type LifeEvent, listAttempts } from '#jobs/port/life-cycle.js';
import { IS_SOAK } from '../soak.js';
import { parsePolicies } from './retries-at-once.js';

const CREATED_AT = '2026-11-20T03:05:40.123000+00:00';
const retry = parsePolicies('losses=5,releases=30')('backtest');
const LIMITS = { retry, submittedAt: CREATED_AT, chance: 1 };
const ERROR: ErrorDetail = { code: 'MISSING_PRICE', message: 'No price.', detail: null };
const RESULT = { value: { level: 100 } };

/** Returns the state of a job after a sequence of valid events. */
function replayLife(...events: LifeEvent[]): JobLife {
  return events.reduce<JobLife>((life, event) => {
    const next = advance(life, event, LIMITS);
    if (typeof next === 'string') throw new Error(`${event.type}: ${next}`);
    return next;
  }, createLife());
}

const start: LifeEvent = { type: 'start', at: CREATED_AT };
const cancel: LifeEvent = { type: 'cancel', at: CREATED_AT };
const crash = (attempt: number): LifeEvent => ({
  type: 'crash',
  attempt,
  cause: 'worker exited with code: 3',
  at: CREATED_AT,
});
const createLoss = (attempt: number): LifeEvent => ({ type: 'lose', attempt, cause: 'no heartbeat', at: CREATED_AT });
const createSuccess = (attempt: number): LifeEvent => ({ type: 'succeed', attempt, result: RESULT, at: CREATED_AT });
const release = (attempt: number): LifeEvent => ({
  type: 'release',
  attempt,
  cause: 'the service was stopped',
  at: CREATED_AT,
});
const fail = (attempt: number): LifeEvent => ({ type: 'fail', attempt, error: ERROR, at: CREATED_AT });
const createProgress = (attempt: number, fraction: number): LifeEvent => ({ type: 'progress', attempt, fraction });

describe('a job', () => {
  test('waits, runs and succeeds', () => {
    expect(createLife()).toMatchObject({
      status: 'pending',
      attempt: 1,
      progress: 0,
      result: null,
      error: null,
      started_at: null,
    });
    expect(replayLife(start)).toMatchObject({
      status: 'running',
      attempt: 1,
      started_at: CREATED_AT,
      heartbeat_at: CREATED_AT,
    });
    expect(replayLife(start, createProgress(1, 0.4), createSuccess(1))).toMatchObject({
      status: 'succeeded',
      progress: 1,
      result: RESULT,
      error: null,
      finished_at: CREATED_AT,
    });
  });

  test('fails with the error of its attempt and keeps its progress', () => {
    expect(replayLife(start, createProgress(1, 0.4), fail(1))).toMatchObject({
      status: 'failed',
      progress: 0.4,
      error: ERROR,
      message: 'No price.',
      result: null,
    });
  });

  test('can fail before it starts', () => {
    expect(replayLife(fail(1))).toMatchObject({ status: 'failed', error: ERROR });
  });

  test('is cancelled while it waits or runs', () => {
    expect(replayLife(cancel)).toMatchObject({ status: 'cancelled', progress: 0, error: null });
    expect(replayLife(start, createProgress(1, 0.7), cancel)).toMatchObject({
      status: 'cancelled',
      progress: 0.7,
      error: null,
    });
  });

  test('whose worker ended waits again under the next attempt', () => {
    expect(replayLife(start, createProgress(1, 0.7), crash(1))).toMatchObject({
      status: 'pending',
      attempt: 2,
      crashes: 1,
      progress: 0,
      started_at: null,
    });
  });

  test('is abandoned after three crashes, with this reason', () => {
    expect(replayLife(start, crash(1), start, crash(2), start, crash(3))).toMatchObject({
      status: 'failed',
      attempt: 3,
      error: { code: 'WORKER_CRASHED', detail: { attempts: 3, cause: 'worker exited with code: 3' } },
    });
  });

  test('fails after lost attempts when its policy allows no more, with this reason', () => {
    const listLosses = (count: number) => Array.from({ length: count }, (_, i) => [start, createLoss(i + 1)]).flat();
    expect(replayLife(...listLosses(4), start, crash(5), start, crash(6))).toMatchObject({
      status: 'pending',
      losses: 4,
      crashes: 2,
    });
    const failedJob = replayLife(...listLosses(5));
    const detail = { attempts: 5, cause: 'no heartbeat', end: 'lost', crashes: 0, losses: 5, releases: 0 };
    expect(failedJob).toMatchObject({ status: 'failed', attempt: 5, error: { code: 'JOB_INTERRUPTED', detail } });
    expect(listAttempts(failedJob).map(({ end }) => end)).toEqual(Array(5).fill('lost'));
    const releasedJob = replayLife(...Array.from({ length: 30 }, (_, i) => [start, release(i + 1)]).flat());
    expect(releasedJob).toMatchObject({ status: 'failed', error: { code: 'JOB_INTERRUPTED' } });
  });

  test('waits twice as long before each retry after crashes, and equally long after lost or released attempts', () => {
    const computeSeconds = (ended: JobLife) =>
      ended.not_before === null ? 0 : (Date.parse(ended.not_before) - Date.parse(CREATED_AT)) / 1000;
    const slowLimits = {
      ...LIMITS,
      retry: parsePolicies('crashes=100,losses=100,backoff=2,backoff-max=10')('backtest'),
    };
    const listRetryDelays = (end: typeof createLoss, chance: number) => {
      let life = createLife();
      return Array.from({ length: 6 }, (_, i) => {
        life = advance(life, start, slowLimits) as JobLife;
        life = advance(life, end(i + 1), { ...slowLimits, chance }) as JobLife;
        return computeSeconds(life);
      });
    };
    expect(listRetryDelays(crash, 1)).toEqual([0, 2, 4, 8, 10, 10]);
    expect(listRetryDelays(crash, 0)).toEqual([0, 1, 2, 4, 5, 5]);
    for (const end of [createLoss, release]) {
      expect(listRetryDelays(end, 1)).toEqual([0, 2, 2, 2, 2, 2]);
      expect(listRetryDelays(end, 0)).toEqual([0, 1, 1, 1, 1, 1]);
    }
    expect(replayLife(start, createLoss(1), start, createLoss(2), start).not_before).toBeNull();
    // Each cause is counted separately.
    expect(computeSeconds(replayLife(start, createLoss(1), start, createLoss(2), start, crash(3)))).toBe(0);
  });

  test('is not retried after its deadline', () => {
    const limits = { ...LIMITS, retry: parsePolicies('deadline=60')('backtest') };
    const advanceLife = (seconds: number) => {
      const timestamp = new Date(Date.parse(CREATED_AT) + seconds * 1000).toISOString();
      return advance(
        advance(createLife(), start, limits) as JobLife,
        { ...createLoss(1), at: timestamp } as LifeEvent,
        limits,
      );
    };
    expect(advanceLife(59)).toMatchObject({ status: 'pending', attempt: 2 });
    expect(advanceLife(60)).toMatchObject({
      status: 'failed',
      error: { code: 'JOB_TIMEOUT', detail: { end: 'lost' } },
    });
  });

  test('that was returned when the service stopped is not abandoned, even after ten times', () => {
    const stops = Array.from({ length: 10 }, (_, i) => [start, release(i + 1)]).flat();
    expect(replayLife(...stops)).toMatchObject({ status: 'pending', attempt: 11, crashes: 0 });
    expect(replayLife(...stops, start, crash(11), start, crash(12), start, createSuccess(13))).toMatchObject({
      status: 'succeeded',
    });
  });

  test('ignores an attempt that was abandoned', () => {
    const second = replayLife(start, crash(1), start);
    for (const event of [createSuccess(1), fail(1), crash(1), createProgress(1, 0.9), release(1)]) {
      expect(advance(second, event, LIMITS)).toBe('stale-attempt');
    }
  });

  test('records where its attempts ran, when they were last seen alive and why they ended', () => {
    const startOnNode = (node: string): LifeEvent => ({ ...start, node });
    const seenAt = '2026-11-20T03:05:42.000000+00:00';
    const silentCrash = { ...crash(1), cause: 'no heartbeat for 10 seconds' };
    const life = replayLife(startOnNode('one'), { type: 'beat', attempt: 1, at: seenAt }, silentCrash);
    expect(life.message).toBe('Waiting again: attempt 1 on one ended: no heartbeat for 10 seconds.');
    const lostEvent = {
      attempt: 1,
      node: 'one',
      started_at: CREATED_AT,
      heartbeat_at: seenAt,
      ended_at: CREATED_AT,
      end: 'crashed',
    };
    expect(listAttempts(life)).toEqual([{ ...lostEvent, reason: 'no heartbeat for 10 seconds' }]);
    const endedJob = replayLife(
      startOnNode('one'),
      silentCrash,
      startOnNode('other'),
      release(2),
      startOnNode('one'),
      fail(3),
    );
    expect(listAttempts(endedJob)).toMatchObject([
      { attempt: 1, node: 'one', end: 'crashed' },
      { attempt: 2, node: 'other', end: 'released', reason: 'the service was stopped' },
      { attempt: 3, node: 'one', end: 'failed', reason: 'No price.', ended_at: CREATED_AT },
    ]);
    expect(listAttempts(replayLife(start)).at(-1)).toMatchObject({ end: null, ended_at: null, reason: null });
    expect(listAttempts(replayLife(start, crash(1), start, crash(2), start, crash(3))).map(({ end }) => end)).toEqual(
      Array(3).fill('crashed'),
    );
  });

  test('records ten attempts before the current one', () => {
    const stops = Array.from({ length: 29 }, (_, i) => [start, release(i + 1)]).flat();
    const attempts = listAttempts(replayLife(...stops, start, createSuccess(30)));
    expect(attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 11 }, (_, i) => 20 + i));
    expect(attempts.at(-1)).toMatchObject({ end: 'succeeded', reason: null });
  });

  test('that waits cannot succeed, crash, be returned or make progress', () => {
    for (const event of [createSuccess(1), crash(1), createProgress(1, 0.5), release(1)]) {
      expect(advance(createLife(), event, LIMITS)).toBe('not-running');
    }
    expect(advance(replayLife(start), start, LIMITS)).toBe('not-pending');
  });
});

describe('a job after any sequence of events', () => {
  const attempt = fc.integer({ min: 1, max: 5 });
  const event: fc.Arbitrary<LifeEvent> = fc.oneof(
    fc.constant(start),
    { arbitrary: fc.constant(cancel), weight: 1 },
    attempt.map(crash),
    attempt.map(createLoss),
    attempt.map(createSuccess),
    attempt.map(fail),
    attempt.map(release),
    fc.record({ type: fc.constant('beat' as const), attempt, at: fc.constant(CREATED_AT) }),
    fc
      .tuple(attempt, fc.double({ min: -1, max: 2, noNaN: true }))
      .map(([number, fraction]) => createProgress(number, fraction)),
  );
  const LEGAL = new Set([
    'pending>running',
    'pending>cancelled',
    'pending>failed',
    'running>succeeded',
    'running>failed',
    'running>cancelled',
    'running>pending',
  ]);

  test('only the listed transitions happen, and every state is complete', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let life = createLife();
        for (const happening of events) {
          const next = advance(life, happening, LIMITS);
          if (typeof next === 'string') continue;
          expect(isTerminal(life.status)).toBe(false);
          if (next.status !== life.status) expect(LEGAL).toContain(`${life.status}>${next.status}`);
          if (life.status === 'running' && next.status === 'pending') expect(next.attempt).toBe(life.attempt + 1);
          else expect(next.attempt).toBe(life.attempt);
          if (next.attempt === life.attempt) expect(next.progress).toBeGreaterThanOrEqual(life.progress);
          expect(next.error !== null).toBe(next.status === 'failed');
          expect(next.result !== null).toBe(next.status === 'succeeded');
          expect(next.finished_at !== null).toBe(isTerminal(next.status));
          if (next.status === 'pending') expect(next.progress).toBe(0);
          if (next.status === 'succeeded') expect(next.progress).toBe(1);
          expect(next.progress).toBeLessThanOrEqual(1);
          expect(next.losses).toBeLessThanOrEqual(LIMITS.retry.losses);
          expect(next.crashes).toBeLessThanOrEqual(LIMITS.retry.crashes);
          life = next;
        }
      }),
      { numRuns: IS_SOAK ? 2000 : 500 },
    );
  });

  test('an event does not change the state that it is applied to', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 10 }), event, (events, last) => {
        const life = events.reduce<JobLife>((before, happening) => {
          const next = advance(before, happening, LIMITS);
          return typeof next === 'string' ? before : next;
        }, createLife());
        const copy = structuredClone(life);
        advance(life, last, LIMITS);
        expect(life).toEqual(copy);
      }),
    );
  });
});
