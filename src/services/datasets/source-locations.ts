import { pathToFileURL } from 'node:url';
import type { DatasetDocument } from '#domain/documents/dataset-document.js';
import type { Finding } from '#domain/refusals/findings.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import type { DatabaseLocations } from '#market/sources/databases/database-location.js';
import type { Locations } from '#market/sources/locations.js';
import { changePassword, type SecretBox } from '#store/secrets/secret-box.js';
import { refuseData } from './refused-data.js';
import { quoteLocation } from './resolve-location.js';

interface SourceLocationsDependencies {
  readonly locations: Locations;
  readonly databases: DatabaseLocations;
  readonly secrets: Pick<SecretBox, 'seal'>;
}

/**
 * Returns the canonical location of a store: the real path of a folder, or the URL of a database with the real path of
 * a database file.
 */
export async function resolveLocation(
  { locations, databases, secrets }: SourceLocationsDependencies,
  kind: 'folder' | 'database',
  location: string,
  path: string,
): Promise<string> {
  const resolvedLocation =
    kind === 'folder' ? await locations.resolve(location, 'folder') : await databases.resolve(location);
  if ('problem' in resolvedLocation)
    throw refuseData([{ severity: 'error', ...resolvedLocation.problem, path, ...quoteLocation(location) }]);
  if ('path' in resolvedLocation) return resolvedLocation.path;
  return resolvedLocation.place.kind === 'postgresql'
    ? changePassword(location, secrets.seal)
    : `${resolvedLocation.place.kind}://${pathToFileURL(resolvedLocation.place.path).pathname}`;
}

/**
 * Returns the canonical location for a source that a client enters. @throws Refusal VALIDATION_FAILED, NOT_SUPPORTED
 */
export async function resolveSource(
  dependencies: SourceLocationsDependencies,
  { kind }: DatasetDocument,
  source: string,
): Promise<string> {
  const createRefusal = (finding: Omit<Finding, 'severity'>) =>
    refuseWithFindings('request', [{ severity: 'error', ...finding }]);
  if (kind === 'synthetic' || kind === 'imported') {
    throw createRefusal({
      code: 'IMMUTABLE_FIELD',
      path: 'source',
      message: `The source of a data store of kind ${kind} cannot be changed.`,
    });
  }
  return resolveLocation(dependencies, kind, source, 'source');
}
