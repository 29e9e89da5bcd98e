import type { Mapping } from '#domain/documents/mapping.js';
import { isAssetIdentifier } from '#domain/schema/shape.js';
import { quoteText } from '../tables/key-problems.js';
import type { Problems } from '../tables/problems.js';
import { restoreName } from '../tables/slashless-names.js';
import type { Heading } from '../formats/cells.js';
import { findTableIdentifier, isWholeName } from './market-tables.js';

/**
 * Function that returns the identifier of a table from its name or heading. If neither states it, it returns undefined
 * and adds a finding.
 */
export type TableNames = (label: string, table: string, heading: Heading) => string | undefined;

/**
 * Creates a function that names tables and rejects two tables of one identifier. If the mapping states the treatment of
 * duplicates, the function only reports them.
 */
export function createTableNames(mapping: Mapping, problems: Problems): TableNames {
  const tables = new Map<string, string>();
  return (label, table, heading) => {
    if (!isWholeName(mapping)) return undefined;
    const from = mapping.identifier_from!; // tested above
    const identifier = restoreName(findTableIdentifier(from, table, heading) ?? '', problems);
    if (!isAssetIdentifier(identifier)) {
      const message = from.startsWith('file:')
        ? `${quoteText(table)} says no identifier: ${from} was expected.`
        : `The rows above the header of ${quoteText(table)} say no identifier: ${from} was expected, of skip_rows ${mapping.skip_rows}.`;
      problems.error({ code: 'BAD_IDENTIFIER', path: label, message, value: table });
      return undefined;
    }
    problems.nameFile(`market[${identifier}`, table);
    const first = tables.get(identifier);
    if (first === undefined) tables.set(identifier, table);
    else reportShared(identifier, [first, table], label);
    return identifier;
  };

  function reportShared(identifier: string, [first, second]: readonly [string, string], path: string): void {
    const bothNames = `${quoteText(first)} and ${quoteText(second)} are both of ${quoteText(identifier)}`;
    if (mapping.on_duplicate === 'refuse')
      problems.error({
        code: 'DUPLICATE_ID',
        path,
        message: `${bothNames}; one table a name is accepted, or on_duplicate says which row counts.`,
        value: identifier,
      });
    else
      problems.warning({
        code: 'DUPLICATE_ID',
        path,
        message: `${bothNames}: their rows are joined.`,
        value: identifier,
      });
  }
}
