import { isAssetIdentifier } from '#domain/schema/shape.js';
import { describeBadIdentifier } from '../tables/key-problems.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { replaceSlashes, restoreName } from '../tables/slashless-names.js';
import { IDENTIFIERS_MAX } from './market-limits.js';

/** Codes of identifiers, numbered in the order of their first occurrence. */
export interface IdentifierCodes {
  /**
   * Returns the code of an identifier. If the text is not a valid identifier, returns undefined and adds a finding.
   * @param row of the file
   */
  codeOf(text: string | null, file: IdentifierFile, row: number): number | undefined;
  /** Returns the identifiers by code. */
  names(): string[];
}

interface IdentifierFile {
  readonly label: string;
  readonly written: readonly string[];
  readonly identifierColumn: number;
}

export function createIdentifierCodes(problems: Problems): IdentifierCodes {
  const codes = new Map<string, number>();

  function findCode(
    text: string | null,
    { label, written, identifierColumn }: IdentifierFile,
    row: number,
  ): number | undefined {
    const existingCode = text === null ? undefined : codes.get(text);
    if (existingCode !== undefined) return existingCode;
    const path = formatCellPath(label, row, written[identifierColumn]!);
    const name = text === null ? null : replaceSlashes(text);
    if (text === null || name === null || !isAssetIdentifier(name)) {
      problems.error(describeBadIdentifier(path, text));
      return undefined;
    }
    if (name !== text) {
      restoreName(text, problems);
      return findCode(name, { label, written, identifierColumn }, row);
    }
    if (codes.size === IDENTIFIERS_MAX) {
      problems.error({
        code: 'OUT_OF_RANGE',
        path,
        message: `The market has more than ${IDENTIFIERS_MAX} identifiers, the maximum of a store.`,
      });
      return undefined;
    }
    codes.set(text, codes.size);
    return codes.size - 1;
  }

  return { codeOf: findCode, names: () => [...codes.keys()] };
}
