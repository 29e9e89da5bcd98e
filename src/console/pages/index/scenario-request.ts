import type { ScenarioRequest } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';

/** The service says what is wrong with them. @param on date of the holdings; null for the newest */
export const bodyOf = (asked: readonly JsonObject[], on: string | null): ScenarioRequest =>
  ({ ...(on === null ? {} : { as_of: on }), scenarios: asked }) as unknown as ScenarioRequest;
