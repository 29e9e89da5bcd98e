import { parseValidDay } from '#domain/time/days.js';
import { allocateRetainedFloats } from '#base/memory/retained-memory.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import { compareActions } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import { removeEmptyLines } from '../panels/panels.js';
import type { ActionRow, Repair } from './data-warning.js';

/** Returns the content with repairs applied in the given order. The content itself is not changed. */
export function applyRepairs(content: MarketContent, repairs: readonly Repair[]): MarketContent {
  const repairedColumns = new Set(repairs.flatMap(listColumns));
  const fields = new Map(
    [...content.fields].map(([name, panel]) => [name, repairedColumns.has(name) ? copyValues(panel) : panel]),
  );
  for (const repair of repairs) {
    switch (repair.kind) {
      case 'scale':
        forEachCell(
          content,
          repair,
          repair.columns,
          (panel, cell) => (panel[cell] = roundTo(panel[cell]! * repair.factor)),
          fields,
        );
        forEachCell(
          content,
          repair,
          repair.inverse_columns ?? [],
          (panel, cell) => (panel[cell] = roundTo(panel[cell]! / repair.factor)),
          fields,
        );
        break;
      case 'remove_values':
        forEachCell(content, repair, repair.columns, (panel, cell) => (panel[cell] = Number.NaN), fields);
        break;
    }
  }
  return {
    ...content,
    ...removeEmptyLines({ identifiers: content.identifiers, dates: content.dates, fields }),
    actions: repairActions(content.actions, repairs).toSorted(compareActions),
  };
}

/** Returns actions with the repairs of actions applied in the given order. */
export function repairActions(stored: readonly CorporateAction[], repairs: readonly Repair[]): CorporateAction[] {
  let actions = [...stored];
  for (const repair of repairs) {
    switch (repair.kind) {
      case 'insert_action':
        actions.push(createAction(repair.action));
        break;
      case 'remove_action':
        actions = actions.filter((action) => !isSameAction(action, repair.action));
        break;
      case 'replace_action':
        actions = actions.map((action) =>
          isSameAction(action, repair.action)
            ? { ...action, value: repair.value, exDay: parseValidDay(repair.ex_date ?? repair.action.ex_date) }
            : action,
        );
        break;
    }
  }
  return actions;
}

/**
 * Returns true if a repair changes the results computed from a content. A repair that adds a split changes nothing if
 * prices are already adjusted for splits.
 */
export function changesContent(content: MarketContent, adjustment: Adjustment, repair: Repair): boolean {
  const hasAction = (row: ActionRow) => content.actions.some((action) => isSameAction(action, row));
  switch (repair.kind) {
    case 'scale':
      return repair.factor !== 1 && holdsValues(content, repair);
    case 'remove_values':
      return holdsValues(content, repair);
    case 'insert_action':
      return !hasAction(repair.action) && (adjustment === 'none' || ACTION_KINDS[repair.action.type] !== 'ratio');
    case 'remove_action':
      return hasAction(repair.action);
    case 'replace_action':
      return (
        hasAction(repair.action) &&
        (repair.value !== repair.action.value || (repair.ex_date ?? repair.action.ex_date) !== repair.action.ex_date)
      );
  }
}

type CellRepair = Extract<Repair, { columns: unknown }>;

const listColumns = (repair: Repair) =>
  'columns' in repair
    ? [...repair.columns, ...('inverse_columns' in repair ? (repair.inverse_columns ?? []) : [])]
    : [];

function holdsValues(content: MarketContent, repair: CellRepair): boolean {
  let values = 0;
  forEachCell(content, repair, listColumns(repair), () => (values += 1), content.fields);
  return values > 0;
}

function copyValues(panel: Float64Array): Float64Array {
  const copy = allocateRetainedFloats(panel.length);
  copy.set(panel);
  return copy;
}

/** Calls `visit` for each value of the columns in the days of a repair. */
function forEachCell(
  { identifiers, dates }: MarketContent,
  { identifier, from, to }: CellRepair,
  columns: readonly string[],
  visit: (panel: Float64Array, cell: number) => void,
  fields: ReadonlyMap<string, Float64Array>,
): void {
  const position = identifiers.indexOf(identifier);
  const last = findLastAtMost(dates, parseValidDay(to));
  for (const name of columns) {
    const panel = fields.get(name);
    if (panel === undefined || position < 0) continue;
    for (let t = findFirstAtLeast(dates, parseValidDay(from)); t <= last; t++) {
      const cell = t * identifiers.length + position;
      if (!Number.isNaN(panel[cell])) visit(panel, cell);
    }
  }
}

/** Rounds to twelve digits, which removes the noise of a factor of ten and keeps every digit of a price. */
const roundTo = (value: number) => Number(value.toPrecision(12));

function isSameAction({ identifier, type, value, exDay }: CorporateAction, row: ActionRow): boolean {
  return (
    identifier === row.identifier && type === row.type && value === row.value && exDay === parseValidDay(row.ex_date)
  );
}

function createAction({ identifier, type, value, ex_date }: ActionRow): CorporateAction {
  return {
    identifier,
    type,
    value,
    exDay: parseValidDay(ex_date),
    payDay: null,
    status: null,
    announcedDay: null,
    related: null,
    subscriptionPrice: null,
  };
}
