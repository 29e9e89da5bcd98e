import { findUnit, isCurrency } from '#domain/market/currency-codes.js';
import { readText, type Cell } from '../formats/cells.js';
import { ask, type ProposalDraft } from './draft.js';

/** Describes a minor unit, which may be mistaken for its currency. */
function describeUnit(code: string): string {
  const { major, scale } = findUnit(code);
  return scale === 1
    ? ''
    : `. It is not a code of three capital letters for a currency, but a minor unit: ${scale} ${major}`;
}

/**
 * Reports that currencies next to prices are ignored. Names the setting that declares the currency. @param where column
 * or row
 */
export function askCurrency(draft: ProposalDraft, where: string, cells: readonly (Cell | undefined)[]): void {
  const codes = [...new Set(cells.map((cell) => readText(cell) ?? '').filter((text) => text !== ''))];
  const [code = ''] = codes;
  const listedCodes = codes.slice(0, 3).join(', ').slice(0, 40);
  const declaredCurrency =
    codes.length > 1
      ? 'Declare the CURRENCY of each security in the table reference'
      : isCurrency(code)
        ? `Declare it as the currency of the store (--currency ${code}) or as CURRENCY in the table reference${describeUnit(code)}`
        : 'It is not a code of ISO 4217. Declare the code of the currency, or of a minor unit such as GBX for pence';
  ask(draft, {
    field: 'ignore',
    question: `The ${where} (${listedCodes}) is not read. Prices are taken to be in the currency of the store. ${declaredCurrency}.`,
    taken: where.slice(where.indexOf(' ') + 1),
    required: false,
  });
}
