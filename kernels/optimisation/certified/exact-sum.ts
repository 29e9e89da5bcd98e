/** Factor that splits a double into two halves of 26 bits. */
const SPLIT_FACTOR = 2 ** 27 + 1;

/**
 * Sum of doubles and products of doubles to about 106 bits: a second double holds the rounding error of the first.
 *
 * @cost    7 operations per term, 24 per product.
 * @source  Dekker (1971), A floating-point technique for extending the available precision, Numerische Mathematik 18.
 */
export class ExactSum {
  private high = 0;
  private low = 0;

  reset(): this {
    this.high = 0;
    this.low = 0;
    return this;
  }

  add(term: number): this {
    const total = this.high + term;
    const part = total - this.high;
    this.low += this.high - (total - part) + (term - part);
    this.high = total;
    return this;
  }

  addProduct(a: number, b: number): this {
    const product = a * b;
    const aBig = SPLIT_FACTOR * a;
    const aHigh = aBig - (aBig - a);
    const aLow = a - aHigh;
    const bBig = SPLIT_FACTOR * b;
    const bHigh = bBig - (bBig - b);
    const bLow = b - bHigh;
    this.low += aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
    return this.add(product);
  }

  /** Adds a multiple of another sum. */
  addMultiple(factor: number, { high, low }: ExactSum): this {
    return this.addProduct(factor, high).addProduct(factor, low);
  }

  /** Returns the sum rounded to a double. */
  value(): number {
    return this.high + this.low;
  }
}
