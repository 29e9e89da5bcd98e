import { formatLabel } from './labels.js';

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
