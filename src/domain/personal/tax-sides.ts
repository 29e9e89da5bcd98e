import type { AccountProgram, TaxPiece, TaxSide } from '#kernels/lots/account-program.js';
import type { AccountTax } from './account-request.js';

/**
 * Returns the tax as maxima of linear functions of short-term and long-term gains. The carry-forward is already
 * subtracted from the short-term gains. With US netting and different rates there are two sides: long-term gains of at
 * least zero, and of at most zero.
 */
export function createTaxSides({ short_rate: short, long_rate: long, netting, loss_value }: AccountTax): TaxSide[] {
  const value = Math.min(loss_value, long, short);
  const createPiece = (s: number, l: number): TaxPiece => ({ short: s, long: l, constant: 0 });
  if (netting === 'separate')
    return [
      {
        longSign: 0,
        pieces: [
          createPiece(short, long),
          createPiece(short, value),
          createPiece(value, long),
          createPiece(value, value),
        ],
      },
    ];
  const gains = [createPiece(short, long), createPiece(long, long), createPiece(value, value)];
  if (short === long) return [{ longSign: 0, pieces: [createPiece(long, long), createPiece(value, value)] }];
  return [
    { longSign: 1, pieces: gains },
    { longSign: -1, pieces: [createPiece(short, short), createPiece(value, value)] },
  ];
}

/** Weight below which the tax has no effect: its part of the objective is a rounding error. */
export const WEIGHT_MIN = 1e-12;

/**
 * Returns the terms of the tax in the objective, and its limit. Without a weight, the objective contains a tax of zero.
 * @param value  value of the account, in money
 */
export function createTaxTerms(tax: AccountTax, value: number): Pick<AccountProgram, 'taxWeight' | 'sides'> {
  const { weight, limit } = tax;
  const isWeighted = weight >= WEIGHT_MIN;
  const taxWeight = isWeighted ? weight : 1;
  const noTax = [{ short: 0, long: 0, constant: 0 }];
  if (!isWeighted && limit === null) return { taxWeight, sides: [{ longSign: 0, pieces: noTax }] };
  const sides = createTaxSides(tax).map(({ longSign, pieces }): TaxSide => ({
    longSign,
    pieces: isWeighted ? pieces : noTax,
    ...(limit !== null && { limits: pieces.map((piece) => ({ ...piece, constant: piece.constant - limit / value })) }),
  }));
  return { taxWeight, sides };
}
