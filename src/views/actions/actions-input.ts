import type { ActionsView } from '#contract/analytics/actions.js';
import type { OutsideMergers } from '#domain/books/merger-key.js';
import type { ExchangeRates } from '#domain/market/exchange-rates.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { Day } from '#domain/time/days.js';

export interface ActionsInput {
  readonly sm: SessionMarket;
  /** Exchange rates into the currency of the index. */
  readonly rates: ExchangeRates;
  /**
   * Mergers after which the security leaves the index. Undefined if the index converts such a security into the
   * acquirer.
   */
  readonly outside?:
    | { readonly mergers: OutsideMergers; readonly isComing: (action: CorporateAction) => boolean }
    | undefined;
  /** First and last requested day; null if open. */
  readonly from: Day | null;
  readonly to: Day | null;
}

export type ActionRow = ActionsView['actions'][number];
