import { dayFrom } from '#domain/days.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { firstAtLeast, lastAtMost } from '#domain/search.js';
import { compareActions } from '../action-rows.js';
import type { MarketContent } from '../content.js';
import { withoutEmptyLines } from '../panels.js';
import type { ActionRow, Repair } from './doubt.js';

/** The content with repairs applied in the order given; the content itself is left as it is. */
export function applyRepairs(content: MarketContent, repairs: readonly Repair[]): MarketContent {
  const touched = new Set(repairs.flatMap((repair) => ('columns' in repair ? repair.columns : [])));
  const fields = new Map([...content.fields].map(([name, panel]) => [name, touched.has(name) ? copied(panel) : panel]));
  let actions = [...content.actions];
  for (const repair of repairs) {
    switch (repair.kind) {
      case 'scale':
        overCells(content, repair, fields, (value) => roundTo(value * repair.factor));
        break;
      case 'remove_values':
        overCells(content, repair, fields, () => Number.NaN);
        break;
      case 'insert_action':
        actions.push(actionOf(repair.action));
        break;
      case 'remove_action':
        actions = actions.filter((action) => !isSame(action, repair.action));
        break;
      case 'replace_action':
        actions = actions.map((action) => (isSame(action, repair.action) ? { ...action, value: repair.value } : action));
        break;
    }
  }
  return { ...content, ...withoutEmptyLines({ identifiers: content.identifiers, dates: content.dates, fields }), actions: actions.sort(compareActions) };
}

function copied(panel: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(panel.byteLength));
  copy.set(panel);
  return copy;
}

function overCells({ identifiers, dates }: MarketContent, { identifier, from, to, columns }: Extract<Repair, { columns: unknown }>, fields: ReadonlyMap<string, Float64Array>, change: (value: number) => number): void {
  const position = identifiers.indexOf(identifier);
  const last = lastAtMost(dates, dayFrom(to));
  for (const name of columns) {
    const panel = fields.get(name);
    if (panel === undefined || position < 0) continue;
    for (let t = firstAtLeast(dates, dayFrom(from)); t <= last; t++) {
      const cell = t * identifiers.length + position;
      if (!Number.isNaN(panel[cell])) panel[cell] = change(panel[cell]!);
    }
  }
}

/** Twelve digits: what a factor of ten adds in noise is taken away, and nothing a price says. */
const roundTo = (value: number) => Number(value.toPrecision(12));

function isSame({ identifier, type, value, exDay }: CorporateAction, row: ActionRow): boolean {
  return identifier === row.identifier && type === row.type && value === row.value && exDay === dayFrom(row.ex_date);
}

function actionOf({ identifier, type, value, ex_date }: ActionRow): CorporateAction {
  return { identifier, type, value, exDay: dayFrom(ex_date), payDay: null, status: null, announcedDay: null, related: null, subscriptionPrice: null };
}
