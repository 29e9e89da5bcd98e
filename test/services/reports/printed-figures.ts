import type { PortfolioBookPayload } from '#clients/typescript/divisor.js';
import type { Pdf, PlacedText } from '../../views/report/read-pdf.js';

/** Returns the lines between a title and the next title. Leaves out text to the left of the title. */
export function readLinesRightOf({ pages }: Pdf, title: string): string[] {
  const texts = pages.find((page) => page.texts.some(({ text }) => text === title))!.texts;
  const head = texts.find(({ text }) => text === title)!;
  const belowTexts = texts.filter(({ x, y }) => x >= head.x - 1 && y < head.y - 1);
  const end = Math.max(0, ...belowTexts.filter(({ size }) => size === head.size).map(({ y }) => y));
  const lines = new Map<number, PlacedText[]>();
  for (const text of belowTexts.filter(({ y }) => y > end)) {
    const line = [...lines.keys()].find((y) => Math.abs(y - text.y) < 2) ?? text.y;
    lines.set(line, [...(lines.get(line) ?? []), text]);
  }
  return [...lines]
    .toSorted(([a], [b]) => b - a)
    .map(([, parts]) => parts.toSorted((a, b) => a.x - b.x || a.y - b.y).map(({ text }) => text))
    .map(([label = '', ...rest]) => [label, ...rest].join(' '));
}

/**
 * Returns half of the traded amount of a date divided by the portfolio value. This is the turnover of the weights
 * without costs.
 */
export function computeTurnoverOn({ transactions, nav }: PortfolioBookPayload, date: string): number {
  const [day, notional] = [transactions.columns.indexOf('date'), transactions.columns.indexOf('notional')];
  const tradedRows = transactions.data
    .filter((row) => row[day] === date)
    .reduce((sum, row) => sum + Math.abs(row[notional] as number), 0);
  return tradedRows / 2 / nav.data[nav.index.indexOf(date)]!;
}
