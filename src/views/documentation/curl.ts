import type { ExampleRequest } from './operation.js';
import { formatJson } from './json-text.js';

/** Width of a sample in characters. */
export const COLUMNS = 64;

/**
 * Formats a request as a curl command. `$DIVISOR` stands for the address of the service.
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

/** Quotes a path with characters that the shell or curl would interpret, such as `?`, `&` and brackets. */
const quoteAddress = (path: string) => (/[?&[\]{}]/.test(path) ? `"$DIVISOR${path}"` : `$DIVISOR${path}`);
