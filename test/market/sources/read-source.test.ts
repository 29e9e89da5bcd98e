import { gzipSync } from 'node:zlib';
import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDay } from '#domain/base/time.js';
import { writeMarket } from '#market/content/managed-folder.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, readContentHash, formatFindingPaths, readFolder, writeFiles } from '../store-folder.js';

const createFolder = openTemporaryFolders();

const MARKET = 'identifier,date,CLOSE,VOLUME\nA,2024-01-02,10,100\nB,2024-01-02,20,\nA,2024-01-03,11,110\n';

async function listFindings(files: Record<string, string | Uint8Array>) {
  const folder = await createFolder();
  await writeFiles(folder, files);
  return formatFindingPaths((await readFolder(folder)).findings);
}

describe('a folder', () => {
  test('gives panels over its dates and identifiers, with nothing where there is no bar', async () => {
    const folder = await createFolder();
    await writeFiles(folder, { 'market.csv': MARKET });
    const { identifiers, dates, fields } = await readFolderContent(folder);
    expect(identifiers).toEqual(['A', 'B']);
    expect([...dates]).toEqual([parseDay('2024-01-02'), parseDay('2024-01-03')]);
    expect([...fields.get('CLOSE')!]).toEqual([10, 20, 11, Number.NaN]);
    expect([...fields.get('VOLUME')!]).toEqual([100, Number.NaN, 110, Number.NaN]);
  });

  test('has the same content as CSV, gzipped CSV, JSON lines and Parquet, in one file or by year', async () => {
    const csv = await createFolder();
    await writeFiles(csv, {
      'market.csv': MARKET,
      'reference.csv':
        'identifier,NAME,SECTOR,CODE,LISTED,ACTIVE\nA,Alpha,Tech,0005,1999-01-04,true\nB,Beta,"Food, Drink",12,2001-02-05,false\n',
      'corporate_actions.csv': 'identifier,type,value,ex_date,status\nA,DIVIDEND,0.25,2024-01-03,paid\n',
      'universes.csv': 'universe,identifier,start,end\nALL,A,2024-01-01,\nALL,B,,2024-06-01\n',
    });
    const content = await readFolderContent(csv);
    const gzipFolder = await createFolder();
    await writeFiles(gzipFolder, {
      'market/2.csv.gz': gzipSync('date,VOLUME,CLOSE,identifier\n2024-01-03,110,11.0,A\n'),
      'market/1.csv.gz': gzipSync('VOLUME,identifier,CLOSE,date\n,B,20,2024-01-02\n1e2,A,10,2024-01-02\n'),
      'reference.jsonl':
        '{"identifier":"B","NAME":"Beta","SECTOR":"Food, Drink","CODE":"12","LISTED":"2001-02-05","ACTIVE":false}\n{"identifier":"A","NAME":"Alpha","SECTOR":"Tech","CODE":"0005","LISTED":"1999-01-04","ACTIVE":true}\n',
      'corporate_actions.jsonl':
        '{"status":"paid","identifier":"A","type":"DIVIDEND","value":0.25,"ex_date":"2024-01-03"}\n',
      'universes.csv': 'identifier,universe,end,start\nB,ALL,2024-06-01,\nA,ALL,,2024-01-01\n',
    });
    const parquetFolder = await createFolder();
    await writeMarket(join(parquetFolder, 'store'), content, () => {});
    const hashes = [
      await readContentHash(csv),
      await readContentHash(gzipFolder),
      await readContentHash(join(parquetFolder, 'store')),
    ];
    expect(new Set(hashes).size).toBe(1);
    expect(content.reference.rows.get('A')?.[0]?.values).toEqual(['Alpha', 'Tech', '0005', '1999-01-04', true]);
  });

  test('has another content as soon as one value is another', async () => {
    const [one, other] = [await createFolder(), await createFolder()];
    await writeFiles(one, { 'market.csv': MARKET });
    await writeFiles(other, { 'market.csv': MARKET.replace('11,110', '11.000000000000002,110') });
    expect(await readContentHash(one)).not.toBe(await readContentHash(other));
  });

  test('without rows that have no value has the same content', async () => {
    const [one, other] = [await createFolder(), await createFolder()];
    await writeFiles(one, { 'market.csv': MARKET });
    await writeFiles(other, { 'market.csv': `${MARKET}C,2024-01-02,,\nA,2024-01-05,,\n` });
    expect(await readContentHash(other)).toBe(await readContentHash(one));
  });

  test('takes the value of a folder name where the key is only there', async () => {
    const folder = await createFolder();
    const content = await readContentFrom(MARKET);
    await writeMarket(
      join(folder, 'market', 'year=2024'),
      { ...content, reference: { columns: [], rows: new Map() } },
      () => {},
    );
    expect(await readContentHash(folder)).toBe(await computeTextHash(MARKET));
  });
});

async function readContentFrom(text: string) {
  const folder = await createFolder();
  await writeFiles(folder, { 'market.csv': text });
  return readFolderContent(folder);
}

async function computeTextHash(text: string) {
  const folder = await createFolder();
  await writeFiles(folder, { 'market.csv': text });
  return readContentHash(folder);
}

describe('each problem of the market is one finding', () => {
  test('a text in a price is found at row 17', async () => {
    const rows = Array.from(
      { length: 20 },
      (_, i) => `A,2024-01-${String(i + 1).padStart(2, '0')},${i === 16 ? 'ten' : 10}`,
    );
    expect(await listFindings({ 'market.csv': `identifier,date,CLOSE\n${rows.join('\n')}\n` })).toEqual([
      'NOT_A_NUMBER market[row 17].CLOSE',
    ]);
  });

  test.each([
    ['a price of zero', 'A,2024-01-02,0,1', 'NON_POSITIVE_PRICE market[row 1].CLOSE'],
    ['a negative price', 'A,2024-01-02,-3,1', 'NON_POSITIVE_PRICE market[row 1].CLOSE'],
    ['a negative volume', 'A,2024-01-02,3,-1', 'OUT_OF_RANGE market[row 1].VOLUME'],
    ['a day that does not exist', 'A,2024-02-30,3,1', 'BAD_DATE market[row 1].date'],
    ['a date in another order', 'A,02/01/2024,3,1', 'BAD_DATE market[row 1].date'],
    ['no date', 'A,,3,1', 'BAD_DATE market[row 1].date'],
    ['no identifier', ',2024-01-02,3,1', 'BAD_IDENTIFIER market[row 1].identifier'],
    ['an identifier with a control character', 'A\u0007B,2024-01-02,3,1', 'BAD_IDENTIFIER market[row 1].identifier'],
    ['a row that is too short', 'A,2024-01-02,3', 'UNREADABLE_FILE market[row 1]'],
    ['a row that is too long', 'A,2024-01-02,3,1,1', 'UNREADABLE_FILE market[row 1]'],
    ['the same key twice', 'A,2024-01-02,3,1\nB,2024-01-02,3,1\nA,2024-01-02,3,1', 'DUPLICATE_KEY market[row 3]'],
  ])('%s', async (_what, rows, place) => {
    expect(await listFindings({ 'market.csv': `identifier,date,CLOSE,VOLUME\n${rows}\n` })).toEqual([place]);
  });

  test('a missing column is named', async () => {
    expect(await listFindings({ 'market.csv': 'identifier,date,OPEN\nA,2024-01-02,1\n' })).toEqual([
      'MISSING_COLUMN market.CLOSE',
    ]);
  });

  test('a table without rows is empty', async () => {
    expect(await listFindings({ 'market.csv': 'identifier,date,CLOSE\n' })).toEqual(['EMPTY_DATASET market']);
  });

  test('a row is counted in its own file', async () => {
    expect(
      await listFindings({
        'market/a.csv': 'identifier,date,CLOSE\nA,2024-01-02,1\n',
        'market/b.csv': 'identifier,date,CLOSE\nA,2024-01-02,1\n',
      }),
    ).toEqual(['DUPLICATE_KEY market/b.csv[row 1]']);
  });
});

const WRONG_DEFAULT = 'NOT_IN_CHOICES corporate_actions[row 1].election_default';

describe('each problem of the other datasets is one finding', () => {
  test.each([
    ['an unknown action', 'A,BONUS,1,2024-01-02', 'UNKNOWN_ACTION_TYPE corporate_actions[row 1].type'],
    ['a split by zero', 'A,SPLIT,0,2024-01-02', 'BAD_RATIO corporate_actions[row 1].value'],
    ['a negative dividend', 'A,DIVIDEND,-1,2024-01-02', 'OUT_OF_RANGE corporate_actions[row 1].value'],
    ['a dividend without an amount', 'A,DIVIDEND,,2024-01-02', 'NOT_A_NUMBER corporate_actions[row 1].value'],
    ['an action without a day', 'A,DIVIDEND,1,', 'BAD_DATE corporate_actions[row 1].ex_date'],
    ['an action twice', 'A,DIVIDEND,1,2024-01-02\nA,DIVIDEND,1,2024-01-02', 'DUPLICATE_KEY corporate_actions[row 2]'],
  ])('%s', async (_what, rows, place) => {
    expect(
      await listFindings({ 'market.csv': MARKET, 'corporate_actions.csv': `identifier,type,value,ex_date\n${rows}\n` }),
    ).toEqual([place]);
  });

  test.each([
    ['of a dividend in shares', 'A,DIVIDEND,1,2024-01-02,0.02,2024-01-20,cash', []],
    ['of rights', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,2024-01-20,', []],
    ['to take_up rights', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,,take_up', []],
    ['to sell rights', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,,sell', []],
    ['to sell_to_fund rights', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,,sell_to_fund', []],
    ['to lapse rights', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,,lapse', []],
    ['of rights in cash', 'A,RIGHTS_ISSUE,0.25,2024-01-02,,,cash', [WRONG_DEFAULT]],
    ['of an offer to lapse', 'A,ACQUISITION,5,2024-01-02,,,lapse', [WRONG_DEFAULT]],
    ['of a split', 'A,SPLIT,2,2024-01-02,,2024-01-20,', ['NOT_IN_CHOICES corporate_actions[row 1].election_date']],
    ['with shares of a split', 'A,SPLIT,2,2024-01-02,0.02,,', ['NOT_IN_CHOICES corporate_actions[row 1].scrip_ratio']],
    ['of a dividend that is paid in cash alone', 'A,DIVIDEND,1,2024-01-02,,,shares', [WRONG_DEFAULT]],
    ['of no shares', 'A,DIVIDEND,1,2024-01-02,0,,', ['BAD_RATIO corporate_actions[row 1].scrip_ratio']],
    ['of neither', 'A,DIVIDEND,1,2024-01-02,0.02,,stock', [WRONG_DEFAULT]],
  ])('an election %s', async (_what, row, places) => {
    const head = 'identifier,type,value,ex_date,scrip_ratio,election_date,election_default';
    expect(await listFindings({ 'market.csv': MARKET, 'corporate_actions.csv': `${head}\n${row}\n` })).toEqual(places);
  });

  test('a delisting need not state its payment', async () => {
    expect(
      await listFindings({
        'market.csv': MARKET,
        'corporate_actions.csv': 'identifier,type,value,ex_date\nA,DELISTING,,2024-01-04\n',
      }),
    ).toEqual([]);
  });

  test.each([
    ['U,A,2020-01-01,2021-01-01\nU,A,2020-06-01,', 'OVERLAPPING_MEMBERSHIP universes[row 2]'],
    ['U,A,2021-01-01,2021-01-01', 'INVALID_RANGE universes[row 1].end'],
  ])('a membership that cannot be: %s', async (rows, place) => {
    expect(
      await listFindings({ 'market.csv': MARKET, 'universes.csv': `universe,identifier,start,end\n${rows}\n` }),
    ).toEqual([place]);
  });

  test('memberships that follow each other are several spells', async () => {
    expect(
      await listFindings({
        'market.csv': MARKET,
        'universes.csv': 'universe,identifier,start,end\nU,A,2020-01-01,2021-01-01\nU,A,2021-01-01,\n',
      }),
    ).toEqual([]);
  });

  test('a repeated reference row', async () => {
    expect(
      await listFindings({
        'market.csv': MARKET,
        'reference.csv': 'identifier,valid_from,SECTOR\nA,2020-01-01,X\nA,2020-01-01,Y\n',
      }),
    ).toEqual(['DUPLICATE_KEY reference[row 2]']);
  });
});

describe('files that cannot be read', () => {
  test.each([
    ['without a byte', ''],
    ['of text', 'this is no parquet file at all'],
    ['cut short', new Uint8Array([0x50, 0x41, 0x52, 0x31, 0, 0, 0])],
  ])('a Parquet file %s is one finding', async (_what, bytes) => {
    expect(await listFindings({ 'market.parquet': bytes })).toEqual(['UNREADABLE_FILE market']);
  });

  test('a Parquet file whose footer is damaged is one finding, without a path of this machine', async () => {
    const source = await createFolder();
    await writeMarket(join(source, 'store'), await readContentFrom(MARKET), () => {});
    const { readFile } = await import('node:fs/promises');
    const bytes = await readFile(join(source, 'store', 'market.parquet'));
    const folder = await createFolder();
    await writeFiles(folder, { 'market.parquet': bytes.subarray(0, bytes.length - 9) });
    const { findings } = await readFolder(folder);
    expect(formatFindingPaths(findings)).toEqual(['UNREADABLE_FILE market']);
    expect(findings[0]?.message).not.toContain(folder);
  });

  test('truncated gzip and binary text are reported', async () => {
    expect(await listFindings({ 'market.csv.gz': gzipSync(MARKET).subarray(0, 30) })).toEqual([
      'UNREADABLE_FILE market',
    ]);
    expect(
      await listFindings({
        'market.csv': Buffer.concat([
          Buffer.from('identifier,date,CLOSE\n'),
          Buffer.from([0xff, 0xfe]),
          Buffer.from(',2024-01-02,1\n'),
        ]),
      }),
    ).toEqual(['UNREADABLE_FILE market']);
  });

  test('gzip that decompresses to too much is refused long before its end', async () => {
    const folder = await createFolder();
    const member = gzipSync(`A,2024-01-02,${'1'.padStart(1000, '0')}\n`.repeat(30_000));
    const bytes = Buffer.concat([gzipSync('identifier,date,CLOSE\n'), ...Array.from({ length: 40 }, () => member)]);
    await writeFiles(folder, { 'market.csv.gz': bytes });
    const { findings } = await readFolder(folder);
    const refusalText = findings.find(({ code }) => code === 'UNREADABLE_FILE')?.message ?? '';
    const [, inflated, read] = /times its size: (\d+) bytes from the first (\d+)\.$/.exec(refusalText)!.map(Number);
    expect([read! < bytes.length / 2, inflated! < 200 * (bytes.length / 2)]).toEqual([true, true]);
  });

  test('invalid JSON lines are reported by line', async () => {
    expect(
      await listFindings({ 'market.jsonl': '{"identifier":"A","date":"2024-01-02","CLOSE":1}\n{"identifier":\n' }),
    ).toEqual(['UNREADABLE_FILE market[row 2]']);
  });

  test('problems of JSON lines before an invalid one are reported with it', async () => {
    const lines = [
      '{"identifier":"A","date":"2024-01-02","CLOSE":"1,5"}',
      '{"identifier":"A","date":"2024-01-03","CLOSE":true}',
      '{"identifier":',
    ];
    expect(await listFindings({ 'market.jsonl': lines.join('\n') })).toEqual([
      'NOT_A_NUMBER market[row 1].CLOSE',
      'NOT_A_NUMBER market[row 2].CLOSE',
      'UNREADABLE_FILE market[row 3]',
    ]);
  });

  test('a dataset that exists twice is refused', async () => {
    expect(await listFindings({ 'market.csv': MARKET, 'market.jsonl': '{}' })).toEqual(['UNREADABLE_FILE market']);
  });

  test.each<[string, (file: string) => void]>([
    ['gains a row', (file) => appendFileSync(file, 'B,2024-01-03,21,5\n')],
    [
      'is replaced by one of the same length',
      (file) => {
        writeFileSync(`${file}.new`, MARKET.replace('10', '90'));
        renameSync(`${file}.new`, file);
      },
    ],
    ['is removed', (file) => rmSync(file)],
  ])('a file that %s while the folder is read is reported, and none of it is used', async (_what, change) => {
    for (const stage of ['reading market', 'reading tables']) {
      const folder = await createFolder();
      await writeFiles(folder, { 'market.csv': MARKET });
      let isChanged = false;
      const { read, findings } = await readFolder(folder, {}, (_fraction, message) => {
        if (isChanged || message !== stage) return;
        isChanged = true;
        change(join(folder, 'market.csv'));
      });
      expect(read).toBeUndefined();
      expect(findings.map(({ code }) => code)).toContain('UNREADABLE_FILE');
      expect(findings.map(({ message }) => message)).toContain('The file changed while it was read.');
    }
  });

  test.each([
    ['cut short', gzipSync(`${MARKET}${'A,2024-01-04,1,1\n'.repeat(500)}`).subarray(0, 60), 'truncated'],
    ['no gzip at all', Buffer.from(MARKET), 'is not, or its data is damaged'],
  ])('a gzipped file that is %s is reported in words', async (_what, bytes, words) => {
    const folder = await createFolder();
    await writeFile(join(folder, 'market.csv.gz'), bytes);
    const { findings } = await readFolder(folder);
    expect(findings).toMatchObject([{ code: 'UNREADABLE_FILE', path: 'market' }]);
    expect(findings[0]!.message).toContain(words);
  });

  test('a folder without a market is reported', async () => {
    expect(await listFindings({ 'reference.csv': 'identifier\nA\n' })).toEqual(['LOCATION_NOT_FOUND market']);
  });

  test('a link that leaves the folder is not followed', async () => {
    const [folder, outside] = [await createFolder(), await createFolder()];
    await writeFile(join(outside, 'secret.csv'), MARKET);
    await symlink(join(outside, 'secret.csv'), join(folder, 'market.csv'));
    expect(formatFindingPaths((await readFolder(folder)).findings)).toEqual(['LOCATION_NOT_ALLOWED market']);
  });

  test.skipIf(process.getuid?.() === 0)('a file without read permission is reported', async () => {
    const folder = await createFolder();
    await writeFiles(folder, { 'market.csv': MARKET });
    await chmod(join(folder, 'market.csv'), 0);
    expect(formatFindingPaths((await readFolder(folder)).findings)).toEqual(['UNREADABLE_FILE market']);
  });
});
