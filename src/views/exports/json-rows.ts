import type { PartInput, PartWriter } from './part.js';
import { createRowWriter, JSON_ROWS } from './row-text.js';

/** Creates a writer of an ExportView as JSON, without the state of the run. */
export function createJsonRowsWriter({ runId, table, columns, from, sink }: PartInput): PartWriter {
  const writer = createRowWriter({ ...JSON_ROWS, firstStart: from.rows === 0 ? '[' : JSON_ROWS.rowStart }, sink);
  const namesJson = JSON.stringify(Object.keys(columns));
  if (from.at === 0)
    writer.raw(`{"index_id":${JSON.stringify(runId)},"table":"${table}","columns":${namesJson},"data":[`);
  return {
    rows: writer.rows,
    length: writer.length,
    end(isLast) {
      if (isLast) writer.raw(']}');
      writer.end();
    },
  };
}
