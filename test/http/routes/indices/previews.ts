import { beforeAll, describe, expect, test } from 'vitest';
import type { PreviewResponse } from '#contract/indices/previews.js';
import type { SavedIndex } from '#contract/indices/definitions.js';
import { service, golden, createDocument, requestRefusal, listFindings } from './set-up.js';

export function describePreviews(): void {
  describe('previews', () => {
    beforeAll(async () => {
      await service.ok('POST', '/data/import', golden);
    });
    const previewBody = (body: Record<string, unknown>, asOf?: string) =>
      service.ok<PreviewResponse>('POST', '/indices/preview', {
        document: body,
        ...(asOf === undefined ? {} : { as_of: asOf }),
      });

    test('stored and sent definitions have equal previews, at the base date by default', async () => {
      await service.ok('PUT', '/indices/GOLD', createDocument('GOLD'));
      const storedPreview = await service.ok<PreviewResponse>('POST', '/indices/GOLD/preview');
      expect(await previewBody(createDocument('GOLD'))).toEqual({ ...storedPreview, index_version: null });
      expect(storedPreview).toMatchObject({
        index_id: 'GOLD',
        as_of: '2024-01-02',
        resolved_date: '2024-01-02',
        cap: 0.4,
        solve: null,
      });
      expect(storedPreview.weights['C']).toBeCloseTo(0.13333333333333333, 14);
      expect(storedPreview.total_weight).toBeCloseTo(1, 12);
      expect(storedPreview.cap_redistributed).toBeCloseTo(0.12631578947368416, 14);
      expect(storedPreview.assets.map(({ identifier, capped }) => [identifier, capped])).toEqual([
        ['A', true],
        ['B', false],
        ['C', false],
        ['E', false],
      ]);
      expect(storedPreview.assets[0]).toMatchObject({ uncapped_weight: 0.5263157894736842, excluded_by: null });
    });

    test('a weekend resolves to the session before, a day after the store to its last session, a day before it to no date', async () => {
      expect(await previewBody(createDocument('X'), '2024-01-06')).toMatchObject({
        as_of: '2024-01-06',
        resolved_date: '2024-01-05',
      });
      const [latePreview, earlyPreview] = [
        await previewBody(createDocument('X'), '2030-01-01'),
        await previewBody(createDocument('X'), '2023-12-31'),
      ];
      expect(latePreview).toMatchObject({ resolved_date: '2024-01-10' });
      expect(latePreview.findings.find(({ path }) => path === 'as_of')?.message).toMatch(
        /2030-01-01 is after .* 2024-01-10/,
      );
      expect(earlyPreview.findings.find(({ path }) => path === 'as_of')?.message).toMatch(
        /2023-12-31 is before .* 2024-01-02/,
      );
      expect(earlyPreview).toEqual(
        expect.objectContaining({
          resolved_date: null,
          assets: [],
          weights: {},
          total_weight: 0,
          steps: [],
          solve: null,
        }),
      );
    });

    test('the waterfall shows which securities each step excluded, in the order of steps', async () => {
      const answer = await previewBody(
        createDocument(
          'W',
          {},
          {
            selection: [
              { id: 'sector', type: 'CategoryFilter', params: { field: 'SECTOR', include: ['S1', 'S2'] } },
              { id: 'dear', type: 'PriceFilter', params: { minimum: 30 } },
              { id: 'two', type: 'TopN', params: { count: 2 } },
            ],
            weighting: { type: 'FixedWeight', params: { weights: { A: 1 } } },
          },
        ),
      );
      expect(answer.steps).toEqual([
        { position: 0, remaining: 4, excluded: [], rule_id: null, rule_type: null },
        { position: 1, remaining: 4, excluded: [], rule_id: 'sector', rule_type: 'CategoryFilter' },
        { position: 2, remaining: 3, excluded: ['E'], rule_id: 'dear', rule_type: 'PriceFilter' },
        { position: 3, remaining: 2, excluded: ['C'], rule_id: 'two', rule_type: 'TopN' },
      ]);
      expect(
        answer.assets.map(({ identifier, included, weight, excluded_by, excluded_at }) => [
          identifier,
          included,
          weight,
          excluded_by,
          excluded_at,
        ]),
      ).toEqual([
        ['A', true, 1, null, null],
        ['E', false, null, 'dear', 2],
        ['C', false, null, 'two', 3],
        ['B', false, null, null, 4],
      ]);
      expect(answer.findings).toEqual([expect.objectContaining({ severity: 'warning', code: 'NO_WEIGHT_DATA' })]);
    });

    test('rules that exclude every security are valid', async () => {
      const answer = await previewBody(
        createDocument('N', {}, { selection: [{ id: 'none', type: 'PriceFilter', params: { minimum: 1e6 } }] }),
      );
      expect(answer).toMatchObject({ weights: {}, total_weight: 0, cap: null });
      expect(answer.assets.every(({ included, excluded_by }) => !included && excluded_by === 'none')).toBe(true);
    });

    test('named universes are read point in time, lists keep the securities of the store, an index gives its constituents', async () => {
      const listPreviewNames = async (universe: unknown, asOf: string) =>
        Object.keys((await previewBody(createDocument('U', { universe }), asOf)).weights).join('');
      expect(await listPreviewNames({ kind: 'named', id: 'PAIR' }, '2024-01-05')).toBe('AC');
      expect(await listPreviewNames({ kind: 'named', id: 'PAIR' }, '2024-01-08')).toBe('AE');
      expect(await listPreviewNames({ kind: 'list', identifiers: ['E', 'B', 'ABSENT'] }, '2024-01-08')).toBe('BE');
      await service.ok(
        'PUT',
        '/indices/TWO',
        createDocument(
          'TWO',
          { rebalance: { frequency: 'custom', dates: ['2024-01-08'] } },
          { selection: [{ id: 'cheap', type: 'TopN', params: { field: 'CLOSE', count: 2, ascending: true } }] },
        ),
      );
      expect(await listPreviewNames({ kind: 'index', id: 'TWO' }, '2024-01-10')).toBe('CE');
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/preview', {
            document: createDocument('U', { universe: { kind: 'named', id: 'NONE' } }),
          }),
        ),
      ).toEqual(['UNKNOWN_IDENTIFIER universe.id']);
    });

    test('group caps and floors are kept, and impossible ones refused', async () => {
      const createWeighting = (rest: Record<string, unknown>) =>
        createDocument('G', {}, { weighting: { type: 'MarketCapWeight', ...rest } });
      const { weights } = await previewBody(createWeighting({ group_caps: [{ field: 'SECTOR', cap: 0.6 }] }));
      expect(weights['A']! + weights['B']!).toBeCloseTo(0.6, 12);
      const flooredPreview = await previewBody(createWeighting({ floor: 0.1 }));
      expect(Math.min(...Object.values(flooredPreview.weights))).toBeCloseTo(0.1, 14);
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/preview', {
            document: createWeighting({ group_caps: [{ field: 'SECTOR', cap: 0.3 }] }),
          }),
        ),
      ).toEqual(['CAP_INFEASIBLE pipeline.weighting.group_caps']);
    });

    test('data that the store lacks is an error in a preview, and a warning when the index is stored', async () => {
      const body = createDocument('LACKS', {}, { weighting: { type: 'FieldWeight', params: { field: 'EARNINGS' } } });
      const savedAnswer = await service.ok<SavedIndex>('PUT', '/indices/LACKS', body);
      expect(savedAnswer.findings).toEqual([
        expect.objectContaining({
          severity: 'warning',
          code: 'UNKNOWN_FIELD_NAME',
          path: 'pipeline.weighting.params.field',
        }),
      ]);
      const error = await requestRefusal('POST', '/indices/LACKS/preview', {});
      expect([error.status, error.code, ...listFindings(error)]).toEqual([
        422,
        'VALIDATION_FAILED',
        'UNKNOWN_FIELD_NAME pipeline.weighting.params.field',
      ]);
    });

    test('an index without a positive weight is refused as empty', async () => {
      const body = createDocument('EMPTY', {}, { weighting: { type: 'FixedWeight', params: { weights: { ZZ: 1 } } } });
      expect(await requestRefusal('POST', '/indices/preview', { document: body })).toMatchObject({
        status: 422,
        code: 'EMPTY_INDEX',
      });
    });

    test('errors of a request are reported at their paths', async () => {
      expect(listFindings(await requestRefusal('POST', '/indices/preview', { as_of: '2024-01-02' }))).toEqual([
        'REQUIRED document',
      ]);
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/preview', { document: createDocument('X'), as_of: '2024-02-30' }),
        ),
      ).toEqual(['BAD_DATE as_of']);
      expect(
        listFindings(await requestRefusal('POST', '/indices/preview', { document: createDocument('X'), when: 1 })),
      ).toEqual(['UNKNOWN_FIELD when']);
      expect(
        listFindings(
          await requestRefusal('POST', '/indices/preview', { document: createDocument('X', { base_value: 0 }) }),
        ),
      ).toEqual(['OUT_OF_RANGE base_value']);
      expect(await requestRefusal('POST', '/indices/NOBODY/preview', {})).toMatchObject({
        status: 404,
        code: 'INDEX_NOT_FOUND',
      });
      expect(listFindings(await requestRefusal('POST', '/indices/GOLD/preview', { asof: '2024-01-02' }))).toEqual([
        'UNKNOWN_FIELD asof',
      ]);
    });
  });
}
