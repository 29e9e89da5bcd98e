import { afterAll, beforeAll } from 'vitest';
import { openLiveService, type LiveService } from '../../../real/live.js';
import { createFrame } from '../../../table-frame.js';

/** The service publishes an OpenAPI document, and each response is checked against it. */
export let service: LiveService;
beforeAll(async () => {
  service = await openLiveService();
});
afterAll(() => service.close());

/**
 * Two securities over four sessions. B splits 2 for 1 on the third session and pays a dividend on the session before. A
 * has no bar on the third session.
 */
export const TABLES = {
  market: createFrame(
    ['identifier', 'date', 'OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME', 'SHARES_OUTSTANDING', 'FREE_FLOAT', 'SCORE'],
    [
      ['A', '2024-01-04', 9, 12, 8, 10, 100, 50, 0.5, 1],
      ['A', '2024-01-05', 10, 13, 9, 12, 200, 50, 0.5, null],
      ['A', '2024-01-09', 12, 12, 11, 11, 300, 60, 0.5, 3],
      ['B', '2024-01-04', 200, 210, 190, 200, 10, 7, null, null],
      ['B', '2024-01-05', 200, 204, 199, 204, 20, 7, null, null],
      ['B', '2024-01-08', 101, 103, 100, 102, 30, 14, null, null],
    ],
  ),
  reference: createFrame(
    ['identifier', 'valid_from', 'NAME', 'SECTOR', 'RATING'],
    [
      ['A', null, 'Alpha', 'Tech', 5],
      ['A', '2024-01-05', 'Alpha', 'Energy', 6],
      ['B', null, 'Beta', 'Tech', null],
      ['Z', null, 'Zeta', 'Tech', 1],
    ],
  ),
  corporate_actions: createFrame(
    ['identifier', 'type', 'value', 'ex_date', 'status'],
    [
      ['B', 'DIVIDEND', 4, '2024-01-05', 'paid'],
      ['B', 'SPLIT', 2, '2024-01-08', 'paid'],
      ['B', 'DIVIDEND', 1, '2024-01-08', 'cancelled'],
      ['A', 'SPECIAL_DIVIDEND', 1, '2024-01-05', null],
    ],
  ),
  universes: createFrame(
    ['universe', 'identifier', 'start', 'end'],
    [
      ['ALL', 'A', '2024-01-01', '2024-01-09'],
      ['ALL', 'B', null, null],
    ],
  ),
};

export const requestErrorCode = async (path: string) => {
  const { status, body } = await service.ask<{ error: { code: string } }>('GET', path);
  return `${status} ${body.error.code}`;
};
