import { existsSync, readFileSync } from 'node:fs';

/** The folder of the package, above the compiled files. */
export const PACKAGE_ROOT = new URL('../../../', import.meta.url);

let declared: string | undefined;

/** Engine version in the package file, read once because nodes report it every two seconds. */
export function engineVersion(): string {
  declared ??= (JSON.parse(readFileSync(new URL('package.json', PACKAGE_ROOT), 'utf8')) as { version: string }).version;
  return declared;
}

/** Origin of this build. */
export interface BuildInfo {
  /** Full commit hash; null if the sources were in no repository. */
  readonly commit: string | null;
  /** ISO-8601 UTC. */
  readonly built_at: string;
}

let read: BuildInfo | null | undefined;

/** Build information; null for a program that was only compiled. */
export function buildInfo(): BuildInfo | null {
  if (read === undefined) {
    const file = new URL('dist/build.json', PACKAGE_ROOT);
    read = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as BuildInfo) : null;
  }
  return read;
}

/** Digits that identify a commit. */
const COMMIT_DIGITS = 12;

/** Engine version with its commit as build metadata of Semantic Versioning, for example `0.2.0+071c274c1a2b`. */
export function buildVersion(): string {
  const commit = buildInfo()?.commit?.slice(0, COMMIT_DIGITS);
  return commit === undefined ? engineVersion() : `${engineVersion()}+${commit}`;
}
