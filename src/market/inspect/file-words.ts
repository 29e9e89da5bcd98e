import type { ProposalDraft } from './draft.js';
import { FIELD_ROLES, findRole } from './roles.js';
import type { Sample } from './sample.js';

/** Returns the field named in a file name: `close_split_adjusted.csv` contains closes. */
export function findFileRole(name: string): string | undefined {
  const nameWords = name.replace(/\.[a-z]+(\.gz)?$/i, '').split(/[^A-Za-z]+/);
  return nameWords
    .map((word) => findRole(word) ?? findRole(word.replace(/s$/i, '')))
    .find((role) => role !== undefined && role !== 'adjusted' && FIELD_ROLES.includes(role as never));
}

/** Sets the price basis if file names state it: `adj_close_2005.csv`, `close_split_adjusted.csv`. */
export function setBasisFromFiles(draft: ProposalDraft, samples: readonly Sample[]): void {
  const isCloseFile = ({ name }: Sample, words: RegExp) => findFileRole(name) === 'CLOSE' && words.test(name);
  const [splits, adjusted] = [/splits?[^a-z]*adj/i, /adj(usted)?[^a-z]*(close|price)|(close|price)s?[^a-z]*adj/i];
  const source = samples.find((sample) => isCloseFile(sample, splits) || isCloseFile(sample, adjusted));
  if (source === undefined) return;
  draft.adjustment = isCloseFile(source, splits) ? 'splits' : 'total';
  draft.reason = `The file name states the adjustment: ${source.name}.`;
}
