import { expect, describe, test } from 'vitest';
import type { RecordedCalendarClosures } from '#contract/calendars.js';
import { hasPostgresql } from '../../postgresql/shared-postgresql.js';
import { openCluster, prepare } from './running-cluster.js';
import { waitFor } from '../../waiting.js';

if (!hasPostgresql) console.log('skipped: closures on several nodes need PostgreSQL');

describe.skipIf(!hasPostgresql)('closures of a calendar on two nodes', () => {
  test('both have the same sessions, and a run on either has the version recorded last', async () => {
    const cluster = await openCluster();
    try {
      const { frontEnd } = cluster;
      const other = await cluster.startFront();
      await cluster.startWorker(); // the worker computes the run from its plan
      await prepare(frontEnd, ['EVEN']);
      const scheduleOn = async (node: typeof frontEnd) =>
        (await node.ask<{ recent: string[] }>('GET', '/indices/EVEN/schedule?asof=2024-02-15')).body.recent[0];
      const before = (await scheduleOn(frontEnd))!;
      expect(await scheduleOn(other)).toBe(before);
      const changes = [{ date: before, session: 'closed', reason: 'Storm' }];
      const put = await frontEnd.ask<RecordedCalendarClosures>('PUT', '/calendars/XNYS/closures', { changes });
      const [movedReview] = put.body.effect.indices[0]!.after;
      expect(movedReview!.date).not.toBe(before);
      expect(await scheduleOn(frontEnd)).toBe(movedReview!.date);
      await waitFor(async () => expect(await scheduleOn(other)).toBe(movedReview!.date));
      await other.ask('POST', '/analytics/EVEN/backtest', {});
      expect((await other.waitForJob('backtest:EVEN')).status).toBe('succeeded');
      const levels = await frontEnd.ask<{ levels: { index: string[] } }>('GET', '/analytics/EVEN/levels');
      expect(levels.body.levels.index).not.toContain(before);
      expect(levels.body.levels.index).toContain(movedReview!.date);
    } finally {
      await cluster.close();
    }
  });
});
