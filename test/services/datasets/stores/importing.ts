import { readdir } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import type { ImportResult } from '#contract/stores.js';
import { service, registerStore, createTables, findStore, listFindings } from './set-up.js';
import { createFrame } from '../../../table-frame.js';

export function describeImporting(): void {
  describe('importing tables', () => {
    test('writes a managed store that reads back unchanged, and deletes its folder with it', async () => {
      const { status, body } = await service.ask<ImportResult>('POST', '/data/import', {
        store_id: 'imported',
        name: 'Imported',
        tables: createTables(['A', 'B']),
      });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        identifiers: 2,
        start: '2024-01-02',
        end: '2024-01-02',
        rows: { market: 2 },
        findings: [],
        store: { kind: 'imported', managed: true, refreshable: false, source: null, active: false },
      });
      await service.ask('POST', '/data/stores/imported/activate');
      expect(await service.waitForJob('load:imported')).toMatchObject({
        status: 'succeeded',
        result: { content_hash: body.store.content_hash },
      });
      await registerStore('beside', ['A'], true);
      expect(existsSync(body.store.location!)).toBe(true);
      expect((await service.ask('DELETE', '/data/stores/imported')).status).toBe(204);
      // The folder is removed after the response to the deletion.
      await expect.poll(() => existsSync(body.store.location!)).toBe(false);
    });

    test('reports every problem with its row and writes nothing', async () => {
      const before = await readdir(join(service.root, 'home', 'stores'));
      const badBody = {
        market: {
          index: [0, 1],
          columns: ['identifier', 'date', 'CLOSE'],
          data: [
            ['A', '2024-01-02', '1,5'],
            ['A', '2024-01-03'],
          ],
        },
      };
      const error = await service.refusal('POST', '/data/import', {
        store_id: 'bad-import',
        name: 'x',
        tables: badBody,
      });
      expect(listFindings(error)).toEqual(['NOT_A_NUMBER market[row 1].CLOSE', 'UNREADABLE_FILE market[row 2]']);
      const after = await readdir(join(service.root, 'home', 'stores'));
      expect(after.filter((name) => !before.includes(name))).toEqual([]);
      expect(await service.refusal('GET', '/data/stores/bad-import')).toMatchObject({ status: 404 });
    });

    test('needs exactly one of content and tables', async () => {
      expect(await service.refusal('POST', '/data/import', { name: 'x' })).toMatchObject({
        status: 422,
        code: 'VALIDATION_FAILED',
      });
      expect(
        await service.refusal('POST', '/data/import', { name: 'x', content: 'eA==', tables: createTables(['A']) }),
      ).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
    });

    test('refuses an existing id unless it replaces the store, which remains served', async () => {
      await service.ask('POST', '/data/import', {
        store_id: 'twice',
        name: 'x',
        tables: createTables(['A']),
        activate: true,
      });
      expect(
        await service.refusal('POST', '/data/import', { store_id: 'twice', name: 'x', tables: createTables(['A']) }),
      ).toMatchObject({ status: 409, code: 'STORE_EXISTS' });
      const { body } = await service.ask<ImportResult>('POST', '/data/import', {
        store_id: 'twice',
        name: 'x',
        tables: createTables(['NEW']),
        on_exists: 'replace',
      });
      expect(body.store).toMatchObject({ active: true, identifiers: 1 });
      expect((await service.ask('GET', '/data/prices/NEW')).status).toBe(200);
      const readFolders = async () => readdir(join(service.root, 'home', 'stores'));
      await expect.poll(async () => (await readFolders()).filter((name) => name.startsWith('twice.'))).toHaveLength(1);
    });

    test('an unknown table is named with the accepted ones', async () => {
      const error = await service.refusal('POST', '/data/import', {
        name: 'x',
        tables: { ...createTables(['A']), prices: { index: [], columns: [], data: [] } },
      });
      expect(listFindings(error)).toEqual(['UNKNOWN_FIELD tables.prices']);
    });
  });

  describe('importing a file', () => {
    test.each(['xlsx', 'csv', 'csv.zip'] as const)('the unmodified %s template makes a store', async (format) => {
      const response = await service.download(`/data/import/template?format=${format}`);
      expect(response.headers.get('content-disposition')).toMatch(
        /^attachment; filename="import-template\.(xlsx|zip)"$/,
      );
      const content = Buffer.from(await response.arrayBuffer()).toString('base64');
      const { status, body } = await service.ask<ImportResult>('POST', '/data/import', {
        store_id: `template-${format.replace('.', '-')}`,
        name: 'Template',
        format,
        content,
      });
      expect([status, body.rows]).toEqual([
        201,
        { market: 1, reference: 1, corporate_actions: 1, universes: 1, series: 1 },
      ]);
      expect(body.store.content_hash).toBe((await findStore('template-xlsx')).content_hash);
    });

    test('that is no base64, or no workbook, is reported', async () => {
      expect(
        listFindings(await service.refusal('POST', '/data/import', { name: 'x', content: 'not base64!' })),
      ).toEqual(['WRONG_TYPE content']);
      expect(listFindings(await service.refusal('POST', '/data/import', { name: 'x', content: 'eHl6' }))).toEqual([
        'UNREADABLE_FILE content',
      ]);
    });

    test('a body that is no JSON is reported with its position', async () => {
      expect(
        (
          await service.download('/data/import', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"name":',
          })
        ).status,
      ).toBe(400);
    });
  });

  describe('appending', () => {
    const createRows = (...data: readonly (readonly unknown[])[]) => ({
      market: createFrame(['identifier', 'date', 'CLOSE'], data),
    });
    const append = (tables: object) => ({ store_id: 'grows', name: 'Grows', tables, on_exists: 'append' });

    test('adds securities and dates and repeats stored rows, in any order', async () => {
      await service.ask('POST', '/data/import', append(createRows(['B', '2024-01-03', 2], ['A', '2024-01-03', 1])));
      const { status, body } = await service.ask<ImportResult>(
        'POST',
        '/data/import',
        append(createRows(['C', '2024-01-02', 3], ['A', '2024-01-03', 1])),
      );
      expect([status, body.identifiers, body.start, body.end]).toEqual([201, 3, '2024-01-02', '2024-01-03']);
      const wholeImport = await service.ask<ImportResult>('POST', '/data/import', {
        name: 'At once',
        tables: createRows(['A', '2024-01-03', 1], ['B', '2024-01-03', 2], ['C', '2024-01-02', 3]),
      });
      expect(body.store.content_hash).toBe(wholeImport.body.store.content_hash);
      // The request has two rows. One of them repeats a row of the store, so the store has three.
      expect([body.rows['market'], body.store.rows?.['market']]).toEqual([2, 3]);
    });

    test('refuses changes of stored rows', async () => {
      const before = await findStore('grows');
      expect(
        listFindings(await service.refusal('POST', '/data/import', append(createRows(['A', '2024-01-03', 9])))),
      ).toEqual(['DUPLICATE_KEY market[A 2024-01-03].CLOSE']);
      expect(await findStore('grows')).toEqual(before);
    });

    test('adds a table without a market, as JSON and as CSV', async () => {
      const columns = ['identifier', 'type', 'value', 'ex_date'];
      const actions = createFrame(columns, [['A', 'DIVIDEND', 0.1, '2024-01-03']]);
      const { status, body } = await service.ask<ImportResult>(
        'POST',
        '/data/import',
        append({ corporate_actions: actions }),
      );
      expect([status, body.identifiers, body.store.rows?.['corporate_actions']]).toEqual([201, 3, 1]);
      const text = `${columns.join()}\nB,SPLIT,2,2024-01-03\n`;
      const archive = zipSync({ 'corporate_actions.csv': Buffer.from(text) });
      const { tables: _, ...header } = append({});
      const second = await service.ask<ImportResult>('POST', '/data/import', {
        ...header,
        format: 'csv.zip',
        content: Buffer.from(archive).toString('base64'),
      });
      expect([second.status, second.body.store.rows?.['corporate_actions']]).toEqual([201, 2]);
      // A new store needs a market.
      expect(
        listFindings(
          await service.refusal('POST', '/data/import', {
            ...append({ corporate_actions: actions }),
            store_id: 'fresh',
          }),
        ),
      ).toEqual(['EMPTY_DATASET market']);
    });

    test('refuses prices of another basis', async () => {
      expect(
        listFindings(
          await service.refusal('POST', '/data/import', {
            ...append(createRows(['A', '2024-01-04', 9])),
            adjustment: 'total',
          }),
        ),
      ).toEqual(['NOT_IN_CHOICES adjustment']);
    });
  });
}
