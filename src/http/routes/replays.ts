import type { replayRoutes } from '#contract/replays.js';
import type { Replays } from '#services/runs/replays.js';
import { readRunParameters } from '../run-parameters.js';
import type { Handlers } from '../handler.js';

export function createReplayHandlers(replays: Replays): Handlers<typeof replayRoutes> {
  return {
    async replayRun({ params, query, body, origin }) {
      const run = readRunParameters({ params, query });
      await replays.assertRun(run);
      body(); // validates that the body has no members
      const status = await replays.replay(run, origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
  };
}
