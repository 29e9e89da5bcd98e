import type { ColumnType, ExportColumn } from '#domain/outputs/exports.js';
import type { CreateResultWriter, ResultColumn, ResultWriter } from '#market/serve/market-tasks.js';
import { PART_WRITERS } from '#views/formats/columnar.js';
import { createRowWriter, JSON_ROWS } from '#views/formats/text.js';

/** Minimum number of rows per Parquet row group, except the last one. */
const GROUP_ROWS = 1 << 16;

export const createResultWriter: CreateResultWriter = (format, columns, append) => {
  if (format === 'json') return createJsonWriter(columns, append);
  const columnsByName = Object.fromEntries(
    Object.entries(columns).map(([name, type]) => [name, createColumn(name, type)]),
  );
  let from: Parameters<(typeof PART_WRITERS)[typeof format]>[0]['from'] = { at: 0, rows: 0 };
  const openWriter = () =>
    PART_WRITERS[format]({ runId: 'sql', table: 'result', columns: columnsByName, from, sink: { append } });
  let writer = openWriter();
  let rows = 0;
  let groupRows = 0;
  return {
    rows(batch, count) {
      writer.rows(batch, count);
      rows += count;
      groupRows += count;
      if (format !== 'parquet' || groupRows < GROUP_ROWS) return;
      const groups = writer.end(false);
      from = { at: rows, rows, ...(groups && { groups }) };
      groupRows = 0;
      writer = openWriter();
    },
    end: () => void writer.end(true),
  };
};

const createColumn = (name: string, type: ColumnType): ExportColumn => ({ type, unit: null, meaning: name });

function createJsonWriter(
  columns: Readonly<Record<string, ColumnType>>,
  append: (bytes: Uint8Array) => void,
): ResultWriter {
  const writer = createRowWriter({ ...JSON_ROWS, firstStart: '[' }, { append });
  const columnDescriptions = Object.entries(columns).map(([name, type]) => ({ name, type }));
  writer.raw(`{"columns":${JSON.stringify(columnDescriptions)},"data":[`);
  let rows = 0;
  return {
    rows(batch: readonly ResultColumn[], count) {
      writer.rows(batch, count);
      rows += count;
    },
    end(isTruncated) {
      writer.raw(`],"rows":${rows},"truncated":${isTruncated}}`);
      writer.end();
    },
  };
}
