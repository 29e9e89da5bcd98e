import { existsSync, readFileSync } from 'node:fs';

/** Folder of the package. It is above the folder of the compiled files. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

let packageDeclaration: string | undefined;

/**
 * Returns the engine version from the package file. It is read once, because nodes report the version every two
 * seconds.
 */
export function readEngineVersion(): string {
  packageDeclaration ??= (
    JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }
  ).version;
  return packageDeclaration;
}

export interface BuildInfo {
  /** Full commit hash; null if the sources were not in a repository. */
  readonly commit: string | null;
  /** ISO-8601 UTC. */
  readonly built_at: string;
}

let cachedBuildInfo: BuildInfo | null | undefined;

/** Returns the build information. Returns null if the program was only compiled. */
export function readBuildInfo(): BuildInfo | null {
  if (cachedBuildInfo === undefined) {
    const file = new URL('dist/build.json', PACKAGE_ROOT);
    cachedBuildInfo = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BuildInfo) : null;
  }
  return cachedBuildInfo;
}

const COMMIT_DIGITS = 12;

/**
 * Returns the engine version and its commit, for example `0.2.0+071c274c1a2b`. The commit is build metadata in the
 * sense of Semantic Versioning.
 */
export function getBuildVersion(): string {
  const commit = readBuildInfo()?.commit?.slice(0, COMMIT_DIGITS);
  return commit === undefined ? readEngineVersion() : `${readEngineVersion()}+${commit}`;
}
