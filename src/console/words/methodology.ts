import type { StaleState, WeightsView } from '#clients/typescript/divisor.js';
import { formatLabel } from './labels.js';
import { formatCount } from './numbers.js';
import { getValueAt, isObject, type Json } from './paths.js';

/** States on which definition and data the explained decisions of a stale run are based. */
export const formatDecisionBasis = ({ definition, data }: StaleState): string =>
  [
    definition && 'The definition has changed since the run. This page uses the definition of the run.',
    data && 'The data has changed since the run. This page uses the current data.',
  ]
    .filter(Boolean)
    .join(' ');

/** Titles of the sections of a methodology, in order. */
export const SECTION_TITLES = {
  index: 'The index',
  universe: 'Universe',
  selection: 'Selection of constituents',
  weighting: 'Weighting',
  optimisation: 'Optimisation',
  overlay: 'Overlay',
  rebalancing: 'Reviews and rebalancing',
  corporate_actions: 'Corporate actions and missing prices',
  rounding: 'Rounding',
  amendments: 'Amendments',
} as const;

/** Part of a sentence. If a column name or a code was replaced, `text` contains the words and `code` the original. */
export interface SentencePart {
  readonly text: string;
  readonly code?: string;
}

export interface PlainSentence {
  readonly parts: readonly SentencePart[];
  /** Id of the rule that the sentence describes. */
  readonly rule: string | null;
}

/**
 * Replaces column names and codes in a sentence by words: `MARKET_CAP` becomes `market cap`, and `XNYS` the name of the
 * exchange.
 * @param fields names of columns and datapoints that are replaced
 */
export function createPlainSentence(
  sentence: string,
  fields: ReadonlySet<string>,
  exchanges: ReadonlyMap<string, string>,
): PlainSentence {
  const [, rule = null, said = sentence] = /^Rule ([^:]+): (.*)$/s.exec(sentence) ?? [];
  const parts = said.split(/\b([A-Z][A-Z0-9_]*)\b/).flatMap((text, k): SentencePart[] => {
    if (text === '') return [];
    if (k % 2 === 0) return [{ text }];
    const exchange = exchanges.get(text);
    if (exchange !== undefined) return [{ text: exchange, code: text }];
    return [fields.has(text) ? { text: formatLabel(text.toLowerCase()).toLowerCase(), code: text } : { text }];
  });
  return { parts, rule };
}

/** Parts of the contract schemas that are needed here, by schema name. */
type SchemaDefaults = Readonly<
  Record<string, { readonly properties?: Readonly<Record<string, { readonly default?: unknown }>> }>
>;

/**
 * Describes the returns from which the risk of optimised weights is estimated, for example "last 504 returns".
 * @param model id of a stored model, settings of a model, or undefined
 * @returns null while the contract, which has the default, is not loaded
 */
export function formatRiskWindow(model: Json | undefined, schemas: SchemaDefaults | undefined): string | null {
  if (typeof model === 'string') return `stored model ${model}`;
  const sessions = (isObject(model) ? model['sessions'] : undefined) ?? findDefaultSessions(schemas);
  return typeof sessions === 'number' ? `last ${formatCount(sessions)} returns` : null;
}

type Estimate = Pick<NonNullable<WeightsView['risk']>, 'observations' | 'risk_model' | 'window_start' | 'window_end'>;

/** Describes the returns from which a forecast is estimated, for example `504 daily returns, 2020-01-02 to 2021-12-31`. */
export function formatEstimation({ observations, risk_model: model, window_start: start, window_end: end }: Estimate) {
  const dates = start === end ? `of ${end}` : `${start} to ${end}`;
  return model === null ? `${formatCount(observations ?? 0)} daily returns, ${dates}` : `model ${model}, ${dates}`;
}

/** Returns the default number of returns of the risk model of a derived index. */
const findDefaultSessions = (schemas: SchemaDefaults | undefined): Json | undefined =>
  getValueAt(schemas?.['DerivationPayload']?.properties?.['risk_model']?.default as Json | undefined, ['sessions']);
