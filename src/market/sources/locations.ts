import { realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Problem } from '../tables/problems.js';

/** Folders of this machine from which stores may be read. */
export interface Locations {
  /**
   * Returns the real path of a folder or file below one of the roots (allowed folders). A location outside gives
   * LOCATION_NOT_ALLOWED, whether it exists or not. Inside, an absent location or a location of another kind gives
   * LOCATION_NOT_FOUND.
   */
  resolve(
    location: string,
    kind: 'folder' | 'file',
  ): Promise<{ readonly path: string } | { readonly problem: Problem }>;
  /** Returns true if a real path is below one of the roots. */
  allows(realPath: string): Promise<boolean>;
}

/**
 * Creates the locations of the given roots.
 * @param roots absolute folders; a folder that does not exist allows nothing.
 * @param machine name of this machine in refusals, if other machines may allow the path
 */
export function createLocations(roots: readonly string[], machine?: string): Locations {
  const machinePhrase = machine === undefined ? '' : ` on ${machine}, which answered; other fronts may allow others`;
  // Resolves the roots each time, because a root may be created or redirected after the start.
  const resolveRoots = async () =>
    (await Promise.all(roots.map((root) => realpath(root).catch(() => undefined)))).filter(
      (root) => root !== undefined,
    );
  const isAllowed = async (path: string) => (await resolveRoots()).some((root) => isInside(root, path));

  return {
    allows: isAllowed,
    async resolve(location, kind) {
      const refusedLocation = {
        problem: {
          code: 'LOCATION_NOT_ALLOWED' as const,
          path: 'location',
          message: `The location is not inside one of the folders that the operator allows (--data-roots, DIVISOR_DATA_ROOTS)${machinePhrase}.`,
        },
      };
      if (!isAbsolute(location) || location.includes('\0')) return refusedLocation;
      const path = await resolveAbsentPath(resolve(location));
      if (!(await isAllowed(path))) return refusedLocation;
      const result = await stat(path).catch(() => undefined);
      const isKind = kind === 'folder' ? result?.isDirectory() : result?.isFile();
      if (isKind === true) return { path };
      return {
        problem: { code: 'LOCATION_NOT_FOUND', path: 'location', message: `There is no ${kind} at the location.` },
      };
    },
  };
}

/**
 * Returns the real path of a location. For an absent location, returns the path that it would have. Symbolic links in
 * existing parents are resolved.
 */
export async function resolveAbsentPath(path: string): Promise<string> {
  const resolvedPath = await realpath(path).catch(() => undefined);
  if (resolvedPath !== undefined) return resolvedPath;
  const parent = dirname(path);
  return parent === path ? path : join(await resolveAbsentPath(parent), relative(parent, path));
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
