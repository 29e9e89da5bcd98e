import { afterAll, beforeAll } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { type LiveService, openLiveService } from '../../../real/live.js';
import { createFrame } from '../../../table-frame.js';

export let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
});
afterAll(() => service.close());

/** Closes of the four securities of the golden market on their seven sessions. The securities have sectors. */
export const CLOSES: Readonly<Record<string, readonly number[]>> = {
  A: [100, 102, 101, 104, 106, 103, 107],
  B: [200, 204, 101, 100, 103, 104, 102],
  C: [50, 51, 52, 51, 50, 52, 53],
  E: [20, 20, 21, 22, 21, 21, 22],
};
export const SHARES: Readonly<Record<string, (t: number) => number>> = {
  A: () => 10,
  B: (t) => (t < 2 ? 3 : 6),
  C: () => 4,
  E: () => 5,
};
const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
export const golden = {
  store_id: 'golden',
  name: 'golden',
  currency: 'USD',
  activate: true,
  tables: {
    market: createFrame(
      ['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING'],
      Object.entries(CLOSES).flatMap(([name, closes]) =>
        closes.map((close, t) => [name, DAYS[t], close, SHARES[name]!(t)]),
      ),
    ),
    reference: createFrame(
      ['identifier', 'SECTOR'],
      [
        ['A', 'S1'],
        ['B', 'S1'],
        ['C', 'S2'],
        ['E', 'S2'],
      ],
    ),
    corporate_actions: createFrame(['identifier', 'type', 'value', 'ex_date'], [['B', 'SPLIT', 2, '2024-01-04']]),
    universes: createFrame(
      ['universe', 'identifier', 'start', 'end'],
      [
        ['PAIR', 'A', null, null],
        ['PAIR', 'C', null, '2024-01-08'],
        ['PAIR', 'E', '2024-01-08', null],
      ],
    ),
  },
};

export const createDocument = (
  id: string,
  rest: Record<string, unknown> = {},
  pipeline: Record<string, unknown> = {},
) => ({
  id,
  name: `Index ${id}`,
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }],
    weighting: { type: 'MarketCapWeight', params: {}, cap: 0.4 },
    ...pipeline,
  },
  ...rest,
});
export const createChild = (id: string, source: string) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2024-01-02',
  derivation: { source_index_id: source },
});

export const requestRefusal = async (method: string, path: string, body?: unknown) => {
  const answer = await service.ask<{ error: ErrorDetail }>(method, path, body);
  return { status: answer.status, ...answer.body.error };
};
export const listFindings = (error: ErrorDetail) =>
  ((error.detail ?? {})['findings'] as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);
export const ask = (method: string, path: string, body: unknown, headers: Record<string, string>) =>
  fetch(new URL(path, service.url), {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
