import { beforeAll, describe, expect, test } from 'vitest';
import type { CoverageResponse } from '#contract/data.js';
import { describePrices } from './data/prices.js';
import { describeReference } from './data/reference.js';
import { service, TABLES } from './data/set-up.js';

describe('without a store', () => {
  test('reads are refused with Retry-After, and the content is empty', async () => {
    for (const path of [
      '/data/prices/A',
      '/data/reference/A',
      '/data/reference?identifiers=A',
      '/data/corporate-actions/A',
      '/data/identifiers',
    ]) {
      const { status, headers, body } = await service.ask<{ error: { code: string } }>('GET', path);
      expect([status, body.error.code, headers.has('retry-after')]).toEqual([503, 'NO_DATA_SOURCE', true]);
    }
    expect(await service.ok('GET', '/data/source')).toEqual({ configured: false, identifiers: 0 });
    expect(await service.ok<CoverageResponse>('GET', '/data/coverage')).toMatchObject({
      identifiers_union: 0,
      cache_size_bytes: null,
    });
  });
});

describe('with a store', () => {
  beforeAll(() =>
    service.ok('POST', '/data/import', { store_id: 'reads', name: 'Reads', tables: TABLES, activate: true }),
  );

  describePrices();
  describeReference();
});
