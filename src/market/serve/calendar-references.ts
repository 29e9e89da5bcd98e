import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import {
  type Corrections,
  parseCorrections,
  parseSessionReference,
  readSessionReference,
  type SessionReference,
} from '#domain/calendars/session-reference.js';

/**
 * Reads the references of a folder, one per JSON or CSV file, in order of file names. The code of a CSV file is its
 * name.
 * @throws if a file is not a valid session reference
 */
export function readReferences(folder: string): SessionReference[] {
  const files = readdirSync(folder).filter((name) => ['.json', '.csv'].includes(extname(name)));
  return files.toSorted().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    try {
      return extname(name) === '.csv'
        ? parseSessionReference(basename(name, '.csv'), text)
        : readSessionReference(JSON.parse(text));
    } catch (cause) {
      throw new Error(`${name} is not a reference of sessions: ${(cause as Error).message}`, { cause });
    }
  });
}

/** Reads the corrections of calendars. @throws if the file contains no valid corrections */
export function readCorrections(file: string): Corrections {
  return parseCorrections(JSON.parse(readFileSync(file, 'utf8')));
}
