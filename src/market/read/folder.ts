import type { BigIntStats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { findNearestName } from '#base/nearest-name.js';
import { compareText } from '#domain/base/findings.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import type { Mapping } from '#domain/definition/mapping.js';
import { allocateDigestMemory, digestSource, type SourceDigest, type SourceFile } from '../formats/source-file.js';
import { isMarketTable } from '../mapping/columns.js';
import type { DataProblem, Problems } from '../tables/problems.js';
import type { TableKind } from '../tables/table-kinds.js';

/** Folders of this machine from which stores may be read. */
export interface Locations {
  /**
   * Returns the real path of a folder or file below one of the roots (allowed folders). A location outside gives
   * LOCATION_NOT_ALLOWED, whether it exists or not. Inside, an absent location or a location of another kind gives
   * LOCATION_NOT_FOUND.
   */
  resolve(
    location: string,
    kind: 'folder' | 'file',
  ): Promise<{ readonly path: string } | { readonly problem: DataProblem }>;
  /** Returns true if a real path is below one of the roots. */
  allows(realPath: string): Promise<boolean>;
  /**
   * Returns the locations for reading a store that is registered at `location`. They also allow this location, if the
   * operator has not restricted the roots. So a store that a command registered in its working folder is readable for a
   * service that starts elsewhere. A location that is now a link to another one is not allowed in this way.
   */
  forRegistered(location: string): Locations;
}

/**
 * Creates the locations of the given roots.
 * @param roots absolute folders; a folder that does not exist allows nothing.
 * @param options.machine name of this machine in refusals, if other machines may allow the path
 * @param options.areRegisteredAllowed true if stores remain readable where they are registered: see `forRegistered`
 */
export function createLocations(
  roots: readonly string[],
  { machine, areRegisteredAllowed = false }: LocationOptions = {},
): Locations {
  const machinePhrase = machine === undefined ? '' : ` on ${machine}, which answered; other fronts may allow others`;
  // Resolves the roots each time, because a root may be created or redirected after the start.
  const resolveRoots = async () =>
    (await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)))).filter(
      (root) => root !== undefined,
    );
  const isAllowed = async (path: string) => (await resolveRoots()).some((root) => isInside(root, path));

  const locations: Locations = {
    allows: isAllowed,
    forRegistered: (location) => (areRegisteredAllowed ? admitLocation(locations, location) : locations),
    async resolve(location, kind) {
      const refusedLocation = {
        problem: {
          code: 'LOCATION_NOT_ALLOWED' as const,
          path: 'location',
          message: `The location is not inside one of the folders that the operator allows (--data-roots, DIVISOR_DATA_ROOTS)${machinePhrase}.`,
        },
      };
      if (!isAbsolute(location) || location.includes('\0')) return refusedLocation;
      const path = await resolveAbsentPath(resolve(location));
      if (!(await isAllowed(path))) return refusedLocation;
      const result = await stat(path).catch(() => undefined);
      const isKind = kind === 'folder' ? result?.isDirectory() : result?.isFile();
      if (isKind === true) return { path };
      return {
        problem: { code: 'LOCATION_NOT_FOUND', path: 'location', message: `There is no ${kind} at the location.` },
      };
    },
  };
  return locations;
}

interface LocationOptions {
  readonly machine?: string | undefined;
  readonly areRegisteredAllowed?: boolean;
}

/** Adds one canonical location to the allowed ones. */
function admitLocation(locations: Locations, location: string): Locations {
  const ownLocations = createLocations([location]);
  const isUnchanged = async () => (await realpath(location).catch(() => undefined)) === location;
  return {
    ...locations,
    allows: async (path) => (await locations.allows(path)) || ((await isUnchanged()) && ownLocations.allows(path)),
    resolve: async (path, kind) =>
      (await isUnchanged()) ? ownLocations.resolve(path, kind) : locations.resolve(path, kind),
  };
}

/**
 * Returns the real path of a location. For an absent location, returns the path that it would have. Symbolic links in
 * existing parents are resolved.
 */
async function resolveAbsentPath(path: string): Promise<string> {
  const resolvedPath = await realpath(path).catch(() => undefined);
  if (resolvedPath !== undefined) return resolvedPath;
  const parent = dirname(path);
  return parent === path ? path : join(await resolveAbsentPath(parent), relative(parent, path));
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

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
interface FolderTerms {
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
export const formatSourceName = (label: string, path: string) =>
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
      problems.nameFile(label, formatSourceName(label, place));
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

export async function findChangedFiles(files: readonly SourceFile[]): Promise<readonly SourceFile[]> {
  const identities = await Promise.all(files.map(({ path }) => readFileIdentity(path)));
  return files.filter(({ identity }, i) => identity !== identities[i]);
}

/** Returns the identity of a file; undefined if it does not exist. */
async function readFileIdentity(path: string): Promise<string | undefined> {
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

export interface VersionFile extends SourceDigest {
  readonly dataset: TableKind;
  readonly path: string;
  /**
   * Identity of the file. It is null if the file was written too shortly before the reading to prove that it is
   * unchanged.
   */
  readonly identity: string | null;
}

/**
 * Minimum age of a file at which its identity proves that its bytes are unchanged. Two writes within one tick of a file
 * system's clock have equal times, and the coarsest clock in use ticks every two seconds.
 */
const SETTLED_AFTER_MS = 2000;

/**
 * Returns the states of the files of a folder, by which later readings recognise them.
 * @param listedAt time before any of the files was read, ms since 1970
 */
export function toVersionFiles(files: TableFiles, digests: readonly SourceDigest[], listedAt: number): VersionFile[] {
  const digestByLabel = new Map(digests.map((digest) => [digest.label, digest]));
  return TABLE_KINDS.flatMap((table) =>
    files[table].flatMap(({ path, label, identity, changedAt }): VersionFile[] => {
      const digest = digestByLabel.get(label);
      return digest === undefined
        ? []
        : [{ ...digest, dataset: table, path, identity: findSettledIdentity({ identity, changedAt }, listedAt) }];
    }),
  );
}

function findSettledIdentity(
  { identity, changedAt }: Pick<SourceFile, 'identity' | 'changedAt'>,
  listedAt: number,
): string | null {
  return changedAt > listedAt - SETTLED_AFTER_MS ? null : identity;
}

/**
 * Finds market files with known bytes but an unknown identity. They were rewritten unchanged, or too shortly before
 * they were read.
 * @param listedAt time before any of the files was inspected, ms since 1970
 * @returns the files by path, with their new identity
 * @cost 1 ms a MiB of files with the size of a known file
 */
export async function findVersionFileByBytes(
  files: TableFiles,
  versionFiles: readonly VersionFile[],
  listedAt: number,
): Promise<ReadonlyMap<string, VersionFile>> {
  const fileByPath = new Map(versionFiles.map((file) => [file.path, file]));
  const sameFiles = new Map<string, VersionFile>();
  const memory = allocateDigestMemory();
  for (const file of files.market) {
    const versionFile = fileByPath.get(file.path);
    if (
      versionFile?.dataset !== 'market' ||
      versionFile.label !== file.label ||
      versionFile.bytes !== file.bytes ||
      versionFile.identity === file.identity
    )
      continue;
    const result = await digestSource(file.path, file.label, memory).catch(() => undefined); // problems of a file are reported by its reader
    if (result?.sha256 !== versionFile.sha256 || (await readFileIdentity(file.path)) !== file.identity) continue;
    sameFiles.set(file.path, { ...versionFile, identity: findSettledIdentity(file, listedAt) });
  }
  return sameFiles;
}

export type TableDigests = Readonly<Partial<Record<TableKind, Readonly<Record<string, string>>>>>;

export interface UnreadFiles {
  /**
   * Files to read: new or changed files of the market, and all files of every other table with an added, changed or
   * removed file.
   */
  readonly files: TableFiles;
  /** True if known files of the market have changed or disappeared. Bars of any day may then differ. */
  readonly isMarketChanged: boolean;
  readonly unchanged: readonly VersionFile[];
  readonly unchangedTables: readonly TableKind[];
  /**
   * Digests of the files of other tables without added and removed files. Their files may have been rewritten
   * unchanged.
   */
  readonly digests: TableDigests;
}

/**
 * Compares the files of a folder with the known files.
 * @param byBytes market files with known bytes, although their identity differs.
 * @param derived tables with rows derived from the market, which are always read again.
 * @cost O(files)
 */
export function selectUnreadFiles(
  files: TableFiles,
  versionFiles: readonly VersionFile[],
  byBytes: ReadonlyMap<string, VersionFile> = new Map(),
  derived: readonly TableKind[] = [],
): UnreadFiles {
  const fileByPath = new Map(versionFiles.map((file) => [file.path, file]));
  const findVersionFile = (table: TableKind, { path, label, identity }: SourceFile): VersionFile | undefined => {
    const file = fileByPath.get(path);
    return file?.identity === identity && file.label === label && file.dataset === table ? file : byBytes.get(path);
  };
  const unreadFiles: Record<TableKind, readonly SourceFile[]> = {
    ...files,
    market: files.market.filter((file) => findVersionFile('market', file) === undefined),
  };
  const unchangedTables: TableKind[] = [];
  const digests: Partial<Record<TableKind, Record<string, string>>> = {};
  const unchangedFiles = files.market.flatMap((file) => findVersionFile('market', file) ?? []);
  const market = unchangedFiles.length;
  for (const table of TABLE_KINDS) {
    if (table === 'market' || derived.includes(table)) continue;
    const sameFiles = files[table].flatMap((file) => findVersionFile(table, file) ?? []);
    const tableFiles = versionFiles.filter((file) => file.dataset === table);
    if (sameFiles.length !== files[table].length || sameFiles.length !== tableFiles.length) {
      const labels = new Set(tableFiles.map(({ label }) => label));
      if (tableFiles.length === files[table].length && files[table].every(({ label }) => labels.has(label)))
        digests[table] = Object.fromEntries(tableFiles.map(({ label, sha256 }) => [label, sha256]));
      continue;
    }
    unreadFiles[table] = [];
    unchangedFiles.push(...sameFiles);
    unchangedTables.push(table);
  }
  return {
    files: unreadFiles,
    isMarketChanged: market < versionFiles.filter(({ dataset: table }) => table === 'market').length,
    unchanged: unchangedFiles,
    unchangedTables,
    digests,
  };
}
