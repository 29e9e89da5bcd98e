import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { Mapping } from '#domain/definition/mapping.js';
import { readFolder, writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-stated-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const createEmptyFolder = () => join(root, String((folders += 1)));

describe('a column of dividends next to adjusted closes', () => {
  const importStated = async (
    rows: readonly string[],
    mapping: Partial<Mapping> = {},
    adjustment: 'none' | 'splits' = 'splits',
  ) => {
    const folder = createEmptyFolder();
    await writeFiles(folder, {
      'x.csv': `date,identifier,CLOSE,Adj Close,Dividends,Stock Splits\n${rows.join('\n')}\n`,
    });
    const terms = {
      mapping: Mapping.parse({ adjusted_close: 'Adj Close', ignore: ['Dividends', 'Stock Splits'], ...mapping }),
      adjustment,
    };
    const { read, findings } = await readFolder(folder, {}, () => {}, terms);
    return {
      actions: read!.content.actions.map(({ type, value, exDay }) => `${type} ${value} ${formatDay(exDay)}`),
      fields: [...read!.content.fields.keys()],
      messages: findings.filter(({ code }) => code === 'ADJUSTMENT_UNEXPLAINED').map(({ message }) => message),
    };
  };
  /** Closes of 100 and 95; earlier adjusted closes are multiplied by 1 - amount / 100. */
  const createRows = (stated: number, implied: number) => [
    `2024-01-02,A,99,${(99 * (1 - implied / 100)).toFixed(6)},0,0`,
    `2024-01-03,A,100,${(100 * (1 - implied / 100)).toFixed(6)},0,0`,
    `2024-01-04,A,95,95,${stated},0`,
    '2024-01-05,A,96,96,0,0',
  ];

  test('that states the same amounts is no finding, and no datapoint', async () => {
    const { actions, fields, messages } = await importStated(createRows(4.5, 4.5));
    expect([actions, fields, messages]).toEqual([['DIVIDEND 4.5 2024-01-04'], ['CLOSE'], []]);
    expect((await importStated(createRows(4.5, 4.5005))).messages).toEqual([]);
  });

  test.each([
    [4.5, 8.7, 'states a dividend of 4.5 for A on 2024-01-04, and Adj Close implies a dividend of 8.7.'],
    [0.6, 0, 'states a dividend of 0.6 for A on 2024-01-04, and Adj Close implies none.'],
    [0, 0.6, 'states none for A on 2024-01-04, and Adj Close implies a dividend of 0.6.'],
  ])(
    'that states %d where they imply %d is a finding with both, and the mapping says which is used',
    async (stated, implied, text) => {
      const ofCloses = await importStated(createRows(stated, implied));
      expect(ofCloses.messages).toEqual([expect.stringContaining(`${text} Adj Close is used.`)]);
      expect(ofCloses.actions).toEqual(implied === 0 ? [] : [`DIVIDEND ${implied} 2024-01-04`]);
      const ofColumn = await importStated(createRows(stated, implied), { dividends_from: 'column' });
      expect(ofColumn.messages).toEqual([expect.stringContaining(`${text} The column is used.`)]);
      expect(ofColumn.actions).toEqual(stated === 0 ? [] : [`DIVIDEND ${stated} 2024-01-04`]);
    },
  );

  test('is the only source without adjusted closes, and has to exist', async () => {
    const { actions, messages } = await importStated(createRows(4.5, 8.7), {
      adjusted_close: null,
      ignore: ['Adj Close'],
      dividends_from: 'column',
    });
    expect([actions, messages]).toEqual([['DIVIDEND 4.5 2024-01-04'], []]);
    const folder = createEmptyFolder();
    await writeFiles(folder, { 'x.csv': 'date,identifier,CLOSE\n2024-01-02,A,99\n2024-01-03,A,100\n' });
    const terms = { mapping: Mapping.parse({ dividends_from: 'column' }), adjustment: 'none' as const };
    expect((await readFolder(folder, {}, () => {}, terms)).findings).toMatchObject([
      { code: 'MISSING_COLUMN', path: 'mapping.dividends_from' },
    ]);
  });

  test('is compared with a column of splits if closes are as traded', async () => {
    const rows = [
      '2024-01-02,A,99,49.5,0,0',
      '2024-01-03,A,100,50,0,0',
      '2024-01-04,A,51,51,0,3',
      '2024-01-05,A,52,52,0,0',
    ];
    const { actions, messages } = await importStated(rows, {}, 'none');
    expect(actions).toEqual(['SPLIT 2 2024-01-04']);
    expect(messages).toEqual([
      expect.stringContaining('states a split of 3 for A on 2024-01-04, and Adj Close implies a split of 2.'),
    ]);
    expect((await importStated(rows, { dividends_from: 'column' }, 'none')).actions).toEqual(['SPLIT 3 2024-01-04']);
  });
});
