import { findNearestName } from '#base/nearest-name.js';

export type ColumnRole =
  | 'date'
  | 'identifier'
  | 'OPEN'
  | 'HIGH'
  | 'LOW'
  | 'CLOSE'
  | 'VOLUME'
  | 'SHARES_OUTSTANDING'
  | 'adjusted';

/** Names that vendors use for columns, reduced to letters and digits. If several are present, the first is used. */
const ROLE_HEADINGS: Readonly<Record<ColumnRole, readonly string[]>> = {
  date: [
    'date',
    'dates',
    'datetime',
    'tradedate',
    'tradingdate',
    'exchangedate',
    'pricingdate',
    'pricedate',
    'quotedate',
    'businessdate',
    'asofdate',
    'timestamp',
    'windowstart',
    'tsevent',
    'caldt',
    'dlycaldt',
    'datadate',
    'day',
    'time',
    'datum',
    'fecha',
    'data',
  ],
  identifier: [
    'identifier',
    'ticker',
    'symbol',
    'permno',
    'ric',
    'instrument',
    'code',
    'tic',
    'actsymbol',
    'name',
    'security',
    'asset',
    'isin',
    'sedol',
    'cusip',
  ],
  CLOSE: [
    'close',
    'closeprice',
    'priceclose',
    'pxlast',
    'lastprice',
    'closelast',
    'prc',
    'dlyprc',
    'prccd',
    'trdprc1',
    'settle',
    'last',
    'price',
    'schluss',
    'schlusskurs',
    'kurs',
    'zuletzt',
    'clôture',
    'cloture',
    'dernier',
    'cierre',
    'último',
    'ultimo',
    'chiusura',
    'fechamento',
    'slotkoers',
    'laatste',
    'clot',
    'closingprice',
    'tradeclose',
  ],
  OPEN: [
    'open',
    'openprice',
    'priceopen',
    'pxopen',
    'openprc',
    'dlyopen',
    'prcod',
    'eröffnung',
    'eroeffnung',
    'eröffn',
    'erster',
    'ouverture',
    'ouv',
    'apertura',
    'abertura',
    'openingskoers',
    'openingprice',
    'tradeopen',
  ],
  HIGH: [
    'high',
    'highprice',
    'pricehigh',
    'pxhigh',
    'askhi',
    'dlyhigh',
    'prchd',
    'high1',
    'hoch',
    'höchst',
    'tageshoch',
    'haut',
    'plushaut',
    'máximo',
    'maximo',
    'massimo',
    'máxima',
    'maxima',
    'hoog',
    'tradehigh',
  ],
  LOW: [
    'low',
    'lowprice',
    'pricelow',
    'pxlow',
    'bidlo',
    'dlylow',
    'prcld',
    'low1',
    'tief',
    'tiefst',
    'tagestief',
    'bas',
    'plusbas',
    'mínimo',
    'minimo',
    'mínima',
    'minima',
    'laag',
    'tradelow',
  ],
  // German tables with a column Stück (number of shares) use Volumen for the turnover in money.
  VOLUME: [
    'volume',
    'vol',
    'pxvolume',
    'dlyvol',
    'cshtrd',
    'acvol1',
    'tradedvolume',
    'turnovervolume',
    'stücke',
    'stuecke',
    'stück',
    'volumen',
    'volumi',
    'totalvolume',
    'numberofshares',
    'tradevolume',
  ],
  SHARES_OUTSTANDING: ['sharesoutstanding', 'eqyshout'],
  adjusted: ['adjclose', 'adjustedclose', 'closeadj', 'adjustedcloseprice', 'adjprice', 'priceadjusted'],
};

/** Roles of bar fields. Two header rows are recognised by them. */
export const FIELD_ROLES = [
  'CLOSE',
  'OPEN',
  'HIGH',
  'LOW',
  'VOLUME',
  'SHARES_OUTSTANDING',
  'adjusted',
] as const satisfies readonly ColumnRole[];

const simplify = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** Returns the role of a column name; undefined if it is unknown. */
export function findRole(name: string): ColumnRole | undefined {
  const text = simplify(name);
  return (Object.keys(ROLE_HEADINGS) as ColumnRole[]).find((role) => ROLE_HEADINGS[role].includes(text)); // the keys of the object are roles
}

export function assignRoles(header: readonly string[]): Partial<Record<ColumnRole, string>> {
  const result: Partial<Record<ColumnRole, string>> = {};
  for (const role of Object.keys(ROLE_HEADINGS) as ColumnRole[]) {
    const name = ROLE_HEADINGS[role].flatMap((text) => header.filter((column) => simplify(column) === text)).at(0);
    if (name !== undefined) result[role] = name;
  }
  return result;
}

/** Returns a column with a name similar to a name of a role. */
export function findNearRole(role: ColumnRole, header: readonly string[]): string | undefined {
  const unassignedColumns = header.filter((column) => simplify(column).length > 2 && findRole(column) === undefined);
  for (const name of ROLE_HEADINGS[role].slice(0, 2)) {
    const similarColumn = findNearestName(name, unassignedColumns);
    if (similarColumn !== undefined) return similarColumn;
  }
  return undefined;
}
