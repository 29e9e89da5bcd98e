import { describe, expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { compareActions } from '#market/content/action-rows.js';
import { applyRepairs, auditMarket } from '#market/judge/audit.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { computeContentHash } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { formatDay } from '#domain/base/time.js';
import { generateTestMarket } from '../../synthetic-market.js';

const SESSIONS = openCalendars().get('XNYS')!.sessions.slice(-2520);
const CLEAN_CONTENT = generateTestMarket({
  seed: 11,
  assets: 150,
  sessions: SESSIONS,
  sectors: 8,
  dividend_yield: 0.03,
  splits_per_year: 0.15,
  delistings_per_year: 0.005,
  listings_per_year: 0.01,
});
const PRICES = ['OPEN', 'HIGH', 'LOW', 'CLOSE'];

interface Corruption {
  readonly kind: string;
  readonly identifier: string;
  readonly date: string;
}

/** Copies a market and corrupts the copy at known positions. */
function corruptMarket(seed: number): { readonly content: MarketContent; readonly truth: readonly Corruption[] } {
  const random = createCounterRandom({ seed, stream: 0 });
  const fields = new Map([...CLEAN_CONTENT.fields].map(([name, panel]) => [name, panel.slice()]));
  const close = fields.get('CLOSE')!;
  const names = CLEAN_CONTENT.identifiers.length;
  let actions = [...CLEAN_CONTENT.actions];
  const truth: Corruption[] = [];
  const usedPlaces = new Set<string>();
  // Days near a corporate action are not corrupted. In a bankruptcy, for example, the price falls by more than half in
  // a day.
  const place = (): { readonly t: number; readonly n: number } => {
    for (;;) {
      const [t, n] = [40 + random.integer(SESSIONS.length - 100), random.integer(names)];
      const isQuiet = !actions.some(
        ({ identifier, exDay }) => identifier === CLEAN_CONTENT.identifiers[n] && Math.abs(exDay - SESSIONS[t]!) < 20,
      );
      const isComplete = Array.from({ length: 41 }, (_, i) => close[(t - 20 + i) * names + n]!).every(
        (price) => price > 0,
      );
      if (isQuiet && isComplete && !usedPlaces.has(`${n} ${Math.floor(t / 60)}`)) {
        usedPlaces.add(`${n} ${Math.floor(t / 60)}`);
        return { t, n };
      }
    }
  };
  const note = (kind: string, t: number, n: number) =>
    truth.push({ kind, identifier: CLEAN_CONTENT.identifiers[n]!, date: formatDay(SESSIONS[t]!) });
  const scalePrices = (t: number, n: number, factor: number) => {
    for (const name of PRICES) fields.get(name)![t * names + n]! *= factor;
  };
  spoilBars();
  stopNames();
  forgetSplits();
  spoilDividends();
  return { content: { ...CLEAN_CONTENT, fields, actions: actions.sort(compareActions) }, truth };

  function spoilBars(): void {
    for (let i = 0; i < 15; i++) {
      const tick = place();
      scalePrices(tick.t, tick.n, i % 2 === 0 ? 0.1 : 10);
      note('unexplained_jump', tick.t, tick.n);
      const pence = place();
      for (let d = 0; d < 3; d++) scalePrices(pence.t + d, pence.n, 100);
      note('currency_flip', pence.t, pence.n);
      const copy = place();
      for (const panel of fields.values()) panel[copy.t * names + copy.n] = panel[(copy.t - 1) * names + copy.n]!;
      note('duplicate_bar', copy.t, copy.n);
      const silentPlace = place();
      for (const name of PRICES) fields.get(name)![silentPlace.t * names + silentPlace.n] = Number.NaN;
      note('volume_without_trade', silentPlace.t, silentPlace.n);
    }
  }

  /** Repeats the last price of some securities from a day on, without volume. Vendors do this after a delisting. */
  function stopNames(): void {
    const last = SESSIONS.length - 1;
    const living = CLEAN_CONTENT.identifiers.flatMap((identifier, n) =>
      close[last * names + n]! > 0 &&
      !actions.some((action) => action.identifier === identifier && action.exDay > SESSIONS[last - 45]!)
        ? [n]
        : [],
    );
    for (const n of living.slice(0, 12)) {
      const from = last - 12 - random.integer(30);
      for (let t = from + 1; t <= last; t++) {
        for (const name of PRICES) fields.get(name)![t * names + n] = close[from * names + n]!;
        fields.get('VOLUME')![t * names + n] = 0;
      }
      note('stale_tail', from, n);
    }
  }

  /** Removes splits that are visible in prices. Their ratios are at least 1.5 or at most 0.5. */
  function forgetSplits(): void {
    const splits = actions.filter(
      ({ type, value, identifier, exDay }) =>
        type === 'SPLIT' && (value >= 1.5 || value <= 0.5) && isAlone(identifier, exDay),
    );
    for (const split of splits.slice(0, 20)) {
      actions = actions.filter((action) => action !== split);
      note('missed_split', SESSIONS.indexOf(split.exDay), CLEAN_CONTENT.identifiers.indexOf(split.identifier));
    }
  }

  /** Multiplies some dividends by 100, as if they were in pence. Repeats other dividends two sessions earlier. */
  function spoilDividends(): void {
    const dividends = actions.filter(
      ({ type, identifier, exDay }) =>
        type === 'DIVIDEND' &&
        isAlone(identifier, exDay) &&
        !usedPlaces.has(`${CLEAN_CONTENT.identifiers.indexOf(identifier)} ${Math.floor(SESSIONS.indexOf(exDay) / 60)}`),
    );
    for (let i = 0; i < 20; i++) {
      const wrongDividend = dividends[Math.floor((i * dividends.length) / 20)]!;
      const session = SESSIONS.indexOf(wrongDividend.exDay);
      const n = CLEAN_CONTENT.identifiers.indexOf(wrongDividend.identifier);
      if (session < 10 || !(close[(session - 1) * names + n]! > 0)) continue;
      if (i % 2 === 0) {
        actions = actions.map((action) =>
          action === wrongDividend ? { ...action, value: action.value * 100 } : action,
        );
        note('dividend_size', session, n);
      } else {
        actions.push({ ...wrongDividend, exDay: SESSIONS[session - 2]! });
        note('dividend_duplicate', session, n);
      }
    }
  }

  function isAlone(identifier: string, exDay: number): boolean {
    return (
      CLEAN_CONTENT.actions.filter((action) => action.identifier === identifier && Math.abs(action.exDay - exDay) < 30)
        .length === 1
    );
  }
}

describe('seeded corruptions of a synthetic market', () => {
  test('are nearly all found, with few false ones', () => {
    const { content, truth } = corruptMarket(5);
    const { doubts: warnings } = auditMarket(content, 'none', () => {});
    const isWithinDays = (a: string, b: string) => Math.abs(Date.parse(a) - Date.parse(b)) <= 5 * 86_400_000;
    const missedFaults = truth.filter(
      ({ kind, identifier, date }) =>
        !warnings.some(
          (warning) => warning.kind === kind && warning.identifier === identifier && isWithinDays(warning.date, date),
        ),
    );
    const extraWarnings = warnings.filter(
      (warning) =>
        warning.repair !== null &&
        !truth.some(({ identifier, date }) => warning.identifier === identifier && isWithinDays(warning.date, date)),
    );
    expect(truth.length).toBeGreaterThan(90);
    const recall = 1 - missedFaults.length / truth.length;
    console.info(
      `${truth.length} seeded, recall ${recall.toFixed(3)}, missed: ${missedFaults.map(({ kind, identifier, date }) => `${kind} ${identifier} ${date}`).join(', ')}`,
    );
    expect(recall).toBeGreaterThanOrEqual(0.95);
    // The audit must find at least four in five of each kind.
    for (const kind of new Set(truth.map((each) => each.kind))) {
      const [seeded, lost] = [truth, missedFaults].map((list) => list.filter((each) => each.kind === kind).length) as [
        number,
        number,
      ]; // two lists
      expect(1 - lost / seeded, kind).toBeGreaterThanOrEqual(0.8);
    }
    expect(extraWarnings.length / warnings.length, JSON.stringify(extraWarnings)).toBeLessThanOrEqual(0.1);
  });

  test('raise no warning with a repair where there are none', () => {
    expect(auditMarket(CLEAN_CONTENT, 'none', () => {}).doubts.filter(({ repair }) => repair !== null)).toEqual([]);
  });

  test('are undone by their repairs', async () => {
    const fields = new Map([...CLEAN_CONTENT.fields].map(([name, panel]) => [name, panel.slice()]));
    const names = CLEAN_CONTENT.identifiers.length;
    const [t, n] = [
      1000,
      CLEAN_CONTENT.identifiers.findIndex(
        (_, i) =>
          CLEAN_CONTENT.fields.get('CLOSE')![900 * names + i]! > 0 &&
          CLEAN_CONTENT.fields.get('CLOSE')![1100 * names + i]! > 0,
      ),
    ];
    for (const name of PRICES) fields.get(name)![t * names + n]! *= 100;
    const content = { ...CLEAN_CONTENT, fields };
    const { doubts: warnings } = auditMarket(content, 'none', () => {});
    const repairs = warnings.flatMap(({ repair }) => repair ?? []);
    expect(repairs).toMatchObject([{ kind: 'scale', factor: 0.01 }]);
    expect(await computeContentHash(applyRepairs(content, repairs))).toBe(await computeContentHash(CLEAN_CONTENT));
    // The repairs do not change the content. They return another content.
    expect(fields.get('CLOSE')![t * names + n]).toBe(100 * CLEAN_CONTENT.fields.get('CLOSE')![t * names + n]!);
  });
});
