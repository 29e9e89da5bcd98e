import type { Cell } from '../../formats/cells.js';
import type { DatabaseLocation } from './database-location.js';
import { boundCell } from './bounded-cells.js';
import { formatBoundColumn, openPostgresql } from './read-postgresql.js';

/** First rows of a table, after its column names. */
export interface TableSample {
  readonly name: string;
  readonly rows: readonly (readonly (Cell | undefined)[])[];
}

const quoteName = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Returns the first rows of the tables and views on the search path, with every value as text of the server. */
export async function samplePostgresql(
  place: Extract<DatabaseLocation, { kind: 'postgresql' }>,
  limit: number,
  tablesMax: number,
): Promise<TableSample[]> {
  const client = openPostgresql(place);
  try {
    await client.connect();
    await client.query("SET TIME ZONE 'UTC'; SET DateStyle = 'ISO, YMD'");
    await client.query('BEGIN TRANSACTION READ ONLY');
    const { rows: tables } = await client.query<{ table_name: string }>(
      "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND pg_table_is_visible(to_regclass(quote_ident(table_schema) || '.' || quote_ident(table_name))) ORDER BY 1 LIMIT $1",
      [tablesMax],
    );
    const samples: TableSample[] = [];
    for (const { table_name: name } of tables) {
      const { fields } = await client.query(`SELECT * FROM ${quoteName(name)} LIMIT 0`);
      const columnList = fields
        .map((field) => formatBoundColumn({ name: field.name, type: field.dataTypeID }))
        .join(', ');
      const { rows } = await client.query<Cell[]>({
        text: `SELECT ${columnList} FROM ${quoteName(name)} LIMIT ${limit}`,
        rowMode: 'array',
        types: { getTypeParser: () => (value: string) => value },
      });
      const names = fields.map((field) => field.name);
      samples.push({ name, rows: [names, ...rows.map((row) => row.map((cell, i) => boundCell(cell, names[i]!)))] });
    }
    await client.query('COMMIT');
    return samples;
  } finally {
    await client.end().catch(() => {});
  }
}
