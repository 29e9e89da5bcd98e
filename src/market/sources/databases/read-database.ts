import type { Problems } from '../../tables/problems.js';
import type { ReadOptions, SourceResult } from '../source-read.js';
import type { DatabaseLocation } from './database-location.js';
import { readDuckDbFile } from './read-duckdb-file.js';
import { readPostgresql } from './read-postgresql.js';
import { readSqlite } from './read-sqlite.js';
import type { DatabaseProgress, TableNames } from './tables-to-read.js';

/** Reads the tables of a database into one content and reports every problem. Returns undefined after an error. */
export function readDatabase(
  place: DatabaseLocation,
  tables: TableNames,
  problems: Problems,
  onProgress: DatabaseProgress,
  options: ReadOptions = {},
): Promise<SourceResult | undefined> {
  switch (place.kind) {
    case 'sqlite':
      return readSqlite(place.path, tables, problems, onProgress, options);
    case 'duckdb':
      return readDuckDbFile(place.path, tables, problems, onProgress, options);
    case 'postgresql':
      return readPostgresql(place, tables, problems, onProgress, options);
  }
}
