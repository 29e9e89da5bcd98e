import { describe, expect, test } from 'vitest';
import { service } from './set-up.js';

export function describeRefusals(): void {
  describe('a backtest is refused before it is queued', () => {
    test.each([
      ['an unknown index', '/analytics/NONE/backtest', {}, 404, 'INDEX_NOT_FOUND'],
      [
        'an unknown benchmark index',
        '/analytics/MAIN/backtest',
        { benchmark: { id: 'NONE', kind: 'index' } },
        404,
        'BENCHMARK_NOT_FOUND',
      ],
      [
        'an unknown benchmark name',
        '/analytics/MAIN/backtest',
        { benchmark: { id: 'NONE', kind: 'identifier' } },
        404,
        'BENCHMARK_NOT_FOUND',
      ],
      [
        'itself as benchmark',
        '/analytics/MAIN/backtest',
        { benchmark: { id: 'MAIN', kind: 'index' } },
        422,
        'VALIDATION_FAILED',
      ],
      [
        'a range before the data',
        '/analytics/MAIN/backtest',
        { start: '2022-01-03', end: '2022-01-03' },
        422,
        'RANGE_TOO_SHORT',
      ],
      [
        'a range after the data',
        '/analytics/MAIN/backtest',
        { start: '2024-03-01', end: '2024-04-01' },
        422,
        'NO_DATA_IN_RANGE',
      ],
      [
        'a range turned round',
        '/analytics/MAIN/backtest',
        { start: '2023-02-01', end: '2023-01-01' },
        422,
        'INVALID_RANGE',
      ],
      ['no capital', '/analytics/MAIN/backtest', { initial_capital: 0 }, 422, 'VALIDATION_FAILED'],
      ['an unknown field', '/analytics/MAIN/backtest', { capital: 1 }, 422, 'VALIDATION_FAILED'],
    ] as const)('%s', async (_name, path, request, status, code) => {
      const answer = await service.checked('startBacktest', path, request);
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    });
  });

  test('a record is listed until it is deleted', async () => {
    const { body } = await service.checked('listBacktests', '/analytics/backtests');
    expect(body.backtests.map((row: { index_id: string }) => row.index_id)).toEqual(['MAIN', 'ONE']);
    expect((await service.checked('deleteRecord', '/analytics/MAIN/record')).status).toBe(204);
    expect((await service.checked('getRecord', '/analytics/MAIN/record')).body.error.code).toBe('RUN_NOT_FOUND');
    expect((await service.checked('deleteRecord', '/analytics/MAIN/record')).status).toBe(404);
  });
}
