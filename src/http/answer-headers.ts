/** Headers by name. They are one object, so that a response is written once and not changed afterwards. */
export type Headers = Record<string, string>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Headers of one response: its request id, the common headers, its specific headers, and headers that describe its
 * body.
 */
export class ResponseHeaders {
  readonly #byName: Headers;
  #length: number | undefined;

  /** @param requestId visible ASCII @param commonHeaders headers of every response */
  constructor(requestId: string, commonHeaders: Headers) {
    this.#byName = { 'X-Request-Id': requestId, ...commonHeaders };
    this.#length = undefined;
  }

  /** Length of the body in bytes; undefined if there is no body or the length is unknown. */
  get length(): number | undefined {
    return this.#length;
  }

  /** Sets a header; replaces a common header of the same name. */
  set(name: string, value: string): void {
    this.#byName[name] = value;
  }

  /** @param type media type of the body. Default: JSON */
  describe(type: string | undefined, length: number | undefined): void {
    this.#byName['Content-Type'] = type ?? JSON_TYPE;
    if (length !== undefined) this.#byName['Content-Length'] = String(length);
    this.#length = length;
  }

  byName(): Headers {
    return this.#byName;
  }
}
