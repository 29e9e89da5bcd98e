import type { actionDeskRoutes } from '#contract/action-desk.js';
import type { ActionDesk } from '#services/data/action-desk.js';
import type { Handlers } from '../handler.js';

export const createActionDeskHandlers = (desk: ActionDesk): Handlers<typeof actionDeskRoutes> => ({
  listActions: async ({ query, signal }) => ({ json: await desk.list(query, signal) }),
  getAction: async ({ params, signal }) => ({ json: await desk.get(params.action_id, signal) }),
  decideAction: async ({ params, body, authorship, signal }) => ({
    json: await desk.decide(params.action_id, body(), authorship(), signal),
  }),
});
