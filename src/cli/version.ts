import { existsSync, readFileSync } from 'node:fs';

/** The folder of the package, above the compiled files. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

let declared: string | undefined;

/** The engine version, as the package declares it. Nodes say it every two seconds: it is read once. */
export function engineVersion(): string {
  declared ??= (JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }).version;
  return declared;
}

/** What this program was built from. */
export interface BuildInfo {
  /** Commit in full; null where the sources were in no repository. */
  readonly commit: string | null;
  /** ISO-8601 UTC. */
  readonly built_at: string;
}

let read: BuildInfo | null | undefined;

/** As the build wrote it; null for a program that was only compiled. */
export function buildInfo(): BuildInfo | null {
  if (read === undefined) {
    const file = new URL('dist/build.json', PACKAGE_ROOT);
    read = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BuildInfo) : null;
  }
  return read;
}

/** Digits of a commit that tell it from others. */
const COMMIT_DIGITS = 12;

/** The engine version with its commit as build metadata of Semantic Versioning, for example `0.2.0+071c274c1a2b`. */
export function buildVersion(): string {
  const commit = buildInfo()?.commit?.slice(0, COMMIT_DIGITS);
  return commit === undefined ? engineVersion() : `${engineVersion()}+${commit}`;
}
