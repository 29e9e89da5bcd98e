import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import sqlite from 'node-sqlite3-wasm';
import { afterAll, beforeAll, expect } from 'vitest';
import type { DataStore, DataStoreCollection } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import { type RunningService, runService } from '../../running-service.js';

export let service: RunningService;
beforeAll(async () => {
  service = await runService(['--database-hosts', '127.0.0.1,127.0.0.1:1']);
});
afterAll(() => service.close());

export const listDays = (count: number) =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2024, 0, 2 + i)).toISOString().slice(0, 10));
export const formatMarketCsv = (names: readonly string[], count = 5, price = 10) =>
  `identifier,date,CLOSE\n${listDays(count)
    .flatMap((day, t) => names.map((name, n) => `${name},${day},${price + t + n}`))
    .join('\n')}\n`;

export async function createFolderWith(name: string, files: Record<string, string>): Promise<string> {
  const folder = join(service.root, name);
  await mkdir(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  return folder;
}

export async function registerStore(id: string, names = ['A', 'B'], activate = false): Promise<DataStore> {
  const location = await createFolderWith(id, { 'market.csv': formatMarketCsv(names) });
  const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
    store_id: id,
    name: id,
    kind: 'folder',
    location,
    activate,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

export async function writeTables(
  kind: 'sqlite' | 'duckdb',
  path: string,
  statements: readonly string[],
): Promise<void> {
  if (kind === 'sqlite') {
    const database = new sqlite.Database(path);
    for (const statement of statements) database.exec(statement);
    database.close();
    return;
  }
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

export const createTables = (names: readonly string[], price = 10) => ({
  market: {
    index: names.map((_, i) => i),
    columns: ['identifier', 'date', 'CLOSE'],
    data: names.map((name) => [name, '2024-01-02', price]),
  },
});
export const findStore = async (id: string) => (await service.ask<DataStore>('GET', `/data/stores/${id}`)).body;
export const readActiveStore = async () => (await service.ask<DataStoreCollection>('GET', '/data/stores')).body.active;
export const listFindings = (error: { readonly detail: Readonly<Record<string, unknown>> | null }) =>
  ((error.detail ?? {})['findings'] as Finding[]).map(({ code, path }) => `${code} ${path}`);
