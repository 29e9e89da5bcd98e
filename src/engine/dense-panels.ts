import { compareText } from '#domain/refusals/findings.js';
import { isAssetIdentifier } from '#domain/schema/shape.js';
import { formatDay } from '#domain/time/days.js';
import { refuseSize } from '#market/content/market-limits.js';
import { removeEmptyLines, createZeroPanel, type Panels } from '#market/panels/panels.js';
import { describeBadIdentifier, formatNonPositivePrice } from '#market/tables/key-problems.js';
import { nameFileColumns } from '#market/tables/named-columns.js';
import type { Problems } from '#market/tables/problems.js';
import { COUNT_COLUMNS, PRICE_COLUMNS } from '#market/tables/table-kinds.js';
import type * as Api from './api.js';
import { parseDays } from './dates-input.js';

/**
 * Converts dense arrays to panels with the axes of a market. If the arrays are invalid, reports findings and returns
 * undefined.
 */
export function createDensePanels(
  { dates, identifiers, fields }: Api.PriceArrays,
  problems: Problems,
): Panels | undefined {
  const days = parseDays(dates, problems);
  const fieldNames = Object.keys(fields);
  const names = nameFileColumns('market', 'prices', ['identifier', 'date', ...fieldNames], problems)?.slice(2);
  checkIdentifiers(identifiers, problems);
  const shape = { dates: dates.length, identifiers: identifiers.length, fields: fieldNames.length };
  for (const name of fieldNames) checkLength(name, fields[name]!, shape, problems);
  if (days === undefined || names === undefined || problems.errors > 0 || refuseSize(shape, problems)) return undefined;
  const order = identifiers.map((_, n) => n).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
  const sortedIdentifiers = order.map((n) => identifiers[n]!);
  const panels = names.map((name, f): [string, Float64Array] => {
    const cells = { name, written: fieldNames[f]!, days, identifiers, order };
    return [name, createPanel(fields[fieldNames[f]!]!, cells, problems)];
  });
  if (problems.errors > 0) return undefined;
  return removeEmptyLines({ identifiers: sortedIdentifiers, dates: days, fields: new Map(panels) });
}

function checkIdentifiers(identifiers: readonly string[], problems: Problems): void {
  const seenIdentifiers = new Set<string>();
  for (const [n, identifier] of identifiers.entries()) {
    const path = `prices.identifiers[${n}]`;
    if (typeof identifier !== 'string' || !isAssetIdentifier(identifier))
      problems.error(describeBadIdentifier(path, String(identifier)));
    else if (seenIdentifiers.has(identifier))
      problems.error({ code: 'DUPLICATE_KEY', path, message: `The identifier ${identifier} occurs twice.` });
    seenIdentifiers.add(identifier);
  }
}

function checkLength(
  name: string,
  values: Float64Array,
  { dates, identifiers }: { readonly dates: number; readonly identifiers: number },
  problems: Problems,
): void {
  const path = `prices.fields.${name}`;
  if (!(values instanceof Float64Array))
    problems.error({ code: 'WRONG_TYPE', path, message: `${name} is not a Float64Array.` });
  else if (values.length !== dates * identifiers)
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      message: `${name} has ${values.length} values; ${dates} dates of ${identifiers} identifiers have ${dates * identifiers}.`,
    });
}

interface Cells {
  readonly name: string;
  readonly written: string;
  readonly days: Int32Array;
  readonly identifiers: readonly string[];
  /** Position of each column in the input. */
  readonly order: readonly number[];
}

/** Returns one field in the order of the identifiers. Reports invalid values. */
function createPanel(values: Float64Array, cells: Cells, problems: Problems): Float64Array {
  const { name, order, days } = cells;
  const width = order.length;
  const panel = createZeroPanel(values.length);
  const isPrice = PRICE_COLUMNS.has(name);
  const isSigned = !isPrice && !COUNT_COLUMNS.has(name);
  for (let t = 0; t < days.length; t++)
    for (let n = 0; n < width; n++) {
      const value = values[t * width + order[n]!]!;
      panel[t * width + n] = value + 0; // + 0 turns a negative zero into 0
      const isAccepted = value > 0 || value !== value || isSigned || (value === 0 && !isPrice);
      if (!isAccepted || value === Infinity || value === -Infinity) refuseCell({ ...cells, t, n, value }, problems);
    }
  return panel;
}

function refuseCell(
  { name, written, days, identifiers, order, t, n, value }: Cells & Readonly<Record<'t' | 'n' | 'value', number>>,
  problems: Problems,
): void {
  const location = `${identifiers[order[n]!]!} on ${formatDay(days[t]!)}`;
  const path = `prices.fields.${written}[${t * order.length + order[n]!}]`;
  const column = `prices.fields.${written}`;
  if (!Number.isFinite(value))
    problems.error({
      code: 'NOT_A_NUMBER',
      path,
      column,
      message: `${name} of ${location} is not finite; NaN is no value.`,
    });
  else if (PRICE_COLUMNS.has(name))
    problems.error({
      code: 'NON_POSITIVE_PRICE',
      path,
      column,
      value,
      message: `${location}: ${formatNonPositivePrice(name, value)}`,
    });
  else
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      column,
      value,
      message: `${location}: ${name} is ${value}; at least 0 is needed.`,
    });
}
