import type { riskModelRoutes } from '#contract/risk-models.js';
import type { RiskModels } from '#services/risk/risk-models.js';
import { ARROW_TYPE } from '#views/arrow-type.js';
import type { Handlers } from '../handler.js';

export function riskModelHandlers(riskModels: RiskModels): Handlers<typeof riskModelRoutes> {
  return {
    listRiskModels: async ({ query }) => ({ json: await riskModels.list(query) }),
    async getRiskModel({ params, media, signal }) {
      const model = await riskModels.get(params.model_id);
      if (media !== ARROW_TYPE) return { stream: model.json(signal), etag: model.etag };
      const { bytes } = await model.arrow(signal);
      return { bytes, type: ARROW_TYPE, etag: `${model.etag}-arrow` };
    },
    async estimateRiskModel({ params, body, origin }) {
      const status = await riskModels.estimate(params.model_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async validateRiskModel({ params, body, origin }) {
      const status = await riskModels.validate(params.model_id, body(), origin);
      return { json: status, headers: { Location: `/jobs/${status.job_id}` } };
    },
    async deleteRiskModel({ params, precondition, authorship }) {
      await riskModels.remove(params.model_id, precondition(), authorship());
      return {};
    },
  };
}
