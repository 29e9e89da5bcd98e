import type { RunLabels } from '#domain/backtest/run-file/labels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';

/** Labels of a run's names as stored with it; empty lists for a run of a version that stored none. */
export function storedLabels(columns: RunColumns): RunLabels {
  if (!columns.has('labels')) return { names: [], sectors: [] };
  return JSON.parse(new TextDecoder().decode(columns.u8('labels'))) as RunLabels; // Written by this engine.
}
