import { createActionRows } from './action-rows.js';
import type { Dataset } from './datasets.js';
import { readFrames, type Frame, type RowSink } from './frames.js';
import { createMarketRows } from './market-rows.js';
import type { Problems } from './problems.js';
import type { SourceRead } from './read-source.js';
import { createReferenceRows } from './reference-rows.js';
import { createUniverseRows } from './universe-rows.js';

/** Reads inline tables into one content, telling everything that is wrong with them; undefined when anything is. */
export function readTables(tables: Readonly<Record<string, Frame>>, problems: Problems): Omit<SourceRead, 'files'> | undefined {
  const market = createMarketRows(problems);
  const reference = createReferenceRows(problems);
  const actions = createActionRows(problems);
  const universes = createUniverseRows(problems);

  function beginFile(dataset: Dataset, columns: readonly string[]): RowSink {
    switch (dataset) {
      case 'market': {
        const file = market.beginFile(dataset, columns);
        return file && ((cells) => market.addCells(file, cells));
      }
      case 'reference': return reference.beginFile(dataset, columns);
      case 'corporate_actions': return actions.beginFile(dataset, columns);
      case 'universes': return universes.beginFile(dataset, columns);
    }
  }

  readFrames(tables, problems, beginFile);
  const memberships = universes.toTable();
  const panels = problems.errors > 0 ? undefined : market.toPanels();
  if (panels === undefined) return undefined;
  return {
    content: { ...panels, reference: reference.toTable(), actions: actions.toTable(), universes: memberships },
    rows: { market: market.rows, reference: reference.rows, corporate_actions: actions.rows, universes: universes.rows },
  };
}
