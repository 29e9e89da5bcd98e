import { decodeUtf8 } from '#base/text/utf8.js';
import type { RunLabels } from '#domain/backtest/run-file/labels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';

/** Returns the stored labels of a run's securities; empty lists if the version of the run did not store labels. */
export function readStoredLabels(columns: RunColumns): RunLabels {
  if (!columns.has('labels')) return { names: [], sectors: [] };
  return JSON.parse(decodeUtf8(columns.u8('labels'))) as RunLabels; // this engine wrote the JSON
}
