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
  let invested: f64 = 0;
  for (let i = 0; i < assets; i++) {
    const o = <usize>i << 3;
    const weight = load<f64>(weights + o);
    invested += weight;
    store<f64>(units + o, weight == 0 ? 0 : (weight * value) / load<f64>(prices + o));
  }
  const cash = value * (1 - invested);
  return abs(1 - invested) <= 1e-14 * <f64>assets ? 0 : cash;
}
