import { describe, expect, test } from 'vitest';
import type {
  IndexCollection,
  IndexDeletion,
  Methodology,
  RuleTypes,
  SavedIndex,
} from '#contract/indices/definitions.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { service, createDocument, createChild, requestRefusal, listFindings, ask } from './set-up.js';

export function describeDefinitions(): void {
  describe('before any data store is served', () => {
    test('definitions can be stored and read, and previews report the missing store', async () => {
      await service.ok('POST', '/indices', createDocument('EARLY'));
      expect(await requestRefusal('POST', '/indices/EARLY/preview', {})).toMatchObject({
        status: 503,
        code: 'NO_DATA_SOURCE',
      });
      expect(await service.ok<Methodology>('GET', '/indices/EARLY/methodology')).toMatchObject({ index_id: 'EARLY' });
      await service.ok('DELETE', '/indices/EARLY');
    });
  });

  describe('storing definitions', () => {
    test('GET, PUT, GET is a fixed point with a strong etag', async () => {
      const savedAnswer = await service.ok<SavedIndex>('POST', '/indices', createDocument('FIXED', { tags: ['x'] }));
      const first = await service.ask('GET', '/indices/FIXED');
      expect(first.body).toEqual(savedAnswer.index);
      await service.ok('PUT', '/indices/FIXED', first.body);
      const second = await service.ask('GET', '/indices/FIXED');
      expect(second.body).toEqual(first.body);
      const etag = first.headers.get('etag')!;
      expect(second.headers.get('etag')).toBe(etag);
      expect((await ask('GET', '/indices/FIXED', undefined, { 'if-none-match': etag })).status).toBe(304);
    });

    test('If-Match guards a change and a deletion', async () => {
      await service.ok('POST', '/indices', createDocument('GUARDED'));
      const etag = (await service.ask('GET', '/indices/GUARDED')).headers.get('etag')!;
      expect(
        (await ask('PUT', '/indices/GUARDED', createDocument('GUARDED', { name: 'Second' }), { 'if-match': etag }))
          .status,
      ).toBe(200);
      expect(
        (await ask('PUT', '/indices/GUARDED', createDocument('GUARDED', { name: 'Third' }), { 'if-match': etag }))
          .status,
      ).toBe(412);
      expect((await ask('DELETE', '/indices/GUARDED', undefined, { 'if-match': etag })).status).toBe(412);
      expect(await service.ok('GET', '/indices/GUARDED')).toMatchObject({ name: 'Second' });
      expect((await ask('DELETE', '/indices/GUARDED', undefined, { 'if-match': '*' })).status).toBe(200);
    });

    test('PUT creates a missing index, and never under another id', async () => {
      expect((await service.ask('PUT', '/indices/MADE', createDocument('MADE'))).status).toBe(200);
      expect(await requestRefusal('PUT', '/indices/MADE', createDocument('OTHER'))).toMatchObject({
        status: 422,
        code: 'ID_MISMATCH',
      });
      expect(await requestRefusal('GET', '/indices/OTHER')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
    });

    test('POST on a taken id is refused with a finding and changes nothing', async () => {
      await service.ok('PUT', '/indices/TAKEN', createDocument('TAKEN'));
      const error = await requestRefusal('POST', '/indices', createDocument('TAKEN', { name: 'New' }));
      expect(error).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
      expect(listFindings(error)).toEqual(['DUPLICATE_ID id']);
      expect(await service.ok('GET', '/indices/TAKEN')).toMatchObject({ name: 'Index TAKEN' });
    });

    test('path segments of routes are no ids, and a missing method is 405', async () => {
      expect(listFindings(await requestRefusal('POST', '/indices', createDocument('preview')))).toEqual([
        'BAD_IDENTIFIER id',
      ]);
      const answer = await ask('GET', '/indices/preview', undefined, {});
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toContain('POST');
      expect((await ask('DELETE', '/indices/rule-types', undefined, {})).status).toBe(405);
    });

    test('a missing calendar is refused on create, update and validate alike', async () => {
      const { calendar: _, ...rest } = createDocument('NOCAL');
      for (const [method, path] of [
        ['POST', '/indices'],
        ['PUT', '/indices/NOCAL'],
        ['POST', '/indices/validate'],
      ] as const) {
        const error = await requestRefusal(method, path, rest);
        expect(error).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
        expect(listFindings(error)).toEqual(['REQUIRED calendar']);
      }
    });

    test('a report is valid exactly when the same body would be saved', async () => {
      const good = createDocument('REPORTED', { colour: 'red' });
      expect(await service.ok('POST', '/indices/validate', good)).toMatchObject({
        valid: true,
        findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD', path: 'colour' }],
      });
      expect((await service.ask('PUT', '/indices/REPORTED', good)).status).toBe(200);
      const badDocument = createDocument('REPORTED', { base_value: 0 });
      expect(await service.ok('POST', '/indices/validate', badDocument)).toMatchObject({
        valid: false,
        findings: [{ code: 'OUT_OF_RANGE', path: 'base_value' }],
      });
      expect((await service.ask('PUT', '/indices/REPORTED', badDocument)).status).toBe(422);
    });

    test('a number beyond a double is named in the report', async () => {
      const answer = await fetch(new URL('/indices/validate', service.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(createDocument('BIG', { base_value: 7 })).replace('"base_value":7', '"base_value":1e999'),
      });
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({
        valid: false,
        findings: [{ code: 'OUT_OF_RANGE', path: 'base_value' }],
      });
    });

    test('the listing is sorted, and can be paged', async () => {
      const wholeList = await service.ok<IndexCollection>('GET', '/indices');
      const ids = wholeList.indices.map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted());
      expect(wholeList).toMatchObject({ skipped: 0, skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 } });
      const { indices } = await service.ok<IndexCollection>('GET', `/indices?limit=2&after=${ids[0]}`);
      expect(indices.map(({ id }) => id)).toEqual(ids.slice(1, 3));
      expect(indices[0]).toMatchObject({ kind: 'rule', source_index_id: null, has_run: false, run_at: null, tags: [] });
    });

    test('deleting an index deletes its optimised children as well, depth first', async () => {
      await service.ok('POST', '/indices', createDocument('FAMILY'));
      for (const [id, source] of [
        ['SON-B', 'FAMILY'],
        ['SON-A', 'FAMILY'],
        ['GRAND', 'SON-A'],
      ] as const)
        await service.ok('POST', '/indices', createChild(id, source));
      expect(listFindings(await requestRefusal('PUT', '/indices/SON-A', createChild('SON-A', 'SON-B')))).toEqual([
        'IMMUTABLE_FIELD derivation.source_index_id',
      ]);
      const { deleted } = await service.ok<IndexDeletion>('DELETE', '/indices/FAMILY');
      expect(deleted.map(({ index_id, derived_from }) => [index_id, derived_from])).toEqual([
        ['FAMILY', null],
        ['SON-A', 'FAMILY'],
        ['GRAND', 'SON-A'],
        ['SON-B', 'FAMILY'],
      ]);
      expect((await service.ask('GET', '/indices/GRAND')).status).toBe(404);
      expect(await requestRefusal('DELETE', '/indices/FAMILY')).toMatchObject({ status: 404, code: 'INDEX_NOT_FOUND' });
    });

    test('a derived index keeps its source, also when rules replace the derivation', async () => {
      for (const id of ['FIRST', 'SECOND']) await service.ok('POST', '/indices', createDocument(id));
      await service.ok('POST', '/indices', createChild('FOLLOWS', 'FIRST'));
      expect(listFindings(await requestRefusal('PUT', '/indices/FOLLOWS', createDocument('FOLLOWS')))).toEqual([
        'IMMUTABLE_FIELD derivation.source_index_id',
      ]);
      expect(listFindings(await requestRefusal('PUT', '/indices/FOLLOWS', createChild('FOLLOWS', 'SECOND')))).toEqual([
        'IMMUTABLE_FIELD derivation.source_index_id',
      ]);
      expect((await service.ask('GET', '/indices/FOLLOWS')).body).toMatchObject({
        derivation: { source_index_id: 'FIRST' },
      });
      await service.ok('DELETE', '/indices/FOLLOWS');
      await service.ok('POST', '/indices', createChild('FOLLOWS', 'SECOND'));
    });

    test('an index without a universe is shown with the whole market, a derived index is not', async () => {
      const savedAnswer = await service.ok<SavedIndex>('POST', '/indices', createDocument('WHOLE'));
      expect(savedAnswer.index).toMatchObject({ universe: { kind: 'all' } });
      expect((await service.ask('GET', '/indices/WHOLE')).body).toMatchObject({ universe: { kind: 'all' } });
      const derivedAnswer = await service.ok<SavedIndex>('POST', '/indices', createChild('PART', 'WHOLE'));
      expect(derivedAnswer.index).not.toHaveProperty('universe');
      expect((await service.ask('GET', '/indices/PART')).body).not.toHaveProperty('universe');
    });

    test('the catalogue is served as one list for each of its two parts', async () => {
      const { selection, weighting } = await service.ok<RuleTypes>('GET', '/indices/rule-types');
      expect(selection.map(({ type }) => type)).toEqual(SELECTION_CLASSES.map(({ type }) => type));
      expect(weighting.map(({ type }) => type)).toEqual(WEIGHTING_CLASSES.map(({ type }) => type));
    });
  });
}
