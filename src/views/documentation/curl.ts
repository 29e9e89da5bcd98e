import type { ExampleRequest } from './operation.js';
import { formatJson } from './json-text.js';

/** Width of a sample in characters. */
export const COLUMNS = 64;

/**
 * Formats a request as a curl command. `$DIVISOR` is the address of the service.
 * @param file file name for a response that is not text
 */
export function formatCurl({ method, path, body }: ExampleRequest, file?: string): string {
  const defaultMethod = body === undefined ? 'GET' : 'POST';
  return [
    'curl',
    ...(method === defaultMethod ? [] : [`-X ${method}`]),
    quoteAddress(path),
    ...(body === undefined ? [] : [`--json '${formatJson(body, COLUMNS).replaceAll("'", String.raw`'\''`)}'`]),
    ...(file === undefined ? [] : [`-o ${file}`]),
  ].join(' ');
}

/** Puts a path in quotes if the shell or curl would interpret one of its characters, such as `?`, `&` and brackets. */
const quoteAddress = (path: string) => (/[?&[\]{}]/.test(path) ? `"$DIVISOR${path}"` : `$DIVISOR${path}`);
