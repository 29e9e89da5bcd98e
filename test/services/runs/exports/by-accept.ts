import { describe, expect, test } from 'vitest';
import { EXPORT_FORMATS } from '#domain/outputs/exports.js';
import { service } from './set-up.js';

type Cell = string | number | boolean | null;

/** Tests routes other than the exports. They return their tables as CSV if `Accept` asks for it. */
export function describeCsvByAccept(): void {
  const ask = (path: string, accept: string): Promise<Response> =>
    fetch(`${service.url}${path}`, { headers: { accept } });
  /** Returns the cells of a CSV without quoted cells. Numbers are parsed; empty cells are null. */
  async function readCsv(path: string): Promise<{ readonly header: string[]; readonly rows: Cell[][] }> {
    const response = await ask(path, 'text/csv');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(response.headers.get('vary')).toBe('Accept');
    const [header = '', ...lines] = (await response.text()).split('\r\n');
    expect(lines.pop()).toBe('');
    const createCell = (text: string): Cell => (text === '' ? null : text.trim() === '' || isNaN(+text) ? text : +text);
    return { header: header.split(','), rows: lines.map((line) => line.split(',').map(createCell)) };
  }

  describe('CSV by Accept', () => {
    test('of prices has the cells of the JSON, bit for bit', async () => {
      const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>(
        'GET',
        '/data/identifiers?limit=1',
      );
      const path = `/data/prices/${identifiers[0]!.identifier}?columns=CLOSE,VOLUME&adjust=total`;
      const { prices } = await service.ok<{ prices: { index: string[]; columns: string[]; data: Cell[][] } }>(
        'GET',
        path,
      );
      const { header, rows } = await readCsv(path);
      expect(header).toEqual(['date', ...prices.columns]);
      expect(rows).toEqual(prices.index.map((date, t) => [date, ...prices.data[t]!]));
    });

    test.each([
      ['/data/prices/NAME?columns=CLOSE', ['csv', 'arrow']],
      ['/data/reference?identifiers=NAME', ['csv']],
      ['/analytics/compare?ids=CAPPED,LAZY', ['csv']],
      ['/indices/CAPPED/actions?from=2021-01-01', ['csv']],
    ])('%s answers the same where the address names the format', async (template, formats) => {
      const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>(
        'GET',
        '/data/identifiers?limit=1',
      );
      const path = template.replace('NAME', identifiers[0]!.identifier);
      for (const format of ['json', ...formats] as ('json' | 'csv' | 'arrow')[]) {
        const { media } = EXPORT_FORMATS[format];
        const byAccept = await ask(path, media);
        const namedAnswer = await ask(`${path}&format=${format}`, 'image/png');
        expect([namedAnswer.status, namedAnswer.headers.get('content-type')]).toEqual([
          200,
          byAccept.headers.get('content-type'),
        ]);
        expect(await namedAnswer.text()).toBe(await byAccept.text());
      }
      expect((await ask(`${path}&format=pdf`, '*/*')).status).toBe(422);
    });

    test('of a comparison has the level of each run by date', async () => {
      const path = '/analytics/compare?ids=CAPPED,LAZY';
      const { entries } = await service.ok<{
        entries: { index_id: string; level: { index: string[]; data: number[] } }[];
      }>('GET', path);
      const { header, rows } = await readCsv(path);
      expect(header).toEqual(['date', 'CAPPED', 'LAZY']);
      const [capped, lazy] = entries;
      expect(rows).toEqual(capped!.level.index.map((date, t) => [date, capped!.level.data[t], lazy!.level.data[t]]));
    });

    test('of reference data has a row per security, and none for an unknown one', async () => {
      const { identifiers } = await service.ok<{ identifiers: { identifier: string }[] }>(
        'GET',
        '/data/identifiers?limit=2',
      );
      const names = [...identifiers.map(({ identifier }) => identifier), 'NOBODY'];
      const path = `/data/reference?identifiers=${names.join(',')}&fields=SECTOR,CURRENCY`;
      const { entries } = await service.ok<{ entries: { identifier: string; fields: Record<string, Cell> }[] }>(
        'GET',
        path,
      );
      const { header, rows } = await readCsv(path);
      expect(header).toEqual(['identifier', 'found', 'SECTOR', 'CURRENCY']);
      expect(rows).toEqual([
        ...entries
          .slice(0, 2)
          .map(({ identifier, fields }) => [identifier, 'true', fields['SECTOR'], fields['CURRENCY']]),
        ['NOBODY', 'false', null, null],
      ]);
    });

    test.each(['/data/prices/NOBODY', '/data/reference?identifiers=NOBODY', '/analytics/compare?ids=CAPPED,LAZY'])(
      '%s lists its alternatives to a picture',
      async (path) => {
        const response = await ask(path, 'image/png');
        expect(response.status).toBe(406);
        const { error } = (await response.json()) as { error: { code: string; detail: { accepted: string[] } } };
        expect(error.code).toBe('NOT_ACCEPTABLE');
        expect(error.detail.accepted).toEqual(expect.arrayContaining(['application/json', 'text/csv']));
      },
    );
  });
}
