import { createPlainSentence } from '../words/methodology.js';
import { useExchanges } from './exchanges.js';
import { useFields } from './fields.js';

/** Returns a function that replaces column names and calendar codes in a sentence with words. */
export function usePlainSentences(): (sentence: string) => string {
  const exchanges = useExchanges();
  const fields = new Set(useFields(null).data?.fields.map(({ name }) => name));
  return (sentence) =>
    createPlainSentence(sentence, fields, exchanges)
      .parts.map(({ text }) => text)
      .join('');
}
