import { Button } from '../../components/button.js';
import type { SqlTableColumn, SqlTables } from '../../components/code/sql-editor.js';
import { Answered } from '../../components/wait.js';
import type { Resource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { countValues } from '../../words/numbers.js';

const COLUMNS =
  "SELECT table_name, column_name, data_type, column_comment FROM information_schema.columns WHERE table_schema = 'main' ORDER BY table_name, ordinal_position";

/** Labels of the DuckDB types. */
const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: 'text',
  DOUBLE: 'number',
  DATE: 'date',
  INTEGER: 'whole number',
  BOOLEAN: 'true or false',
};

/** Reads the views and their columns. @param store data store; undefined for the served store */
export async function readTables(signal: AbortSignal, store: string | undefined): Promise<SqlTables> {
  const { data } = await service.value.call('runSql', { query: { store_id: store }, body: { query: COLUMNS }, signal });
  const tables: Record<string, SqlTableColumn[]> = {};
  for (const [table, column, type, meaning] of data)
    (tables[String(table)] ??= []).push({
      name: String(column),
      type: TYPES[String(type)] ?? String(type),
      meaning: String(meaning ?? ''),
    });
  return tables;
}

interface ViewsProps {
  readonly views: Resource<SqlTables>;
  readonly onChoose: (view: string) => void;
}

/** Renders the views that queries can read. A view opens to its columns with their types and meanings. */
export function Views({ views, onChoose }: ViewsProps) {
  return (
    <Answered resource={views} what="the views">
      {(tables) => (
        <ul class="sql-views">
          {Object.entries(tables).map(([name, columns]) => (
            <li key={name}>
              <details>
                <summary>
                  <code>{name}</code> <span class="quiet">{countValues(columns.length, 'column')}</span>
                </summary>
                <dl class="sql-columns">
                  {columns.map((column) => (
                    <div key={column.name}>
                      <dt>{column.name}</dt>
                      <dd>{column.type}</dd>
                      {column.meaning !== '' && <dd class="sql-meaning">{column.meaning}</dd>}
                    </div>
                  ))}
                </dl>
                <Button onClick={() => onChoose(name)}>Query {name}</Button>
              </details>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}
