import { PLAIN_OBJECTIVE } from './optimisation-spec.js';
import { STALE_SESSIONS } from './stale-sessions.js';
import { PRICE_WEIGHT } from './share-terms.js';

type RawBody = Readonly<Record<string, unknown>>;

/** Last version whose documents had no settings of index mathematics. */
export const OLDER_SETTINGS_UNTIL = '0.2.0';

/**
 * Applies the defaults of the version that stored a document. Up to 0.2.0, dividends and special dividends buy more of
 * the paying security, target weights hold exactly at the effective close, and a split keeps the weight of a
 * price-weighted constituent. In version 0.3.0, `max_stale_sessions` applies to entries too. Up to 0.7.0, a derivation
 * may state any objective by only its type. Documents of later versions are unchanged.
 */
export function applyOlderSettings(body: unknown): unknown {
  return isRecord(body) ? applyOlderMathematics(applyOlderObjective(body)) : body;
}

/** Returns a derivation of a version up to 0.7.0, which stated every objective by its type, with an object instead. */
function applyOlderObjective(body: RawBody): RawBody {
  const { derivation } = body;
  if (!isRecord(derivation)) return body;
  const { objective: type = PLAIN_OBJECTIVE } = derivation;
  if (typeof type !== 'string' || type === PLAIN_OBJECTIVE) return body;
  return { ...body, derivation: { ...derivation, objective: { type } } };
}

function applyOlderMathematics(body: RawBody): unknown {
  const { rebalance = {}, pipeline } = body;
  if (!isRecord(rebalance)) return body;
  if ('weights_as' in rebalance) return addOlderGaps(body);
  const settings = { ...body, rebalance: { ...rebalance, weights_as: 'weights' } };
  return addOlderGaps(isRecord(pipeline) ? { ...settings, pipeline: applyOlderPipeline(pipeline) } : settings);
}

/**
 * Returns a document stored by a version up to 0.3.0. Its `max_stale_sessions` also applies to securities that enter.
 */
function addOlderGaps(body: RawBody): unknown {
  const { pipeline } = body;
  if (!isRecord(pipeline)) return body;
  const { treatment = {} } = pipeline;
  if (!isRecord(treatment) || 'entry_stale_sessions' in treatment) return body;
  const { max_stale_sessions: sessions = STALE_SESSIONS } = treatment;
  const gaps = { max_stale_sessions: sessions, entry_stale_sessions: sessions };
  return { ...body, pipeline: { ...pipeline, treatment: { ...treatment, ...gaps } } };
}

function applyOlderPipeline({ treatment = {}, weighting, ...pipeline }: RawBody): RawBody {
  return {
    ...pipeline,
    ...(isRecord(treatment) ? { treatment: applyOlderTreatment(treatment) } : { treatment }),
    weighting: isRecord(weighting) && weighting['type'] === PRICE_WEIGHT ? applyOlderWeighting(weighting) : weighting,
  };
}

function applyOlderTreatment({ special_dividends: special = 'reinvest', ...treatment }: RawBody): RawBody {
  return {
    ...treatment,
    reinvestment: 'constituent',
    special_dividends: special === 'reinvest' ? 'constituent' : special,
    rights: 'constituent',
  };
}

function applyOlderWeighting(weighting: RawBody): RawBody {
  const { params } = weighting;
  return { ...weighting, params: { ...(isRecord(params) ? params : {}), splits: 'keep_weight' } };
}

function isRecord(value: unknown): value is RawBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
