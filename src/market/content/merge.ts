import { compareText } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { formatDay } from '#domain/base/time.js';
import type {
  CorporateAction,
  Membership,
  PriceSeries,
  ReferenceRow,
  ReferenceTable,
  ReferenceValue,
  SeriesTable,
} from '#domain/market/market-data.js';
import { allocateEmptyPanel, type Panels } from '../panels/panels.js';
import type { Problems } from '../tables/problems.js';
import { compareActions } from './action-rows.js';
import { getSeries, joinContent, type MarketContent, refuseSize } from './market-content.js';
import { compareMemberships } from './table-rows.js';

/**
 * Merges two contents. Values that are in both must be equal. If they differ, the difference is reported and nothing is
 * merged. The addition may end an open membership.
 * @returns undefined, with a finding, if the contents contradict each other.
 */
export function mergeContents(
  marketContent: MarketContent,
  added: MarketContent,
  problems: Problems,
): MarketContent | undefined {
  const panels = mergePanels(marketContent, added, problems);
  const mergedContent = {
    reference: mergeReference(marketContent.reference, added.reference, problems),
    actions: mergeActions(marketContent.actions, added.actions, problems),
    universes: mergeUniverses(marketContent.universes, added.universes, problems),
    ...getSeries(mergeSeries(marketContent.series, added.series, problems)),
  };
  return panels === undefined || problems.errors > 0 ? undefined : joinContent(panels, mergedContent, problems);
}

function mergeSeries(
  seriesTable: SeriesTable = new Map(),
  added: SeriesTable = new Map(),
  problems: Problems,
): SeriesTable {
  const mergedSeries = [...new Set([...seriesTable.keys(), ...added.keys()])]
    .toSorted(compareText)
    .map((identifier) => mergeField(identifier, [seriesTable.get(identifier), added.get(identifier)], problems));
  return new Map(mergedSeries.map((series) => [series.identifier, series]));
}

function mergeField(
  identifier: string,
  [priceSeries, added]: readonly [PriceSeries | undefined, PriceSeries | undefined],
  problems: Problems,
): PriceSeries {
  if (priceSeries === undefined || added === undefined) return (priceSeries ?? added)!; // at least one of them is defined
  for (const key of ['currency', 'name'] as const) {
    if (priceSeries[key] !== null && added[key] !== null && priceSeries[key] !== added[key]) {
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier}]`,
        message: `The ${key.toUpperCase()} of ${identifier} is ${priceSeries[key]} in the store and ${added[key]} in the added rows.`,
        value: added[key],
      });
    }
  }
  const closes = new Map([...priceSeries.days].map((day, i) => [day, priceSeries.closes[i]!]));
  added.days.forEach((day, i) => {
    const [before, value] = [closes.get(day), added.closes[i]!];
    if (before !== undefined && before !== value) {
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier} ${formatDay(day)}].CLOSE`,
        message: `The value is ${before} in the store and ${value} in the added rows.`,
        value,
      });
    }
    closes.set(day, value);
  });
  const days = Int32Array.from(closes.keys()).sort();
  return {
    identifier,
    name: priceSeries.name ?? added.name,
    currency: priceSeries.currency ?? added.currency,
    days,
    closes: Float64Array.from(days, (day) => closes.get(day)!),
  };
}

function mergePanels(heldPanels: Panels, added: Panels, problems: Problems): Panels | undefined {
  const identifiers = [...new Set([...heldPanels.identifiers, ...added.identifiers])].sort(compareText);
  const dates = Int32Array.from(new Set([...heldPanels.dates, ...added.dates])).sort();
  const names = [...new Set([...heldPanels.fields.keys(), ...added.fields.keys()])];
  if (refuseSize({ dates: dates.length, identifiers: identifiers.length, fields: names.length }, problems))
    return undefined;
  const axes = {
    columnOf: new Map(identifiers.map((identifier, n) => [identifier, n])),
    rowOf: new Map([...dates].map((day, t) => [day, t])),
    names: identifiers.length,
  };
  const fields = new Map(
    names.map((name) => {
      const panel = allocateEmptyPanel(dates.length * identifiers.length, names.length);
      copyPanel(heldPanels, name, panel, axes);
      copyPanel(added, name, panel, axes, (n, t, before, after) => {
        problems.error({
          code: 'DUPLICATE_KEY',
          path: `market[${added.identifiers[n]} ${formatDay(added.dates[t]!)}].${name}`,
          message: `The value is ${before} in the store and ${after} in the added rows.`,
          value: after,
        });
      });
      return [name, panel] as const;
    }),
  );
  return { identifiers, dates, fields };
}

interface Axes {
  readonly columnOf: ReadonlyMap<string, number>;
  readonly rowOf: ReadonlyMap<number, number>;
  readonly names: number;
}

function copyPanel(
  from: Panels,
  name: string,
  target: Float64Array,
  { columnOf, rowOf, names }: Axes,
  onConflict?: (n: number, t: number, before: number, after: number) => void,
): void {
  const source = from.fields.get(name);
  if (source === undefined) return;
  const columns = Int32Array.from(from.identifiers, (identifier) => columnOf.get(identifier)!);
  for (let t = 0, cell = 0; t < from.dates.length; t++) {
    const row = rowOf.get(from.dates[t]!)! * names;
    for (let n = 0; n < columns.length; n++, cell++) {
      const value = source[cell]!;
      if (value !== value) continue;
      const position = row + columns[n]!;
      const storedValue = target[position]!;
      if (storedValue === storedValue && storedValue !== value) onConflict?.(n, t, storedValue, value);
      target[position] = value;
    }
  }
}

function mergeReference(referenceTable: ReferenceTable, added: ReferenceTable, problems: Problems): ReferenceTable {
  const columns = [...new Set([...referenceTable.columns, ...added.columns])];
  const rows = new Map<string, ReferenceRow[]>();
  const widenRow = (table: ReferenceTable, { validFrom, values }: ReferenceRow): ReferenceRow => ({
    validFrom,
    values: columns.map((column): ReferenceValue => values[table.columns.indexOf(column)] ?? null),
  });
  for (const [identifier, spells] of referenceTable.rows)
    rows.set(
      identifier,
      spells.map((row) => widenRow(referenceTable, row)),
    );
  for (const [identifier, spells] of added.rows) {
    const referenceRows = rows.get(identifier) ?? [];
    for (const row of spells.map((spell) => widenRow(added, spell))) {
      const sameRow = referenceRows.find(({ validFrom }) => validFrom === row.validFrom);
      if (sameRow === undefined) referenceRows.push(row);
      else if (JSON.stringify(sameRow) !== JSON.stringify(row)) {
        problems.error({
          code: 'DUPLICATE_KEY',
          path: `reference[${identifier}]`,
          message: `The store has a different row of ${identifier} ${row.validFrom === null ? 'without valid_from' : `valid from ${formatDay(row.validFrom)}`}.`,
        });
      }
    }
    rows.set(
      identifier,
      referenceRows.toSorted((a, b) => (a.validFrom ?? -Infinity) - (b.validFrom ?? -Infinity) || 0),
    );
  }
  return { columns, rows: new Map([...rows].toSorted(([a], [b]) => compareText(a, b))) };
}

/**
 * Merges actions. Rejects an added action that changes terms of a stored action, except its status, because otherwise
 * both actions would apply.
 */
function mergeActions(
  corporateActions: readonly CorporateAction[],
  added: readonly CorporateAction[],
  problems: Problems,
): readonly CorporateAction[] {
  const [storedKeys, others] = [new Set(corporateActions.map(formatAction)), new Set(added.map(formatAction))];
  const replacedActions = new Set<CorporateAction>();
  const actionsByKey = new Map<string, CorporateAction[]>();
  for (const action of corporateActions)
    if (!others.has(formatAction(action)))
      actionsByKey.set(formatKey(action), [...(actionsByKey.get(formatKey(action)) ?? []), action]);
  for (const action of added) {
    const sameKeyActions = storedKeys.has(formatAction(action)) ? [] : (actionsByKey.get(formatKey(action)) ?? []);
    const matchIndex = sameKeyActions.findIndex(
      (corporateAction) =>
        formatAction({ ...corporateAction, status: null }) === formatAction({ ...action, status: null }),
    );
    const [before] = sameKeyActions.splice(Math.max(matchIndex, 0), 1);
    if (before === undefined) continue;
    replacedActions.add(before);
    if (matchIndex >= 0) continue;
    problems.error({
      code: 'DUPLICATE_KEY',
      path: `corporate_actions[${action.identifier} ${formatDay(action.exDay)}]`,
      message: `The value of the ${action.type} of ${action.identifier} on that date is ${before.value} in the store and ${action.value} in the added rows.`,
      value: action.value,
    });
  }
  const membershipsByText = new Map(
    [...corporateActions.filter((corporateAction) => !replacedActions.has(corporateAction)), ...added].map(
      (corporateAction) => [formatAction(corporateAction), corporateAction],
    ),
  );
  return [...membershipsByText.values()].sort(compareActions);
}

const formatAction = (action: CorporateAction): string => toCanonicalJson(action);

const formatKey = ({ identifier, type, exDay, related }: CorporateAction): string =>
  JSON.stringify([identifier, type, exDay, related]);

function mergeUniverses(
  memberships: readonly Membership[],
  added: readonly Membership[],
  problems: Problems,
): readonly Membership[] {
  const formatSpellKey = ({ universe, identifier, start }: Membership) => JSON.stringify([universe, identifier, start]);
  const membershipByKey = new Map(memberships.map((spell) => [formatSpellKey(spell), spell]));
  for (const spell of added) {
    const membership = membershipByKey.get(formatSpellKey(spell));
    if (membership !== undefined && membership.end !== null && membership.end !== spell.end) {
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: `universes[${spell.identifier}]`,
        message: `The membership of ${spell.identifier} in ${spell.universe} has a different end in the store.`,
      });
    }
    membershipByKey.set(formatSpellKey(spell), spell.end === null && membership !== undefined ? membership : spell);
  }
  const sortedSpells = [...membershipByKey.values()].sort(compareMemberships);
  sortedSpells.forEach((spell, i) => {
    const previousSpell = sortedSpells[i - 1];
    if (previousSpell?.universe !== spell.universe || previousSpell.identifier !== spell.identifier) return;
    if (previousSpell.end === null || (spell.start ?? -Infinity) < previousSpell.end) {
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: `universes[${spell.identifier}]`,
        message: `The memberships of ${spell.identifier} in ${spell.universe} overlap.`,
      });
    }
  });
  return sortedSpells;
}
