import { shareMarket } from '#domain/market/handle.js';
import type { Task } from '#jobs/tasks.js';
import { applyRepairs } from '#market/audit/apply-repairs.js';
import { auditMarket as audit } from '#market/audit/audit-market.js';
import { computeContentHash, countTableRows } from '#market/content/content.js';
import { findContentWarnings } from '#market/content/doubtful-content.js';
import { createProblems } from '#market/tables/problems.js';
import { writeMarket } from '#market/content/write-market.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Finds the data warnings of a market. */
export const auditMarket: Task<'audit-market'> = ({ market }, control) =>
  audit(openCachedMarket(market), market.adjustment, (fraction) => control.report(fraction));

/** Writes a repaired market as a new store. */
export const repairMarket: Task<'repair-market'> = async (
  { market, repairs, folder, datasetId, calendars },
  control,
) => {
  const content = applyRepairs(openCachedMarket(market), repairs);
  const files = await writeMarket(folder, content, (fraction) => control.report(0.8 * fraction, 'writing'));
  const warnings = findContentWarnings(
    content,
    {
      adjustment: market.adjustment,
      calendars: { codes: calendars.codes, open: () => openCachedCalendars(calendars.closures) },
    },
    createProblems(),
  );
  const hash = await computeContentHash(content);
  return {
    handle: shareMarket({
      ...content,
      datasetId,
      adjustment: market.adjustment,
      currency: market.currency ?? null,
      contentHash: hash,
    }),
    summary: {
      contentHash: hash,
      identifiers: content.identifiers.length,
      start: content.dates[0] ?? null,
      end: content.dates.at(-1) ?? null,
      rows: countTableRows(content),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files,
      warnings,
    },
  };
};
