import type { Completion, CompletionSource } from '@codemirror/autocomplete';
import { sql, SQLDialect } from '@codemirror/lang-sql';
import { useMemo } from 'preact/hooks';
import { CodeMirror, type CodeProps } from './code-mirror.js';

export interface SqlTableColumn {
  readonly name: string;
  readonly type: string;
  /** Description of the values; empty if there is none. */
  readonly meaning: string;
}

export type SqlTables = Readonly<Record<string, readonly SqlTableColumn[]>>;

interface SqlEditorProps extends CodeProps {
  readonly tables: SqlTables;
}

/** Renders an SQL editor. It completes keywords, functions, tables, and the columns of the tables in the query. */
export function SqlEditor({ tables, ...props }: SqlEditorProps) {
  const language = useMemo(() => {
    const schema = Object.fromEntries(
      Object.entries(tables).map(([table, columns]) => [table, columns.map(createColumnCompletion)]),
    );
    const support = sql({ dialect: DUCKDB, schema, upperCaseKeywords: true });
    return [support, DUCKDB.language.data.of({ autocomplete: createColumnSource(tables) })];
  }, [tables]);
  return <CodeMirror {...props} language={language} />;
}

const createColumnCompletion = ({ name, type }: SqlTableColumn): Completion => ({
  label: name,
  type: 'property',
  detail: type.toLowerCase(),
});

/** Completes column names that have no table name in front. The columns are those of the tables in the query. */
const createColumnSource =
  (tables: SqlTables): CompletionSource =>
  (context) => {
    const word = context.matchBefore(/\.?\w*/);
    if (word === null || word.text.startsWith('.') || (word.from === word.to && !context.explicit)) return null;
    const query = context.state.doc.toString().toLowerCase();
    const namedTables = Object.entries(tables).filter(([table]) => new RegExp(`\\b${table}\\b`).test(query));
    const completions = new Map<string, Completion>();
    for (const [table, columns] of namedTables)
      for (const column of columns) {
        const before = completions.get(column.name);
        const detail = before === undefined ? table : `${before.info as string}, ${table}`; // `info` is set in the next line
        completions.set(column.name, { ...createColumnCompletion(column), info: detail, boost: 1 });
      }
    return { from: word.from, options: [...completions.values()], validFor: /^\w*$/ };
  };

/** DuckDB dialect for highlighting and completion. It has the keywords of queries but not those that define data. */
const DUCKDB = SQLDialect.define({
  keywords:
    'all and anti any array as asc asof between both by case cast collate cross cube current desc describe distinct else end escape except exclude exists filter first following from full glob group grouping having ilike in inner intersect interval into is join last lateral left like limit lateral materialized natural not null nulls offset on or order outer over partition percent pivot positional preceding qualify range recursive replace respect right rollup row rows sample select semi sets show similar struct summarize table tables tablesample then to top trailing try_cast unbounded union unpivot using values when where window with within true false',
  types:
    'bigint blob boolean date decimal double float hugeint integer json real smallint text time timestamp timestamptz tinyint ubigint uinteger usmallint utinyint uuid varchar',
  builtin:
    'abs arg_max arg_min avg bool_and bool_or ceil coalesce concat corr count covar_pop covar_samp cume_dist date_diff date_part date_trunc day dayofweek dense_rank exp extract first_value floor greatest ifnull lag last_value lead least length list ln log lower lpad max mean median min mode month ntile nullif percent_rank power quantile_cont quarter rank regexp_matches replace round row_number sign sqrt stddev stddev_samp string_agg strftime sum trim trunc upper var_samp week year',
  doubleQuotedStrings: false,
  charSetCasts: false,
  operatorChars: '+-*/<>=~!@%^&|',
  identifierQuotes: '"',
});
