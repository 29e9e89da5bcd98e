/** Number of bytes in which the beginning of a file is recognised, after spaces and a byte order mark. */
export const HEAD_BYTES = 1024;

/** Beginnings of files that take the place of a table, with their descriptions. */
const FOREIGN_TEXTS: readonly (readonly [beginning: RegExp, message: string])[] = [
  [
    /^version https:\/\/git-lfs\.github\.com\/spec\//,
    'The file is a pointer of Git LFS, not the data itself; git lfs pull fetches the data.',
  ],
  [
    /^(\.\.\/)*(\.git)?\/?annex\/objects\//,
    'The file is a pointer of git-annex, not the data itself; git annex get fetches the data.',
  ],
  [
    /^(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)*<(!doctype\s+html|html|head|body|title|script|meta|table|div|p|h1|center)\b(?!>[,;\t|])/i,
    'The file is a web page (HTML), not a table; a download probably returned an error page or a sign-in page.',
  ],
  [
    /^<(\?xml|[A-Za-z][^<>,;|\t]*>\s*<)/,
    'The file is an XML document, not a table; CSV, JSON lines, Parquet and xlsx files are read.',
  ],
];

/** A CSV file that begins like a JSON document, such as the error of a web service. */
const JSON_TEXT = /^(\{\s*("|\})|\[\s*[[{])/;

/** Returns a message if bytes are the beginning of something that takes the place of a table. */
export function describeForeignText(bytes: Uint8Array, format: 'csv' | 'other' = 'other'): string | undefined {
  const text = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES)).trimStart();
  const message = FOREIGN_TEXTS.find(([beginning]) => beginning.test(text))?.[1];
  if (message !== undefined || format !== 'csv' || !JSON_TEXT.test(text)) return message;
  return 'The file is a JSON document, not a table; JSON is read as lines with one object each (.jsonl).';
}

/** Yields the bytes of a CSV file unchanged. @throws the error that `fault` creates for a text of another kind */
export async function* refuseForeignText(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  fault: (message: string) => Error,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const message = isFirst ? describeForeignText(chunk, 'csv') : undefined;
    if (message !== undefined) throw fault(message);
    isFirst = false;
    yield chunk;
  }
}
