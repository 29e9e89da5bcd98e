import { gzipSync } from 'node:zlib';
import { type Damage, createFiles, changeBytes, HEAD, createCsv, MARKET, addTables } from './damage.js';

/** A gzip member with ten megabytes of digits and no line end. gzip reads repeated members as one file. */
const TEN_MEGABYTES = gzipSync(Buffer.alloc(10 << 20, 0x30));

export const CSV: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], createFiles({ 'market.csv': '' })],
  ['a header and no row', ['EMPTY_DATASET market'], createCsv('')],
  [
    'no CLOSE',
    ['MISSING_COLUMN market.CLOSE'],
    createFiles({ 'market.csv': 'identifier,date,OPEN\nA,2024-01-02,1\n' }),
  ],
  [
    'a column twice',
    ['DUPLICATE_KEY market.CLOSE'],
    createFiles({ 'market.csv': 'identifier,date,CLOSE,CLOSE\nA,2024-01-02,1,2\n' }),
  ],
  [
    'a column twice in other letters',
    ['DUPLICATE_KEY market.CLOSE'],
    createFiles({ 'market.csv': 'identifier,date,CLOSE,close\nA,2024-01-02,1,2\n' }),
  ],
  [
    'a column without a name',
    ['MISSING_COLUMN market'],
    createFiles({ 'market.csv': 'identifier,date,CLOSE,\nA,2024-01-02,1,2\n' }),
  ],
  ['a quote that is never closed', ['UNREADABLE_FILE market[row 1]'], createCsv('"A,2024-01-02,1,1')],
  ['text after a closing quote', ['UNREADABLE_FILE market[row 1]'], createCsv('"A"x,2024-01-02,1,1')],
  ['a row that is too short', ['UNREADABLE_FILE market[row 2]'], createCsv('A,2024-01-02,1,1\nB,2024-01-02,1')],
  ['a row that is too long', ['UNREADABLE_FILE market[row 2]'], createCsv('A,2024-01-02,1,1\nB,2024-01-02,1,1,1')],
  ['NUL bytes in an identifier', ['BAD_IDENTIFIER market[row 1].identifier'], createCsv('A\u0000B,2024-01-02,1,1')],
  ['NUL bytes in a price', ['NOT_A_NUMBER market[row 1].CLOSE'], createCsv('A,2024-01-02,1\u00000,1')],
  ['Latin-1', ['UNREADABLE_FILE market'], createCsv(Buffer.from('Soci\u00e9t\u00e9,2024-01-02,1,1\n', 'latin1'))],
  ['a decimal comma', ['NOT_A_NUMBER market[row 1].CLOSE'], createCsv('A,2024-01-02,"1,5",1')],
  ['thousands set apart', ['NOT_A_NUMBER market[row 1].VOLUME'], createCsv('A,2024-01-02,1,"1,000,000"')],
  ['text in a price', ['NOT_A_NUMBER market[row 1].CLOSE'], createCsv('A,2024-01-02,n/a,1')],
  ['an infinite price', ['NOT_A_NUMBER market[row 1].CLOSE'], createCsv('A,2024-01-02,inf,1')],
  ['a number that no double holds', ['NOT_A_NUMBER market[row 1].CLOSE'], createCsv('A,2024-01-02,1e999,1')],
  ['a negative price', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], createCsv('A,2024-01-02,-1,1')],
  ['a price of zero', ['NON_POSITIVE_PRICE market[row 1].CLOSE'], createCsv('A,2024-01-02,0,1')],
  ['a negative volume', ['OUT_OF_RANGE market[row 1].VOLUME'], createCsv('A,2024-01-02,1,-1')],
  ['a day that does not exist', ['BAD_DATE market[row 1].date'], createCsv('A,2023-02-29,1,1')],
  ['a month that does not exist', ['BAD_DATE market[row 1].date'], createCsv('A,2024-13-01,1,1')],
  ['days before months', ['BAD_DATE market[row 1].date'], createCsv('A,31/12/2024,1,1')],
  ['years of two digits', ['BAD_DATE market[row 1].date'], createCsv('A,24-01-02,1,1')],
  ['the year 0', ['BAD_DATE market[row 1].date'], createCsv('A,0000-01-01,1,1')],
  ['no identifier', ['BAD_IDENTIFIER market[row 1].identifier'], createCsv(',2024-01-02,1,1')],
  [
    'an identifier with a control character',
    ['BAD_IDENTIFIER market[row 1].identifier'],
    createCsv('A\u0007B,2024-01-02,1,1'),
  ],
  [
    'an identifier of a hundred letters',
    ['BAD_IDENTIFIER market[row 1].identifier'],
    createCsv(`${'A'.repeat(100)},2024-01-02,1,1`),
  ],
  ['a key twice', ['DUPLICATE_KEY market[row 2]'], createCsv('A,2024-01-02,1,1\nA,2024-01-02,1,1')],
  ['a line without end', ['UNREADABLE_FILE market[row 1]'], createCsv('A'.repeat(3 << 20))],
  [
    'Parquet, called CSV',
    ['UNREADABLE_FILE market'],
    createFiles({ 'market.csv': Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(400, 0xfe), Buffer.from('PAR1')]) }),
  ],
  ['gzip, called CSV', ['UNREADABLE_FILE market'], createFiles({ 'market.csv': gzipSync(MARKET) })],
  [
    'one of two files in a folder damaged',
    ['NOT_A_NUMBER market/2.csv[row 1].CLOSE'],
    createFiles({ 'market/1.csv': MARKET, 'market/2.csv': `${HEAD}A,2024-01-03,x,1\n` }),
  ],
  [
    'an action that nobody knows',
    ['UNKNOWN_ACTION_TYPE corporate_actions[row 1].type'],
    addTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,PARTY,1,2024-01-02\n' }),
  ],
  [
    'a split by zero',
    ['BAD_RATIO corporate_actions[row 1].value'],
    addTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,SPLIT,0,2024-01-02\n' }),
  ],
  [
    'an action without a day',
    ['BAD_DATE corporate_actions[row 1].ex_date'],
    addTables({ 'corporate_actions.csv': 'identifier,type,value,ex_date\nA,DIVIDEND,1,soon\n' }),
  ],
  [
    'memberships that overlap',
    ['OVERLAPPING_MEMBERSHIP universes[row 2]'],
    addTables({ 'universes.csv': 'universe,identifier,start,end\nU,A,2020-01-01,2021-01-01\nU,A,2020-06-01,\n' }),
  ],
  [
    'a membership that ends before it begins',
    ['INVALID_RANGE universes[row 1].end'],
    addTables({ 'universes.csv': 'universe,identifier,start,end\nU,A,2021-01-01,2020-01-01\n' }),
  ],
  [
    'a reference row twice',
    ['DUPLICATE_KEY reference[row 2]'],
    addTables({ 'reference.csv': 'identifier,SECTOR\nA,X\nA,Y\n' }),
  ],
  [
    'a listing on no day',
    ['BAD_DATE reference[row 1].LISTED'],
    addTables({ 'reference.csv': 'identifier,LISTED\nA,yesterday\n' }),
  ],
];

const computeFlippedTail = (bytes: Buffer) => changeBytes(bytes, bytes.length - 6, [bytes[bytes.length - 6]! ^ 0xff]);

export const GZIP: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], createFiles({ 'market.csv.gz': '' })],
  ['no gzip at all', ['UNREADABLE_FILE market'], createFiles({ 'market.csv.gz': MARKET })],
  [
    'its end missing',
    ['UNREADABLE_FILE market'],
    createFiles({
      'market.csv.gz': gzipSync(
        `${HEAD}${Array.from({ length: 500 }, (_, i) => `N${i},2024-01-02,${i + 1},1`).join('\n')}`,
      ).subarray(0, 600),
    }),
  ],
  [
    'a wrong checksum',
    ['UNREADABLE_FILE market'],
    createFiles({ 'market.csv.gz': computeFlippedTail(gzipSync(MARKET)) }),
  ],
  [
    'a bomb',
    ['UNREADABLE_FILE market[row 1]'],
    createFiles({
      'market.csv.gz': Buffer.concat([gzipSync(HEAD), ...Array.from({ length: 30 }, () => TEN_MEGABYTES)]),
    }),
  ],
  ['gzip in gzip', ['UNREADABLE_FILE market'], createFiles({ 'market.csv.gz': gzipSync(gzipSync(MARKET)) })],
];

const LINE = '{"identifier":"A","date":"2024-01-02","CLOSE":1}';
const createLines = (...texts: readonly string[]) => createFiles({ 'market.jsonl': `${texts.join('\n')}\n` });

export const JSON_LINES: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE market'], createFiles({ 'market.jsonl': '' })],
  ['a line that stops', ['UNREADABLE_FILE market[row 2]'], createLines(LINE, '{"identifier":')],
  ['a line that is a list', ['UNREADABLE_FILE market[row 2]'], createLines(LINE, '["A","2024-01-02",1]')],
  ['all rows in one list', ['UNREADABLE_FILE market[row 1]'], createLines(`[${LINE},${LINE}]`)],
  [
    'a value within a value',
    ['UNREADABLE_FILE market[row 1]'],
    createLines('{"identifier":"A","date":"2024-01-02","CLOSE":{"last":1}}'),
  ],
  [
    'a number that no double holds',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    createLines('{"identifier":"A","date":"2024-01-02","CLOSE":1e999}'),
  ],
  [
    'a truth value for a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    createLines('{"identifier":"A","date":"2024-01-02","CLOSE":true}'),
  ],
  [
    'bytes that are not UTF-8',
    ['UNREADABLE_FILE market[row 2]'],
    createFiles({ 'market.jsonl': Buffer.concat([Buffer.from(`${LINE}\n`), Buffer.from([0xff, 0xfe, 0x0a])]) }),
  ],
  [
    'a line without end',
    ['UNREADABLE_FILE market[row 1]'],
    createFiles({ 'market.jsonl': `{"identifier":"${'A'.repeat(3 << 20)}"}` }),
  ],
  [
    'a member that comes late',
    ['UNREADABLE_FILE market[row 1001]'],
    createLines(
      ...Array.from({ length: 1000 }, (_, i) => `{"identifier":"N${i}","date":"2024-01-02","CLOSE":1}`),
      '{"identifier":"A","date":"2024-01-02","CLOSE":1,"HIGH":2}',
    ),
  ],
];
