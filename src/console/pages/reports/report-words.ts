import type { RenderResult } from '#clients/typescript/divisor.js';
import { formatLabel } from '../../words/labels.js';
import { isObject, type Json, type JsonObject } from '../../words/paths.js';

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
export function formatBlockTitle({ kind, title, subtitle, source, lines, text }: JsonObject): string {
  const ownWords = [title, kind === 'header' ? subtitle : null, kind === 'text' ? formatFirstLine(text) : null];
  const ownWord = ownWords.find(isFilled);
  if (ownWord !== undefined) return ownWord;
  const member = [source, Array.isArray(lines) ? lines[0] : null].find(isFilled);
  return member === undefined ? '' : formatLabel(member);
}

const isFilled = (word: Json | undefined): word is string => typeof word === 'string' && word !== '';

/** Returns the first line of a text without its markup. */
const formatFirstLine = (text: Json | undefined): string =>
  typeof text === 'string' ? (text.trim().split('\n')[0] ?? '').replaceAll(/\*\*|^#+ /g, '') : '';

/** Figures of a run of an index that a grid shows by default. Some runs have more figures, for example short positions. */
const USUAL_FIGURES = [
  'total_return',
  'annualised_return',
  'volatility',
  'sharpe_ratio',
  'max_drawdown',
  'tracking_error',
  'tracking_difference',
  'constituents',
  'effective_assets',
  'largest',
];

/** Lists the labels of the figures in a grid, for example `Volatility`. */
export function listFigures({ stats, values }: JsonObject): readonly string[] {
  const ownLabels = isObject(values) ? Object.keys(values) : [];
  const names = Array.isArray(stats) ? stats.map(String) : isObject(values) ? [] : USUAL_FIGURES;
  return [...names.map(formatLabel), ...ownLabels];
}

/** Number of figures in a row of a grid, if the block has none. */
const COLUMNS = 4;

/** Returns the number of figures in each row of a grid. */
export const countFigureColumns = (block: JsonObject): number =>
  Math.max(1, Math.min(Number(block['columns'] ?? COLUMNS), listFigures(block).length));

/** Summarises a block, for example `Contributors and detractors: contributions, half of the width, CORE-40`. */
export function formatBlockSummary(block: JsonObject, hasIndex: boolean): string {
  const { kind, title, subtitle, source, lines, width, text, index_id: index } = block;
  const members = [source, ...(Array.isArray(lines) ? lines : [])]
    .filter((word) => typeof word === 'string')
    .map((word) => String(word).replaceAll('_', ' '));
  const contents: Readonly<Record<string, readonly string[]>> = {
    header: isFilled(subtitle) ? [subtitle] : [],
    text: [formatFirstLine(text)],
    stat_grid: listFigures(block),
  };
  const shownText = (contents[String(kind)] ?? members).join(', ');
  const words = [shownText, width === 'half' ? 'half of the width' : '', hasIndex ? String(index ?? '') : '']
    .filter(Boolean)
    .join(', ');
  const head = typeof title === 'string' ? title : '';
  return head !== '' && words !== '' ? `${head}: ${words}` : head || words;
}

/** Maximum number of indices that a title lists. */
const LISTED_INDICES_MAX = 2;

/** Lists the indices of a report. Empty if the report shows none, and for some reports of earlier versions. */
export const listReportIndices = ({ index_ids: ids, index_id: id }: RenderResult): readonly string[] =>
  ids ?? (id === null ? [] : [id]);

/** Formats the indices of a report, for example `CORE` or `CORE and 2 more`. */
export function formatReportIndices(report: RenderResult): string {
  const ids = listReportIndices(report);
  if (ids.length <= LISTED_INDICES_MAX) return ids.join(' and ');
  return `${ids[0]!} and ${ids.length - 1} more`;
}

/**
 * Returns the lines that name a report in a list, for example `CORE, MONTHLY`, `Monthly report` and `Data to
 * 2026-11-24`. The title of a report without a known index is its template.
 */
export function createCoverLines(report: RenderResult): { readonly title: string; readonly lines: readonly string[] } {
  const { name, template_id: template, as_of: asOf } = report;
  const indices = formatReportIndices(report);
  return {
    title: indices === '' ? template : `${indices}, ${template}`,
    lines: [name, ...(asOf === undefined ? [] : [`Data to ${asOf}`])],
  };
}

/** Formats the title of a report, for example `Monthly report of CORE, 2026-11-24`. The date is the as-of date. */
export function formatReportTitle(report: RenderResult): string {
  const indices = formatReportIndices(report);
  const title = indices === '' ? report.name : `${report.name} of ${indices}`;
  return report.as_of === undefined ? title : `${title}, ${report.as_of}`;
}

/** Returns the name of the file of a report. Only the service knows the names of other reports. */
export const formatReportName = ({ file_name: name, template_id: template, render_id: id }: RenderResult): string =>
  name ?? `${template}-${id}.pdf`;
