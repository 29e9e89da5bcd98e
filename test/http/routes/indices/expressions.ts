import { describe, expect, test } from 'vitest';
import type { DatapointEvaluation, RuleTypes, SavedIndex } from '#contract/indices/definitions.js';
import type { PreviewResponse } from '#contract/indices/previews.js';
import { CLOSES, createDocument, listFindings, requestRefusal, service, SHARES } from './set-up.js';

export function describeExpressions(): void {
  describe('expressions', () => {
    const evaluate = (evaluation: Record<string, unknown>) =>
      service.ok<DatapointEvaluation>('POST', '/indices/datapoints/evaluate', evaluation);

    test('an editor receives the canonical text, the unit and the values of three securities', async () => {
      const result = await evaluate({ expression: 'CLOSE*SHARES_OUTSTANDING / sum(MARKET_CAP)', as_of: '2024-01-03' });
      const caps = Object.keys(CLOSES).map((name) => CLOSES[name]![1]! * SHARES[name]!(1));
      const total = caps.reduce((sum, cap) => sum + cap, 0);
      expect(result).toMatchObject({
        valid: true,
        text: 'CLOSE * SHARES_OUTSTANDING / sum(MARKET_CAP)',
        unit: 'number',
        as_of: '2024-01-03',
        findings: [],
      });
      expect(result.values.map(({ identifier }) => identifier)).toEqual(['A', 'B', 'C']);
      result.values.forEach(({ value }, i) => expect(value).toBeCloseTo(caps[i]! / total, 12));
    });

    test('a condition, a text and named datapoints are evaluated too', async () => {
      const condition = { expression: 'SECTOR == "S2"', expects: 'condition', identifiers: ['A', 'E'] };
      expect((await evaluate(condition)).values).toEqual([
        { identifier: 'A', value: false },
        { identifier: 'E', value: true },
      ]);
      expect((await evaluate({ expression: 'SECTOR', identifiers: ['C'] })).values[0]!.value).toBe('S2');
      const namedDatapoints = {
        expression: 'DOUBLE + 1',
        datapoints: { DOUBLE: 'CLOSE * 2' },
        identifiers: ['E'],
        as_of: '2024-01-02',
      };
      expect((await evaluate(namedDatapoints)).values[0]!.value).toBe(41);
      const nodes = { node: 'function', name: 'rank', operands: [{ node: 'field', name: 'CLOSE' }] };
      expect(await evaluate({ expression: nodes, identifiers: ['B'], as_of: '2024-01-02' })).toMatchObject({
        text: 'rank(CLOSE)',
        values: [{ identifier: 'B', value: 1 }],
      });
    });

    test('every error is a finding with its path, never a refusal', async () => {
      const wrongAnswer = await evaluate({ expression: 'CLOSE + zcore(VOLUM)' });
      expect(wrongAnswer).toMatchObject({ valid: false, text: null, values: [] });
      expect(wrongAnswer.findings[0]).toMatchObject({ code: 'UNKNOWN_FUNCTION', position: { start: 8, end: 20 } });
      const unknownAnswer = await evaluate({ expression: 'CLOSE + VOLUM' });
      expect(unknownAnswer.findings[0]).toMatchObject({ code: 'UNKNOWN_FIELD_NAME', position: { start: 8, end: 13 } });
      for (const expression of ['', '(', 'CLOSE CLOSE', '"', '1 +', 'a'.repeat(65), '('.repeat(3000)])
        expect((await evaluate({ expression })).valid).toBe(false);
      expect((await evaluate({ expression: { node: 'nothing' } })).valid).toBe(false);
      expect(
        await requestRefusal('POST', '/indices/datapoints/evaluate', { expression: 'CLOSE', colour: 'red' }),
      ).toMatchObject({
        status: 422,
      });
      expect(await requestRefusal('POST', '/indices/datapoints/evaluate', { expression: 7 })).toMatchObject({
        status: 422,
      });
    });

    test('functions of a decision have no values outside a decision', async () => {
      const result = await evaluate({ expression: '1 + is_constituent()' });
      expect(result).toMatchObject({ valid: true, values: [], findings: [{ severity: 'info', path: 'expression' }] });
    });

    test('a definition with expressions is stored as trees, previewed, and explained by its text', async () => {
      const pipeline = {
        selection: [{ id: 'cheap', type: 'ExpressionFilter', params: { expression: 'CLOSE < max(LIMIT, 60)' } }],
        weighting: { type: 'FieldWeight', params: { field: 'sqrt(MARKET_CAP)' } },
      };
      const sentDocument = createDocument('EXPRESSED', { datapoints: { LIMIT: '150 * 1' } }, pipeline);
      const { index } = await service.ok<SavedIndex>('PUT', '/indices/EXPRESSED', sentDocument);
      expect(index.pipeline!.weighting.params['field']).toMatchObject({ node: 'function', text: 'sqrt(MARKET_CAP)' });
      expect(await service.ok('GET', '/indices/EXPRESSED')).toEqual(index);
      expect((await service.ok<SavedIndex>('PUT', '/indices/EXPRESSED', index)).index).toEqual(index);
      const { weights } = await service.ok<PreviewResponse>('POST', '/indices/EXPRESSED/preview', {
        as_of: '2024-01-02',
      });
      const raw = ['A', 'C', 'E'].map((name) => Math.sqrt(CLOSES[name]![0]! * SHARES[name]!(0)));
      const total = raw.reduce((sum, value) => sum + value, 0);
      ['A', 'C', 'E'].forEach((name, i) => expect(weights[name]).toBeCloseTo(raw[i]! / total, 12));
      const { sentences } = await service.ok<{ sentences: { text: string }[] }>(
        'GET',
        '/indices/EXPRESSED/methodology',
      );
      expect(sentences.map(({ text }) => text).join(' ')).toContain('sqrt(MARKET_CAP)');
      expect(await service.ok('GET', '/indices/EXPRESSED/explain/A?as_of=2024-01-02')).toMatchObject({
        datapoints: expect.arrayContaining([expect.objectContaining({ field: 'sqrt(MARKET_CAP)' })]),
      });
    });

    test('an index used in an expression is part of the run, and reported as missing after its deletion', async () => {
      await service.ok('PUT', '/indices/ASKED', createDocument('ASKED', {}, { weighting: { type: 'EqualWeight' } }));
      const asking = createDocument(
        'ASKING',
        {},
        { weighting: { type: 'FieldWeight', params: { field: '1 + member_of("ASKED")' } } },
      );
      await service.ok('PUT', '/indices/ASKING', asking);
      await service.ok('POST', '/indices/ASKING/preview', { as_of: '2024-01-03' });
      const loop = createDocument(
        'ASKED',
        {},
        { weighting: { type: 'FieldWeight', params: { field: 'weight_in("ASKING")' } } },
      );
      const error = await requestRefusal('PUT', '/indices/ASKED', loop);
      expect(listFindings(error)).toEqual(['CIRCULAR_REFERENCE pipeline.weighting.params.field']);
      await service.ok('DELETE', '/indices/ASKED');
      expect(await requestRefusal('POST', '/indices/ASKING/preview', { as_of: '2024-01-03' })).toMatchObject({
        status: 422,
      });
      await service.ok('DELETE', '/indices/ASKING');
    });

    test('the catalogue serves every function with a signature', async () => {
      const { functions } = await service.ok<RuleTypes>('GET', '/indices/rule-types');
      expect(functions.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['zscore', 'years_of_growth', 'weight_in']),
      );
      for (const { signature, name } of functions) expect(signature.startsWith(`${name}(`)).toBe(true);
    });
  });
}
