import { readFileSync } from 'node:fs';
import { findCode, ArtifactStoreFault } from '../../access/artifact-fault.js';

export interface ProfileFiles {
  readonly credentialsFile: string;
  readonly configFile: string;
}

/** Values of a profile by name. Values of the credentials file take precedence over those of the configuration file. */
export type Profile = ReadonlyMap<string, string>;

/**
 * Reads a profile. @returns undefined if neither file contains it. @throws ArtifactStoreFault for an unreadable file
 */
export function readProfile(name: string, { credentialsFile, configFile }: ProfileFiles): Profile | undefined {
  const configSection = parseSections(configFile).get(name === 'default' ? name : `profile ${name}`);
  const credentialsSection = parseSections(credentialsFile).get(name);
  return configSection === undefined && credentialsSection === undefined
    ? undefined
    : new Map([...(configSection ?? []), ...(credentialsSection ?? [])]);
}

function parseSections(file: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of readText(file).split('\n')) {
    // Skips comments and indented lines. Indented lines are settings of a single service.
    if (/^[\s#;]/.test(line) || line === '') continue;
    if (line.startsWith('[')) {
      const name = line.slice(1, line.includes(']') ? line.indexOf(']') : undefined);
      const nameWords = name.split(/\s/).filter((word) => word !== '');
      section = sections.get(nameWords.join(' ')) ?? new Map<string, string>();
      sections.set(nameWords.join(' '), section);
      continue;
    }
    const offset = line.indexOf('=');
    if (offset > 0) section?.set(line.slice(0, offset).trim().toLowerCase(), line.slice(offset + 1).trim());
  }
  return sections;
}

/** Reads a file synchronously. The files are small, local and rarely read. @returns an empty text for a missing file */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const code = findCode(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return '';
    throw new ArtifactStoreFault(`The file of AWS profiles ${file} cannot be read: ${code}.`, cause);
  }
}
