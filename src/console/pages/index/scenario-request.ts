import type { ScenarioRequest } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';

/**
 * Creates the body of a scenario request. The service validates it.
 * @param on date of the holdings; null for the latest date
 */
export const createBody = (scenarios: readonly JsonObject[], on: string | null): ScenarioRequest =>
  ({ ...(on === null ? {} : { as_of: on }), scenarios }) as unknown as ScenarioRequest;
