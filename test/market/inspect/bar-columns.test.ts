import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { createProblems } from '#market/tables/problems.js';
import { inspect } from '#market/read/inspection.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { writeFiles } from '../store-folder.js';

let root: string;
let folders = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'divisor-bars-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function inspectFiles(name: string, text: string) {
  const folder = join(root, String((folders += 1)));
  await writeFiles(folder, { [name]: text });
  const request = { tables: {}, mapping: Mapping.parse({}) };
  const files = await listFolderFiles(folder, request, createLocations([folder]), createProblems());
  return inspect({ kind: 'files', files });
}

test.each([
  ['Date;Ouverture;Haut;Bas;Clôture;Volume', 'French'],
  ['Fecha;Apertura;Máximo;Mínimo;Cierre;Volumen', 'Spanish'],
  ['Datum;Eröffn.;Hoch;Tief;Zuletzt;Vol.', 'German'],
])('%s are the fields of one name, not names', async (header) => {
  const { preview, mapping } = await inspectFiles('SAN.csv', `${header}\n16/01/2024;3,5;3,7;3,4;3,6;1.000\n`);
  expect(mapping.layout).toBe('long');
  expect(preview.columns.slice(2).toSorted()).toEqual(['CLOSE', 'HIGH', 'LOW', 'OPEN', 'VOLUME']);
  expect(preview.data[0]![preview.columns.indexOf('LOW')]).toBe(3.4);
  expect(preview.data[0]![preview.columns.indexOf('CLOSE')]).toBe(3.6);
});

test('a table of bars without a known name of closes causes a question, and is not read as one column per security', async () => {
  const { confidence, unsure, rows_read } = await inspectFiles(
    'NOKIA.csv',
    'Date,Avaus,Ylin,Alin,Päätös,Volume\n2024-01-16,3.5,3.7,3.4,3.6,1000\n',
  );
  expect([confidence, rows_read, unsure.map(({ field }) => field)]).toEqual(['unsure', 0, ['columns']]);
});

test('companies that trade as OPEN and LOW are securities', async () => {
  const { mapping, preview } = await inspectFiles('close.csv', 'Date,LOW,OPEN,AAPL\n2024-01-02,10,20,30\n');
  expect([mapping.layout, preview.data.map(([name]) => name)]).toEqual(['wide', ['AAPL', 'LOW', 'OPEN']]);
});

test('a change in percent is no security, nor is the suffix that Investing.com writes', async () => {
  const { preview, unsure } = await inspectFiles(
    'AAPL Historical Data.csv',
    '"Date","Price","Open","High","Low","Vol.","Change %"\n"01/16/2024","183.63","182.16","184.26","180.93","65.08M","-1.23%"\n',
  );
  expect(preview.data).toEqual([['AAPL', '2024-01-16', 183.63, 182.16, 184.26, 180.93, 65_080_000]]);
  expect(unsure.filter(({ required }) => required)).toEqual([]);
});

test.each([
  [
    'a title without a delimiter',
    'ASML.csv',
    'Historical Data\nNL0010273215\nDate;Open;High;Low;Last;Close;Number of Shares;Turnover\n16/01/2024;650,1;655,2;649,3;652,4;652,5;512345;334000000\n',
    [650.1, 655.2, 649.3, 652.5, 512_345],
  ],
  [
    'the line that states the delimiter for Excel',
    'NDA.csv',
    'sep=;\nDate;Bid;Opening price;High price;Low price;Closing price;Total volume;Trades;\n2024-01-16;119,1;118,5;119,5;118,1;119,2;1 234 567;4 321;\n',
    [118.5, 119.5, 118.1, 119.2, 1_234_567],
  ],
])('%s above the header is passed over', async (_what, name, text, bar) => {
  const { preview, unsure } = await inspectFiles(name, text);
  const findValue = (field: string) => preview.data[0]![preview.columns.indexOf(field)];
  expect(['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VOLUME'].map(findValue)).toEqual(bar);
  expect(unsure.filter(({ required }) => required)).toEqual([]);
});
