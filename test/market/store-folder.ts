import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Finding } from '#domain/base/findings.js';
import { computeContentHash } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import type { TableKind } from '#market/tables/table-kinds.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '#market/mapping/mapped-content.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { createProblems } from '#market/tables/problems.js';
import { readSource } from '#market/read/read-source.js';
import type { SourceResult } from '#market/read/source-read.js';

/** Result of reading a folder: its content or its findings. */
export interface FolderRead {
  readonly read: SourceResult | undefined;
  readonly findings: readonly Finding[];
}

export async function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

/**
 * Reads a folder in this process, as the service does when the folder becomes a store. `onProgress` may change the
 * folder during the read.
 */
export async function readFolder(
  folder: string,
  tables: Partial<Record<TableKind, string>> = {},
  onProgress: (fraction: number, message: string) => void = () => {},
  terms: MarketInterpretation = DEFAULT_TERMS,
): Promise<FolderRead> {
  const problems = createProblems();
  const files = await listFolderFiles(folder, { tables, mapping: terms.mapping }, createLocations([folder]), problems);
  const read = await readSource(files, problems, onProgress, { terms });
  return { read: problems.errors > 0 ? undefined : read, findings: problems.findings() };
}

export async function readFolderContent(folder: string): Promise<MarketContent> {
  const { read, findings } = await readFolder(folder);
  if (read === undefined) throw new Error(JSON.stringify(findings));
  return read.content;
}

export const readContentHash = async (folder: string) => computeContentHash(await readFolderContent(folder));

export const formatFindingPaths = (findings: readonly Finding[]) => findings.map(({ code, path }) => `${code} ${path}`);
