import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { formatDay } from '#domain/time/days.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { IndexDocument, isRuleDocument } from '#domain/documents/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { marketCapWeight } from '#domain/rules/weighting/market-cap-weight.js';
import type { DocumentStore } from '#store/port.js';
import { reachedBy } from '../indices/index-questions.js';

/** Costs of the run, so that the code of trades is compiled too. */
const COST_BPS = 10;

/**
 * The plan of a whole run, for its code alone: nothing of it is stored. Of a stored index of rules, of a plain one where
 * there is none or it is solved for.
 */
export async function practicePlan(
  documents: Pick<DocumentStore, 'get'>,
  stored: IndexDocument | undefined,
  market: Pick<MarketData, 'dates'>,
): Promise<BacktestPlan> {
  const isRun = stored !== undefined && isRuleDocument(stored);
  const index = isRun ? stored : plainIndex(market);
  return {
    runId: index.id,
    name: index.name,
    indexId: index.id,
    documents: isRun ? await reachedBy(documents, index) : { [index.id]: index },
    request: BacktestFields.parse({ transaction_cost_bps: COST_BPS }),
  };
}

/** What most indices have in common: the names of a market by value, total return. */
function plainIndex({ dates }: Pick<MarketData, 'dates'>): IndexDocument {
  return IndexDocument.parse({
    id: 'PLAIN',
    name: 'Plain',
    calendar: 'XNYS',
    base_date: formatDay(dates[0]!),
    pipeline: { treatment: { dividends: 'total' }, weighting: { ...marketCapWeight.example, cap: 0.05 } },
  });
}
