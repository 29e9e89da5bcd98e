import type { RunLabels } from '#domain/backtest/run-file/labels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';

/** Returns the labels of a run's securities as stored; empty lists for a version that stored none. */
export function readStoredLabels(columns: RunColumns): RunLabels {
  if (!columns.has('labels')) return { names: [], sectors: [] };
  return JSON.parse(new TextDecoder().decode(columns.u8('labels'))) as RunLabels; // Written by this engine.
}
