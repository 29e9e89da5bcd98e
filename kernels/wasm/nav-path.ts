import { gemv } from './vectors';

/**
 * Value of a portfolio that holds units between rebalances: see `simulation/nav-path`. `rebalances` are int32 rows, the first 0;
 * `units` is scratch of one row.
 */
export function navPath(prices: usize, sessions: i32, assets: i32, rebalances: usize, count: i32, weights: usize, out: usize, units: usize): void {
  const row = <usize>assets << 3;
  store<f64>(out, 1);
  for (let r = 0; r < count; r++) {
    const start = load<i32>(rebalances + (<usize>r << 2));
    const end = r + 1 < count ? load<i32>(rebalances + (<usize>(r + 1) << 2)) : sessions - 1;
    const cash = buy(weights + <usize>r * row, prices + <usize>start * row, assets, load<f64>(out + (<usize>start << 3)), units);
    const first = out + (<usize>(start + 1) << 3);
    gemv(prices + <usize>(start + 1) * row, end - start, assets, row, units, first);
    if (cash != 0) for (let t = 0; t < end - start; t++) store<f64>(first + (<usize>t << 3), load<f64>(first + (<usize>t << 3)) + cash);
  }
}

/** Units for the weights at the prices of a session; returns the money that stays in cash. */
function buy(weights: usize, prices: usize, assets: i32, value: f64, units: usize): f64 {
  const v = f64x2.splat(value);
  const none = f64x2.splat(0);
  let even = none;
  let odd = none;
  let i = 0;
  for (; i + 4 <= assets; i += 4) {
    const left = v128.load(weights);
    const right = v128.load(weights, 16);
    even = f64x2.add(even, left);
    odd = f64x2.add(odd, right);
    // A name without weight may have any price, or none: its units are 0.
    v128.store(units, v128.and(f64x2.ne(left, none), f64x2.div(f64x2.mul(left, v), v128.load(prices))));
    v128.store(units, v128.and(f64x2.ne(right, none), f64x2.div(f64x2.mul(right, v), v128.load(prices, 16))), 16);
    weights += 32;
    prices += 32;
    units += 32;
  }
  const sums = f64x2.add(even, odd);
  let invested = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1);
  for (; i < assets; i++) {
    const weight = load<f64>(weights);
    invested += weight;
    store<f64>(units, weight == 0 ? 0 : (weight * value) / load<f64>(prices));
    weights += 8;
    prices += 8;
    units += 8;
  }
  return abs(1 - invested) <= 1e-14 * <f64>assets ? 0 : value * (1 - invested);
}
