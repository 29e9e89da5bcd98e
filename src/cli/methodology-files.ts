import { readdirSync, readFileSync } from 'node:fs';
import { MethodologyTemplate } from '#domain/documents/methodology-template.js';
import { PACKAGE_ROOT } from './version.js';

const FOLDER = new URL('data/methodologies/', PACKAGE_ROOT);

/**
 * Reads the published methodologies of this package, by id.
 * @throws Error if a file is not a template, or if its name differs from its id
 */
export function readMethodologies(): readonly MethodologyTemplate[] {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  const templates = files.map((file) => {
    const { data, error } = MethodologyTemplate.safeParse(JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')));
    if (data === undefined) throw new Error(`data/methodologies/${file} is no template`, { cause: error });
    if (`${data.id}.json` !== file) throw new Error(`data/methodologies/${file} has the id ${data.id}`);
    return data;
  });
  return templates.sort((a, b) => (a.id < b.id ? -1 : 1));
}
