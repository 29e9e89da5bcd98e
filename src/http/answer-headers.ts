/** Headers by name, in one object so that they are written once and nothing touches a response afterwards. */
export type Headers = Record<string, string>;

export const JSON_TYPE = 'application/json; charset=utf-8';

/** The headers of one answer: its number, the common ones, its own, and those that describe its body. */
export class AnswerHeaders {
  readonly #byName: Headers;
  #length: number | undefined;

  /** @param requestId visible ASCII @param common headers of every answer */
  constructor(requestId: string, common: Headers) {
    this.#byName = { 'X-Request-Id': requestId, ...common };
    this.#length = undefined;
  }

  /** Bytes of the body; undefined without one, or where nobody knows. */
  get length(): number | undefined {
    return this.#length;
  }

  /** In place of a common one of the same name. */
  set(name: string, value: string): void {
    this.#byName[name] = value;
  }

  /** @param type JSON unless given */
  describe(type: string | undefined, length: number | undefined): void {
    this.#byName['Content-Type'] = type ?? JSON_TYPE;
    if (length !== undefined) this.#byName['Content-Length'] = String(length);
    this.#length = length;
  }

  byName(): Headers {
    return this.#byName;
  }
}
