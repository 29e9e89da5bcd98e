import { labelOf } from './labels.js';

/** Headings of the sections of a methodology, in their order. */
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

/** Part of a sentence; of a column or code it has both the words and the code. */
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
 * Returns a sentence of a methodology in words: `MARKET_CAP` reads `market cap`, and `XNYS` the name of the exchange.
 * @param fields columns and datapoints that may occur in it
 */
export function plainSentence(
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
    return [fields.has(text) ? { text: labelOf(text.toLowerCase()).toLowerCase(), code: text } : { text }];
  });
  return { parts, rule };
}
