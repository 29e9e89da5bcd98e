import type { BigIntStats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { compareText } from '#domain/refusals/findings.js';
import { findNearestName } from '#base/text/nearest-name.js';
import type { Mapping } from '#domain/documents/mapping.js';
import { isMarketTable } from '../mapping/market-tables.js';
import type { TableKind } from '../tables/table-kinds.js';
import type { SourceFile } from '../formats/source-file.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { resolveAbsentPath, type Locations } from './locations.js';
import type { Problems } from '../tables/problems.js';

export type TableFiles = Readonly<Record<TableKind, readonly SourceFile[]>>;

/** Maximum number of files of one store: one file per day for eighty years. */
const FILES_MAX = 30_000;

/** Maximum number of directory entries that are searched for market files. The entries include files of other kinds. */
const ENTRIES_MAX = 4 * FILES_MAX;

/** Maximum depth of folders below the folder of a dataset. It is far above the usual number of partition keys. */
const DEPTH_MAX = 8;

const FILE_ENDINGS: readonly { readonly ending: string; readonly as: Pick<SourceFile, 'format' | 'isGzipped'> }[] = [
  { ending: '.parquet', as: { format: 'parquet', isGzipped: false } },
  { ending: '.csv', as: { format: 'csv', isGzipped: false } },
  { ending: '.txt', as: { format: 'csv', isGzipped: false } },
  { ending: '.tsv', as: { format: 'csv', isGzipped: false } },
  { ending: '.csv.gz', as: { format: 'csv', isGzipped: true } },
  { ending: '.jsonl', as: { format: 'jsonl', isGzipped: false } },
  { ending: '.jsonl.gz', as: { format: 'jsonl', isGzipped: true } },
  { ending: '.xlsx', as: { format: 'xlsx', isGzipped: false } },
];

/**
 * Returns the files of a store's folder by dataset. The market is `market.parquet`, `market.csv`, `market.jsonl` (the
 * latter two also as `.gz`), `market.txt`, `market.tsv` or a folder `market/` of files of one of these formats, with or
 * without hive partitions. Files of the other datasets have the same formats. Files with names that begin with a dot or
 * an underscore are ignored. Files are in the order of their labels. If there is a mapping and no file is named like
 * the market dataset, the market consists of the remaining files. These may be workbooks if there are no others, with
 * `reference.xlsx` and similar files in addition.
 */
export async function listFolderFiles(
  folder: string,
  { tables, mapping }: FolderTerms,
  locations: Locations,
  problems: Problems,
): Promise<TableFiles> {
  const files: Record<TableKind, SourceFile[]> = {
    market: [],
    reference: [],
    corporate_actions: [],
    universes: [],
    series: [],
  };
  const names = await readdir(folder).catch(() => []);
  const isMapped = mapping !== null && tables.market === undefined && !names.some((name) => isCalled(name, 'market'));
  for (const table of TABLE_KINDS) {
    if (table === 'market' && isMapped) {
      files.market = await mapFiles(folder, names, mapping, { field: 'market', locations, problems });
      continue;
    }
    const fileName = tables[table];
    const areWorkbooks = files.market[0]?.format === 'xlsx';
    const candidates =
      fileName === undefined ? names.filter((name) => isCalled(name, table, areWorkbooks)) : [fileName];
    if (candidates.length > 1) {
      problems.error({
        code: 'UNREADABLE_FILE',
        path: table,
        message: `The dataset is present more than once: ${candidates.toSorted(compareText).join(', ')}; exactly one is needed.`,
      });
      continue;
    }
    if (candidates.length === 1)
      files[table] = await listTableFiles(join(folder, candidates[0]!), table, {
        field: fileName === undefined ? table : `tables.${table}`,
        locations,
        problems,
      });
    else if (tables.market === undefined) {
      // A table that the request names may be among other files.
      const marketNames = new Set(isMapped ? files.market.map(({ path }) => basename(path)) : []);
      reportAbsent(
        table,
        names.filter((name) => !marketNames.has(name)),
        problems,
      );
    }
  }
  const count = Object.values(files).reduce((sum, { length }) => sum + length, 0);
  if (count <= FILES_MAX) return files;
  problems.error({
    code: 'OUT_OF_RANGE',
    path: '',
    message: `The folder holds ${count} files; at most ${FILES_MAX} are read.`,
  });
  return { market: [], reference: [], corporate_actions: [], universes: [], series: [] };
}

/** Reports that the market is absent. Also reports files that may be a dataset with a misspelt name. */
function reportAbsent(table: TableKind, names: readonly string[], problems: Problems): void {
  const similarName = names.find(
    (name) =>
      !TABLE_KINDS.some((other) => isCalled(name, other)) && findNearestName(getStem(name), [table]) !== undefined,
  );
  const suggestion = similarName === undefined ? '' : ` There is ${similarName.slice(0, 80)}: did you mean ${table}?`;
  if (table === 'market')
    problems.error({
      code: 'LOCATION_NOT_FOUND',
      path: 'market',
      message: `The folder holds no market.parquet, market.csv, market.jsonl or market/.${suggestion}`,
    });
  else if (similarName !== undefined)
    problems.warning({
      code: 'UNKNOWN_FIELD',
      path: similarName.slice(0, 80),
      message: `${JSON.stringify(similarName.slice(0, 80))} is not read: its name is not that of a dataset. Did you mean ${table}?`,
    });
}

function isCalled(name: string, table: TableKind, withWorkbooks = false): boolean {
  return name === table || (detectFormat(name, table) !== undefined && (withWorkbooks || !isWorkbook(name)));
}

const isWorkbook = (name: string) => detectFormat(name)?.as.format === 'xlsx';

/** Returns a file name without the extension of its format. */
function getStem(name: string): string {
  const ending =
    FILE_ENDINGS.toSorted((a, b) => b.ending.length - a.ending.length).find((each) => name.endsWith(each.ending))
      ?.ending ?? '';
  return name.slice(0, name.length - ending.length);
}

/** Names of the files of a folder, and the mapping of the market files. */
export interface FolderTerms {
  /** Names of files or folders of datasets, if they differ from the default. */
  readonly tables: Readonly<Partial<Record<TableKind, string>>>;
  readonly mapping: Mapping | null;
}

interface Listing {
  /** Field with the location of the dataset. It is the dataset itself, or the field of `tables`. */
  readonly field: string;
  readonly locations: Locations;
  readonly problems: Problems;
}

/** Returns the files of a mapped market: all readable files of the folder that do not belong to another dataset. */
async function mapFiles(
  folder: string,
  names: readonly string[],
  mapping: Mapping,
  listing: Listing,
): Promise<SourceFile[]> {
  const isEngineFile = (name: string) =>
    !/^[._]/.test(name) && detectFormat(name) !== undefined && isMarketTable(mapping, name);
  // Workbooks are used only if there is no text or Parquet file. Otherwise they are documentation and not data.
  for (const areWorkbooks of [false, true]) {
    const isRead = (name: string) => isEngineFile(name) && isWorkbook(name) === areWorkbooks;
    const folderFiles = names
      .filter((name) => isRead(name) && !TABLE_KINDS.some((table) => isCalled(name, table, areWorkbooks)))
      .toSorted(compareText);
    const paths = folderFiles.length > 0 ? folderFiles : await listFilesBelow(folder, isRead);
    if (paths.length === 0) continue;
    const tableLocations = paths.map((name) => [join(folder, name), `market/${name}`] as const);
    return listFilesAt(tableLocations, 'market', listing);
  }
  const archive = names.find((name) => /\.zip$/i.test(name));
  const hint = archive === undefined ? '' : ` An archive is imported by itself: ${archive.slice(0, 80)}.`;
  listing.problems.error({
    code: 'LOCATION_NOT_FOUND',
    path: 'market',
    message: `The folder holds no file that the mapping takes for one of the market.${hint}`,
  });
  return [];
}

/**
 * Returns the files in the subfolders of a folder, such as 2024/01/2024-01-02.csv. Links to folders are not followed.
 */
async function listFilesBelow(folder: string, isOwn: (name: string) => boolean): Promise<string[]> {
  const paths: string[] = [];
  let entries = 0;
  async function visit(below: string, depth: number): Promise<void> {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      const name = join(below, entry.name);
      if (paths.length > FILES_MAX || ++entries > ENTRIES_MAX) return;
      if (!entry.isDirectory()) {
        if (depth > 0 && isOwn(entry.name)) paths.push(name);
      } else if (depth < DEPTH_MAX && !/^[._]/.test(entry.name) && !TABLE_KINDS.some((table) => table === entry.name))
        await visit(name, depth + 1);
    }
  }
  await visit('', 0);
  return paths.toSorted(compareText);
}

const listTableFiles = (path: string, table: TableKind, listing: Listing) =>
  listFilesAt([[path, table]], table, listing);

/**
 * Returns the name of a file in its folder.
 * @param label `market`, or `market/` followed by the path below the folder of the table
 */
export const formatFileName = (label: string, path: string) =>
  label.includes('/') ? label.slice(label.indexOf('/') + 1) : formatTableName({ label, path });

/** Returns the table name of a file. An uploaded file has an internal name, so its name is that of its table. */
export function formatTableName({ label, path }: Pick<SourceFile, 'label' | 'path'>): string {
  const name = basename(path);
  return name.startsWith('.') ? label : name;
}

/**
 * Returns the files at some locations, including files in folders. @param places locations with their names in findings
 */
async function listFilesAt(
  places: readonly (readonly [path: string, label: string])[],
  table: TableKind,
  { field, locations, problems }: Listing,
): Promise<SourceFile[]> {
  const results: SourceFile[] = [];
  const errorsBefore = problems.errors;
  let folders = 0;

  async function visit(place: string, label: string, depth: number): Promise<void> {
    const listedLocation = depth === 0 ? field : label;
    const realPath = await resolveAbsentPath(place);
    if (!(await locations.allows(realPath))) {
      problems.error({
        code: 'LOCATION_NOT_ALLOWED',
        path: listedLocation,
        message:
          'The name, or a link, leads out of the folders the operator allows (--data-roots, DIVISOR_DATA_ROOTS).',
      });
      return;
    }
    const status = await stat(realPath, { bigint: true }).catch(() => undefined);
    if (status === undefined) {
      problems.error({
        code: 'LOCATION_NOT_FOUND',
        path: listedLocation,
        message: `There is no file or folder ${JSON.stringify(basename(place).slice(0, 80))} there.`,
      });
    } else if (status.isDirectory()) {
      folders += 1;
      if (depth === DEPTH_MAX || folders + results.length > FILES_MAX) {
        problems.error({
          code: 'OUT_OF_RANGE',
          path: label,
          message: `The folder is nested more than ${DEPTH_MAX} deep or holds more than ${FILES_MAX} entries.`,
        });
        return;
      }
      const names = (await readdir(realPath)).filter((name) => !name.startsWith('.') && !name.startsWith('_'));
      for (const name of names.toSorted(compareText)) await visit(join(realPath, name), `${label}/${name}`, depth + 1);
    } else {
      const format = detectFormat(basename(place));
      problems.nameFile(label, formatFileName(label, place));
      if (format === undefined || !status.isFile()) {
        problems.error({
          code: 'UNREADABLE_FILE',
          path: label,
          message: `The file is not one of ${FILE_ENDINGS.map(({ ending }) => ending).join(', ')}.`,
        });
      } else if (status.size === 0n) {
        problems.error({ code: 'UNREADABLE_FILE', path: label, message: 'The file is empty.' });
      } else
        results.push({ path: realPath, label, ...format.as, bytes: Number(status.size), ...createIdentity(status) });
    }
  }

  for (const [path, label] of places) await visit(path, label, 0);
  const formats = new Map(results.toReversed().map(({ format, path }) => [format, basename(path)]));
  if (formats.size > 1) {
    problems.error({
      code: 'UNREADABLE_FILE',
      path: table,
      message: `The files are of ${[...formats].map(([format, name]) => `${format} (${name.slice(0, 80)})`).join(' and ')}; the files of one dataset must be of one kind.`,
    });
    return [];
  }
  if (results.length === 0 && problems.errors === errorsBefore)
    problems.error({ code: 'EMPTY_DATASET', path: table, message: 'The folder holds no file of the dataset.' });
  return results;
}

/** Returns files that have changed since they were listed. */
export async function findChangedFiles(files: readonly SourceFile[]): Promise<readonly SourceFile[]> {
  const identities = await Promise.all(files.map(({ path }) => readFileIdentity(path)));
  return files.filter(({ identity }, i) => identity !== identities[i]);
}

/** Returns the identity of a file; undefined if it does not exist. */
export async function readFileIdentity(path: string): Promise<string | undefined> {
  const status = await stat(path, { bigint: true }).catch(() => undefined);
  return status && createIdentity(status).identity;
}

function createIdentity({
  dev,
  ino,
  size,
  mtimeNs,
  ctimeNs,
  ctimeMs,
}: BigIntStats): Pick<SourceFile, 'identity' | 'changedAt'> {
  return { identity: [dev, ino, size, mtimeNs, ctimeNs].join(':'), changedAt: Number(ctimeMs) };
}

/** Returns the format that a file name states. With `table`, returns it only if the file is named like the dataset. */
function detectFormat(name: string, table?: string): (typeof FILE_ENDINGS)[number] | undefined {
  return FILE_ENDINGS.find(({ ending }) =>
    table === undefined ? name.endsWith(ending) && name.length > ending.length : name === table + ending,
  );
}

/** Returns the files of a source that consists of one table in one Parquet file. */
export async function createSingleTable(dataset: TableKind, path: string): Promise<TableFiles> {
  const [{ size, ctimeMs }, identity] = await Promise.all([stat(path), readFileIdentity(path)]);
  const file = {
    path,
    label: dataset,
    format: 'parquet',
    isGzipped: false,
    bytes: size,
    identity: identity!, // the file exists, because its size was just read
    changedAt: ctimeMs,
  } as const;
  return { market: [], reference: [], corporate_actions: [], universes: [], series: [], [dataset]: [file] };
}
