import type { ExampleRequest } from './operation.js';
import { jsonText } from './json-text.js';

/** Width of a sample. */
export const COLUMNS = 64;

/**
 * The request as a command: `$DIVISOR` stands for the address of the service.
 * @param file  name under which an answer that is no text is kept
 */
export function curlOf({ method, path, body }: ExampleRequest, file?: string): string {
  const natural = body === undefined ? 'GET' : 'POST';
  return [
    'curl',
    ...(method === natural ? [] : [`-X ${method}`]),
    quote(path),
    ...(body === undefined ? [] : [`--json '${jsonText(body, COLUMNS).replaceAll("'", String.raw`'\''`)}'`]),
    ...(file === undefined ? [] : [`-o ${file}`]),
  ].join(' ');
}

/** The shell and curl read `?`, `&` and brackets themselves unless they are quoted. */
const quote = (path: string) => (/[?&[\]{}]/.test(path) ? `"$DIVISOR${path}"` : `$DIVISOR${path}`);
