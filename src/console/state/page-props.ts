/** Input of a page: the named parts of its address. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}
