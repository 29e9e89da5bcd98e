/** Headers by name, in one object so that they are written once and nothing touches a response afterwards. */
export type Headers = Record<string, string>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers that every answer carries. */
export interface CommonHeaders {
  readonly byName: Headers;
  /** As lines of a head; undefined where they say what becomes of the connection. */
  readonly lines: string | undefined;
}

export function commonHeaders(byName: Headers): CommonHeaders {
  const lines = Object.entries(byName).map(([name, value]) => `${name}: ${value}\r\n`);
  return { byName, lines: 'Connection' in byName ? undefined : lines.join('') };
}

/** The headers of one answer: its number, the common ones, its own, and what its body is. */
export class AnswerHeaders {
  readonly #requestId: string;
  readonly #common: CommonHeaders;
  /** In place of common ones of the same name. */
  #own: Headers | undefined;
  #type: string | undefined;
  #length: number | undefined;

  /** @param requestId visible ASCII */
  constructor(requestId: string, common: CommonHeaders) {
    this.#requestId = requestId;
    this.#common = common;
    this.#own = undefined;
    this.#type = undefined;
    this.#length = undefined;
  }

  /** Bytes of the body; undefined without one, or where nobody knows. */
  get length(): number | undefined {
    return this.#length;
  }

  set(name: string, value: string): void {
    this.#own ??= {};
    this.#own[name] = value;
  }

  /** @param type JSON unless given */
  describe(type: string | undefined, length: number | undefined): void {
    this.#type = type ?? JSON_TYPE;
    this.#length = length;
  }

  byName(): Headers {
    const headers: Headers = { 'X-Request-Id': this.#requestId, ...this.#common.byName, ...this.#own };
    if (this.#type !== undefined) headers['Content-Type'] = this.#type;
    if (this.#length !== undefined) headers['Content-Length'] = String(this.#length);
    return headers;
  }

  /** As lines of a head that need no checks; undefined of an answer with headers of its own, or another body than JSON. */
  plainLines(): string | undefined {
    const { lines } = this.#common;
    if (lines === undefined || this.#own !== undefined || this.#type !== JSON_TYPE || this.#length === undefined)
      return undefined;
    return `X-Request-Id: ${this.#requestId}\r\n${lines}Content-Type: ${JSON_TYPE}\r\nContent-Length: ${this.#length}\r\n`;
  }
}
