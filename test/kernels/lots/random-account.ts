import type { AccountProgram, AccountRow } from '#kernels/lots/account-program.js';
import { seeded } from '../../seeded.js';

export interface RandomTerms {
  readonly seed: number;
  readonly n: number;
  readonly k: number;
  readonly lotsPerSecurity: number;
  readonly share?: number;
  readonly isOrdered?: boolean;
  readonly trackingLimit?: number;
  readonly minimumTrade?: number;
  readonly aversion?: number;
}

const RATES = { short: 0.37, long: 0.2 };

/**
 * Returns an account near its target with gains and losses. It has US netting and costs of 5 bp. The cash is between 0
 * and 1 %; with whole shares it is up to 1 % plus two shares.
 */
export function createRandomAccount({
  seed,
  n,
  k,
  lotsPerSecurity,
  share = 0,
  isOrdered = false,
  trackingLimit = Infinity,
  minimumTrade = 0,
  aversion = 10,
}: RandomTerms): AccountProgram {
  const random = seeded(seed);
  const drawNormal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const loadings = Float64Array.from({ length: n * k }, (_, i) =>
    i % k === 0 ? 0.15 + 0.04 * drawNormal() : 0.05 * drawNormal(),
  );
  const specific = Float64Array.from({ length: n }, () => 0.02 + 0.1 * random());
  const raw = Float64Array.from({ length: n }, () => Math.exp(drawNormal()));
  const total = raw.reduce((sum, x) => sum + x, 0);
  const target = raw.map((x) => x / total);
  const driftedWeights = target.map((x) => x * Math.exp(0.4 * drawNormal()));
  const sum = driftedWeights.reduce((a, x) => a + x, 0);
  const heldWeights = driftedWeights.map((x) => (x / sum) * 0.99);
  const { lotStart, lotSize, lotShort, lotLong } = createRandomLots(heldWeights, {
    random,
    normal: drawNormal,
    lotsPerSecurity,
    share,
  });
  const cashRow = (sign: 1 | -1, constant: number): AccountRow => ({
    weights: new Float64Array(n).fill(sign),
    short: 0,
    long: 0,
    cost: sign,
    constant,
    penalty: Infinity,
  });
  return {
    n,
    k,
    loadings,
    specific,
    target,
    heldWeights,
    lotStart,
    lotSize,
    lotShort,
    lotLong,
    isOrdered: new Uint8Array(n).fill(isOrdered ? 1 : 0),
    buyLimit: heldWeights.map((x, i) => Math.max(0, target[i]! + 0.05 - x)),
    costRate: new Float64Array(n).fill(0.0005),
    unit: new Float64Array(n).fill(share),
    minimumTrade: new Float64Array(n).fill(minimumTrade),
    lower: new Float64Array(n),
    upper: new Float64Array(n).fill(1),
    aversion,
    varianceLimit: trackingLimit ** 2,
    taxWeight: 1,
    fixedShort: 0,
    fixedLong: 0,
    sides: createUsSides(RATES.short, RATES.long),
    rows: [cashRow(1, -1), cashRow(-1, 0.99 - 2 * share)],
  };
}

interface LotTerms {
  readonly random: () => number;
  readonly normal: () => number;
  readonly lotsPerSecurity: number;
  readonly share: number;
}

/** Divides holdings into lots. If required, the lots are rounded to whole shares. */
function createRandomLots(heldWeights: Float64Array, { random, normal, lotsPerSecurity, share }: LotTerms) {
  const n = heldWeights.length;
  const lotStart = new Int32Array(n + 1);
  const [lotSize, lotShort, lotLong]: number[][] = [[], [], []];
  for (let i = 0; i < n; i++) {
    const lots = 1 + Math.floor(random() * (2 * lotsPerSecurity - 1));
    let unitsLeft = share === 0 ? 0 : Math.max(1, Math.round(heldWeights[i]! / share));
    if (share > 0) heldWeights[i] = unitsLeft * share;
    const parts = Array.from({ length: lots }, () => 0.2 + random());
    const all = parts.reduce((a, x) => a + x, 0);
    parts.forEach((part, k) => {
      let size = (heldWeights[i]! * part) / all;
      if (share > 0) {
        const units = k === lots - 1 ? unitsLeft : Math.min(unitsLeft, Math.round(size / share));
        unitsLeft -= units;
        size = units * share;
      }
      if (!(size > 0)) return;
      const gain = 0.15 + 0.3 * normal();
      const isShort = random() < 0.4;
      lotSize!.push(size);
      lotShort!.push(isShort ? Math.min(gain, 0.9) : 0);
      lotLong!.push(isShort ? 0 : Math.min(gain, 0.9));
    });
    lotStart[i + 1] = lotSize!.length;
  }
  return {
    lotStart,
    lotSize: Float64Array.from(lotSize!),
    lotShort: Float64Array.from(lotShort!),
    lotLong: Float64Array.from(lotLong!),
  };
}

export function createUsSides(short: number, long: number): AccountProgram['sides'] {
  const noGains = { short: 0, long: 0, constant: 0 };
  return [
    { longSign: 1, pieces: [{ short, long, constant: 0 }, { short: long, long, constant: 0 }, noGains] },
    { longSign: -1, pieces: [{ short, long: short, constant: 0 }, noGains] },
  ];
}
