import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { digestContent } from '#market/content/content.js';
import type { MarketContent } from '#market/content/market-content.js';
import { warnOfMarket } from '#market/content/market-warnings.js';
import { readFrames, type Frame } from '#market/import/frames.js';
import { completeMappedContent } from '#market/mapping/mapped-content.js';
import { createContentRows } from '#market/sources/content-rows.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import type * as Api from './api.js';
import { createDensePanels } from './dense-panels.js';

/** Name of the market in results; an engine has only one market. */
const DATASET_ID = 'market';

/** Market with the warnings about it. */
export interface ReadMarket {
  readonly market: MarketData;
  readonly findings: readonly Finding[];
}

/** Tables other than the prices, by their names in the service. */
const TABLES = ['reference', 'corporate_actions', 'universes', 'series'] as const;

/** Reads a market by the rules of a service import. @throws Refusal VALIDATION_FAILED */
export async function readMarket(input: Api.MarketInput): Promise<ReadMarket> {
  const problems = createProblems();
  const content = await readContent(input, problems);
  if (content === undefined || problems.errors > 0) throw refuseWithFindings('market', problems.findings());
  const { adjustment = 'none', currency = null } = input;
  warnOfMarket(content, adjustment, problems);
  const { hash: contentHash } = await digestContent(content);
  return {
    market: { ...content, datasetId: DATASET_ID, contentHash, adjustment, currency },
    findings: problems.findings(),
  };
}

async function readContent(input: Api.MarketInput, problems: Problems): Promise<MarketContent | undefined> {
  const { prices, adjustment = 'none' } = input;
  const terms = { mapping: null, adjustment };
  const rows = createContentRows(problems, terms);
  const frames = createFrames(input);
  const beginTable: Parameters<typeof readFrames>[3] = (table, name, columns) =>
    rows.beginCells(table, table, columns, { name });
  if (prices instanceof Uint8Array) {
    const { readArrowPrices } = await import('./arrow-prices.js');
    const hasRows = readArrowPrices(prices, rows, problems);
    readTables(frames, problems, beginTable);
    return hasRows ? rows.toContent()?.content : undefined;
  }
  if ('data' in prices) {
    readFrames({ market: prices, ...frames }, null, problems, beginTable);
    return rows.toContent()?.content;
  }
  readTables(frames, problems, beginTable);
  const panels = createDensePanels(prices, problems);
  const contentTables = rows.toTables();
  return panels && completeMappedContent(panels, contentTables, terms, problems)?.content;
}

function createFrames(input: Api.MarketInput): Record<string, Frame> {
  return Object.fromEntries(TABLES.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])));
}

/** Reads all tables except the market table. */
function readTables(
  frames: Readonly<Record<string, Frame>>,
  problems: Problems,
  beginTable: Parameters<typeof readFrames>[3],
): void {
  const emptyFrame: Frame = { columns: ['identifier', 'date', 'CLOSE'], data: [] };
  readFrames({ market: emptyFrame, ...frames }, null, problems, (table, name, columns) =>
    table === 'market' ? undefined : beginTable(table, name, columns),
  );
}
