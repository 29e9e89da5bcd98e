import type { accountBacktestRoutes } from '#contract/account-backtests.js';
import type { AccountBacktests } from '#services/personal/account-backtests.js';
import type { Handlers } from '../handler.js';

export function createAccountBacktestHandlers(backtests: AccountBacktests): Handlers<typeof accountBacktestRoutes> {
  return {
    async backtestAccount({ params, body, origin }) {
      const status = await backtests.start(params.index_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
