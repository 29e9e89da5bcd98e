import type { RenderResult } from '#clients/typescript/divisor.js';

/** Maximum number of indices that a title lists. */
const LISTED_INDICES_MAX = 2;

/** Lists the indices of a report. Empty if the report shows none, and for some reports of earlier versions. */
export const listReportIndices = ({ index_ids: ids, index_id: id }: RenderResult): readonly string[] =>
  ids ?? (id === null ? [] : [id]);

/** Formats the indices of a report, for example `CORE` or `CORE and 2 more`. */
export function formatReportIndices(report: RenderResult): string {
  const ids = listReportIndices(report);
  if (ids.length <= LISTED_INDICES_MAX) return ids.join(' and ');
  return `${ids[0]!} and ${ids.length - 1} more`;
}

/**
 * Returns the lines that name a report in a list, for example `CORE, MONTHLY`, `Monthly report` and `Data to
 * 2026-11-24`. The title of a report without a known index is its template.
 */
export function createCoverLines(report: RenderResult): { readonly title: string; readonly lines: readonly string[] } {
  const { name, template_id: template, as_of: asOf } = report;
  const indices = formatReportIndices(report);
  return {
    title: indices === '' ? template : `${indices}, ${template}`,
    lines: [name, ...(asOf === undefined ? [] : [`Data to ${asOf}`])],
  };
}

/** Formats the title of a report, for example `Monthly report of CORE, 2026-11-24`. The date is the as-of date. */
export function formatReportTitle(report: RenderResult): string {
  const indices = formatReportIndices(report);
  const title = indices === '' ? report.name : `${report.name} of ${indices}`;
  return report.as_of === undefined ? title : `${title}, ${report.as_of}`;
}

/** Returns the name of the file of a report. Only the service knows the names of other reports. */
export const formatFileName = ({ file_name: name, template_id: template, render_id: id }: RenderResult): string =>
  name ?? `${template}-${id}.pdf`;
