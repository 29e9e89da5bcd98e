/** Exponents of the base units of a quantity. */
export interface Dimensions {
  readonly money: number;
  readonly shares: number;
  readonly sessions: number;
  readonly years: number;
}

/** Unit of a quantity; null if unknown. A constant matches every unit. */
export type Unit = Dimensions | 'constant' | null;

const NO_DIMENSIONS: Dimensions = { money: 0, shares: 0, sessions: 0, years: 0 };
const createDimensions = (powers: Partial<Dimensions>): Dimensions => ({ ...NO_DIMENSIONS, ...powers });

/** Unit of a dimensionless number, such as a share, a score or a rank. */
export const DIMENSIONLESS: Unit = NO_DIMENSIONS;
export const YEARS: Unit = createDimensions({ years: 1 });

const PRICE = createDimensions({ money: 1, shares: -1 });
const SHARES = createDimensions({ shares: 1 });
const MONEY = createDimensions({ money: 1 });

/** Units of the columns and datapoints with a defined meaning. */
const UNITS: ReadonlyMap<string, Dimensions> = new Map([
  ['OPEN', PRICE],
  ['HIGH', PRICE],
  ['LOW', PRICE],
  ['CLOSE', PRICE],
  ['VOLUME', SHARES],
  ['SHARES_OUTSTANDING', SHARES],
  ['FREE_FLOAT', NO_DIMENSIONS],
  ['MARKET_CAP', MONEY],
  ['FREE_FLOAT_MARKET_CAP', MONEY],
  ['VALUE_TRADED', MONEY],
  ['RETURN', NO_DIMENSIONS],
  ['PRICE_RETURN', NO_DIMENSIONS],
  ['VOLATILITY', NO_DIMENSIONS],
  ['MOMENTUM', NO_DIMENSIONS],
  ['DIVIDEND_YIELD', NO_DIMENSIONS],
  ['BETA', NO_DIMENSIONS],
  ['AGE', createDimensions({ sessions: 1 })],
]);

export const findFieldUnit = (name: string): Unit => UNITS.get(name) ?? null;

/** Two units that do not match. */
export interface UnitClash {
  readonly left: Dimensions;
  readonly right: Dimensions;
}

export const isClash = (unit: Unit | UnitClash): unit is UnitClash =>
  unit !== null && unit !== 'constant' && 'left' in unit;

/** Returns the common unit of quantities that are added, compared or chosen from, or two units that do not match. */
export function findCommonUnit(units: readonly Unit[]): Unit | UnitClash {
  let dimensions: Dimensions | undefined;
  for (const unit of units) {
    if (unit === null || unit === 'constant') continue;
    if (dimensions !== undefined && !isSame(dimensions, unit)) return { left: dimensions, right: unit };
    dimensions = unit;
  }
  if (units.includes(null)) return null;
  return dimensions ?? 'constant';
}

const isSame = (a: Dimensions, b: Dimensions): boolean =>
  a.money === b.money && a.shares === b.shares && a.sessions === b.sessions && a.years === b.years;

/** Returns the unit of a product, or of a quotient for `sign` -1. */
export function multiplyUnits(leftUnit: Unit, right: Unit, sign: 1 | -1): Unit {
  if (leftUnit === null || right === null) return null;
  if (leftUnit === 'constant' && right === 'constant') return 'constant';
  const [a, b] = [leftUnit === 'constant' ? NO_DIMENSIONS : leftUnit, right === 'constant' ? NO_DIMENSIONS : right];
  return createDimensions({
    money: a.money + sign * b.money,
    shares: a.shares + sign * b.shares,
    sessions: a.sessions + sign * b.sessions,
    years: a.years + sign * b.years,
  });
}

/** Returns the unit of a power. Null if the base has a unit and the exponent is not a constant. */
export function raiseUnit(base: Unit, exponent: number | undefined): Unit {
  if (base === null || base === 'constant' || isSame(base, NO_DIMENSIONS)) return base;
  if (exponent === undefined) return null;
  return createDimensions({
    money: base.money * exponent,
    shares: base.shares * exponent,
    sessions: base.sessions * exponent,
    years: base.years * exponent,
  });
}

/** Describes a unit in words: `money per share`, `number`; null if unknown. */
export function formatUnit(unit: Unit): string | null {
  if (unit === null) return null;
  if (unit === 'constant') return 'number';
  const formatPowers = (power: (value: number) => boolean) =>
    (Object.entries(unit) as [string, number][])
      .filter(([, value]) => power(value))
      .map(([name, value]) => (Math.abs(value) === 1 ? name : `${name}^${Math.abs(value)}`));
  const [above, below] = [formatPowers((value) => value > 0), formatPowers((value) => value < 0)];
  if (above.length === 0 && below.length === 0) return 'number';
  const singularNames = below.map((name) => name.replace(/s$/, ''));
  return [above.join(' x ') || '1', ...singularNames].join(' per ');
}
