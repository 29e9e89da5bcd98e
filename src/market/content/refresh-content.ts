import type { Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { MarketContent } from './market-content.js';
import { judgeSecurities, type SecurityJudgement } from './judged-securities.js';
import { hasAnyValue, findNewColumns } from './market-changes.js';
import { mergeRestatedPanels } from './merged-panels.js';
import { copyCloses } from './override-prices.js';
import { allocateGrowablePanel, createUsedDays, removeEmptyLines, type Panels } from '../panels/panels.js';
import { createRefreshReport, type RefreshOptions, type RefreshReport } from './refresh-report.js';

/** Content after a refresh, with its changes. */
export interface RefreshResult {
  readonly content: MarketContent;
  readonly report: RefreshReport;
  /** True if no bar of a stored day changed. */
  readonly isHistoryKept: boolean;
  /**
   * Number of used days in the memory of the panels. The next refresh writes after these days. Undefined if the memory
   * cannot be extended.
   */
  readonly taken: SharedArrayBuffer | undefined;
}

/**
 * Returns the content of a store after a refresh. With `full`, every bar up to `until` and every table comes from the
 * source. Otherwise each security is accepted or rejected as a whole: a security with an unchanged history gets its
 * later bars and actions; a security whose history was converted for a split is replaced; any other security keeps its
 * bars and actions.
 * @param used number of used days in the memory of the stored panels; later days are written after them without copying
 * the stored ones.
 * @cost one pass over the cells of both; only over the added days if no other data arrived, securities and fields are
 * unchanged and memory is available
 */
export function refreshContent(
  stored: MarketContent,
  fresh: MarketContent,
  options: RefreshOptions,
  used?: SharedArrayBuffer,
): RefreshResult {
  const marketContent = copyCloses(stored, fresh, options.accepted ?? []);
  const isCorrected = marketContent !== stored;
  const usedDays = isCorrected ? undefined : used; // a corrected panel is a copy, and the memory of the other panels is unchanged
  const { unchangedTables = [], adjustment, dividendErrors = [] } = options;
  const { series } = unchangedTables.includes('series') ? marketContent : fresh;
  const actions = unchangedTables.includes('corporate_actions') ? marketContent.actions : fresh.actions;
  const judgement = options.full
    ? undefined
    : judgeSecurities(marketContent, fresh, actions, { ...options, adjustment, dividendErrors });
  const columns =
    judgement === undefined || !options.isWhole
      ? []
      : findNewColumns(marketContent, fresh, marketContent.dates.at(-1)!);
  const { panels, ...rest } =
    judgement === undefined
      ? restatePanels(marketContent, fresh, options)
      : createNextPanels(
          marketContent,
          { ...fresh, fields: removeFields(fresh.fields, columns) },
          judgement,
          options,
          usedDays,
        );
  const content: MarketContent = {
    identifiers: panels.identifiers,
    dates: panels.dates,
    fields: panels.fields,
    reference: unchangedTables.includes('reference') ? marketContent.reference : fresh.reference,
    actions: judgement?.actions ?? actions,
    universes: unchangedTables.includes('universes') ? marketContent.universes : fresh.universes,
    ...(series === undefined ? {} : { series }),
  };
  const isKept = judgement !== undefined && !isCorrected && isHistoryKept(judgement);
  return {
    content,
    report: createRefreshReport({ storedContent: stored, content }, { ...options, judgement, columns, isKept }),
    isHistoryKept: isKept,
    taken: rest.taken,
  };
}

/** Returns true if no bar of a stored day changed. */
const isHistoryKept = ({ restated, late, corrected }: SecurityJudgement): boolean =>
  restated.size === 0 && late.size === 0 && corrected.size === 0;

const removeFields = (fields: Panels['fields'], names: readonly string[]): Panels['fields'] =>
  names.length === 0 ? fields : new Map([...fields].filter(([name]) => !names.includes(name)));

/** Returns the stored bars merged with the accepted bars of the source. */
function createNextPanels(
  heldPanels: Panels,
  fresh: Panels,
  judgement: SecurityJudgement,
  options: RefreshOptions,
  usedDays: SharedArrayBuffer | undefined,
): NextPanels {
  if (isHistoryKept(judgement))
    return appendLaterPanels(
      heldPanels,
      removeSecurities(fresh, judgement.rejected, heldPanels.dates.at(-1)!),
      options,
      usedDays,
    );
  const panels = mergeRestatedPanels(heldPanels, fresh, judgement, options.until);
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/**
 * Returns the days of a source after a given day, without the rejected securities. Returns the whole source if it has
 * no rejected security.
 */
function removeSecurities(fresh: Panels, rejected: SecurityJudgement['rejected'], after: Day): Panels {
  if (!fresh.identifiers.some((identifier) => rejected.has(identifier))) return fresh;
  const columns = fresh.identifiers.flatMap((identifier, n) => (rejected.has(identifier) ? [] : [n]));
  const rows = selectRows(fresh.dates, (day) => day > after);
  const width = fresh.identifiers.length;
  const pick = (panel: Float64Array): Float64Array => {
    const out = new Float64Array(rows.length * columns.length);
    rows.forEach((t, i) => columns.forEach((n, k) => (out[i * columns.length + k] = panel[t * width + n]!)));
    return out;
  };
  return removeEmptyLines({
    identifiers: columns.map((n) => fresh.identifiers[n]!),
    dates: Int32Array.from(rows, (t) => fresh.dates[t]!),
    fields: new Map([...fresh.fields].map(([name, panel]) => [name, pick(panel)])),
  });
}

type NextPanels = { readonly panels: Panels; readonly taken: SharedArrayBuffer | undefined };

/** Returns the bars of the source up to `until`, followed by the stored bars of later days. */
function restatePanels(heldPanels: Panels, fresh: Panels, { until }: RefreshOptions): NextPanels {
  const laterRows = until === null ? [] : selectRows(heldPanels.dates, (day) => day > until);
  const parts = [
    { panels: fresh, rows: selectRows(fresh.dates, (day) => until === null || day <= until) },
    ...(laterRows.length === 0 ? [] : [{ panels: heldPanels, rows: laterRows }]),
  ];
  const panels = removeEmptyLines(combine(parts));
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/** Returns the stored bars, followed by the bars of the source on later days. */
function appendLaterPanels(
  heldPanels: Panels,
  fresh: Panels,
  { until }: RefreshOptions,
  usedDays: SharedArrayBuffer | undefined,
): NextPanels {
  const lastHeld = heldPanels.dates.at(-1)!;
  const laterPart = selectLaterPart(
    heldPanels,
    fresh,
    selectRows(fresh.dates, (day) => day > lastHeld && day <= (until ?? Infinity)),
  );
  if (laterPart.rows.length === 0) return { panels: heldPanels, taken: usedDays };
  if (addsOnlyDays(heldPanels, laterPart)) {
    const isTaken = claimSpareRows(heldPanels, usedDays, laterPart.rows.length);
    const panels = addLaterDays(heldPanels, laterPart, isTaken);
    return { panels, taken: isTaken ? usedDays! : createUsedDays(panels.dates.length) };
  }
  const panels = removeEmptyLines(
    combine([{ panels: heldPanels, rows: selectRows(heldPanels.dates, () => true) }, laterPart]),
  );
  return { panels, taken: createUsedDays(panels.dates.length) };
}

/** Returns some rows of a source. Omits new columns that are empty in these rows. */
function selectLaterPart(heldPanels: Panels, fresh: Panels, rows: readonly number[]): PanelPart {
  const width = fresh.identifiers.length;
  const isUsed = (panel: Float64Array): boolean =>
    rows.some((t) => panel.subarray(t * width, (t + 1) * width).some((value) => value === value));
  return {
    panels: {
      ...fresh,
      fields: new Map([...fresh.fields].filter(([name, panel]) => heldPanels.fields.has(name) || isUsed(panel))),
    },
    rows,
  };
}

/** Returns true if a part adds neither fields nor securities with bars to the store. */
function addsOnlyDays(heldPanels: Panels, { panels, rows }: PanelPart): boolean {
  const names = new Set(heldPanels.identifiers);
  const newColumns = panels.identifiers.flatMap((identifier, n) => (names.has(identifier) ? [] : [n]));
  const addedPanels = [...panels.fields.values()];
  const width = panels.identifiers.length;
  return (
    newColumns.every((n) => rows.every((t) => !hasAnyValue(addedPanels, t * width + n))) &&
    [...panels.fields.keys()].every((name) => heldPanels.fields.has(name))
  );
}

/**
 * Claims the memory after the stored days. Returns false if there is too little memory or another version has claimed
 * it.
 */
function claimSpareRows(heldPanels: Panels, usedDays: SharedArrayBuffer | undefined, days: number): boolean {
  const bytes = (heldPanels.dates.length + days) * heldPanels.identifiers.length * Float64Array.BYTES_PER_ELEMENT;
  const hasRoom = [...heldPanels.fields.values()].every(
    ({ buffer, byteOffset }) => buffer instanceof SharedArrayBuffer && byteOffset === 0 && buffer.byteLength >= bytes,
  );
  return (
    usedDays !== undefined &&
    hasRoom &&
    Atomics.compareExchange(new Int32Array(usedDays), 0, heldPanels.dates.length, heldPanels.dates.length + days) ===
      heldPanels.dates.length
  );
}

/**
 * Returns the stored panels, followed by later days of the same securities and fields. The days are in the same memory
 * if it was claimed.
 */
function addLaterDays(heldPanels: Panels, { panels, rows }: PanelPart, isTaken: boolean): Panels {
  const width = heldPanels.identifiers.length;
  const heldCells = heldPanels.dates.length * width;
  const cells = heldCells + rows.length * width;
  const position = new Map(heldPanels.identifiers.map((identifier, n) => [identifier, n]));
  // A security that is not in the store has no bar in these rows.
  const columns = Int32Array.from(panels.identifiers, (identifier) => position.get(identifier) ?? -1);
  const fields = new Map(
    [...heldPanels.fields].map(([name, old]) => {
      const panel = new Float64Array(
        isTaken
          ? old.buffer
          : allocateGrowablePanel(heldPanels.dates.length + rows.length, width, heldPanels.fields.size),
        0,
        cells,
      );
      if (!isTaken) panel.set(old);
      panel.fill(Number.NaN, heldCells);
      const source = panels.fields.get(name);
      if (source === undefined) return [name, panel] as const;
      rows.forEach((t, i) => {
        const to = heldCells + i * width;
        for (let n = 0; n < columns.length; n++)
          if (columns[n]! >= 0) panel[to + columns[n]!] = source[t * columns.length + n]!;
      });
      return [name, panel] as const;
    }),
  );
  return {
    identifiers: heldPanels.identifiers,
    dates: Int32Array.from([...heldPanels.dates, ...rows.map((t) => panels.dates[t]!)]),
    fields,
  };
}

interface PanelPart {
  readonly panels: Panels;
  /** Accepted rows of the part. */
  readonly rows: readonly number[];
}

function selectRows(dates: Int32Array, isTaken: (day: Day) => boolean): number[] {
  const rows: number[] = [];
  for (let t = 0; t < dates.length; t++) if (isTaken(dates[t]!)) rows.push(t);
  return rows;
}

/** Combines rows of several panels that have no day in common. */
function combine(parts: readonly PanelPart[]): Panels {
  const identifiers = [
    ...new Set(parts.flatMap(({ panels, rows }) => (rows.length === 0 ? [] : panels.identifiers))),
  ].sort(compareText);
  const columnByIdentifier = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const days = parts.flatMap(({ panels, rows }) => rows.map((t) => panels.dates[t]!));
  const dates = Int32Array.from(days).sort();
  const rowByDay = new Map([...dates].map((day, t) => [day, t]));
  const names = [...new Set(parts.flatMap(({ panels }) => [...panels.fields.keys()]))];
  const width = identifiers.length;
  const fields = new Map(
    names.map((name) => {
      const panel = new Float64Array(allocateGrowablePanel(dates.length, width, names.length), 0, dates.length * width);
      for (const { panels, rows } of parts) {
        const source = panels.fields.get(name);
        const step = panels.identifiers.length;
        const isSameAxis = step === width && panels.identifiers.every((identifier, n) => identifier === identifiers[n]);
        const columns = Int32Array.from(panels.identifiers, (identifier) => columnByIdentifier.get(identifier) ?? -1);
        for (const t of rows) {
          const to = rowByDay.get(panels.dates[t]!)! * width;
          if (source !== undefined && isSameAxis) {
            panel.set(source.subarray(t * step, (t + 1) * step), to);
            continue;
          }
          panel.fill(Number.NaN, to, to + width);
          if (source !== undefined) for (let n = 0; n < step; n++) panel[to + columns[n]!] = source[t * step + n]!;
        }
      }
      return [name, panel] as const;
    }),
  );
  return { identifiers, dates, fields };
}
