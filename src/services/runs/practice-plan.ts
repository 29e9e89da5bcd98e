import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { formatDay } from '#domain/time/days.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { IndexDocument, isRuleDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { marketCapWeight } from '#domain/rules/weighting/market-cap-weight.js';
import type { DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';

/** Transaction costs of the practice run. With costs, the code for trades is compiled as well. */
const COST_BPS = 10;

/**
 * Returns the plan of a practice run. The run only warms up code and stores nothing. It uses a stored rule-based index,
 * or a plain index if none is stored.
 */
export async function createPracticePlan(
  documents: Pick<DocumentStore, 'get'>,
  storedIndex: IndexDocument | undefined,
  market: Pick<MarketData, 'dates'>,
): Promise<BacktestPlan> {
  const isRun = storedIndex !== undefined && isRuleDocument(storedIndex);
  const index = isRun ? storedIndex : createPlainIndex(market);
  return {
    runId: index.id,
    name: index.name,
    indexId: index.id,
    documents: isRun ? await resolveReached(documents, index) : { [index.id]: index },
    request: BacktestFields.parse({ transaction_cost_bps: COST_BPS }),
  };
}

/** Returns a typical index: all securities of a market, weighted by capitalisation, total return. */
function createPlainIndex({ dates }: Pick<MarketData, 'dates'>): IndexDocument {
  return IndexDocument.parse({
    id: 'PLAIN',
    name: 'Plain',
    calendar: 'XNYS',
    base_date: formatDay(dates[0]!),
    pipeline: { treatment: { dividends: 'total' }, weighting: { ...marketCapWeight.example, cap: 0.05 } },
  });
}
