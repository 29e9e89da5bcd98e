import { describe, expect, test } from 'vitest';
import type { Methodology } from '#contract/indices/definitions.js';
import type { WhatIfResponse } from '#contract/indices/previews.js';
import { service, createDocument, requestRefusal, listFindings } from './set-up.js';

/** Index definition with every parameter that a methodology describes. */
const DESCRIBED_INDEX = createDocument(
  'TOLD',
  {
    rebalance: {
      frequency: 'semi_annual',
      anchor: 'nth_weekday',
      nth: 3,
      weekday: 4,
      months: [5, 11],
      roll: 'preceding',
      effective_lag: 2,
    },
    base_value: 1234,
    universe: { kind: 'named', id: 'PAIR' },
  },
  {
    selection: [
      {
        id: 'liquid',
        type: 'LiquidityFilter',
        params: { minimum: 777, window: 33, statistic: 'mean', incumbent_minimum: 555 },
      },
    ],
    treatment: { dividends: 'net', withholding_tax: 0.15 },
    weighting: {
      type: 'FieldWeight',
      params: { field: 'CLOSE', power: 0.5 },
      cap: 0.35,
      floor: 0.01,
      group_caps: [{ field: 'SECTOR', cap: 0.7, groups: ['S1'] }],
    },
  },
);

/** Phrases that the sentences of the methodology must contain. */
const PARTS = [
  '1,234',
  'PAIR',
  'Rule liquid',
  '777',
  '33 sessions',
  'mean',
  '555',
  'third Friday',
  'May and November',
  '2 sessions before',
  '15%',
  '0.5',
  '35%',
  '1%',
  'S1',
  '70%',
];

export function describeWhatIf(): void {
  describe('what if', () => {
    test('a patch of a stored index lists added, removed and changed securities, and stores nothing', async () => {
      await service.ok(
        'PUT',
        '/indices/BASE',
        createDocument(
          'BASE',
          {},
          {
            selection: [{ id: 'two', type: 'TopN', params: { field: 'CLOSE', count: 2 } }],
            weighting: { type: 'EqualWeight' },
          },
        ),
      );
      const before = await service.ask('GET', '/indices/BASE');
      const answer = await service.ok<WhatIfResponse>('POST', '/indices/whatif', {
        index_id: 'BASE',
        as_of: '2024-01-02',
        patch: {
          pipeline: {
            selection: [{ id: 'three', type: 'TopN', params: { field: 'CLOSE', count: 3, ascending: true } }],
          },
        },
      });
      expect(answer).toMatchObject({
        as_of: '2024-01-02',
        resolved_date: '2024-01-02',
        before: { constituents: 2, largest: 0.5, effective_assets: 2 },
        after: { constituents: 3 },
      });
      expect(answer.added.map(({ identifier }) => identifier)).toEqual(['C', 'E']);
      expect(answer.removed).toEqual([{ identifier: 'B', before: 0.5, after: 0, change: -0.5 }]);
      expect(answer.changed.map(({ identifier }) => identifier)).toEqual(['A']);
      expect(answer.turnover).toBeCloseTo(2 / 3, 14);
      expect((await service.ask('GET', '/indices/BASE')).headers.get('etag')).toBe(before.headers.get('etag'));
    });

    test('two documents of the request are compared on the last day of the store', async () => {
      const answer = await service.ok<WhatIfResponse>('POST', '/indices/whatif', {
        document: createDocument('P'),
        changed: createDocument('Q', {}, { weighting: { type: 'MarketCapWeight', cap: 0.3 } }),
      });
      expect(answer).toMatchObject({
        as_of: '2024-01-10',
        before: { index_id: 'P', cap: 0.4 },
        after: { index_id: 'Q', cap: 0.3 },
        added: [],
        removed: [],
      });
      expect(answer.turnover).toBeCloseTo(
        answer.changed.reduce((sum, { change }) => sum + Math.abs(change), 0) / 2,
        14,
      );
    });

    test('exactly one base and one change are needed, and the changed document must be valid', async () => {
      expect(listFindings(await requestRefusal('POST', '/indices/whatif', { index_id: 'BASE' }))).toEqual([
        'REQUIRED patch',
      ]);
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/whatif', {
            index_id: 'BASE',
            document: createDocument('X'),
            patch: {},
          }),
        ),
      ).toEqual(['REQUIRED index_id']);
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/whatif', {
            index_id: 'BASE',
            patch: { pipeline: { weighting: { cap: 7 } } },
          }),
        ),
      ).toEqual(['OUT_OF_RANGE pipeline.weighting.cap']);
      expect(await requestRefusal('POST', '/indices/whatif', { index_id: 'NONE', patch: {} })).toMatchObject({
        status: 404,
        code: 'INDEX_NOT_FOUND',
      });
    });
  });

  describe('the methodology', () => {
    test('numbered sentences hold every parameter of the definition', async () => {
      await service.ok('PUT', '/indices/TOLD', DESCRIBED_INDEX);
      const { sentences } = await service.ok<Methodology>('GET', '/indices/TOLD/methodology');
      expect(sentences.map(({ number }) => number)).toEqual(sentences.map((_, i) => i + 1));
      const text = sentences.map((sentence) => sentence.text).join(' ');
      for (const part of PARTS) expect(text).toContain(part);
    });
  });
}
