import type { InspectRequest, InspectResult } from '#contract/stores/inspect.js';
import type { UsedCalendars } from '#domain/calendars/used-calendars.js';
import { Mapping } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import { createProblems } from '#market/tables/problems.js';
import { inspectMarket } from '#market/process/market-process.js';
import type { InspectedData } from '#market/inspect/inspect.js';
import type { DatabaseLocations } from '#market/sources/databases/database-location.js';
import { listFolderFiles } from '#market/sources/folder.js';
import type { Locations } from '#market/sources/locations.js';
import type { Requester, Gate } from '../shared/gate.js';
import { placeFindings, refuseData, convertFailure } from './refused-data.js';

export interface DatasetInspectionsDependencies {
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  /** Limits the number of concurrent readers. */
  readonly readers: Gate;
  /** Aborted when the service stops. */
  readonly closing: AbortSignal;
  /** Calendars of the indices that may use the data. Default: none. */
  readonly calendarsInUse?: () => Promise<UsedCalendars>;
}

/**
 * Creates the function that inspects data and proposes a mapping. @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED,
 * OVERLOADED
 */
export function createDatasetInspections({
  locations,
  databases,
  readers,
  closing,
  calendarsInUse,
}: DatasetInspectionsDependencies) {
  async function inspectData(request: InspectRequest, requester: Requester): Promise<InspectResult> {
    const signal = AbortSignal.any([requester.signal, closing]);
    const field = request.location === undefined ? 'content' : 'location';
    const [inspectedData, calendars] = await Promise.all([inspectSource(request), calendarsInUse?.() ?? { codes: [] }]);
    const input = { inspected: inspectedData, inspectionTerms: { mapping: request.mapping, answers: request.answers } };
    const inspection = await readers(() => convertFailure(field, inspectMarket(input, signal, calendars)), {
      ...requester,
      signal,
    });
    return {
      ...inspection,
      basis: { ...inspection.basis, others: [...inspection.basis.others] },
      unsure: inspection.unsure.map(({ conflicts, ...question }) => ({
        ...question,
        others: [...question.others],
        ...(conflicts === undefined ? {} : { conflicts: [...conflicts] }),
      })),
      questions: inspection.unsure.map(({ question }) => question),
      findings: placeFindings(field, inspection.findings) as InspectResult['findings'],
      faulty_files: [...inspection.faulty_files],
    };
  }

  async function inspectSource({
    location,
    content,
    format,
    tables,
    mapping,
    answers,
  }: InspectRequest): Promise<InspectedData> {
    if (location === undefined) return { kind: format, content: content! }; // the schema requires a location or content
    if (location.includes('://')) {
      const resolvedUrl = await databases.resolve(location);
      if ('problem' in resolvedUrl) throw createPathRefusal(resolvedUrl.problem);
      return { kind: 'database', place: resolvedUrl.place, tables };
    }
    const resolvedPath = await locations.resolve(location, 'folder');
    if ('problem' in resolvedPath) throw createPathRefusal(resolvedPath.problem);
    const problems = createProblems();
    const ignoredPaths = [...(mapping?.ignore ?? []), ...(answers?.ignore ?? [])];
    const files = await listFolderFiles(
      resolvedPath.path,
      { tables, mapping: Mapping.parse({ ignore: ignoredPaths }) },
      locations,
      problems,
    );
    const errors = problems.findings().filter(({ severity }) => severity === 'error');
    // A finding about many files has the path of the table, and the name of the first file.
    const isIgnored = ({ code, path, file }: Finding) =>
      code === 'UNREADABLE_FILE' && (path.startsWith('market/') || (path === 'market' && file !== undefined));
    if (errors.length > 0 && (files.market.length === 0 || !errors.every(isIgnored)))
      throw refuseData(placeFindings('location', problems.findings()));
    return { kind: 'files', files, unread: { findings: errors, files: problems.files() } };
  }

  return inspectData;
}

const createPathRefusal = (problem: Omit<Finding, 'severity'>) =>
  refuseData([{ severity: 'error', ...problem, path: 'location' }]);
