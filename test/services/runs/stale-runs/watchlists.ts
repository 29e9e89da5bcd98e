import { beforeAll, describe, expect, test } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import type { LiveService } from '../../../real/live.js';
import { createEqualIndex } from '../random-walks.js';

/** Tests watchlists as universes. @param service serves a store with the securities A, B, C, D */
export function describeWatchlistUniverses(service: () => LiveService): void {
  const follow = (identifiers: readonly string[]) =>
    service().ok('PUT', '/data/watchlists/mine', { name: 'Mine', identifiers });
  const universe = { kind: 'watchlist', watchlist_id: 'mine' };
  const readLevels = async (id: string) =>
    (await service().ok<{ levels: { data: number[] } }>('GET', `/analytics/${id}/levels`)).levels.data;
  const requestRefusal = async (method: string, path: string, body?: unknown) => {
    const { status, body: answer } = await service().ask<{ error: ErrorDetail }>(method, path, body);
    return { status, findings: answer.error.detail?.['findings'] };
  };

  describe('a universe of a watchlist', () => {
    beforeAll(async () => {
      await follow(['A', 'C']);
      await service().ok('POST', '/indices', createEqualIndex('LISTED', ['A', 'C']));
      await service().ok('POST', '/indices', createEqualIndex('FOLLOWED', null, { universe }));
      await service().job('/analytics/LISTED/backtest');
      await service().job('/analytics/FOLLOWED/backtest');
    });

    test('equals a universe of the same securities, in runs, previews, sweeps and derived indices', async () => {
      expect(await readLevels('FOLLOWED')).toEqual(await readLevels('LISTED'));
      const readWeights = async (id: string) =>
        (
          await service().ok<{ assets: { identifier: string; weight: number | null }[] }>(
            'POST',
            `/indices/${id}/preview`,
            {},
          )
        ).assets.map(({ identifier, weight }) => [identifier, weight]);
      expect(await readWeights('FOLLOWED')).toEqual(await readWeights('LISTED'));
      await service().ok(
        'POST',
        '/indices',
        createEqualIndex('AROUND', null, { universe: { kind: 'index', id: 'FOLLOWED' } }),
      );
      await service().job('/analytics/AROUND/backtest');
      expect(await readLevels('AROUND')).toEqual(await readLevels('LISTED'));
      const sweep = { grid: { '/request/transaction_cost_bps': [0, 10] }, rank_by: 'total_return' };
      const readReturns = async (id: string) => {
        const { result } = await service().job<{ rows: { variant: number; metrics: { total_return: number } }[] }>(
          '/analytics/sweeps',
          {
            index_id: id,
            ...sweep,
          },
        );
        return result.rows.map(({ variant, metrics }) => [variant, metrics.total_return]);
      };
      expect(await readReturns('FOLLOWED')).toEqual(await readReturns('LISTED'));
    });

    test('is described by the methodology, and stored without its securities', async () => {
      const { sentences } = await service().ok<{ sentences: { text: string }[] }>(
        'GET',
        '/indices/FOLLOWED/methodology',
      );
      expect(sentences.map(({ text }) => text).join(' ')).toContain('securities of the watchlist mine');
      expect(await service().ok('GET', '/indices/FOLLOWED')).toMatchObject({ universe });
    });

    test('makes runs stale when the watchlist changes, until the change is reverted', async () => {
      const readStale = async (id: string) =>
        (
          await service().ok<{ stale: { definition: boolean; reasons: string[] } | null }>(
            'GET',
            `/analytics/${id}/overview`,
          )
        ).stale;
      expect(await readStale('FOLLOWED')).toBeNull();
      await follow(['A', 'C', 'D']);
      expect(await readStale('FOLLOWED')).toMatchObject({
        definition: true,
        reasons: ['The index FOLLOWED changed since this run: universe.'],
      });
      await follow(['A', 'C']);
      expect(await readStale('FOLLOWED')).toBeNull();
      await service().ok('DELETE', '/data/watchlists/mine');
      expect((await readStale('FOLLOWED'))!.reasons.join(' ')).toContain('No watchlist is stored under the id mine.');
      expect(await requestRefusal('POST', '/analytics/FOLLOWED/backtest', {})).toMatchObject({
        status: 422,
        findings: [{ code: 'WATCHLIST_NOT_FOUND', path: 'universe.watchlist_id' }],
      });
      await follow(['A', 'C']);
    });

    test('is refused without a watchlist, and for another in a variant of a sweep', async () => {
      const other = createEqualIndex('OTHER', null, { universe: { kind: 'watchlist', watchlist_id: 'nobodys' } });
      expect(await requestRefusal('POST', '/indices', other)).toMatchObject({
        findings: [{ code: 'WATCHLIST_NOT_FOUND', path: 'universe.watchlist_id' }, { severity: 'warning' }],
      });
      const otherIndex = createEqualIndex('OTHER', null, { universe: { kind: 'watchlist' } });
      expect(await requestRefusal('POST', '/indices', otherIndex)).toMatchObject({
        findings: [{ code: 'REQUIRED', path: 'universe.watchlist_id' }],
      });
      const patchedSweep = {
        index_id: 'LISTED',
        patches: [{ '/document/universe': universe }],
        rank_by: 'total_return',
      };
      expect(await requestRefusal('POST', '/analytics/sweeps', patchedSweep)).toMatchObject({
        findings: [{ code: 'IMMUTABLE_FIELD', path: 'patches[0]/document.universe.watchlist_id' }],
      });
    });
  });
}
