import type { RunLabels } from '#domain/backtest/run-file/labels.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';

/** What a run has stored of its names' reference data; nothing of a run from before there was any. */
export function storedLabels(columns: RunColumns): RunLabels {
  if (!columns.has('labels')) return { names: [], sectors: [] };
  return JSON.parse(new TextDecoder().decode(columns.u8('labels'))) as RunLabels; // Written by this engine.
}
