import { describe, expect, test } from 'vitest';
import { Account } from '#domain/personal/account.js';
import { type SolvedResult, solveOutcome } from '#domain/personal/account-result.js';
import { verifyResult } from '#domain/personal/verification.js';
import { createLot, createSmallBatch } from './small-batch.js';

const fresh = { identifier: 'A', shares: 12, cost: 120, acquired: '2024-06-18' };
const parent = createSmallBatch([0.2, 0.5, 0.3], {
  objective: { risk_aversion: 10, cash_minimum: 0.05, cash_maximum: 0.1 },
});
const wholeParent = createSmallBatch([0.2, 0.5, 0.3], {
  whole_shares: true,
  search_nodes: 50,
  objective: { risk_aversion: 10, cash_maximum: 0.1 },
});

const CASES = [
  {
    name: 'an account with disallowed losses',
    common: parent,
    account: {
      cash: 1000,
      lots: [createLot('A', 60, 130), fresh, createLot('B', 20, 90, 'short')],
      tax: { budget: -500, lot_method: 'fifo', short_rate: 0.9, long_rate: 0.8 },
      tracking_error_limit: 0.2,
    },
  },
  {
    name: 'an account with exclusions, tilts and recent trades',
    common: parent,
    account: {
      cash: 2000,
      lots: [createLot('A', 30, 130), createLot('B', 20, 90, 'short'), createLot('C', 40, 60)],
      exclusions: ['A'],
      tilts: { C: 0.05 },
      recent: [{ identifier: 'A', date: '2024-06-18', shares: 10, price: 100 }],
      tax: { limit: 400 },
    },
  },
  {
    name: 'an account whose substitutes affect each other',
    common: wholeParent,
    account: {
      cash: 300,
      lots: [createLot('A', 9, 130), { ...fresh, identifier: 'B', shares: 4 }, createLot('C', 3, 60)],
      substitutes: [['A', 'B']],
      minimum_trade: 150,
      tax: { lot_method: 'hifo' },
    },
  },
  {
    name: 'an infeasible account',
    common: parent,
    account: { cash: 0, lots: [createLot('A', 60, 130)], exclusions: ['A', 'B'], tracking_error_limit: 0.01 },
  },
].map(({ account, ...own }) => ({ ...own, account: Account.parse({ account_id: 'X', ...account }) }));

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Members that the solver alone determines. */
const UNPROVED = /^(steps|nodes|conflicts|conflict_amounts|conflict_exclusions)\b/u;
/** Multipliers that have no effect on any figure in some accounts. */
const MULTIPLIERS = /^certificate\.sides\[\d+\]\.(exposures|variance|rows|branches)/u;

type Path = readonly (string | number)[];

function* listAlterations(value: Json, path: Path): Generator<{ readonly path: Path; readonly altered: Json }> {
  if (Array.isArray(value)) {
    if (value.length > 0) yield { path, altered: value.slice(1) };
    for (const [position, entry] of value.entries()) yield* listAlterations(entry, [...path, position]);
  } else if (typeof value === 'object' && value !== null)
    for (const [key, entry] of Object.entries(value)) yield* listAlterations(entry, [...path, key]);
  else if (typeof value === 'number')
    yield { path, altered: value + Math.max(Number.isInteger(value) ? 1 : 0.01, 0.01 * Math.abs(value)) };
  else if (typeof value === 'boolean') yield { path, altered: !value };
  else if (typeof value === 'string') yield { path, altered: `${value}X` };
  else if (path[0] !== 'certificate') yield { path, altered: 1 };
}

function alter(result: SolvedResult, path: Path, altered: Json): SolvedResult {
  const copy = JSON.parse(JSON.stringify(result)) as SolvedResult;
  let own = copy as unknown as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) own = own[key] as Record<string | number, unknown>;
  own[path.at(-1)!] = altered;
  return copy;
}

const formatPath = (path: Path): string =>
  path.reduce<string>((text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text && '.'}${key}`), '');

describe.each(CASES)('the verification of $name', ({ common, account }) => {
  const result = solveOutcome(common, account, 'accounts[0]') as SolvedResult;
  const alterations = [...listAlterations(JSON.parse(JSON.stringify(result)) as Json, [])];

  test('accepts the result as JSON', () => {
    expect(verifyResult(common, account, JSON.parse(JSON.stringify(result)) as SolvedResult)).toEqual([]);
  });

  test('reports each altered member by its name', () => {
    const unnoticed = alterations.flatMap(({ path, altered }) => {
      const text = formatPath(path);
      if (UNPROVED.test(text) || MULTIPLIERS.test(text)) return [];
      const faults = verifyResult(common, account, alter(result, path, altered));
      // Other trades are other figures.
      const isNoticed = text === 'trades' ? faults.length > 0 : faults.some((fault) => fault.includes(String(path[0])));
      return isNoticed ? [] : [`${text}: ${JSON.stringify(altered)} -> ${faults.join('; ')}`];
    });
    expect(unnoticed).toEqual([]);
  });

  test('reports each absent member by its name', () => {
    for (const name of Object.keys(result)) {
      const { [name as keyof SolvedResult]: _, ...rest } = result;
      if (name === 'trades' || name === 'certificate') continue; // The schema of a result requires them.
      const faults = verifyResult(common, account, rest as unknown as SolvedResult);
      expect(faults.join('; '), name).toContain(name);
    }
  });
});
