import { compareText } from '#domain/refusals/findings.js';
import type { CorporateAction, Membership, ReferenceTable } from '#domain/market/market-data.js';
import type { MarketContent } from './market-content.js';

/**
 * Returns the tables of a content as canonical JSON, byte-identical to `toCanonicalJson` of rows as objects by column
 * name. The order of columns therefore does not matter. This separate implementation is faster, because every load
 * hashes the tables.
 * @cost 0.1 µs a cell
 */
export function encodeCanonicalTables({
  reference,
  actions,
  universes,
}: Pick<MarketContent, 'reference' | 'actions' | 'universes'>): string {
  return `{"actions":${JSON.stringify(actions.map(orderMembers))},"reference":${encodeReference(reference)},"universes":${JSON.stringify(universes.map(orderSpellMembers))}}`;
}

/**
 * Returns an action with its members in code-point order. Cash, election terms and an unknown payment are present only
 * if the action has them.
 */
const orderMembers = ({
  announcedDay,
  cash,
  electionDay,
  electionDefault,
  exDay,
  identifier,
  isUnpriced,
  payDay,
  related,
  scripRatio,
  status,
  subscriptionPrice,
  type,
  value,
}: CorporateAction) => ({
  announcedDay,
  cash, // JSON omits undefined members
  electionDay,
  electionDefault,
  exDay,
  identifier,
  isUnpriced,
  payDay,
  related,
  scripRatio,
  status,
  subscriptionPrice,
  type,
  value,
});

const orderSpellMembers = ({ end, identifier, start, universe }: Membership) => ({ end, identifier, start, universe });

function encodeReference({ columns, rows }: ReferenceTable): string {
  const order = columns.map((name, position) => ({ name, position })).toSorted((a, b) => compareText(a.name, b.name));
  const keys = order.map(({ name }, i) => `${i === 0 ? '' : ','}${JSON.stringify(name)}:`);
  const positions = order.map(({ position }) => position);
  const nameTexts = [...rows.keys()].toSorted(compareText).map((identifier) => {
    const validRows = rows.get(identifier)!.map(({ validFrom, values }) => {
      let members = '';
      for (let i = 0; i < keys.length; i++) members += keys[i]! + JSON.stringify(values[positions[i]!] ?? null);
      return `{"validFrom":${validFrom},"values":{${members}}}`;
    });
    return `[${JSON.stringify(identifier)},[${validRows.join(',')}]]`;
  });
  return `{"columns":${JSON.stringify(order.map(({ name }) => name))},"rows":[${nameTexts.join(',')}]}`;
}
