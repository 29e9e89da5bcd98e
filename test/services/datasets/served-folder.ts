import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { DataStore } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import type { RefreshReport } from '#market/judge/refresh.js';
import type { RunningService } from '../running-service.js';

export const formatBars = (rows: readonly string[], columns = 'CLOSE') =>
  `identifier,date,${columns}\n${rows.join('\n')}\n`;
export const FIRST = ['A,2024-01-02,10', 'B,2024-01-02,20', 'A,2024-01-03,11', 'B,2024-01-03,21'];

export async function serveFolder(service: RunningService, id: string, files: Readonly<Record<string, string>>) {
  const folder = join(service.root, id);
  const write = async (namedFiles: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(namedFiles)) {
      await mkdir(join(folder, name, '..'), { recursive: true });
      await writeFile(join(folder, name), text);
    }
  };
  await write(files);
  const { status, body } = await service.ask<DataStore>('POST', '/data/stores', {
    store_id: id,
    name: id,
    kind: 'folder',
    location: folder,
    activate: true,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return {
    folder,
    write,
    async refresh(request: object = {}) {
      await service.ask('POST', `/data/stores/${id}/refresh`, request);
      const job = await service.waitForJob(`refresh:${id}`);
      expect(job.error).toBeNull();
      return job.result as unknown as RefreshReport;
    },
    closeOf: async (name: string) =>
      (
        await service.ask<{ prices: { index: string[]; data: number[][] } }>(
          'GET',
          `/data/prices/${name}?columns=CLOSE`,
        )
      ).body.prices.data.flat(),
    store: async () => (await service.ask<DataStore>('GET', `/data/stores/${id}`)).body,
  };
}

const CHANGES: readonly string[] = ['HISTORY_CHANGED', 'DATES_ADDED', 'SPLIT_RESTATED', 'LATE_BARS'];

type ReportedFinding = Pick<Finding, 'severity' | 'code' | 'path'>;

/** Returns the findings which report that the content differs from the content that was served before. */
export const listChanges = ({ findings }: { readonly findings?: readonly ReportedFinding[] | undefined }) =>
  (findings ?? [])
    .filter(({ code }) => CHANGES.includes(code))
    .map(({ severity, code, path }) => `${severity} ${code} ${path}`);
