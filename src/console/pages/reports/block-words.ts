import { formatLabel } from '../../words/labels.js';
import type { JsonObject } from '../../words/paths.js';

/** Labels of the kinds of blocks. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  header: 'Header',
  text: 'Text',
  stat_grid: 'Figures',
  chart: 'Line chart',
  bar_chart: 'Bar chart',
  table: 'Table',
};

export const formatBlockKind = (kind: string): string => KIND_WORDS[kind] ?? formatLabel(kind);

/** Returns the title of a block, for example `Largest constituents`. If it has none, describes its content. */
export function formatBlockTitle({ kind, title, subtitle, source, lines }: JsonObject): string {
  const words = [title, kind === 'header' ? subtitle : null, source, Array.isArray(lines) ? lines[0] : null];
  const firstWord = words.find((word) => typeof word === 'string' && word !== '');
  return firstWord === undefined
    ? ''
    : firstWord === title || firstWord === subtitle
      ? firstWord
      : formatLabel(firstWord);
}

/** Summarises a block, for example `Contributors and detractors: contributions, half of the width, CORE-40`. */
export function formatBlockSummary(block: JsonObject, hasIndex: boolean): string {
  const { title, source, lines, width, index_id: index } = block;
  const shownText = [source, ...(Array.isArray(lines) ? lines : [])]
    .filter((word) => typeof word === 'string')
    .map((word) => String(word).replaceAll('_', ' '))
    .join(', ');
  const words = [shownText, width === 'half' ? 'half of the width' : '', hasIndex ? String(index ?? '') : '']
    .filter(Boolean)
    .join(', ');
  const head = typeof title === 'string' ? title : '';
  return head !== '' && words !== '' ? `${head}: ${words}` : head || words;
}
