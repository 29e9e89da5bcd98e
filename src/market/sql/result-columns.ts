import type { DuckDBResult, DuckDBType } from '@duckdb/node-api';
import type { ColumnType } from '#domain/exports/export-table.js';
import type { TypedColumn } from './chunk-values.js';

const COUNT_TYPE = /^(?:U?TINYINT|U?SMALLINT|INTEGER|BOOLEAN)$/;
const NUMBER_TYPE = /^(?:U?BIGINT|U?HUGEINT|UINTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/;

/** Returns the columns of a result. Repeated names get a number, and unsupported types become text. */
export function listResultColumns(result: DuckDBResult): readonly TypedColumn[] {
  const usedNames = new Set<string>();
  return result.columnNames().map((columnName, position) => {
    let name = columnName;
    for (let number = 1; usedNames.has(name); number++) name = `${columnName}_${number}`;
    usedNames.add(name);
    return { name, type: getType(result.columnType(position)) };
  });
}

function getType(type: DuckDBType): ColumnType {
  const name = String(type);
  if (name === 'DATE') return 'date';
  if (COUNT_TYPE.test(name)) return 'count';
  return NUMBER_TYPE.test(name) ? 'number' : 'text';
}
