import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { Finding } from '#domain/base/findings.js';
import { readDatabase } from '#market/read/databases.js';
import { createProblems } from '#market/tables/problems.js';
import { createTemporaryFolder } from '../../store/temporary-folder.js';
import { readFolder, writeFiles } from '../store-folder.js';

export const createFolder = createTemporaryFolder;

export async function createDuckDbFile(lines: readonly string[]): Promise<string> {
  const path = join(await createFolder(), 'made.duckdb');
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const line of lines) await connection.run(line);
  connection.closeSync();
  instance.closeSync();
  return path;
}

export async function checkFolder(files: Readonly<Record<string, string | Uint8Array>>): Promise<readonly Finding[]> {
  const folder = await createFolder();
  await writeFiles(folder, files);
  const { read, findings } = await readFolder(folder);
  expect(read === undefined).toBe(findings.some(({ severity }) => severity === 'error'));
  return findings;
}

export async function checkDatabase(kind: 'sqlite' | 'duckdb', path: string, tables = {}): Promise<readonly Finding[]> {
  const problems = createProblems();
  await readDatabase({ kind, path }, tables, problems, () => {}, { isPart: false });
  return problems.findings();
}
