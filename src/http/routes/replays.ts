import type { replayRoutes } from '#contract/replays.js';
import type { Replays } from '#services/runs/replays.js';
import type { Handlers } from '../handler.js';

export function replayHandlers(replays: Replays): Handlers<typeof replayRoutes> {
  return {
    async replayRun({ params, body, origin }) {
      await replays.assertRun(params.index_id);
      body(); // Has no members; one that has is refused.
      const status = await replays.replay(params.index_id, origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
