import { expect } from 'vitest';
import type { Finding } from '#domain/base/findings.js';
import { createProblems } from '#market/tables/problems.js';
import { readImport } from '#market/read/import.js';
import { createTemporaryFolder } from '../../../store/temporary-folder.js';
import { readFolder, writeFiles } from '../../store-folder.js';

export const createFolder = createTemporaryFolder;

export interface Outcome {
  readonly isRead: boolean;
  readonly findings: readonly Finding[];
}

/**
 * A kind of damage with the findings that it must cause: the file and, if known, the row and the column. No damage
 * causes a crash or creates a store.
 */
export type Damage = readonly [kind: string, expected: readonly string[], read: () => Promise<Outcome>];

export const createFiles = (made: Readonly<Record<string, string | Uint8Array>>) => async (): Promise<Outcome> => {
  const folder = await createFolder();
  await writeFiles(folder, made);
  const { read, findings } = await readFolder(folder);
  expect(JSON.stringify(findings)).not.toContain(folder);
  return { isRead: read !== undefined, findings };
};

export const importBytes = (kind: 'xlsx' | 'csv' | 'csv.zip', bytes: Uint8Array) => async (): Promise<Outcome> => {
  const problems = createProblems();
  const read = await readImport({ kind, bytes }, problems);
  return { isRead: read !== undefined, findings: problems.findings() };
};

export const changeBytes = (bytes: Buffer, offset: number, values: readonly number[]) => {
  const copy = Buffer.from(bytes);
  copy.set(values, offset);
  return copy;
};
export const fillBytes = (bytes: Buffer, value: number, from: number, to: number) =>
  Buffer.from(bytes).fill(value, from, to);

export const HEAD = 'identifier,date,CLOSE,VOLUME\n';
export const createCsv = (rows: string | Uint8Array) =>
  createFiles({
    'market.csv': typeof rows === 'string' ? `${HEAD}${rows}\n` : Buffer.concat([Buffer.from(HEAD), rows]),
  });
export const MARKET = `${HEAD}A,2024-01-02,1,1\n`;
export const addTables = (tables: Readonly<Record<string, string>>) => createFiles({ 'market.csv': MARKET, ...tables });

export const ROWS =
  "SELECT 'N' || (i % 40) AS identifier, DATE '2020-01-01' + (i // 40)::INT AS date, 1.0 + i AS CLOSE, i AS VOLUME FROM range(8000) t(i)";
